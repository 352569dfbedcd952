// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sums of an operation as sums: terms of an input times a weight in the device's order, whatever the operation is called.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/prove/bounds.hpp"
#include "engine/ops/conv_layer.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"
#include "lastbit/prove.hpp"

namespace lastbit {

struct SumTerm {
  std::size_t input = 0;  ///< which value; or in_padding
  std::int64_t weight = 0;
};

/// One sum. It may speak for several outputs that add the same terms in the same order: then their biases are a range.
struct Sum {
  std::int64_t channel = 0;
  std::int64_t index = 0;  ///< of the output: the first of those it speaks for
  std::span<const SumTerm> terms;
  std::span<const std::size_t> runs;  ///< terms before each run (arith/accumulator.hpp)
  std::size_t group = 1;
  std::int64_t multiplier = 1;
  SumRange bias;
  std::int64_t lowest_bias_index = 0, highest_bias_index = 0;  ///< outputs with the ends of that range
  BiasAt bias_at = BiasAt::accumulator_start;
};
using VisitSum = std::function<void(const Sum&)>;

struct Sums {
  std::string part;
  AccumulatorRule rule;
  std::string rule_path;  ///< of the width: "conv.i8.accumulator.bits"; empty: the sheet has no rule for it
  bool has_width = true;  ///< the sheet, or the contract of the operation, names a width
  Chain operand{};        ///< what every product passes, with one of the operands below for all channels or one for each
  std::vector<RescaleOperands> term_operands{};  ///< empty: products are the terms
  CodeZeros code_zeros{};                        ///< read where partial sums are of codes
  SumRange beyond{};                             ///< what a product of codes has more than its term, where that is no constant
  std::int64_t channels = 1;
  std::vector<IntegerRange> inputs;           ///< of the values that enter: one range, or one for each input channel in turn
  std::function<void(const VisitSum&)> each;  ///< every sum, channel by channel
  std::shared_ptr<ConvLayer> layer;  ///< where the sums are those of a layer over the operation's first input: data can be followed
  /// The operation's data inputs, in which value i is given to sums as input i. Empty: the terms are no codes of an input.
  std::function<std::vector<Tensor>(std::span<const std::int64_t> values)> place;
  /// Where there is no layer: overflows of this width on one sample, inputs null for constants. Empty: the device counts by itself.
  std::function<OverflowCount(std::span<const Tensor* const> inputs, int bits)> count;
  std::size_t values = 0;  ///< how many there are to place

  [[nodiscard]] TermRule term_rule(std::int64_t channel) const {
    if (term_operands.empty()) return term_rule_of(rule, code_zeros, channel);
    return {&operand, &term_operands[term_operands.size() == 1 ? 0 : static_cast<std::size_t>(channel)]};
  }
  [[nodiscard]] IntegerRange range_of(std::size_t input) const {
    return input == in_padding ? IntegerRange{0, 0} : inputs[input % inputs.size()];
  }
};

/// The codes that tensors can hold, by index in the model.
using TensorRanges = std::vector<IntegerRange>;

/// Every kind of sum of the operation; none: it adds nothing up, or not by integer rules. Throws Error for what the backend cannot do.
[[nodiscard]] std::vector<Sums> sums_of(const Model& model, const Operation& operation, const Backend& backend, const TensorRanges& ranges);

/// The sums of a layer, whatever made it.
[[nodiscard]] Sums sums_of_layer(ConvLayer layer, std::vector<IntegerRange> inputs, std::string rule_path);

/// What the sum can be, step by step.
[[nodiscard]] BoundAccumulator bound(const Sums& sums, const Sum& sum);

/// Calls begin_run(length) and add(term) as the accumulator wants them.
template <class BeginRun, class Add>
void walk(const Sum& sum, BeginRun&& begin_run, Add&& add) {
  std::size_t next = 0;
  const auto start_runs = [&](std::size_t at) {
    for (; next < sum.runs.size() && sum.runs[next] == at; ++next) {
      const std::size_t end = next + 1 < sum.runs.size() ? sum.runs[next + 1] : sum.terms.size();
      begin_run(static_cast<std::int64_t>(end - at));
    }
  };
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    start_runs(i);
    add(sum.terms[i]);
  }
  start_runs(sum.terms.size());
}

/// Every product of two values.
[[nodiscard]] IntegerRange product(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange centred(const IntegerRange& codes, std::int64_t zero_point);

}  // namespace lastbit
