// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/layer_parts.hpp"

#include <algorithm>
#include <string>

#include "engine/operands.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {

namespace {

template <class Arithmetic>
const Arithmetic& existing(const Arithmetic& chosen, const Model& model, const Operation& operation) {
  if (exists(chosen.sum)) return chosen;
  throw_unsupported(operation, "the backend has no arithmetic for " + std::string(name_of(model.tensor(operation.inputs[0]).type)) +
                                   " data with " + std::string(name_of(model.tensor(operation.inputs[1]).type)) + " weights");
}

}  // namespace

const ConvArithmetic& select_arithmetic(const Model& model, const Operation& operation, const ConvByType& by_type) {
  return existing(*conv_arithmetic_of(model, operation, by_type).second, model, operation);
}
const MatmulArithmetic& select_arithmetic(const Model& model, const Operation& operation, const MatmulByType& by_type) {
  return existing(*matmul_arithmetic_of(model, operation, by_type).second, model, operation);
}

const ModelTensor* input_tensor(const Model& model, const Operation& operation, std::size_t position) {
  if (position >= operation.inputs.size() || operation.inputs[position] == absent_tensor) return nullptr;
  return &model.tensor(operation.inputs[position]);
}

void require_integer_data(const Operation& operation, const ModelTensor& tensor) {
  if (!is_integer(tensor.type) || size_of(tensor.type) > 2) {
    throw_unsupported(operation, "tensor '" + tensor.name + "' is " + std::string(name_of(tensor.type)) + "; 8 or 16 bits are needed");
  }
  if (size_of(tensor.type) == 2 && tensor.quantization.zero_point() != 0) {
    throw_unsupported(operation, "tensor '" + tensor.name + "' has zero point " + std::to_string(tensor.quantization.zero_point()) +
                                     "; 16-bit data needs 0");
  }
}

void require_16_bits(const Operation& operation, const ModelTensor& tensor) {
  if (tensor.type == ElementType::uint16)
    throw_unsupported(operation, "tensor '" + tensor.name + "' is uint16; int8, uint8 or int16 is needed");
}

void require_constant(const Operation& operation, const ModelTensor* tensor) {
  if (tensor != nullptr && !tensor->constant) throw_unsupported(operation, "'" + tensor->name + "' must be a constant of the model");
}

void require_plain_data(const Operation& operation, const Model& model) {
  for (const std::size_t position : {std::size_t{0}, std::size_t{1}}) {
    const ModelTensor& tensor = model.tensor(operation.inputs[position]);
    const auto& zero_points = tensor.quantization.zero_points;
    const bool centred = std::all_of(zero_points.begin(), zero_points.end(), [](std::int64_t zero) { return zero == 0; });
    if (tensor.type != ElementType::uint8 && tensor.type != ElementType::uint16 && centred) continue;
    throw_unsupported(operation, "tensor '" + tensor.name + "': the backend takes int8 or int16 data with zero point 0");
  }
}

void require_plain_sums(const Operation& operation, const Model& model) {
  require_plain_data(operation, model);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  if (output.type != ElementType::int32) {
    throw_unsupported(operation, "output '" + output.name + "' is " + std::string(name_of(output.type)) +
                                     "; the backend delivers int32 sums and rescales nothing");
  }
  const auto is_bounded = []<class T>(const T& attributes) {
    if constexpr (requires { attributes.bounds; }) return attributes.bounds != OutputBounds{};
    return false;
  };
  if (std::visit(is_bounded, operation.attributes)) throw_unsupported(operation, "the backend's sums have no activation and no clamp");
}

void require_32_bits(const Operation& operation, std::span<const std::int64_t> sums) {
  const IntegerRange range = range_of(ElementType::int32);
  const auto beyond = std::find_if(sums.begin(), sums.end(), [&](std::int64_t sum) { return sum < range.min || sum > range.max; });
  if (beyond != sums.end())
    throw_unsupported(operation, "the sum " + std::to_string(*beyond) + " does not fit in the int32 that it goes on as");
}

void require_whole_vectors(const Operation& operation, const AccumulatorRule& rule, std::int64_t run) {
  const PartialSums& partial = rule.partial;
  if (!has_partial_sums(rule) || partial.vector == 0 || partial.tail != PartialTail::one_sum) return;
  const std::int64_t half = partial.vector / 2, tail = run % partial.vector;
  if (tail == 0 || tail == half) return;
  throw_unsupported(operation, "rows of " + std::to_string(run) + " values; the backend reads vectors of " +
                                   std::to_string(partial.vector) + " and one of " + std::to_string(half) +
                                   ", here beyond the end of the row");
}

void require_sums_of_codes(const Operation& operation, const SumArithmetic& sum, const ModelTensor& weights) {
  if (!sums_codes(sum.accumulator)) return;
  if (!sum.operand.chain.empty()) throw_unsupported(operation, "partial sums of codes have no operand chain");
  const auto& zero_points = weights.quantization.zero_points;
  if (sums_kernels(sum.accumulator)) return;
  if (std::any_of(zero_points.begin(), zero_points.end(), [](std::int64_t zero) { return zero != 0; }))
    throw_unsupported(operation, "tensor '" + weights.name + "': the backend's partial sums of codes need weights with zero point 0");
}

std::vector<std::int64_t> multipliers_of(const Operation& operation, const ModelTensor* multiplier, const ConvArithmetic& arithmetic) {
  if (multiplier == nullptr) return {};
  if (arithmetic.row_multiplier == RowMultiplier::absent) {
    throw_unsupported(operation, "'" + multiplier->name + "': the backend has no multiplier per row for these types");
  }
  return centred(*multiplier->constant, 0);
}

std::int64_t largest_centred(const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  const std::int64_t zero = tensor.quantization.zero_point();
  return std::max(range.max - zero, zero - range.min);
}

}  // namespace lastbit
