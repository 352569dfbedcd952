// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "sheet/delegated.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lastbit/op/delegated_layers.hpp"

namespace lastbit {
namespace {

/// in / out of an input.
float ratio_of(const Model& model, const Operation& operation, std::size_t input) {
  return ratio_in_float(model.tensor(operation.inputs[input]).quantization.scale(),
                        model.tensor(operation.outputs[0]).quantization.scale());
}

bool has_one_8bit_type(const Model& model, const Operation& operation) {
  const ElementType type = model.tensor(operation.outputs[0]).type;
  const auto is_it = [&](std::int32_t index) { return model.tensor(index).type == type; };
  return size_of(type) == 1 && std::ranges::all_of(operation.inputs, is_it);
}

bool takes_leaky_relu(const ScaleRange& range, float ratio, float alpha) {
  ScaleRange slope = range;
  if (alpha < 0) slope.end = UpperEnd::excluded;
  return holds(range, ratio) && holds(slope, std::abs(ratio * alpha));
}

bool takes_mean(const DelegatedLayers& layers, float ratio, std::vector<std::int64_t> axes, std::size_t rank) {
  std::ranges::sort(axes);
  const bool of_image = rank == 4 && (axes == std::vector<std::int64_t>{1, 2} || axes == std::vector<std::int64_t>{2});
  return holds(layers.mean, ratio) && (layers.mean_axes == DelegatedAxes::any || of_image);
}

std::string text_of(const ScaleRange& range) {
  const char* const below = range.end == UpperEnd::included ? "<= 2^" : "< 2^";
  return "2^" + std::to_string(range.least) + " <= in/out " + below + std::to_string(range.most);
}

}  // namespace

std::vector<std::string> lines_of(const DelegatedLayers& layers) {
  return {"taken: inputs and output of one 8-bit type; the other layers, and those of other ratios, are left",
          "add, sub: " + text_of(layers.add),
          "mean: " + text_of(layers.mean) + (layers.mean_axes == DelegatedAxes::image ? ", over axes 1 and 2, or 2, of four" : ""),
          "requantize: " + text_of(layers.requantize),
          "leaky_relu: " + text_of(layers.leaky_relu) + ", and in/out*|alpha|; of a negative alpha without the upper end"};
}

bool may_be_left(const Operation& operation, const Backend& backend) {
  using enum OperationKind;
  static constexpr std::array kinds{mean, add, sub, mul, requantize, clip, leaky_relu, logistic, OperationKind::tanh, resize};
  return backend.delegated.data != DelegatedData::absent && std::ranges::find(kinds, operation.kind) != kinds.end();
}

bool is_left(const Model& model, const Operation& operation, const Backend& backend) {
  using enum OperationKind;
  if (!may_be_left(operation, backend)) return false;
  const DelegatedLayers& layers = backend.delegated;
  const auto ratio = [&](std::size_t input) { return ratio_of(model, operation, input); };
  const bool fits = has_one_8bit_type(model, operation);
  switch (operation.kind) {
    case mul:
    case logistic:
    case OperationKind::tanh:
    case resize: return !fits;
    case add:
    case sub: return !(fits && holds(layers.add, ratio(0)) && holds(layers.add, ratio(1)));
    case requantize:
    case clip: return !(fits && holds(layers.requantize, ratio(0)));
    case leaky_relu: {
      const auto alpha = static_cast<float>(std::get<LeakyReluAttributes>(operation.attributes).alpha);
      return !(fits && takes_leaky_relu(layers.leaky_relu, ratio(0), alpha));
    }
    case mean: {
      const std::vector<std::int64_t>& axes = std::get<MeanAttributes>(operation.attributes).axes;
      return !(fits && takes_mean(layers, ratio(0), axes, model.tensor(operation.inputs[0]).shape.rank()));
    }
    default: return false;
  }
}

}  // namespace lastbit
