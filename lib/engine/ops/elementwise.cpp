// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// mul with broadcasting, and what it shares with sums.
#include "engine/ops/elementwise.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

Operand operand_of(const ModelTensor& tensor, const Shape& to, std::int64_t zero_point) {
  const IntegerRange range = range_of(tensor.type);
  return {CodeReader(tensor.shape, to), Finisher({}, {RescaleOperands{}}, FinisherInput{range.min, range.max, zero_point}),
          narrow_saturate(std::max(Int128{range.max} - zero_point, Int128{zero_point} - range.min), 64)};
}

}  // namespace

Pair pair_of(const Model& model, const Operation& operation, std::int64_t a_zero, std::int64_t b_zero) {
  const ModelTensor& a = model.tensor(operation.inputs[0]);
  const ModelTensor& b = model.tensor(operation.inputs[1]);
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  return {operand_of(a, out, a_zero), operand_of(b, out, b_zero), size_of(a.type) <= 2 && size_of(b.type) <= 2};
}

bool delivers_sums(const ModelTensor& output) { return output.type == ElementType::int32 && !output.quantization.present(); }

Finisher sum_finisher(const Operation& operation, const ModelTensor& output, const OutputBounds& bounds, int width) {
  if (bounds != OutputBounds{}) throw_unsupported(operation, "a sum that is delivered as it is has no activation and no clamp");
  if (width > 32) throw_unsupported(operation, "the sum takes up to " + std::to_string(width) + " bits and is delivered as int32");
  return Finisher({stage::clamp()}, {operands_for({}, output, range_of(output.type))}, width);
}

void require_scale_of(const Operation& operation, double scale, const ModelTensor& output) {
  if (output.quantization.scale() == scale) return;
  throw_unsupported(operation, "'" + output.name + "' has another scale than the sum; the backend rescales nothing");
}

Executor in_float(Pair pair, kernels::CombineInFloat kernel, const kernels::FloatPair& floats, const ModelTensor& output,
                  IntegerRange range) {
  return pairwise_in<std::int32_t>(
      std::move(pair), Finisher({stage::clamp()}, {operands_for({}, output, range)}, 32),
      [=](const std::int32_t* a, const std::int32_t* b, std::int32_t* out, std::size_t count) { kernel(floats, a, b, out, count); });
}

double product_scale(const RescaleRule& rule, const ModelTensor& a, const ModelTensor& b, const ModelTensor& output) {
  const double first = a.quantization.scale(), second = b.quantization.scale();
  return effective_scale(rule, {.in = first,
                                .first_in = first,
                                .larger_in = std::max(first, second),
                                .weight = second,
                                .out = output.quantization.present() ? output.quantization.scale() : 1});
}

Executor prepare_mul(const Model& model, const Operation& operation, const Backend& backend) {
  const RescaleRule& rule = mul_of(model, operation, backend);
  if (rule.chain.empty()) throw_unsupported(operation, "the backend has no such arithmetic");
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const ModelTensor &first = model.tensor(operation.inputs[0]), &second = model.tensor(operation.inputs[1]);
  const Quantization &a = first.quantization, &b = second.quantization;
  const OutputBounds& bounds = std::get<ElementwiseAttributes>(operation.attributes).bounds;
  const double scale = product_scale(rule, first, second, output);
  const bool raw = delivers_sums(output);
  if (!raw && !applies_scale(rule.chain)) require_scale_of(operation, a.scale() * b.scale(), output);
  Pair pair = pair_of(model, operation, a.zero_point(), b.zero_point());
  const Int128 largest = Int128{pair.a.largest} * pair.b.largest;
  const bool small = largest <= max_of_width(32);
  const int width = small ? 32 : largest <= max_of_width(34) ? 34 : 64;
  Finisher finisher =
      raw ? sum_finisher(operation, output, bounds, width)
          : Finisher(output_chain(operation, rule.chain, bounds), layer_operands(operation, rule.scale, {scale}, output, bounds), width);
  const auto product = [](const auto* va, const auto* vb, auto* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = va[i] * vb[i];
  };
  if (pair.narrow && small) return pairwise_in<std::int32_t>(std::move(pair), std::move(finisher), product);
  return pairwise_in<std::int64_t>(std::move(pair), std::move(finisher), product);
}

}  // namespace lastbit
