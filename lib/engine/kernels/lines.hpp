// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Outputs of one byte straight from the sums of a tile's block, while they are near. Of every sum its place on a line is computed, in fractions of an
// output (engine/output_lines.hpp lays the lines, and proves what follows). A place between two outputs is the lower one; a sum whose place is an output
// itself may belong to the one before, and is listed. The text is lines.inc, one for all paths. Plain numbers and pointers alone, as in finish.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lastbit::kernels {

/// sum * slope + (sum < 0 ? below : above) in float, rounded once, and then to the nearest integer: how many times 2^-fraction_bits the place is. Each
/// list has as many entries as the vectors have lanes.
struct OutputLines {
  const float *slope = nullptr, *above = nullptr, *below = nullptr;
  int fraction_bits = 0;
  bool by_sign = false;  ///< `above` and `below` are not the same
  std::int32_t smallest = 0, largest = 0;
};

/// A sum whose place has no fraction.
struct UndecidedSum {
  std::uint32_t output;  ///< of the tile
  std::int32_t sum;
};
struct UndecidedSums {
  UndecidedSum* list = nullptr;  ///< with room for every output of the tile
  std::size_t count = 0;
};

/// Sums of some pixels and some vectors of channels, in whole vectors.
struct LineBlock {
  const OutputLines* lines = nullptr;
  std::size_t first_channel = 0;  ///< of the lines'
  const std::int32_t* sums = nullptr;
  std::size_t sum_stride = 0;  ///< from one pixel to the next
  std::size_t pixels = 0, channels = 0;
  std::int8_t* outputs = nullptr;  ///< which receive the low bits
  std::size_t output_stride = 0;
  std::size_t first_output = 0;  ///< of the tile
  UndecidedSums* undecided = nullptr;
};
using FinishBlock = void (*)(const LineBlock& block);

/// Of two codes two lines: a * slope_a + (b * slope_b + offset) in float, each product rounded with its addition, and `gap` more. Where both are rounded
/// to the same integer, that is the output; the others are listed.
struct PairLines {
  float slope_a = 0, slope_b = 0, offset = 0, gap = 0;
  std::int32_t smallest = 0, largest = 0;
};

/// Codes of 8 bits side by side.
struct PairBlock {
  const PairLines* lines = nullptr;
  const void *a = nullptr, *b = nullptr;
  bool is_signed = true;  ///< both
  std::size_t count = 0;
  std::int8_t* outputs = nullptr;      ///< which receive the low bits
  std::uint32_t* undecided = nullptr;  ///< with room for `count`
};
/// Lists the undecided ones, and says how many there are.
using FinishPairs = std::size_t (*)(const PairBlock& block);

namespace avx2 {
void line_outputs(const LineBlock& block);
std::size_t pair_outputs(const PairBlock& block);
}  // namespace avx2
namespace avx512 {
void line_outputs(const LineBlock& block);
std::size_t pair_outputs(const PairBlock& block);
}  // namespace avx512
namespace neon {
void line_outputs(const LineBlock& block);
std::size_t pair_outputs(const PairBlock& block);
}  // namespace neon

}  // namespace lastbit::kernels
