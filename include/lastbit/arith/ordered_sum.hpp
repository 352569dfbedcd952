// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The order in which a sum of floating-point terms is added up: rounding makes it part of the result.
//
// Contract of ordered_sum over the terms t0, t1, … with an addition that rounds every sum:
//   sequential         ((t0 + t1) + t2) + …
//   pairwise           neighbours are added, then the sums of neighbours, until one is left; an odd last one moves up as it is
//   blocks_sequential  `block` consecutive terms are added up sequentially, and each such sum to the running sum of the blocks before it
//   blocks_pairwise    likewise, each block added up pairwise
//   blocks_exact       likewise, each block added up exactly and rounded once to float32, half to even. For terms that are multiples of
//                      2^-48 below 2^34, as products of two float16 values are; a block with any other term is added up sequentially.
// A start value, such as a bias, is what the running sum begins with; pairwise it is added to the finished sum of the terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "lastbit/arith/integer.hpp"

namespace lastbit {

/// What every step is rounded to.
enum class StepPrecision : std::uint8_t { float16, float32 };

enum class SumOrder : std::uint8_t { sequential, pairwise, blocks_sequential, blocks_pairwise, blocks_exact };

struct SumRule {
  StepPrecision precision = StepPrecision::float32;
  SumOrder order = SumOrder::sequential;
  std::uint8_t block = 16;  ///< read by blocks_…
  friend constexpr bool operator==(const SumRule&, const SumRule&) = default;
};

[[nodiscard]] constexpr bool in_blocks(SumOrder order) noexcept { return order >= SumOrder::blocks_sequential; }

/// The exact sum rounded once, or nothing if a term is no multiple of 2^-48 below 2^34. Fewer than 2^40 terms.
[[nodiscard]] constexpr std::optional<float> exact_sum(std::span<const float> terms) noexcept {
  Int128 sum = 0;
  for (const float term : terms) {
    if (!(term < 0x1p34F && term > -0x1p34F)) return std::nullopt;  // also NaN
    const float units = term * 0x1p48F;                             // exact: only the exponent changes, to 82 at most
    const auto whole = static_cast<Int128>(units);
    if (static_cast<float>(whole) != units) return std::nullopt;
    sum += whole;
  }
  return static_cast<float>(sum) * 0x1p-48F;  // the conversion rounds half to even, the scaling is exact
}

/// The sum of one term or more: the definition. add(float, float) rounds.
template <class Add>
[[nodiscard]] constexpr float ordered_sum(std::span<const float> terms, SumOrder order, std::size_t block, Add&& add) noexcept {
  if (terms.size() == 1) return terms[0];
  if (order == SumOrder::pairwise) {
    // The largest power of two below the count splits the terms as adding neighbours does.
    std::size_t left = 1;
    while (2 * left < terms.size()) left *= 2;
    return add(ordered_sum(terms.first(left), order, block, add), ordered_sum(terms.subspan(left), order, block, add));
  }
  if (order == SumOrder::sequential) {
    float sum = terms[0];
    for (const float term : terms.subspan(1)) sum = add(sum, term);
    return sum;
  }
  const SumOrder inside = order == SumOrder::blocks_pairwise ? SumOrder::pairwise : SumOrder::sequential;
  std::optional<float> running;
  for (std::size_t at = 0; at < terms.size(); at += block) {
    const auto part = terms.subspan(at, terms.size() - at < block ? terms.size() - at : block);
    const auto exact = order == SumOrder::blocks_exact ? exact_sum(part) : std::nullopt;
    const float sum = exact ? *exact : ordered_sum(part, inside, block, add);
    running = running ? add(*running, sum) : sum;
  }
  return *running;
}

}  // namespace lastbit
