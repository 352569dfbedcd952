// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the calls of lastbit/core.hpp refuse, and what they are while a program is compiled; random layers: tests/differential/core_differential.cpp.
#include <array>
#include <lastbit/core.hpp>
#include <support/catch.hpp>

namespace lastbit::test {
namespace {

constexpr std::array<std::int8_t, 8> codes{1, 2, 3, 4, 5, 6, 7, 8};
constexpr std::array<std::int8_t, 4> kernel{1, -1, 2, 3};

/// 2 * 3 + 3 * 4 = 18, times 0.25: a tie.
constexpr int value_of_conv() {
  return conv2d<vipnano_v8>(View(codes, {1, 2, 2, 2}, 0.5), View(kernel, {2, 1, 1, 2}, 0.25), {}, {.scale = 0.5}).values[3];
}
static_assert(value_of_conv() == 4);  // half_even
static_assert(requantize(vipnano_v8.conv.i8, 18, {.in = 0.5, .weight = 0.25, .out = 0.5}) == 4);
static_assert(requantize(tflite_double.conv.i8, 18, {.in = 0.5, .weight = 0.25, .out = 0.5}) == 5);  // half_up
static_assert(max_pool2d<vipnano_v8>(View(codes, {1, 2, 2, 2}, 0.5), 2).values[1] == 8);
static_assert(average_pool2d<vipnano_v8>(View(codes, {1, 2, 2, 2}, 0.5), 2).values[0] == 4);

static_assert(requantize<vipnano_v8.conv.i8>(18, {.in = 0.5, .weight = 0.25, .out = 0.5}) == 4);
static_assert(requantize<tflite_double.conv.i8>(18, {.in = 0.5, .weight = 0.25, .out = 0.5}) == 5);

/// Every value of a chain in words, known and given, is that of 128 bits: near zero, at both ends, and between.
template <auto rule>
void check_words() {
  std::vector<std::int32_t> sums;
  for (int bit = 0; bit < 32; ++bit) {
    for (int near = -2; near <= 2; ++near) {
      const std::int64_t power = (std::int64_t{1} << bit) + near;
      for (const std::int64_t sum : {power, -power}) sums.push_back(static_cast<std::int32_t>(narrow_saturate(sum, 32)));
    }
  }
  std::uint32_t random = 1;
  for (int i = 0; i < 3000; ++i) sums.push_back(static_cast<std::int32_t>(random = random * 1664525U + 1013904223U) >> (i % 31));
  std::vector<std::int8_t> known(sums.size()), given(sums.size()), exact(sums.size());
  for (const double scale : {1e-9, 3e-7, 0x1p-10, 0.0123, 0.5, 1.0, 3.0, 70000.0}) {
    const Requantization layer{.in = scale, .zero_point = -3};
    requantize<rule>(std::span<const std::int32_t>(sums), layer, std::span(known));
    requantize(rule, std::span<const std::int32_t>(sums), layer, std::span(given));
    for (std::size_t i = 0; i < sums.size(); ++i) exact[i] = requantize(rule, sums[i], layer);
    CHECK(known == exact);
    CHECK(given == exact);
  }
}

template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "computed";
}

}  // namespace

TEST_CASE("core: what a device lacks, or a layer leaves out, is named") {
  const View x(codes, {1, 2, 2, 2}, 0.5), w(kernel, {2, 1, 1, 2}, 0.25);
  CHECK(refusal([&] { return conv2d(vipnano_v8, x, w, {}, {}); }) == "conv2d: the output's scale is not stated");
  CHECK(refusal([&] {
          return conv2d(max78000, View(codes, {1, 2, 2, 2}, 0.5, 3), w, {}, {.scale = 1});
        }) == "conv2d: the device has only zero point 0");
  CHECK(refusal([&] { return conv2d(gna3_0, x, w, {}, {.scale = 1}); }) ==
        "conv2d: the device delivers sums and rescales nothing: call …_sums");
  CHECK(conv2d_sums(gna3_0, x, w, {}).values[3] == 18);
  CHECK(refusal([&] { return conv2d(float_golden, x, w, {}, {.scale = 1}); }) ==
        "conv2d: the golden float path computes no codes: call golden::");
  CHECK(refusal([&] { return concat(gap8, {x, x}, 3, {.scale = 1}); }) == "concat: the device cannot concatenate this type");
  const std::array<std::int32_t, 3> bias{1, 2, 3};
  CHECK(refusal([&] { return conv2d(vipnano_v8, x, w, bias, {.scale = 1}); }) == "conv2d: there is one bias per output channel");
  CHECK(refusal([&] {
          return conv2d(vipnano_v8, x, View(kernel, {1, 2, 1, 2}, 0.25), {}, {.scale = 1, .stride = 0});
        }) == "conv2d: a stride or dilation below 1");
  CHECK(refusal([&] { return add(vipnano_v8, x, View(kernel, {4}), {.scale = 1}); }) == "add: 1x2x2x2 and 4 do not broadcast");
}

TEST_CASE("core: a rule that a policy leaves out is refused while a program runs, in words too") {
  const View x(codes, {1, 2, 2, 2}, 0.5), w(kernel, {2, 1, 1, 2}, 0.25);
  const auto refused = [&](const auto& leave_out) {
    Backend mine = vipnano_v8;
    leave_out(mine.conv.i8.sum);
    return refusal([&] { return conv2d(mine, x, w, {}, {.scale = 0.5}).scale; });
  };
  const auto names = [](const std::string& text, const char* rule) {
    return text.find(std::string(rule) + " is not stated") != std::string::npos;
  };
  CHECK(names(refused([](SumArithmetic& sum) { sum.accumulator.overflow = unstated<Overflow>; }), "overflow"));
  CHECK(names(refused([](SumArithmetic& sum) {
                sum.output.chain = {stage::multiply(), Stage{.kind = StageKind::shift_right}, stage::add_zero_point(), stage::clamp()};
              }),
              "rounding"));
  CHECK(names(refused([](SumArithmetic& sum) {
                sum.output.chain = {stage::multiply(), stage::shift_right(Rounding::floor), Stage{.kind = StageKind::narrow, .bits = 16},
                                    stage::add_zero_point(), stage::clamp()};
              }),
              "overflow"));
}

TEST_CASE("core: chains in words compute what they do in 128 bits") {
  check_words<vipnano_v8.conv.i8>();
  check_words<vipnano_v7.conv.i8>();
  check_words<tflite_double.conv.i8>();
  check_words<tflite_single.conv.i8>();
  check_words<xnnpack_delegate.conv.i8>();
  check_words<gap8.conv.i8>();
}

TEST_CASE("core: a view's shape and scale are checked") {
  CHECK(refusal([&] { return View(codes, {1, 2, 2}, 0.5).scale(); }) == "view: 8 values for shape 1x2x2");
  CHECK(refusal([&] { return View(codes, {8}, 0.0).scale(); }) == "view: a scale that is not above 0");
  CHECK(refusal([&] { return View(codes, {8, 0}).scale(); }) == "shape: a size below 1, or beyond 2^31");
}

TEST_CASE("core: a difference has its histogram, and the golden path its own values") {
  const View x(codes, {1, 2, 2, 2}, 0.5), w(kernel, {2, 1, 1, 2}, 0.25);
  const auto a = conv2d(vipnano_v8, x, w, {}, {.scale = 0.5}), b = conv2d(tflite_double, x, w, {}, {.scale = 0.5});
  const Difference found = difference(a, b);
  CHECK(found.count == 8);
  CHECK(found.largest == 1);
  CHECK(found.histogram.at(1) == found.differing);
  CHECK(found.text() ==
        std::to_string(found.differing) + " of 8 values differ, by at most 1 (" + std::to_string(found.differing) + " by +1)");
  CHECK(difference(a, a).text() == "all 8 values are equal");
  CHECK(difference(a, a).cosine == 1);
  CHECK(golden::conv2d(x, w, {}).values[3] == 2.25);
  CHECK(golden::conv2d(x, w, {}, {.activation = Activation::relu}).values[0] == 0);
  CHECK(golden::conv2d(x, w, {}, {.scale = 0.01}).values[3] == 1.27);  // what the codes can say
}

}  // namespace lastbit::test
