// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sums of op/conv2d.hpp and op/transposed_conv2d.hpp as an equation: every (input, weight, output) triple that belongs together is
// found by scattering from the input, in no particular order, in exact sums.
#include "lastbit/op/conv2d.hpp"

#include <vector>

#include "lastbit/op/transposed_conv2d.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

struct Data {
  std::vector<std::int16_t> input, weights;
  std::vector<std::int64_t> bias;
};

std::int64_t between(std::int64_t low, std::int64_t high, std::mt19937_64& random) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

Data random_data(const ConvShape& s, std::mt19937_64& random) {
  Data data;
  data.input.resize(static_cast<std::size_t>(s.batch * s.in_height * s.in_width * s.in_channels));
  data.weights.resize(static_cast<std::size_t>(s.out_channels * s.taps()));
  data.bias.resize(static_cast<std::size_t>(s.out_channels));
  for (auto& value : data.input) value = static_cast<std::int16_t>(random());
  for (auto& value : data.weights) value = static_cast<std::int16_t>(random());
  for (auto& value : data.bias) value = narrow_wrap(static_cast<std::int64_t>(random()), 40);
  return data;
}

ConvShape random_shape(std::mt19937_64& random) {
  ConvShape s{.batch = between(1, 2, random), .in_height = between(1, 5, random), .in_width = between(1, 5, random)};
  s.groups = between(1, 3, random);
  s.in_channels = s.groups * between(1, 3, random);
  s.out_channels = s.groups * between(1, 3, random);
  s.out_height = between(1, 5, random);
  s.out_width = between(1, 5, random);
  s.kernel_height = between(1, 3, random);
  s.kernel_width = between(1, 4, random);
  s.stride_height = between(1, 3, random);
  s.stride_width = between(1, 2, random);
  s.dilation_height = between(1, 3, random);
  s.dilation_width = between(1, 2, random);
  s.pad_top = between(0, 3, random);
  s.pad_left = between(0, 2, random);
  return s;
}

/// Adds every product to the output that `position` names for an input coordinate and a kernel coordinate (-1: none).
template <class Position>
std::vector<Int128> scattered(const ConvShape& s, const Data& data, Position&& position) {
  std::vector<Int128> sums;
  for (std::int64_t i = 0; i < s.out_count(); ++i) sums.push_back(data.bias[static_cast<std::size_t>(i % s.out_channels)]);
  std::size_t input = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t in_y = 0; in_y < s.in_height; ++in_y)
      for (std::int64_t in_x = 0; in_x < s.in_width; ++in_x)
        for (std::int64_t c = 0; c < s.in_channels; ++c, ++input) {
          std::size_t weight = 0;
          for (std::int64_t o = 0; o < s.out_channels; ++o)
            for (std::int64_t ky = 0; ky < s.kernel_height; ++ky)
              for (std::int64_t kx = 0; kx < s.kernel_width; ++kx)
                for (std::int64_t i = 0; i < s.group_channels(); ++i, ++weight) {
                  const std::int64_t y = position(in_y, ky, s.stride_height, s.dilation_height, s.pad_top);
                  const std::int64_t x = position(in_x, kx, s.stride_width, s.dilation_width, s.pad_left);
                  const bool same_channel = c == o / (s.out_channels / s.groups) * s.group_channels() + i;
                  if (!same_channel || y < 0 || y >= s.out_height || x < 0 || x >= s.out_width) continue;
                  sums[static_cast<std::size_t>(((n * s.out_height + y) * s.out_width + x) * s.out_channels + o)] +=
                      Int128{data.input[input]} * data.weights[weight];
                }
        }
  return sums;
}

template <class Sum>
void compare(const ConvShape& s, const Data& data, const std::vector<Int128>& expected, Sum&& sum, Tally& tally) {
  std::size_t next = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t y = 0; y < s.out_height; ++y)
      for (std::int64_t x = 0; x < s.out_width; ++x)
        for (std::int64_t o = 0; o < s.out_channels; ++o, ++next) {
          for (const BiasAt bias_at : {BiasAt::accumulator_start, BiasAt::accumulator_end}) {
            const AccumulatorRule exact{64, Overflow::exact, NarrowingPoint::every_add};
            const AccumulatorRule wraps{32, Overflow::wrap, NarrowingPoint::every_add};
            const ConvIndex at{n, y, x, o};
            tally.equal(sum(s, at, data.input, data.weights, data.bias, exact, bias_at, 1).result(), expected[next], n, y, x, o);
            tally.equal(sum(s, at, data.input, data.weights, data.bias, wraps, bias_at, 1).result(), wrapped(expected[next], 32), n, y, x,
                        o);
          }
        }
}

TEST_CASE("conv2d: strides, dilations, padding and groups") {
  std::mt19937_64 random(71);
  Tally tally;
  for (int round = 0; round < 150; ++round) {
    const ConvShape s = random_shape(random);
    const Data data = random_data(s, random);
    const auto position = [](std::int64_t in, std::int64_t k, std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
      const std::int64_t start = in + pad - k * dilation;
      return start >= 0 && start % stride == 0 ? start / stride : -1;
    };
    compare(
        s, data, scattered(s, data, position), [](const auto&... of) { return accumulate(of...); }, tally);
  }
  tally.check(10000);
}

TEST_CASE("transposed conv2d: strides and padding") {
  std::mt19937_64 random(72);
  Tally tally;
  for (int round = 0; round < 150; ++round) {
    ConvShape s = random_shape(random);
    s.groups = s.dilation_height = s.dilation_width = 1;
    const Data data = random_data(s, random);
    const auto position = [](std::int64_t in, std::int64_t k, std::int64_t stride, std::int64_t, std::int64_t pad) {
      return in * stride + k - pad;
    };
    compare(s, data, scattered(s, data, position), accumulate_transposed, tally);
  }
  tally.check(10000);
}

// Terms 100, 100, -100 in this order (kernel left to right) in a saturating accumulator of eight bits: only the order decides.
constexpr ConvShape row_of_three{.in_width = 3, .kernel_width = 3};
constexpr std::int16_t ones[] = {1, 1, 1}, rising[] = {100, 100, -100}, falling[] = {-100, 100, 100};
constexpr std::int64_t twenty[] = {20};
constexpr AccumulatorRule saturating{8, Overflow::saturate, NarrowingPoint::every_add};
constexpr std::int64_t in_order(std::span<const std::int16_t> weights, BiasAt bias_at) {
  return accumulate(row_of_three, {}, ones, weights, twenty, saturating, bias_at).result();
}
static_assert(in_order(rising, BiasAt::accumulator_start) == 27);    // 20, 120, 127, 27
static_assert(in_order(rising, BiasAt::accumulator_end) == 47);      // 100, 127, 27, 47
static_assert(in_order(falling, BiasAt::accumulator_start) == 120);  // -80, 20, 120
static_assert(accumulate(row_of_three, {}, ones, rising, {}, saturating, BiasAt::accumulator_start).result() == 27);

// Three input pixels scatter onto one output pixel from left to right: weight index falls as the input moves right.
constexpr ConvShape gathered{.in_width = 3, .kernel_width = 3, .pad_left = 2};
static_assert(accumulate_transposed(gathered, {}, ones, falling, {}, saturating, BiasAt::accumulator_start).result() ==
              27);  // 100, 127, 27
static_assert(accumulate_transposed(gathered, {}, ones, rising, {}, saturating, BiasAt::accumulator_start).result() == 100);

}  // namespace
}  // namespace lastbit
