// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/certify/both_sides.hpp"

#include <algorithm>

#include "analysis/explain/layer_values.hpp"
#include "engine/held_codes.hpp"
#include "formats/json_model.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {

std::vector<const Tensor*> places_of(const Model& model, const Operation& operation, std::span<const Tensor> inputs) {
  std::vector<const Tensor*> places;
  std::vector<std::int32_t> known;
  for (const std::int32_t index : operation.inputs) {
    const bool is_data = index != absent_tensor && !model.tensor(index).constant;
    if (is_data && std::ranges::find(known, index) == known.end()) known.push_back(index);
    places.push_back(is_data ? &inputs[static_cast<std::size_t>(std::ranges::find(known, index) - known.begin())] : nullptr);
  }
  return places;
}

std::vector<std::int64_t> computed(const LayerSide& side, std::span<const Tensor> inputs) {
  return codes_of(side.emulator.run_operation(side.index(), places_of(side.model(), side.operation, inputs)).front());
}

namespace {

bool same_operation(const Operation& a, const Operation& b) {
  return a.kind == b.kind && a.stated == b.stated && attributes_to_json(a.kind, a.attributes) == attributes_to_json(b.kind, b.attributes);
}

bool same_tensors(const LayerOnBoth& layer) {
  const auto same = [&](std::int32_t in_a, std::int32_t in_b) {
    if (in_a == absent_tensor || in_b == absent_tensor) return in_a == in_b;
    const ModelTensor &a = layer.a.model().tensor(in_a), &b = layer.b.model().tensor(in_b);
    return a.type == b.type && a.quantization == b.quantization && a.constant == b.constant;
  };
  return std::ranges::equal(layer.a.operation.inputs, layer.b.operation.inputs, same) &&
         std::ranges::equal(layer.a.operation.outputs, layer.b.operation.outputs, same);
}

bool differ_under(const std::vector<std::string>& prefixes, const Backend& a, const Backend& b) {
  return std::ranges::any_of(diff_backends(a, b), [&](const RuleDifference& rule) {
    return std::ranges::any_of(prefixes, [&](const std::string& prefix) { return covers(prefix, rule.path); });
  });
}

}  // namespace

std::vector<std::string> prefixes_of(const LayerSide& side) {
  std::vector<std::string> prefixes = rule_prefixes(side.model(), side.operation, side.backend());
  if (moves_between_scales(side.model(), side.operation))
    prefixes.insert(prefixes.end(), {"requantize", "requantize_16bit", "requantize_to_32bit"});
  return prefixes;
}

Backend in_force(const LayerSide& side) {
  Backend backend = side.backend();
  if (side.operation.kind == OperationKind::softmax && side.model().tensor(side.operation.inputs[0]).type != ElementType::int16 &&
      backend.softmax.method == FunctionMethod::fixed_point_by_double)
    backend.softmax.method = FunctionMethod::fixed_point;
  return backend;
}

bool have_same_rules(const LayerOnBoth& layer) {
  const Backend &a = layer.a.backend(), &b = layer.b.backend();
  if (a.domain != b.domain || !same_operation(layer.a.operation, layer.b.operation) || !same_tensors(layer)) return false;
  if (a.domain == Domain::real)  // what goes in and out is converted by the devices
    return a.golden_range == b.golden_range && !differ_under({"quantize", "dequantize"}, layer.a.device.backend, layer.b.device.backend);
  const std::vector<std::string> prefixes = prefixes_of(layer.a);
  return prefixes == prefixes_of(layer.b) && !differ_under(prefixes, in_force(layer.a), in_force(layer.b));
}

}  // namespace lastbit
