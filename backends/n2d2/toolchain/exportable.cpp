// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "n2d2/toolchain/exportable.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "toolchains/device_model.hpp"

namespace lastbit::n2d2 {
namespace {

using enum OperationKind;

std::int64_t reader_count(const Model& model, std::int32_t tensor) {
  return std::ranges::count_if(
      model.operations, [=](const Operation& operation) { return std::ranges::find(operation.inputs, tensor) != operation.inputs.end(); });
}

bool is_output(const Model& model, std::int32_t tensor) { return std::ranges::find(model.outputs, tensor) != model.outputs.end(); }

void drop_last_softmax(QuantizedNetwork& network) {
  Model& model = network.model;
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation operation = model.operations[i];
    if (operation.kind != softmax || !is_output(model, operation.outputs[0]) || reader_count(model, operation.outputs[0]) > 0) continue;
    model.operations.erase(model.operations.begin() + static_cast<std::ptrdiff_t>(i--));
    std::ranges::replace(model.outputs, operation.outputs[0], operation.inputs[0]);
    network.notes.push_back("softmax '" + operation.name +
                            "' is left to the host: the export has no kernel for it, and the largest stays largest");
  }
}

bool is_rectifier(const Operation& operation) {
  if (operation.kind == relu || operation.kind == relu6) return true;
  if (operation.kind != clip) return false;
  const auto& bounds = std::get<ClipAttributes>(operation.attributes).bounds;
  return bounds.real_clamp && (*bounds.real_clamp)[0] == 0;
}

/// Pools have no rectifier. An upper bound is the threshold's affair.
std::optional<OutputBounds> rectifier_of(const Operation& layer, const Operation& activation) {
  if (!is_rectifier(activation) || std::holds_alternative<Pool2dAttributes>(layer.attributes)) return std::nullopt;
  return OutputBounds{.activation = Activation::relu};
}

bool has_kernel(const Operation& operation) {
  const OperationKind kind = operation.kind;
  if (kind == mean) return std::get<MeanAttributes>(operation.attributes).axes == std::vector<std::int64_t>{1, 2};
  return has_weights(kind) || keeps_values(kind) || kind == average_pool2d || kind == global_average_pool || kind == add || kind == add_n ||
         kind == concat || kind == argmax;
}

/// Empty: nothing speaks against it.
std::string obstacle(const Model& model, const Operation& operation, const Backend& backend) {
  const OperationKind kind = operation.kind;
  if (is_rectifier(operation)) return "stands behind no layer of its own: N2D2 has rectifiers only as part of a layer";
  if (!has_kernel(operation)) return "N2D2's export has no kernel for it";
  if (has_weights(kind) && !model.tensor(operation.inputs[1]).constant) return "its weights are not constant";
  const bool averages = kind == average_pool2d || kind == global_average_pool || kind == mean;
  if (averages && backend.average_pool.sum.output.chain.empty()) return "the simulator's average is a fraction, not a code";
  if (kind == argmax && backend.argmax.method == ArgmaxMethod::absent) return "the simulator's own is not known";
  return {};
}

}  // namespace

QuantizedNetwork exportable(const Model& model) {
  QuantizedNetwork network{model, {}};
  drop_last_softmax(network);
  fuse_activations(network.model, rectifier_of);
  return network;
}

std::vector<Diagnostic> unsupported(const Model& model, const Backend& backend) {
  std::vector<Diagnostic> problems;
  for (const Operation& operation : model.operations) {
    const std::string what = obstacle(model, operation, backend);
    if (what.empty()) continue;
    problems.push_back({ErrorCode::unsupported_operation, std::string(name_of(operation.kind)) + " '" + operation.name + "'", what});
  }
  return problems;
}

bool is_rectified(const OutputBounds& bounds) {
  return bounds.activation == Activation::relu || bounds.activation == Activation::relu6 ||
         (bounds.real_clamp && (*bounds.real_clamp)[0] >= 0);
}

}  // namespace lastbit::n2d2
