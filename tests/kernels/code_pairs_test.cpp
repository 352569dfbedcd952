// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pairs of products of codes that saturate at 16 bits (vpmaddubsw), and second sums of them (vpaddsw), by vectors: as the contract in
// accumulator.hpp says, pair by pair.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "engine/ops/convolution.hpp"
#include "lastbit/backends/pytorch.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

std::int64_t between(std::int64_t low, std::int64_t high, std::mt19937_64& random) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

struct CodeLayer {
  ConvShape shape;
  std::vector<std::uint8_t> codes;
  std::vector<std::int16_t> weights;
  std::vector<std::int64_t> bias;
  std::int64_t zero_point = 0;
};

/// Channels odd and even, windows that leave the image, codes and weights often at the ends of their range.
CodeLayer random_layer(std::mt19937_64& random) {
  CodeLayer layer;
  ConvShape& s = layer.shape;
  s.batch = between(1, 2, random);
  s.in_height = between(1, 7, random), s.in_width = between(1, 8, random);
  s.kernel_height = between(1, 3, random), s.kernel_width = between(1, 4, random);
  s.stride_height = between(1, 2, random), s.stride_width = between(1, 3, random);
  s.dilation_height = between(1, 2, random), s.dilation_width = between(1, 3, random);
  s.pad_top = between(0, 3, random), s.pad_left = between(0, 3, random);
  s.out_height = between(1, 6, random), s.out_width = between(1, 6, random);
  s.groups = random() % 3 == 0 ? 2 : 1;
  s.in_channels = s.groups * between(2, 70, random), s.out_channels = s.groups * between(1, 20, random);
  const auto at_ends = [&](std::int64_t low, std::int64_t high) {
    const std::int64_t ends[] = {low, high};
    return random() % 2 == 0 ? ends[random() % 2] : between(low, high, random);
  };
  layer.zero_point = at_ends(0, 255);
  for (std::int64_t i = 0; i < s.batch * s.in_height * s.in_width * s.in_channels; ++i)
    layer.codes.push_back(static_cast<std::uint8_t>(at_ends(0, 255)));
  for (std::int64_t i = 0; i < s.out_channels * s.taps(); ++i) layer.weights.push_back(static_cast<std::int16_t>(at_ends(-128, 127)));
  for (std::int64_t o = 0; o < s.out_channels; ++o) layer.bias.push_back(between(-100000, 100000, random));
  return layer;
}

/// `emptied`: terms of a second sum; 0: there is none. `terms`: 2, or 1 where every addition to the accumulator ends a partial sum.
std::int64_t expected(const CodeLayer& layer, const ConvIndex& at, std::int64_t emptied, std::int64_t terms) {
  const ConvShape& s = layer.shape;
  const std::int64_t depth = s.group_channels(), first = at.o / (s.out_channels / s.groups) * depth;
  std::int64_t sum = layer.bias[static_cast<std::size_t>(at.o)];
  for (std::int64_t ky = 0; ky < s.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
      const std::int64_t y = at.y * s.stride_height - s.pad_top + ky * s.dilation_height;
      const std::int64_t x = at.x * s.stride_width - s.pad_left + kx * s.dilation_width;
      if (y < 0 || y >= s.in_height || x < 0 || x >= s.in_width) continue;
      std::int64_t second = 0;
      for (std::int64_t c = 0; c < depth; c += terms) {
        std::int64_t pair = 0;
        for (std::int64_t i = c; i < std::min(c + terms, depth); ++i) {
          const auto code = static_cast<std::size_t>(((at.n * s.in_height + y) * s.in_width + x) * s.in_channels + first + i);
          const std::int64_t weight =
              layer.weights[static_cast<std::size_t>(((at.o * s.kernel_height + ky) * s.kernel_width + kx) * depth + i)];
          pair += layer.codes[code] * weight;
          sum -= layer.zero_point * weight;
        }
        second = std::clamp<std::int64_t>(second + std::clamp<std::int64_t>(pair, -32768, 32767), -32768, 32767);
        const bool is_emptied = emptied == 0 || (c + terms) % emptied == 0 || c + terms >= depth;
        if (is_emptied) sum += std::exchange(second, 0);
      }
    }
  }
  return sum;
}

/// Of the whole kernel as one row, in which padding has the zero point's code.
std::int64_t expected_of_kernel(const CodeLayer& layer, const ConvIndex& at, std::int64_t weight_zero) {
  const ConvShape& s = layer.shape;
  const std::int64_t depth = s.group_channels(), first = at.o / (s.out_channels / s.groups) * depth;
  std::int64_t sum = layer.bias[static_cast<std::size_t>(at.o)], pair = 0;
  for (std::int64_t t = 0; t < s.taps(); ++t) {
    const std::int64_t y = at.y * s.stride_height - s.pad_top + t / depth / s.kernel_width * s.dilation_height;
    const std::int64_t x = at.x * s.stride_width - s.pad_left + t / depth % s.kernel_width * s.dilation_width;
    const bool is_outside = y < 0 || y >= s.in_height || x < 0 || x >= s.in_width;
    const auto place = static_cast<std::size_t>(((at.n * s.in_height + y) * s.in_width + x) * s.in_channels + first + t % depth);
    const std::int64_t code = is_outside ? layer.zero_point : layer.codes[place];
    const std::int64_t centred = layer.weights[static_cast<std::size_t>(at.o * s.taps() + t)], weight = centred + weight_zero;
    pair += code * weight;
    sum += (code - layer.zero_point) * centred - code * weight;
    if (t % 2 == 0 && t + 1 < s.taps()) continue;
    sum += std::clamp<std::int64_t>(std::exchange(pair, 0), -32768, 32767);
  }
  return sum;
}

TEST_CASE("pairs of codes of the whole kernel cross its positions, and padding takes part") {
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    INFO("path " << path.name);
    const kernels::ScopedPath scope(path);
    std::mt19937_64 random(1610);
    Tally tally;
    for (std::size_t round = 0; round < 120; ++round) {
      CodeLayer layer = random_layer(random);
      const ConvShape& s = layer.shape;
      const std::int64_t weight_zero = round % 4 == 0 ? between(-20, 20, random) : 0;  // a weight's code stays within 8 bits
      for (std::int16_t& weight : layer.weights)
        weight = static_cast<std::int16_t>(std::clamp<std::int64_t>(weight + weight_zero, -128, 127) - weight_zero);
      ConvArithmetic arithmetic{.sum = {.accumulator = pytorch::pairs_saturate}, .bias = BiasAt::accumulator_start};
      arithmetic.sum.accumulator.partial.method = PartialMethod::kernel_codes;
      const std::int64_t largest = std::max(layer.zero_point, 255 - layer.zero_point);
      const Convolution convolution(s, Direction::forward, arithmetic, layer.weights, layer.bias, ElementType::uint8, largest, {}, {},
                                    {layer.zero_point, {weight_zero}});
      const ConvInput input{ElementType::uint8, reinterpret_cast<const std::byte*>(layer.codes.data()), layer.codes.size(),
                            layer.zero_point};
      std::vector<std::int64_t> found(static_cast<std::size_t>(s.out_count()));
      convolution.sums(input, found, nullptr);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto pixel = static_cast<std::int64_t>(i) / s.out_channels, row = pixel / s.out_width;
        const ConvIndex at{row / s.out_height, row % s.out_height, pixel % s.out_width, static_cast<std::int64_t>(i) % s.out_channels};
        tally.equal(found[i], expected_of_kernel(layer, at, weight_zero), round, at.y, at.x, at.o, s.group_channels(), weight_zero);
      }
    }
    tally.check(10000);
  }
}

TEST_CASE("pairs of codes saturate as the contract says, on every path, with and without counting") {
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    INFO("path " << path.name);
    const kernels::ScopedPath scope(path);
    std::mt19937_64 random(1609);
    Tally tally;
    SumRoutes routes;
    for (std::size_t round = 0; round < 160; ++round) {
      const CodeLayer layer = random_layer(random);
      const ConvShape& s = layer.shape;
      constexpr std::uint16_t every_emptied[] = {0, 256, 16, 2};
      const std::uint16_t emptied = every_emptied[round % std::size(every_emptied)];
      ConvArithmetic arithmetic{.sum = {.accumulator = pytorch::pairs_saturate}, .bias = BiasAt::accumulator_start};
      arithmetic.sum.accumulator.partial.emptied = emptied;
      const bool by_term = emptied == 0 && round % 8 == 0;
      if (by_term) arithmetic.sum.accumulator.when = NarrowingPoint::every_add;
      const Convolution convolution(s, Direction::forward, arithmetic, layer.weights, layer.bias, ElementType::uint8, 255, {}, {},
                                    {layer.zero_point});
      const ConvInput input{ElementType::uint8, reinterpret_cast<const std::byte*>(layer.codes.data()), layer.codes.size(),
                            layer.zero_point};
      std::vector<std::int64_t> found(static_cast<std::size_t>(s.out_count())), observed = found;
      Events events;
      convolution.sums(input, found, nullptr, &routes);
      convolution.sums(input, observed, &events);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto pixel = static_cast<std::int64_t>(i) / s.out_channels, row = pixel / s.out_width;
        const ConvIndex at{row / s.out_height, row % s.out_height, pixel % s.out_width, static_cast<std::int64_t>(i) % s.out_channels};
        tally.equal(found[i], expected(layer, at, emptied, by_term ? 1 : 2), round, emptied, at.y, at.x, at.o, s.group_channels());
        tally.equal(observed[i], found[i], round, at.y, at.x, at.o);
      }
      tally.equal(events.accumulator_overflows, 0, round);
    }
    tally.check(10000);
    CHECK(routes.step_by_step > routes.proven_by_type + routes.proven_by_input + routes.order_free);
  }
}

}  // namespace
}  // namespace lastbit
