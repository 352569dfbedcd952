// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of one layer, its constants given with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"

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
  ModelBuilder builder;
  std::vector<std::int32_t> in_operation, out;
  const auto next_name = [&] { return "t" + std::to_string(builder.model.tensors.size()); };
  for (const LayerInput& input : inputs) {
    if (!input.tensor) {
      in_operation.push_back(absent_tensor);
    } else if (in_operation.empty() || input.at_run_time) {
      in_operation.push_back(builder.input({next_name(), input.tensor->type(), input.tensor->shape()}));
      layer.inputs.push_back(*input.tensor);
    } else {
      in_operation.push_back(builder.constant(next_name(), *input.tensor));
    }
  }
  for (const LayerOutput& output : outputs) out.push_back(builder.tensor({next_name(), output.type, output.shape}));
  builder.operation(kind, "tested", in_operation, out, attributes);
  layer.model = builder.finished(out, "test");
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
