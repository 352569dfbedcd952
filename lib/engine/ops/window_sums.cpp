// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/window_sums.hpp"

namespace lastbit {

Settling settling_of(const SumArithmetic& sum, Int128 largest) {
  const AccumulatorRule& rule = sum.accumulator;
  if (!sum.operand.chain.empty()) return Settling::at_every_term;
  if (rule.overflow == Overflow::exact || largest <= max_of_width(rule.bits)) return Settling::none;
  return is_order_independent(rule) ? Settling::once : Settling::at_every_term;
}

Int128 largest_sum(const ModelTensor& in, std::int64_t count) {
  const IntegerRange codes = range_of(in.type);
  const std::int64_t zero = in.quantization.zero_point();
  const Int128 centred = std::max(Int128{codes.max} - zero, Int128{zero} - codes.min);
  return std::max({centred, Int128{codes.max}, -Int128{codes.min}}) * count;
}

}  // namespace lastbit
