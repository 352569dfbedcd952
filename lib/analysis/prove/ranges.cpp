// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/ranges.hpp"

#include <algorithm>

#include "engine/held_codes.hpp"
#include "engine/operands.hpp"
#include "lastbit/operation_rules.hpp"
#include "model/whole_numbers.hpp"

namespace lastbit {
namespace {

IntegerRange hull(const IntegerRange& a, const IntegerRange& b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

IntegerRange range_in(const Tensor& tensor) {
  IntegerRange range{tensor.integer_at(0), tensor.integer_at(0)};
  for (std::int64_t i = 1; i < tensor.element_count(); ++i) range = hull(range, {tensor.integer_at(i), tensor.integer_at(i)});
  return range;
}

IntegerRange of_type(ElementType type) { return is_integer(type) ? range_of(type) : IntegerRange{}; }

/// The stage without its wrap-around: what it would be if it had room.
Stage unwrapped(Stage stage) {
  if (stage.overflow == Overflow::wrap) stage.overflow = Overflow::exact;
  return stage;
}

IntegerRange hull_of_inputs(const Operation& operation, const TensorRanges& ranges) {
  IntegerRange range = ranges[static_cast<std::size_t>(operation.inputs[0])];
  for (const std::int32_t index : operation.inputs) {
    if (index != absent_tensor) range = hull(range, ranges[static_cast<std::size_t>(index)]);
  }
  return range;
}

/// Values move; a pad adds its own.
IntegerRange range_after_movement(const Model& model, const Operation& operation, const TensorRanges& ranges) {
  const IntegerRange range = ranges[static_cast<std::size_t>(operation.inputs[0])];
  if (operation.kind != OperationKind::pad) return range;
  const std::int64_t zero = model.tensor(operation.inputs[0]).quantization.zero_point();
  const std::int64_t value = std::get<PadAttributes>(operation.attributes).value.value_or(zero);
  return hull(range, {value, value});
}

IntegerRange clamped(const IntegerRange& range, const IntegerRange& bounds) {
  return {std::clamp(range.min, bounds.min, bounds.max), std::clamp(range.max, bounds.min, bounds.max)};
}

bool average_is_clamped(const AveragePoolArithmetic& rule) {
  return rule.in_float.method != FloatAverageMethod::absent || ends_in(rule.sum.output.chain, StageKind::clamp);
}

bool sum_is_clamped(const Model& model, const Operation& operation, const Backend& backend) {
  const SumArithmetic* const rule = sum_arithmetic_of(model, operation, backend).second;
  return rule == nullptr || ends_in(rule->output.chain, StageKind::clamp);
}

bool same_quantization(const Model& model, const Operation& operation) {
  const Quantization& out = model.tensor(operation.outputs[0]).quantization;
  return std::ranges::all_of(operation.inputs, [&](std::int32_t index) { return model.tensor(index).quantization == out; });
}

}  // namespace

TensorRanges ranges_by_type(const Model& model) {
  TensorRanges ranges;
  for (const ModelTensor& tensor : model.tensors) {
    const bool known = tensor.constant && is_integer(tensor.type) && tensor.shape.element_count() > 0;
    ranges.push_back(known ? range_in(*tensor.constant) : of_type(tensor.type));
  }
  return ranges;
}

TensorRanges ranges_on(const Model& model, const Trace& trace) {
  TensorRanges ranges = ranges_by_type(model);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (trace.tensors[i] && is_integer(trace.tensors[i]->type())) ranges[i] = range_in(*trace.tensors[i]);
  }
  return ranges;
}

namespace {

/// What the chain makes of the range's ends, or `at_most` where a stage may wrap or turns the order round.
IntegerRange between_ends(const Chain& chain, const IntegerRange& range, const RescaleOperands& operands, const IntegerRange& at_most) {
  InFlight low{range.min, 0}, high{range.max, 0};
  for (const Stage& stage : chain) {
    const InFlight low_before = low, high_before = high;
    low = apply(stage, low, operands);
    high = apply(stage, high, operands);
    const bool wraps = apply(unwrapped(stage), low_before, operands).value != low.value ||
                       apply(unwrapped(stage), high_before, operands).value != high.value;
    if (!facts_of(stage).keeps_order || wraps) return at_most;
  }
  const auto [least, largest] = std::minmax(low.value, high.value);  // a multiplier may be negative
  return {narrow_saturate(least, 64), narrow_saturate(largest, 64)};
}

}  // namespace

IntegerRange range_through(const Chain& chain, const IntegerRange& accumulators, const RescaleOperands& operands) {
  const bool is_clamped = chain.stages[chain.size - 1U].kind == StageKind::clamp;
  const IntegerRange last{is_clamped ? operands.min : operands.storage_min, is_clamped ? operands.max : operands.storage_max};
  return between_ends(chain, accumulators, operands, last);
}

IntegerRange range_of_term(const Chain& chain, const IntegerRange& products, const RescaleOperands& operands) {
  return between_ends(chain, products, operands, {min_of_width(64), max_of_width(64)});
}

IntegerRange range_of_outputs(const ConvLayer& layer, std::span<const IntegerRange> results) {
  std::optional<IntegerRange> all;
  for (std::size_t o = 0; o < results.size(); ++o) {
    const IntegerRange one = layer.delivers_sums() ? results[o]
                                                   : range_through(layer.arithmetic.sum.output.chain, results[o],
                                                                   layer.operands_of(static_cast<std::int64_t>(o)));
    all = all ? hull(*all, one) : one;
  }
  return *all;
}

IntegerRange range_after(const Model& model, const Operation& operation, const Backend& backend, const TensorRanges& ranges) {
  using enum OperationKind;
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const IntegerRange type = of_type(output.type);
  if (!is_integer(output.type) || !is_integer(model.tensor(operation.inputs[0]).type)) return type;
  if (moves_between_scales(model, operation)) return type;
  if (is_movement(operation.kind)) return range_after_movement(model, operation, ranges);
  if (computes_in_float32(operation, backend) || is_on_whole_numbers(model, operation)) return type;
  const bool keeps = same_quantization(model, operation);
  switch (operation.kind) {
    case max_pool2d:
      return clamped(hull_of_inputs(operation, ranges), bounds_of(std::get<Pool2dAttributes>(operation.attributes).bounds, output));
    case average_pool2d:
    case global_average_pool: {
      const auto& rule = average_pool_of(operation, backend);
      return average_is_clamped(rule) ? bounds_of(std::get<Pool2dAttributes>(operation.attributes).bounds, output) : type;
    }
    case maximum:
    case minimum:
    case reduce_max:
    case reduce_min: return hull_of_inputs(operation, ranges);
    case add:
    case sub:
    case add_n:
      return sum_is_clamped(model, operation, backend) ? bounds_of(std::get<ElementwiseAttributes>(operation.attributes).bounds, output)
                                                       : type;
    case concat: return keeps && backend.concat.method != ConcatMethod::rescaled ? hull_of_inputs(operation, ranges) : type;
    case clip:
      return keeps ? clamped(hull_of_inputs(operation, ranges), bounds_of(std::get<ClipAttributes>(operation.attributes).bounds, output))
                   : type;
    case relu:
      return ends_in(requantization_of(model, operation, backend).chain, StageKind::clamp) ? bounds_of(Activation::relu, output) : type;
    case relu6:
      return ends_in(requantization_of(model, operation, backend).chain, StageKind::clamp) ? bounds_of(Activation::relu6, output) : type;
    default: return type;
  }
}

void put_range(const Operation& operation, const IntegerRange& range, TensorRanges& ranges) {
  ranges[static_cast<std::size_t>(operation.outputs[0])] = range;
  // Only movements have several outputs of one range; states are what their types hold.
  if (!is_movement(operation.kind)) return;
  for (const std::int32_t output : operation.outputs) ranges[static_cast<std::size_t>(output)] = range;
}

}  // namespace lastbit
