// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// svdf, a recurrent layer of rank-1 filters: every filter turns the input into one number (feature), remembers the last `memory` of them,
// and weighs them (time). Contract, per batch row; F filters, U = F / rank outputs, values minus their zero points:
//   1. the state [F, memory] moves one place to the left; the oldest column is lost;
//   2. feature sum of filter f: input[i] * feature weights[f, i] for every i in order, in the device's accumulator; through the state chain,
//      with input * feature weight / state scale, it becomes the last column;
//   3. time sum of filter f: state[f, m] * time weights[f, m] for every m, in the accumulator;
//   4. output u: an accumulator that starts at bias[u] (0 without bias) and adds the time sums of the filters u*rank … u*rank + rank - 1;
//   5. the output chain, with state * time weight / output scale; bounds: the element type, or also the fused activation (`activation`).
// Weights have zero point 0.
// Shapes: input [batch, inputs], feature weights [F, inputs], time weights [F, memory], state [batch, F * memory], bias [U]; outputs [batch, U]
//   and the new state. Units: input, weights, state and output in scales of their own, the bias in state * time weight.
// Errors: bad_attribute where rank does not divide F, shape_mismatch; unsupported_operation where the device has no svdf, or no state of the type.
// Source: tflite-micro svdf_common.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lastbit/arith/accumulator.hpp"

namespace lastbit {

/// The sizes of an svdf.
struct SvdfShape {
  std::int64_t batch = 1, inputs = 1, filters = 1, memory = 1, rank = 1;
  [[nodiscard]] constexpr std::int64_t units() const { return filters / rank; }
};

/// Steps 2 and 3: the sum of products of two rows of equal length, term by term.
[[nodiscard]] constexpr Accumulator sum_of_products(std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                                                    const AccumulatorRule& rule) {
  Accumulator sum(rule, 0);
  for (std::size_t i = 0; i < a.size(); ++i) sum.add(a[i] * b[i]);
  return sum;
}

/// Step 1 for one filter: everything one place to the left. The last place keeps its value until step 2 replaces it.
constexpr void forget_oldest(std::span<std::int64_t> row) noexcept {
  for (std::size_t m = 1; m < row.size(); ++m) row[m - 1] = row[m];
}

/// Step 4.
[[nodiscard]] constexpr Accumulator sum_of_filters(std::int64_t bias, std::span<const std::int64_t> time_sums,
                                                   const AccumulatorRule& rule) {
  Accumulator sum(rule, bias);
  for (const std::int64_t term : time_sums) sum.add(term);
  return sum;
}

}  // namespace lastbit
