// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The list of host paths. Each is one function table; dispatch, the equality test and benchmarks are made from this list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/kernels/finish.hpp"
#include "engine/kernels/half.hpp"
#include "engine/kernels/input_bytes.hpp"
#include "engine/kernels/lines.hpp"

namespace lastbit::kernels {

/// A group is what one 32-bit lane multiplies at once: four bytes (inputs unsigned, weights signed) or two 16-bit words, both signed.
inline constexpr std::size_t group_bytes = 4;

/// A tile of sums of products, modulo 2^32. For pixel p and channel c
///   sums[p * stride + c] = start[c] + sum over runs r, groups g of x(p, r, g, c) . w(r, g, c)
/// dense:        x is the group at pixels[p] + runs[r] + 4 g, the same for all channels;
/// depthwise:  x is the group at pixels[p] + runs[r] + 4 c, and a run is one group long.
struct ProductTile {
  const std::byte* const* pixels;
  std::size_t pixel_count;
  const std::ptrdiff_t* runs;  ///< byte offsets
  std::size_t run_count;
  std::size_t groups;         ///< of one run
  const std::byte* weights;   ///< [vectors][runs][groups][lanes] groups, as many vectors of lanes as hold the channels
  std::size_t vector_bytes;   ///< from one vector's weights to the next one's
  const std::int32_t* start;  ///< as many as the vectors have lanes
  std::size_t channels;
  std::int32_t* sums;
  std::size_t stride;
  std::size_t emptied = 0;  ///< of emptied pairs: how many a second sum takes in

  /// Not null: outputs[p * stride + c] in place of the sums, as lines.hpp has it.
  FinishBlock finish = nullptr;
  OutputLines lines{};
  std::int8_t* outputs = nullptr;
  std::size_t first_output = 0;  ///< as which outputs[0] is listed
  UndecidedSums* undecided = nullptr;
};
using SumProducts = void (*)(const ProductTile& tile);
/// magnitudes: words of which none is negative; a sum that would be more than 2^31 - 1 is 2^31 - 1.
/// pairs: bytes; the sum of each of a group's two pairs of products is brought into 16 bits.
/// emptied pairs: the same, each pair a group of two bytes, and twice as many channels to a vector. A second sum of 16 bits, which saturates too,
/// takes in `emptied` of them, or what is left of a run, and goes into the sum.

/// A tile of sums in a device's width, term by term. The running sum of pixel p and channel c begins at start[c]; after
/// every `period` terms, and after the last, it is brought into [lower, upper]: to the nearer end (saturates), or modulo the width of
/// that range, a power of two. Terms are x * w in the order of the runs; x at pixels[p] + runs[r] + i, w at weights[(r * length + i) * row + c].
/// Any running sum must fit 63 bits.
struct StepTile {
  const std::int16_t* const* pixels;
  std::size_t pixel_count;
  const std::ptrdiff_t* runs;  ///< in values
  std::size_t run_count;
  std::size_t length;           ///< terms of one run
  const std::int16_t* weights;  ///< one row for every term
  std::size_t row;              ///< of whole vectors
  const std::int64_t* start;    ///< as many as a row has
  std::int64_t lower, upper;
  bool saturates;
  bool fits_words;  ///< every product fits 16 bits
  std::size_t period;
  std::size_t channels;   ///< of whole vectors, as every row
  std::int64_t* sums;     ///< [pixels][row]
  std::int64_t* outside;  ///< null, or one for every sum: how often it had left the range
};
using SumSteps = void (*)(const StepTile& tile);

struct Path {
  std::string_view name;
  bool (*available)();
  std::size_t lanes;                             ///< sums of a vector
  SumProducts dense_bytes, depthwise_bytes;      ///< null where the instruction set has no exact product of bytes
  SumProducts dense_pairs, dense_emptied_pairs;  ///< null as above
  SumProducts dense_words, depthwise_words;
  SumProducts dense_magnitudes, depthwise_magnitudes;
  SumSteps steps;
  Finish finish;
  std::size_t finish_lanes;  ///< of 32 bits, in which a plan for `finish` is laid out
  const FloatCodeKernels* float_codes;
  const HalfKernels* half;              ///< null: binary16 value by value
  FinishBlock line_outputs;             ///< null: products are delivered as sums alone
  FinishPairs pair_outputs;             ///< null: sums of codes go through their chains alone
  const InputKernels* input = nullptr;  ///< null where the instruction set has no exact product of bytes
};

/// A row of StepTile holds whole pairs of a path's vectors.
[[nodiscard]] constexpr std::size_t whole_vectors(std::size_t count, std::size_t lanes) { return (count + lanes - 1) / lanes * lanes; }

/// Slowest first; scalar is always available.
[[nodiscard]] std::span<const Path> paths();
/// The one of the innermost ScopedPath; else LASTBIT_PATH, or the last available one. Throws Error(unavailable_path).
[[nodiscard]] const Path& selected_path();

/// What is prepared while it lives is prepared for that path. For tests, which compare paths in one process.
class ScopedPath {
 public:
  explicit ScopedPath(const Path& path);
  ScopedPath(const ScopedPath&) = delete;
  ScopedPath& operator=(const ScopedPath&) = delete;
  ~ScopedPath();

 private:
  const Path* before_;
};

}  // namespace lastbit::kernels
