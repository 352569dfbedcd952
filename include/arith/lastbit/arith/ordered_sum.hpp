// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The order in which a sum of floating-point terms is added up: rounding makes it part of the result.
//
// Contract of ordered_sum over the terms t0, t1, … with an addition that rounds every sum to its precision:
//   sequential         ((t0 + t1) + t2) + …
//   pairwise           neighbours are added, then the sums of neighbours, until one is left; an odd last one moves up as it is
//   blocks_sequential  `block` consecutive terms are added up sequentially, and each such sum to the running sum of the blocks before it
//   blocks_pairwise    likewise, each block added up pairwise
//   blocks_exact       likewise, each block added up exactly, rounded once to float32, half to even, and then to the precision. For multiples of
//                      2^-48 below 2^34, as products of two float16 values are; a block with any other term is added up sequentially.
// A start value, such as a bias, is what the running sum begins with; pairwise it is added to the finished sum of the terms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lastbit/arith/integer.hpp"
#include "lastbit/arith/unstated.hpp"

namespace lastbit {

/// What every step is rounded to.
enum class StepPrecision : std::uint8_t { float16, float32 };

enum class SumOrder : std::uint8_t { sequential, pairwise, blocks_sequential, blocks_pairwise, blocks_exact };

/// A rule: the precision of the steps of a floating-point sum, and their order.
struct SumRule {
  StepPrecision precision = unstated<StepPrecision>;
  SumOrder order = unstated<SumOrder>;
  std::uint8_t block = 16;  ///< read by blocks_…
  friend constexpr bool operator==(const SumRule&, const SumRule&) = default;
};

[[nodiscard]] constexpr bool in_blocks(SumOrder order) noexcept { return order >= SumOrder::blocks_sequential; }

/// The exact sum rounded once, or nothing if a term is no multiple of 2^-48 below 2^34. Fewer than 2^40 terms.
template <class T, class Arithmetic>
[[nodiscard]] constexpr std::optional<float> exact_sum(std::span<const T> terms, Arithmetic&& arithmetic) noexcept {
  Int128 sum = 0;
  for (const T& term : terms) {
    const float value = arithmetic.real(term);
    if (!(value < 0x1p34F && value > -0x1p34F)) return std::nullopt;  // also NaN
    const float units = value * 0x1p48F;                              // exact: only the exponent changes, to 82 at most
    const auto whole = static_cast<Int128>(units);
    if (static_cast<float>(whole) != units) return std::nullopt;
    sum += whole;
  }
  return static_cast<float>(sum) * 0x1p-48F;  // the conversion rounds half to even, the scaling is exact
}

/// Adds up neighbours in place until one is left.
template <class T, class Arithmetic>
[[nodiscard]] constexpr T pairwise_sum(std::span<T> terms, Arithmetic&& arithmetic) noexcept {
  for (std::size_t count = terms.size(); count > 1; count = (count + 1) / 2) {
    for (std::size_t i = 0; i < count / 2; ++i) terms[i] = arithmetic.sum(terms[2 * i], terms[2 * i + 1]);
    if (count % 2 != 0) terms[count / 2] = terms[count - 1];
  }
  return terms[0];
}

template <class T, class Arithmetic>
[[nodiscard]] constexpr T sequential_sum(std::span<const T> terms, std::optional<T> start, Arithmetic&& arithmetic) noexcept {
  T sum = start ? arithmetic.sum(*start, terms[0]) : terms[0];
  for (const T& term : terms.subspan(1)) sum = arithmetic.sum(sum, term);
  return sum;
}

template <class T, class Arithmetic>
[[nodiscard]] constexpr T block_sum(std::span<T> terms, SumOrder order, Arithmetic&& arithmetic) noexcept {
  if (order == SumOrder::blocks_pairwise) return pairwise_sum(terms, arithmetic);
  const auto exact = order == SumOrder::blocks_exact ? exact_sum<T>(terms, arithmetic) : std::nullopt;
  return exact ? arithmetic.rounded(*exact) : sequential_sum<T>(terms, std::nullopt, arithmetic);
}

/// The sum of one term or more. `arithmetic` has sum(T, T), which rounds, real(T), the value as a float, and rounded(float).
/// Uses the terms up: they hold partial sums afterwards.
template <class T, class Arithmetic>
[[nodiscard]] constexpr T ordered_sum(std::span<T> terms, const SumRule& rule, std::optional<T> start, Arithmetic&& arithmetic) noexcept {
  if (rule.order == SumOrder::sequential) return sequential_sum<T>(terms, start, arithmetic);
  if (rule.order == SumOrder::pairwise) {
    const T sum = pairwise_sum(terms, arithmetic);
    return start ? arithmetic.sum(*start, sum) : sum;
  }
  const auto sum_at = [&](std::size_t at) {
    return block_sum(terms.subspan(at, std::min<std::size_t>(rule.block, terms.size() - at)), rule.order, arithmetic);
  };
  T running = start ? arithmetic.sum(*start, sum_at(0)) : sum_at(0);
  for (std::size_t at = rule.block; at < terms.size(); at += rule.block) running = arithmetic.sum(running, sum_at(at));
  return running;
}

}  // namespace lastbit
