// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/window_sums.hpp"

namespace lastbit {
namespace {

template <class Sum>
void divide_each(std::span<Sum> sums, Sum count, Rounding rounding) {
  with_rounding(rounding, [&]<Rounding fixed>() {
    for (Sum& sum : sums) sum = divide<Sum>(sum, count, fixed);
  });
}

}  // namespace

void add_term(const SumArithmetic& sum, std::int64_t centred, const RescaleOperands& operands, Accumulator& accumulator) {
  accumulator.add(finish(sum.operand.chain, centred, operands));
}

void divide_all(std::span<std::int32_t> sums, std::int32_t count, Rounding rounding) { divide_each(sums, count, rounding); }
void divide_all(std::span<std::int64_t> sums, std::int64_t count, Rounding rounding) { divide_each(sums, count, rounding); }

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
