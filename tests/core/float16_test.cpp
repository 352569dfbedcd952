// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of binary16 values by the calls of lastbit/core.hpp; random ones: tests/differential/core_differential.cpp.
#include <array>
#include <lastbit/core.hpp>
#include <support/catch.hpp>

namespace lastbit::test::core_float16 {
namespace {

constexpr Float16 one{0x3C00}, largest{0x7BFF}, infinite{0x7C00}, all_ones{0x7FFF};
constexpr std::array<Float16, 4> halves{largest, largest, one, Float16{0xBC00}};  // 65504, 65504, 1, -1

/// 65504 + 65504 of a device.
template <const Backend& device>
constexpr Float16 twice_the_largest() {
  return add<device>(View(halves, {4}), View(halves, {4})).values[0];
}
static_assert(twice_the_largest<ascend310>() == largest);
static_assert(twice_the_largest<ascend910b>() == infinite);
static_assert(twice_the_largest<ascend_ge2021>() == all_ones);
static_assert(mul<ascend310>(View(halves, {4}), View(halves, {4})).values[3] == one);
static_assert(sub<ascend310>(View(halves, {4}), View(halves, {4})).values[0] == Float16{});
/// Float32 partial sums leave 65504 and come back; [2 x 2] times [2 x 2].
static_assert(matmul<ascend310>(View(halves, {2, 2}), View(halves, {2, 2})).values[0] == largest);
static_assert(conv2d<ascend310>(View(halves, {1, 2, 2, 1}), View(halves, {1, 2, 2, 1}), {}).values[0] == largest);

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

TEST_CASE("core, binary16: what a device lacks, and a scale, are named") {
  const View x(halves, {1, 2, 2, 1});
  CHECK(refusal([&] { return conv2d(vipnano_v8, x, x, {}); }) == "conv2d: the device has no float16 arithmetic");
  CHECK(refusal([&] { return add(vipnano_v8, x, x); }) == "add: the device has no float16 arithmetic");
  CHECK(refusal([&] { return conv2d(ascend310, x, x, {}, {.scale = 1}); }) == "conv2d: a binary16 output has no scale and no zero point");
  CHECK(refusal([&] { return add(ascend310, View(halves, {4}, 0.5), View(halves, {4})); }) == "add: binary16 values have no scale");
  Backend unstated_sum = ascend310;
  unstated_sum.float16.sum.overflow = unstated<Float16Overflow>;
  CHECK(refusal([&] { return add(unstated_sum, x, x); }) == "add: a rule of the device's float16 arithmetic is not stated");
  CHECK(mul(unstated_sum, x, x).values[2] == one);
}

TEST_CASE("core, binary16: a sum has the order, the bias and the width of its rule") {
  const std::array<Float16, 3> x{largest, one, largest}, w{one, one, Float16{0xBC00}};
  const View left(x, {1, 3}), right(w, {1, 3});
  CHECK(fully_connected(ascend310, left, right, {}).values[0] == one);  // float32 holds 65505
  Backend narrow = ascend310;
  narrow.float16.cube.sum = {.precision = StepPrecision::float16, .order = SumOrder::sequential};
  CHECK(fully_connected(narrow, left, right, {}).values[0] == Float16{});  // 65505 is 65504 again
  const std::vector<float> bias{0.5F};
  CHECK(fully_connected(ascend310, left, right, bias).values[0] == Float16{0x3E00});
  CHECK(fully_connected(ascend310, left, right, bias, {.activation = Activation::relu_n1_to_1}).values[0] == one);
}

TEST_CASE("core, binary16: conversions saturate, and codes go by way of float16") {
  const std::vector<float> real{65519.0F, 65520.0F, -1e9F, 0.1F};
  const auto saturated = quantize<ascend310>(real, {4}), infinity = quantize<Float16>(ascend910b, real, {4});
  CHECK(saturated.values == std::vector<Float16>{largest, largest, Float16{0xFBFF}, Float16{0x2E66}});
  CHECK(infinity.values == std::vector<Float16>{largest, infinite, Float16{0xFC00}, Float16{0x2E66}});
  CHECK(dequantize(ascend310, saturated.view()).values[1] == 65504.0F);
  // 2049 is 2048 in float16: times 1 / 16 a tie less, 128 and not 128.06.
  const std::vector<float> above{2049.0F / 16, 2.5F, 3.5F};
  CHECK(quantize<std::int16_t>(ascend310, above, {3}, {.scale = 0.0625}).values == std::vector<std::int16_t>{2048, 40, 56});
  CHECK(quantize<std::int8_t>(ascend310, above, {3}, {.scale = 1}).values == std::vector<std::int8_t>{127, 2, 4});
  CHECK(quantize<std::int8_t>(ascend310, saturated.view(), {.scale = 1}).values == std::vector<std::int8_t>{127, 127, -128, 0});
  const std::array<std::int8_t, 2> codes{-3, 100};
  CHECK(dequantize<Float16>(ascend310, View(codes, {2}, 1000.0, -1)).values == std::vector<Float16>{Float16{0xE7D0}, largest});
}

TEST_CASE("core, binary16: windows leave out what lies outside") {
  const View x(halves, {1, 2, 2, 1});
  CHECK(max_pool2d(ascend310, x, 2).values[0] == largest);
  const std::array<Float16, 4> small{one, one, Float16{0x4000}, Float16{0x4000}};
  CHECK(average_pool2d(ascend310, View(small, {1, 2, 2, 1}), 2).values[0] == Float16{0x3E00});
  CHECK(average_pool2d(ascend310, View(small, {1, 2, 2, 1}), 2, {.stride = 2, .padding = 1}).values[0] == one);
  CHECK(average_pool2d(ascend310, x, 2).values[0] == Float16{0x73FF});  // 65504 + 65504 saturates; a quarter of it is 16376
}

TEST_CASE("core, binary16: a difference is in units in the last place") {
  const std::array<Float16, 3> a{one, largest, Float16{}}, b{Float16{0x3C02}, infinite, Float16{0x8000}};
  const Difference found = difference(View(a, {3}), View(b, {3}));
  CHECK(found.text() == "3 of 3 values differ, by at most 2 (1 by -1, 1 by +1, 1 by +2)");
}

}  // namespace lastbit::test::core_float16
