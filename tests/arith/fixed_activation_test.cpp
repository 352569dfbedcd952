// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Softmax rows, logistic, tanh and hard swish in fixed point: recorded parameters and outputs, properties, and the error against the
// real function, bounded in output steps.
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "lastbit/arith/fixed_activation.hpp"
#include "lastbit/arith/fixed_softmax.hpp"
#include "support/catch.hpp"
#include "support/encodings.hpp"
#include "support/fixed_point.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;

constexpr ScaleEncoding double_build = q31;
constexpr ScaleEncoding single_build = [] {
  ScaleEncoding encoding = q31;
  encoding.max_exponent = 30;
  return encoding;
}();

static_assert(sigmoid_i16<Sigmoid::logistic>(0, {3, 0}) == 16384);
static_assert(hard_swish(hard_swish_parameters(double_build, 0.0625F, 0, 0.0625F, 0), std::int8_t{100}) == 100);
static_assert(softmax_parameters(double_build, 1.0, 1.0).smallest_difference == -15);

}  // namespace

TEST_CASE("16-bit division by a power of two: half_away up to 15, only a sign beyond") {
  for (std::int32_t value = -32768; value < 32768; ++value) {
    for (int exponent = 0; exponent <= 15; ++exponent) {
      const auto exact = static_cast<std::int64_t>(half_away_oracle(value, exponent));
      if (divide_by_power_of_two_i16(static_cast<std::int16_t>(value), exponent) != exact) FAIL(value << " / 2^" << exponent);
    }
  }
  CHECK(divide_by_power_of_two_i16(0, 16) == 1);  // gemmlowp's mask is all ones: neither 0 …
  CHECK(divide_by_power_of_two_i16(-32768, 31) == -1);
  CHECK(divide_by_power_of_two_i16(0, 15) == 0);  // … nor the neighbour within the range
}

TEST_CASE("int16 logistic and tanh: within 2 units, monotone, mirrored") {
  std::int16_t below_logistic = -1;
  std::int16_t below_tanh = -32768;
  for (std::int32_t v = -32767; v < 32768; ++v) {
    const auto x = static_cast<std::int16_t>(v);
    const std::int16_t logistic = sigmoid_i16<Sigmoid::logistic>(x, {3, 0});
    const std::int16_t tanh = sigmoid_i16<Sigmoid::tanh>(x, {3, 0});
    if (std::abs(logistic - 32768 / (1 + std::exp(-v / 4096.0L))) > 2 || std::abs(tanh - 32768 * std::tanh(v / 4096.0L)) > 2) FAIL(v);
    if (logistic < below_logistic || tanh < below_tanh) FAIL("falls at " << v);
    const auto mirrored = static_cast<std::int16_t>(-v);
    if (sigmoid_i16<Sigmoid::logistic>(mirrored, {3, 0}) != 32768 - logistic) FAIL("logistic of -" << v);
    if (sigmoid_i16<Sigmoid::tanh>(mirrored, {3, 0}) != -tanh) FAIL("tanh of -" << v);
    below_logistic = logistic;
    below_tanh = tanh;
  }
  CHECK(hash_of_range(-32768, 32767, [](int v) {
          return sigmoid_i16<Sigmoid::logistic>(static_cast<std::int16_t>(v), {3, 0});
        }) == 0xf3a13b4a69a7f18aU);  // of the recorded outputs
  CHECK(hash_of_range(-32768, 32767, [](int v) {
          return sigmoid_i16<Sigmoid::tanh>(static_cast<std::int16_t>(v), {3, 0});
        }) == 0xe95bed37f17c2702U);
  CHECK(sigmoid_i16<Sigmoid::logistic>(32767, {32767, 0}) == 32767);  // far beyond the table
  CHECK(sigmoid_i16<Sigmoid::logistic>(-32768, {32767, 0}) == 1);
  CHECK(sigmoid_i16<Sigmoid::tanh>(-32768, {32767, 0}) == -32767);
}

TEST_CASE("table input: 2^-12 as itself, tanh also 2^-11, a scale close to it as well, any other cut to 15 bits") {
  struct Case {
    Sigmoid function;
    double scale;
    SigmoidTableInput expected;
  };
  const auto [function, scale, expected] = GENERATE(values<Case>({
      {Sigmoid::logistic, 1.0 / 4096, {3, 0}},
      {Sigmoid::tanh, 1.0 / 4096, {3, 0}},
      {Sigmoid::tanh, 1.0 / 2048, {6, 0}},
      {Sigmoid::logistic, 1.0 / 2048, {24576, 12}},
      {Sigmoid::logistic, 1.0006 / 4096, {3, 0}},
      {Sigmoid::logistic, 1.0008 / 4096, {24595, 13}},  // 24595.66: cut, not rounded
      {Sigmoid::logistic, 0.00030517569393850863, {30719, 13}},
      {Sigmoid::tanh, 9.945218334905803e-05, {20022, 14}},
      {Sigmoid::tanh, 1e9, {2147483647, 0}},
  }));
  CHECK(sigmoid_table_input(function, scale) == expected);
}

TEST_CASE("8-bit logistic and tanh: saturated from the radius on, monotone, symmetric around the zero point") {
  const SigmoidParameters parameters = sigmoid_parameters(double_build, 0.1F);
  const double real = static_cast<double>(0.1F) * 134217728.0;
  CHECK(parameters.scale == EncodedScale{1717986944, 31, 31, 24, static_cast<float>(real), real});
  CHECK(parameters.radius == 120);
  const auto rescale = rescale_twice_by(parameters.scale);
  std::int8_t previous = -128;
  for (std::int32_t d = -255; d <= 255; ++d) {
    const std::int8_t logistic = sigmoid_i8<Sigmoid::logistic>(d, parameters.radius, rescale);
    const std::int8_t tanh = sigmoid_i8<Sigmoid::tanh>(d, parameters.radius, rescale);
    CHECK(logistic >= previous);
    previous = logistic;
    if (std::abs(d) < parameters.radius) {
      // The nearest step, but for the last places of the fixed-point function.
      CHECK(std::abs(logistic - std::min(127.0L, 256 / (1 + std::exp(-0.1L * d)) - 128)) < 0.51L);
      CHECK(std::abs(tanh - std::min(127.0L, 128 * std::tanh(0.1L * d))) < 0.51L);
    }
  }
  // The recorded outputs, zero point -90.
  CHECK(hash_of_range(-128, 127, [&](int q) { return sigmoid_i8<Sigmoid::logistic>(q + 90, 120, rescale); }) == 0xd736eaa1b4606acdU);
  CHECK(hash_of_range(-128, 127, [&](int q) { return sigmoid_i8<Sigmoid::tanh>(q + 90, 120, rescale); }) == 0x319fc3e20e0738a1U);
  CHECK(sigmoid_i8<Sigmoid::logistic>(-120, 120, rescale) == -128);
  CHECK(sigmoid_i8<Sigmoid::tanh>(-120, 120, rescale) == -128);
  CHECK(sigmoid_i8<Sigmoid::tanh>(120, 120, rescale) == 127);
  // From a scale of 8 on the radius is 0, and the zero point itself counts as far below.
  const SigmoidParameters coarse = sigmoid_parameters(double_build, 8.0);
  CHECK(coarse.radius == 0);
  CHECK(sigmoid_i8<Sigmoid::tanh>(0, coarse.radius, rescale_twice_by(coarse.scale)) == -128);
}

TEST_CASE("softmax parameters: the two builds differ only where the scale is capped") {
  struct Case {
    double scale;
    std::int64_t multiplier;
    int shift;
    std::int32_t smallest_difference;
  };
  const auto c = GENERATE(values<Case>({{0.00390625, 1073741824, 19, -3968}, {0.1, 1717986918, 23, -248}, {1.0, 1073741824, 27, -15}}));
  for (const ScaleEncoding& build : {double_build, single_build}) {
    const SoftmaxParameters got = softmax_parameters(build, 1.0, c.scale);
    CHECK(got.scale.multiplier == c.multiplier);
    CHECK(got.scale.exponent == c.shift);
    CHECK(got.smallest_difference == c.smallest_difference);
  }
  CHECK(softmax_parameters(double_build, 1.0, 1e6).scale.exponent == 31);
  CHECK(softmax_parameters(double_build, 1.0, 1e6).scale.multiplier == 2147483647);
  CHECK(softmax_parameters(single_build, 1.0, 1e6).scale.exponent == 30);
  CHECK(softmax_parameters(single_build, 1.0, 1e6).scale.multiplier == 2147483646);
  CHECK(softmax_scale_i16(double_build, 1.0, 0.000390625).multiplier == 1374368563);
  CHECK(softmax_scale_i16(double_build, 1.0, 0.000390625).exponent == 2);
}

TEST_CASE("softmax row: equal columns, one column, columns too small to count, recorded row") {
  const SoftmaxParameters parameters = softmax_parameters(double_build, 1.0, 1.0);
  const auto rescale = rescale_twice_by(parameters.scale);
  std::array<std::int8_t, 4> output{};
  softmax_row<std::int8_t, std::int8_t>(std::array<std::int8_t, 4>{7, 7, 7, 7}, output, parameters.smallest_difference, rescale);
  CHECK(output == std::array<std::int8_t, 4>{-64, -64, -64, -64});  // 256 / 4 - 128
  softmax_row<std::int8_t, std::int8_t>(std::array<std::int8_t, 4>{127, -128, 100, 127}, output, parameters.smallest_difference, rescale);
  CHECK(output == std::array<std::int8_t, 4>{0, -128, -128, 0});

  // From a scale of 16 on only the largest columns count.
  const SoftmaxParameters coarse = softmax_parameters(double_build, 1.0, 16.0);
  CHECK(coarse.smallest_difference == 0);
  softmax_row<std::int8_t, std::int8_t>(std::array<std::int8_t, 4>{7, 6, 7, -1}, output, 0, rescale_twice_by(coarse.scale));
  CHECK(output == std::array<std::int8_t, 4>{0, -128, 0, -128});

  std::array<std::int8_t, 1> one_i8{};
  std::array<std::uint8_t, 1> one_u8{};
  std::array<std::int16_t, 1> one_i16{};
  softmax_row<std::int8_t, std::int8_t>(std::array<std::int8_t, 1>{-5}, one_i8, parameters.smallest_difference, rescale);
  softmax_row<std::uint8_t, std::uint8_t>(std::array<std::uint8_t, 1>{5}, one_u8, parameters.smallest_difference, rescale);
  softmax_row<std::int8_t, std::int16_t>(std::array<std::int8_t, 1>{-5}, one_i16, parameters.smallest_difference, rescale);
  CHECK((one_i8[0] == 127 && one_u8[0] == 255 && one_i16[0] == 32767));  // 1.0 does not fit and is clamped
}

TEST_CASE("softmax row: every probability within one step, more columns than a 32-bit sum holds") {
  const SoftmaxParameters parameters = softmax_parameters(double_build, 1.0, 0.02);
  std::vector<std::int8_t> input(300);
  std::mt19937 random(20240612);
  for (std::int8_t& value : input) value = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
  std::vector<std::int16_t> output(input.size());
  softmax_row<std::int8_t, std::int16_t>(input, output, parameters.smallest_difference, rescale_twice_by(parameters.scale));
  long double sum = 0;
  for (const std::int8_t value : input) sum += std::exp(0.02L * value);
  for (std::size_t i = 0; i < input.size(); ++i) {
    CHECK(std::abs(output[i] + 32768 - 65536 * std::exp(0.02L * input[i]) / sum) < 1);
  }
  std::vector<std::int8_t> many(9000, 3);  // 8,192 equal columns make a 32-bit sum wrap to 0
  std::vector<std::int16_t> shares(many.size());
  softmax_row<std::int8_t, std::int16_t>(many, shares, parameters.smallest_difference, rescale_twice_by(parameters.scale));
  CHECK(shares == std::vector<std::int16_t>(many.size(), -32768 + 7));  // 65536 / 9000 = 7.28
}

TEST_CASE("int16 softmax row: one column is clamped, equal columns share, in place") {
  const auto rescale = rescale_twice_by(softmax_scale_i16(double_build, 1.0, 0.000390625));
  std::array<std::int16_t, 1> one{-77};
  softmax_row_i16(one, one, rescale);
  CHECK(one[0] == 32767);
  std::array<std::int16_t, 4> four{9, 9, 9, 9};
  softmax_row_i16(four, four, rescale);
  CHECK(four == std::array<std::int16_t, 4>{8192, 8192, 8192, 8192});
  std::array<std::int16_t, 2> far{32767, -32768};
  softmax_row_i16(far, far, rescale);
  CHECK(far == std::array<std::int16_t, 2>{32766, 2});  // beyond -10 the table stays at its first entry
}

TEST_CASE("int16 softmax row as recorded: the sum is rounded, and single rounding differs from double") {
  const EncodedScale scale = softmax_scale_i16(double_build, 1.0, 1.52587890625e-05);
  std::array<std::int16_t, 10> row{-20078, -20480, -12597, 29746, -18127, 27530, -12598, 2100, 19632, 21315};
  softmax_row_i16(row, row, rescale_twice_by(scale));
  CHECK(row == std::array<std::int16_t, 10>{2246, 2232, 2518, 4804, 2314, 4644, 2518, 3150, 4117, 4224});

  const EncodedScale right_shift = softmax_scale_i16(double_build, 1.0, 5.3198695241007954e-05);
  const std::array<std::int16_t, 3> input{-11363, -22539, -5801};
  std::array<std::int16_t, 3> output{};
  softmax_row_i16(input, output, rescale_twice_by(right_shift));
  CHECK(output == std::array<std::int16_t, 3>{11315, 6243, 15211});
  softmax_row_i16(input, output, rescale_once_by(right_shift));
  CHECK(output == std::array<std::int16_t, 3>{11315, 6244, 15210});
}

TEST_CASE("an entry of the table: less than one step from the function, mirrored, the last one from there on") {
  for (std::int64_t x = -40000; x <= 40000; ++x) {
    const long double real = static_cast<long double>(x) / 4096;
    const long double logistic = 32768 / (1 + std::exp(-real)), tanh = 32768 * std::tanh(real);
    // The steepest step: 1/24 of the argument times a slope of 1/4, of tanh twice that.
    CHECK(std::abs(static_cast<long double>(sigmoid_entry<Sigmoid::logistic>(x)) - logistic) < 32768.0L / 96 + 2);
    CHECK(std::abs(static_cast<long double>(sigmoid_entry<Sigmoid::tanh>(x)) - tanh) < 32768.0L / 48 + 2);
    if (x > 0) CHECK(sigmoid_entry<Sigmoid::tanh>(-x) == -sigmoid_entry<Sigmoid::tanh>(x));
  }
  CHECK(sigmoid_entry<Sigmoid::logistic>(0) == 16384);
  CHECK(sigmoid_entry<Sigmoid::logistic>(1 << 30) == sigmoid_entry<Sigmoid::logistic>(255 * 512));
  CHECK(sigmoid_entry<Sigmoid::logistic>(170) == 16384);  // 510 of 1/12288: still the first entry
  CHECK(sigmoid_entry<Sigmoid::logistic>(171) > 16384);   // 513: the second
}

TEST_CASE("hard swish: parameters and outputs as recorded") {
  struct Case {
    float input_scale, output_scale;
    std::uint64_t outputs;  ///< hash of the recorded outputs of all 256 inputs
    HardSwishParameters expected;
  };
  const auto c = GENERATE(values<Case>({
      {0.08158548176288605F, 0.14273783564567566F, 0xa1c980facabf6aa3U, {112, -106, 28516, 3, 18729, -7}},
      {0.0625F, 0.0625F, 0x5514194acae25cbdU, {24, -74, 21845, 3, 16384, -6}},  // toward_zero from floor in step 5
      {0.13408046960830688F, 0.020405812188982964F, 0x475658146bc5e33bU, {-2, 22, 23432, 4, 26914, -4}},
  }));
  CHECK(hard_swish_parameters(double_build, c.input_scale, c.expected.input_zero_point, c.output_scale, c.expected.output_zero_point) ==
        c.expected);
  CHECK(hash_of_range(-128, 127, [&](int q) { return hard_swish(c.expected, static_cast<std::int8_t>(q)); }) == c.outputs);
}

TEST_CASE("hard swish: within one step of x relu6(x + 3) / 6, zero below -3, and the 16-bit sum wraps") {
  const float scale = 0.0625F;
  const HardSwishParameters parameters = hard_swish_parameters(double_build, scale, 24, scale, -74);
  for (std::int32_t q = -128; q < 128; ++q) {
    const long double x = scale * static_cast<long double>(q - 24);
    const long double exact = x * std::clamp(x + 3, 0.0L, 6.0L) / 6 / scale - 74;
    const std::int8_t got = hard_swish(parameters, static_cast<std::int8_t>(q));
    CHECK(std::abs(got - std::clamp(exact, -128.0L, 127.0L)) < 1);
    const HardSwishParameters unsigned_parameters = hard_swish_parameters(double_build, scale, 24 + 128, scale, -74 + 128);
    CHECK(hard_swish(unsigned_parameters, static_cast<std::uint8_t>(q + 128)) == got + 128);  // uint8 is int8 moved by 128
  }
  CHECK(hard_swish(parameters, std::int8_t{-24}) == -74);  // exactly -3
  // No right shift at the end, a multiplier near 1 and a large zero point: 32,384 + 500 leaves 16 bits and comes back negative.
  CHECK(hard_swish(HardSwishParameters{-128, 500, 32767, 15, 32767, 0}, std::int8_t{127}) == -128);
}
