// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer's output in another scale, and what has to follow it.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/operands.hpp"
#include "engine/ops/conv_layer.hpp"
#include "lastbit/advise.hpp"

namespace lastbit {
namespace {

/// Operations whose output may have to have the quantisation of their input.
bool may_copy_quantization(OperationKind kind) {
  using enum OperationKind;
  return is_movement(kind) || kind == max_pool2d || kind == average_pool2d || kind == global_average_pool || kind == mean ||
         kind == concat || kind == relu || kind == relu6 || kind == relu_n1_to_1 || kind == clip || kind == sum_pool2d || kind == resize ||
         kind == maximum || kind == minimum || kind == reduce_max || kind == reduce_min;
}

/// Tensors that hold codes of one quantisation because they are copied from one another.
std::set<std::int32_t> tied_tensors(const Model& model, std::int32_t start) {
  const Quantization& quantization = model.tensor(start).quantization;
  std::set<std::int32_t> tied{start};
  for (bool grows = true; grows;) {
    const std::size_t before = tied.size();
    for (const Operation& operation : model.operations) {
      if (!may_copy_quantization(operation.kind)) continue;
      std::vector<std::int32_t> of_operation = operation.outputs;
      for (const std::int32_t input : operation.inputs) {
        if (input != absent_tensor && !model.tensor(input).constant) of_operation.push_back(input);
      }
      if (std::ranges::none_of(of_operation, [&](std::int32_t index) { return tied.contains(index); })) continue;
      for (const std::int32_t index : of_operation) {
        if (model.tensor(index).quantization == quantization) tied.insert(index);
      }
    }
    grows = tied.size() > before;
  }
  return tied;
}

std::int64_t rescaled_code(std::int64_t code, std::int64_t zero_point, double factor, const IntegerRange& range) {
  return std::clamp(zero_point + static_cast<std::int64_t>(std::llround(static_cast<double>(code - zero_point) / factor)), range.min,
                    range.max);
}

/// A bias of its own for a layer whose input counts in another scale.
void rescale_bias(Model& model, Operation& operation, double factor) {
  const bool takes_bias =
      is_conv_layer(operation.kind) && operation.inputs.size() > bias_input && operation.inputs[bias_input] != absent_tensor;
  if (!takes_bias || !model.tensor(operation.inputs[bias_input]).constant) return;
  ModelTensor bias = model.tensor(operation.inputs[bias_input]);
  if (!is_integer(bias.type)) return;
  const IntegerRange range = range_of(bias.type);
  for (double& scale : bias.quantization.scales) scale *= factor;
  visit_element_type(bias.type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (T& value : bias.constant.edit().values<T>()) value = static_cast<T>(rescaled_code(value, 0, factor, range));
    }
  });
  operation.inputs[bias_input] = static_cast<std::int32_t>(model.tensors.size());
  bias.name += " of " + operation.name;
  model.tensors.push_back(std::move(bias));
}

/// Bounds and padding in codes of a tensor whose scale changed keep their real values.
void rescale_codes(const Model& model, Operation& operation, double factor) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const IntegerRange range = range_of(output.type);
  const auto move = [&](std::int64_t& code) { code = rescaled_code(code, output.quantization.zero_point(), factor, range); };
  std::visit(
      [&]<class T>(T& attributes) {
        if constexpr (requires { attributes.bounds; }) {
          if (attributes.bounds.clamp) move(attributes.bounds.clamp->min), move(attributes.bounds.clamp->max);
        } else if constexpr (std::is_same_v<T, PadAttributes>) {
          if (attributes.value) move(*attributes.value);
        }
      },
      operation.attributes);
}

}  // namespace

Model with_output_scale(const Model& model, std::size_t operation, double factor) {
  Model changed = model;
  const std::set<std::int32_t> tied = tied_tensors(model, model.operations[operation].outputs[0]);
  for (const std::int32_t index : tied) {
    for (double& scale : changed.tensors[static_cast<std::size_t>(index)].quantization.scales) scale *= factor;
  }
  for (Operation& at : changed.operations) {
    if (!at.inputs.empty() && tied.contains(at.inputs[0])) rescale_bias(changed, at, factor);
    if (tied.contains(at.outputs[0])) rescale_codes(changed, at, factor);
  }
  return changed;
}

}  // namespace lastbit
