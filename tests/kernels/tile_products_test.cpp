// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Products by a matrix unit, on one of plain arrays that computes what Intel's manual says of tileloadd, tilestored and tdpbusd: the sums of the
// definition, whatever the number of pixels, channels and groups, and however the pixels lie; nothing else is written, and outputs between lines are listed.
#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "support/tally.hpp"

namespace lastbit::kernels {
namespace {

class Unit {
 public:
  Unit() { std::memset(tiles, 0xA5, sizeof tiles); }

  template <int number>
  static void load(const void* rows, std::size_t apart) {
    for (std::size_t r = 0; r < 16; ++r) std::memcpy(tiles[number][r], static_cast<const std::byte*>(rows) + r * apart, 64);
  }
  template <int number>
  static void store(void* rows, std::size_t apart) {
    for (std::size_t r = 0; r < 16; ++r) std::memcpy(static_cast<std::byte*>(rows) + r * apart, tiles[number][r], 64);
  }
  template <int sums>
  static void multiply() {
    const auto& data = tiles[sums < 2 ? 4 : 5];
    const auto& weights = tiles[sums % 2 == 0 ? 6 : 7];
    for (std::size_t m = 0; m < 16; ++m) {
      for (std::size_t n = 0; n < 16; ++n) {
        std::uint32_t sum = 0;
        std::memcpy(&sum, tiles[sums][m] + 4 * n, 4);
        for (std::size_t k = 0; k < 16; ++k)
          for (std::size_t i = 0; i < 4; ++i)
            sum += static_cast<std::uint32_t>(std::to_integer<std::uint8_t>(data[m][4 * k + i]) *
                                              static_cast<std::int8_t>(std::to_integer<std::uint8_t>(weights[k][4 * n + i])));
        std::memcpy(tiles[sums][m] + 4 * n, &sum, 4);
      }
    }
  }

 private:
  static inline std::byte tiles[8][16][64];
};

#include "engine/kernels/tile_products.inc"

using test::Tally;

/// How the pixels lie: each as far behind the one before; anyhow; the last of every sixteen elsewhere.
enum class Layout : std::uint8_t { evenly, anyhow, last_apart };

struct Shape {
  std::size_t pixels, channels, runs, groups;
  Layout layout;
};

std::int32_t expected(const ProductTile& tile, std::size_t pixel, std::size_t channel) {
  auto sum = static_cast<std::uint32_t>(tile.start[channel]);
  const std::byte* w = tile.weights + channel / 16 * tile.vector_bytes + channel % 16 * group_bytes;
  for (std::size_t r = 0; r < tile.run_count; ++r)
    for (std::size_t g = 0; g < tile.groups; ++g, w += 16 * group_bytes)
      for (std::size_t i = 0; i < group_bytes; ++i)
        sum += static_cast<std::uint32_t>(
            std::to_integer<std::uint8_t>(tile.pixels[pixel][tile.runs[r] + static_cast<std::ptrdiff_t>(4 * g + i)]) *
            static_cast<std::int8_t>(std::to_integer<std::uint8_t>(w[i])));
  return static_cast<std::int32_t>(sum);
}

void compare(const Shape& shape, std::mt19937_64& random, Tally& tally) {
  const std::size_t vectors = (shape.channels + 15) / 16, row = shape.groups * group_bytes + random() % 9, stride = shape.channels + 3;
  std::vector<std::byte> data((shape.pixels + shape.runs + 4) * (row + 8) + 64), weights(vectors * (shape.runs * shape.groups + 1) * 64);
  for (auto* const bytes : {&data, &weights})
    for (std::byte& each : *bytes) each = random() % 4 == 0 ? std::byte{0x80} : static_cast<std::byte>(random());
  std::vector<std::int32_t> start(vectors * 16), sums(shape.pixels * stride, 77);
  for (std::int32_t& value : start) value = static_cast<std::int32_t>(random());
  std::vector<const std::byte*> windows;
  for (std::size_t p = 0; p < shape.pixels; ++p) {
    const bool is_moved = shape.layout == Layout::anyhow || (shape.layout == Layout::last_apart && p % 16 == 15);
    windows.push_back(data.data() + p * row + (is_moved ? 1 + random() % 7 : 0));
  }
  if (shape.layout == Layout::anyhow && random() % 2 == 0) std::ranges::reverse(windows);
  std::vector<std::ptrdiff_t> runs;
  for (std::size_t r = 0; r < shape.runs; ++r) runs.push_back(static_cast<std::ptrdiff_t>(r * row));
  ProductTile tile{windows.data(), shape.pixels,   runs.data(), shape.runs, shape.groups, weights.data(), shape.runs * shape.groups * 64,
                   start.data(),   shape.channels, sums.data(), stride};
  dense_tiles(tile);
  for (std::size_t p = 0; p < shape.pixels; ++p)
    for (std::size_t c = 0; c < stride; ++c)
      tally.equal(sums[p * stride + c], c < shape.channels ? expected(tile, p, c) : 77, shape.pixels, shape.channels, shape.runs,
                  shape.groups, p, c);
}

TEST_CASE("sums by tiles: whole and partial ones, pixels that lie evenly or anyhow") {
  std::mt19937_64 random(20261128);
  Tally tally;
  for (const std::size_t pixels : {1U, 2U, 15U, 16U, 17U, 31U, 32U, 33U, 49U, 70U})
    for (const std::size_t channels : {1U, 15U, 16U, 17U, 32U, 33U, 50U})
      for (const Layout layout : {Layout::evenly, Layout::anyhow, Layout::last_apart})
        compare({pixels, channels, 1 + random() % 3, 1 + random() % 40, layout}, random, tally);
  for (std::size_t groups = 0; groups <= 48; ++groups)
    for (const Layout layout : {Layout::evenly, Layout::last_apart}) compare({32, 32, 2, groups, layout}, random, tally);
  tally.check(150'000);
}

/// Blocks of which outputs are made: where they were, and what they held.
std::vector<LineBlock> blocks;
std::vector<std::int32_t> block_sums;

TEST_CASE("outputs in place of sums: each block once, where it belongs") {
  std::mt19937_64 random(3);
  constexpr std::size_t pixels = 45, channels = 41, groups = 20, vectors = 3, stride = 50;
  std::vector<std::byte> data(pixels * groups * 4 + 64), weights(vectors * groups * 64);
  for (std::byte& each : data) each = static_cast<std::byte>(random());
  for (std::byte& each : weights) each = static_cast<std::byte>(random());
  const std::vector<std::int32_t> start(vectors * 16, 5);
  std::vector<const std::byte*> windows;
  for (std::size_t p = 0; p < pixels; ++p) windows.push_back(data.data() + p * groups * 4);
  const std::ptrdiff_t run = 0;
  std::vector<float> list(vectors * 16);
  std::vector<std::int8_t> outputs(pixels * stride, 0);
  ProductTile tile{windows.data(), pixels, &run, 1, groups, weights.data(), groups * 64, start.data(), channels, nullptr, stride};
  tile.lines = {list.data(), list.data(), list.data(), 0, false, -128, 127};
  tile.outputs = outputs.data();
  tile.first_output = 7;
  tile.finish = [](const LineBlock& block) {
    blocks.push_back(block);
    for (std::size_t p = 0; p < block.pixels; ++p) {
      for (std::size_t c = 0; c < block.channels; ++c) {
        block_sums.push_back(block.sums[p * block.sum_stride + c]);
        ++block.outputs[p * block.output_stride + c];
      }
    }
  };
  dense_tiles(tile);
  Tally tally;
  std::size_t next = 0;
  for (const LineBlock& block : blocks) {
    const auto place = static_cast<std::size_t>(block.outputs - outputs.data());
    tally.equal(block.first_output, 7 + place);
    tally.equal(block.first_channel, place % stride);
    tally.equal(static_cast<std::int64_t>(place % stride) % 32, 0);
    for (std::size_t p = 0; p < block.pixels; ++p)
      for (std::size_t c = 0; c < block.channels; ++c)
        tally.equal(block_sums[next++], expected(tile, place / stride + p, place % stride + c), place, p, c);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) tally.equal(outputs[i], i % stride < channels ? 1 : 0, i);
  tally.check(pixels * (stride + channels));
}

}  // namespace
}  // namespace lastbit::kernels
