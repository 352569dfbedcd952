// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// logistic, tanh, softmax and pwl of lastbit/core.hpp: values, also while a program is compiled, and refusals; random layers:
// tests/differential/core_differential.cpp.
#include <array>
#include <lastbit/core.hpp>
#include <support/catch.hpp>

namespace lastbit::test {
namespace {

constexpr std::array<std::int8_t, 4> four{0, 16, 32, -32};  // 0, 1, 2, -2
constexpr OutputOptions share{.scale = 1.0 / 256, .zero_point = -128};
constexpr PwlSegment lines[] = {{-100, -7, 256, 8}, {0, 10, -128, 8}, {52, 3, 1, 32}};
constexpr std::array<std::int32_t, 4> sums{-101, -99, 1, 40000};

static_assert(logistic<tflite_double>(View(four, {4}, 1.0 / 16), share).values[0] == 0);                       // 1/2
static_assert(logistic<tflite_double>(View(four, {4}, 1.0 / 16), share).values[1] == 59);                      // 0.7311 * 256 - 128 = 59.2
static_assert(logistic<tflite_double>(View(four, {4}, 1.0 / 16), share).values[3] == -97);                     // 0.1192 * 256 - 128 = -97.5
static_assert(lastbit::tanh<tflite_double>(View(four, {4}, 1.0 / 16), {.scale = 1.0 / 128}).values[1] == 97);  // 0.7616 * 128 = 97.5
static_assert(softmax<tflite_double>(View(four, {2, 2}, 1.0 / 16), {.scale = 1.0 / 256, .zero_point = -128}).values[1] == 59);
static_assert(pwl<gna3_0>(View(sums, {4}), lines, {.scale = 1}).values[0] == -7);
static_assert(pwl<gna3_0>(View(sums, {4}), lines, {.scale = 1}).values[2] == 9);  // -1/2 toward -inf

template <class Call>
std::string refusal_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "computed";
}

}  // namespace

TEST_CASE("core: functions that a device lacks, or whose codes are others, are named") {
  const View x(four, {4}, 1.0 / 16);
  CHECK(refusal_of([&] { return logistic(gna3_0, x, {.scale = 1}); }) == "logistic: the device has no such function");
  CHECK(refusal_of([&] { return lastbit::tanh<gna3_0>(x, {.scale = 1}); }) == "tanh: the device has no such function");
  CHECK(refusal_of([&] { return softmax(gna3_0, x, {.scale = 1}); }) == "softmax: the device has no such function");
  CHECK(refusal_of([&] { return pwl(vipnano_v8, View(sums, {4}), lines, {.scale = 1}); }) ==
        "pwl: the device has no piecewise-linear function");
  CHECK(refusal_of([&] { return logistic(tflite_double, x, {.scale = 0.5}); }) ==
        "logistic: the device gives scale 1/256 and zero point -128");
  CHECK(refusal_of([&] { return logistic(tflite_double, x, {}); }) == "logistic: the output's scale is not stated");
  CHECK(refusal_of([&] { return logistic(tflite_double, x, {.scale = 1, .activation = Activation::relu}); }) ==
        "logistic: no activation stands behind a function");
  CHECK(refusal_of([&] { return softmax(tflite_double, x, {.scale = 1, .beta = 0}); }) == "softmax: beta is not between 0 and 1e6");
  CHECK(refusal_of([&] { return pwl(gna3_0, View(sums, {4}), {}, {.scale = 1}); }) == "pwl: 1 to 128 segments are needed");
  const std::array odd{PwlSegment{1, 0, 0, 8}};
  CHECK(refusal_of([&] { return pwl(gna3_0, View(sums, {4}), odd, {.scale = 1}); }) ==
        "pwl: a base is no multiple of 4: the device stores the shift in its two low bits");
}

TEST_CASE("core: both forms of a function agree, and a table of 8-bit codes holds what each code gives") {
  std::vector<std::int8_t> codes(300);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int8_t>(static_cast<int>(i % 256) - 128);
  const View x(codes, {300}, 0.05, 3), part(std::span<const std::int8_t>(codes).first(200), {200}, 0.05, 3);
  for (const Backend* const device : {&vipnano_v8, &tflite_double}) {
    const auto whole = logistic(*device, x, share), first = logistic(*device, part, share);
    CHECK(std::equal(first.values.begin(), first.values.end(), whole.values.begin()));
  }
  CHECK(logistic<vipnano_v8>(x, share) == logistic(vipnano_v8, x, share));
  CHECK(difference(golden::logistic(x, share), logistic<vipnano_v8>(x, share)).largest <= 1);
}

TEST_CASE("core: a table of GNA's follows its function, and the golden path has the lines themselves") {
  const View x(sums, {4});
  CHECK(pwl(gna3_0, x, lines, {.scale = 1}).values[1] == -6);
  CHECK(golden::pwl(x, lines, {.scale = 1}).values[2] == 9.5);
  CHECK(golden::pwl(x, lines, {.scale = 1}).values[0] == -7);
  CHECK(golden::softmax(View(four, {2, 2}, 1.0 / 16)).values[1] == 1 / (1 + std::exp(-1.0)));
  CHECK(golden::tanh(View(four, {4}, 1.0 / 16), {.scale = 0.001}).values[1] == 0.127);  // what the codes can say
  std::vector<std::int32_t> many;
  for (std::int32_t sum = -10000000; sum <= 10000000; sum += 997) many.push_back(sum);
  const View dense(many, {static_cast<std::int64_t>(many.size())}, 0x1p-20);
  const OutputOptions out{.scale = 1.0 / 16384};  // room beyond 1: a base that 16 bits cut would move its whole line
  const auto y = pwl<gna3_0>(dense, gna::table(gna::tanh_curve(), dense.scale(), out.scale, 0.5), out);
  const auto real = golden::tanh(dense);
  double worst = 0;
  for (std::size_t i = 0; i < many.size(); ++i) worst = std::max(worst, std::abs(out.scale * y.values[i] - real.values[i]));
  CHECK(worst < 2 * 0.00502);  // half a percent of max - min
  CHECK(worst > 0.001);
  CHECK(refusal_of([&] { return gna::table(gna::tanh_curve(), 0, 1).size(); }) == "gna::table: a scale that is not above 0");
}

}  // namespace lastbit::test
