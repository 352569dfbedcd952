// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The list of host paths. Each is one function table; dispatch, the equality test and benchmarks are made from this list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/finish.hpp"

namespace lastbit::kernels {

/// out[r] = sum over i of a[i] * rows[r * length + i], modulo 2^32, for r in [0, count).
/// A pairwise multiply-add may wrap for two products of (-2^15)^2: modulo 2^32 that is still the sum.
using DotRowsI16 = void (*)(const std::int16_t* a, const std::int16_t* rows, std::size_t length, std::size_t count, std::int32_t* out);

/// sums[c] += x[c] * w[c], modulo 2^32, for c in [0, channels).
using MultiplyAddI16 = void (*)(const std::int16_t* x, const std::int16_t* w, std::size_t channels, std::int32_t* sums);

struct Path {
  std::string_view name;
  bool (*available)();
  DotRowsI16 dot_rows_i16;
  MultiplyAddI16 multiply_add_i16;
  Finish finish;
  std::size_t finish_lanes;  ///< of 32 bits, in which a plan for `finish` is laid out
};

/// Slowest first; scalar is always available.
[[nodiscard]] std::span<const Path> paths();
/// LASTBIT_PATH, or the last available one. Throws Error(unavailable_path).
[[nodiscard]] const Path& selected_path();

namespace scalar {
void dot_rows_i16(const std::int16_t* a, const std::int16_t* rows, std::size_t length, std::size_t count, std::int32_t* out);
void multiply_add_i16(const std::int16_t* x, const std::int16_t* w, std::size_t channels, std::int32_t* sums);
}  // namespace scalar

#if defined(__x86_64__)
namespace avx2 {
void dot_rows_i16(const std::int16_t* a, const std::int16_t* rows, std::size_t length, std::size_t count, std::int32_t* out);
void multiply_add_i16(const std::int16_t* x, const std::int16_t* w, std::size_t channels, std::int32_t* sums);
}  // namespace avx2
#endif

}  // namespace lastbit::kernels
