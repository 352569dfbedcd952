// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of one layer, its constants given with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

template <class T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& values) {
  return Tensor::from<T>(shape, std::span<const T>(values));
}

/// Inputs of a layer in the operation's order: the first is given at run time, so is one that is marked; the others are constants.
struct LayerInput {
  std::optional<Tensor> tensor;  ///< absent: an optional input that is left out
  bool at_run_time = false;
};

struct LayerOutput {
  ElementType type;
  Shape shape;
};

struct LayerCase {
  Model model;
  std::vector<Tensor> inputs;
};

inline LayerCase layer_case(OperationKind kind, const Attributes& attributes, const std::vector<LayerInput>& inputs,
                            const std::vector<LayerOutput>& outputs) {
  LayerCase layer;
  Operation operation{kind, "tested", {}, {}, attributes};
  const auto add = [&](ElementType type, const Shape& shape, std::optional<Tensor> constant) {
    layer.model.tensors.push_back({"t" + std::to_string(layer.model.tensors.size()), type, shape, {}, std::move(constant)});
    return static_cast<std::int32_t>(layer.model.tensors.size() - 1);
  };
  for (const LayerInput& input : inputs) {
    if (!input.tensor) {
      operation.inputs.push_back(absent_tensor);
      continue;
    }
    const bool given = operation.inputs.empty() || input.at_run_time;
    operation.inputs.push_back(add(input.tensor->type(), input.tensor->shape(), given ? std::nullopt : input.tensor));
    if (!given) continue;
    layer.model.inputs.push_back(operation.inputs.back());
    layer.inputs.push_back(*input.tensor);
  }
  for (const LayerOutput& output : outputs) operation.outputs.push_back(add(output.type, output.shape, std::nullopt));
  layer.model.outputs = operation.outputs;
  layer.model.operations.push_back(std::move(operation));
  validate(layer.model, "test");
  return layer;
}

struct LayerResult {
  std::vector<Tensor> outputs;
  std::int64_t saturations = 0;
};

inline LayerResult compute(const LayerCase& layer, const Backend& backend) {
  const Trace trace = run(layer.model, backend, layer.inputs, {.count_events = true});
  LayerResult result;
  for (const auto index : layer.model.outputs) result.outputs.push_back(*trace.tensors[static_cast<std::size_t>(index)]);
  for (const Events& events : trace.events) result.saturations += events.accumulator_overflows + events.saturated_outputs;
  return result;
}

}  // namespace lastbit::test
