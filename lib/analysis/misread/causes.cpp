// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/misread/causes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/known_devices.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {
namespace {

/// Within the bounds of the tensor's type.
Tensor tensor_of(const Codes& codes, const ModelTensor& described, std::int64_t samples) {
  std::vector<std::int64_t> sizes(described.shape.sizes().begin(), described.shape.sizes().end());
  if (samples > 1) sizes.insert(sizes.begin(), samples);
  Tensor tensor(described.type, Shape(std::move(sizes)));
  const IntegerRange range = range_of(described.type);
  visit_element_type(described.type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      std::ranges::transform(codes, tensor.values<T>().begin(), [&](float code) {
        return static_cast<T>(std::clamp<std::int64_t>(std::llround(code), range.min, range.max));
      });
    }
  });
  return tensor;
}

/// Codes as integers: those of real values are the nearest.
Integers integers_of(const Codes& codes) {
  Integers list;
  std::ranges::transform(codes, std::back_inserter(list), [](float code) { return std::llround(code); });
  return list;
}

/// What tells that a reading is the right one, and that the dump needs none.
class CauseCheck {
 public:
  CauseCheck(const TensorCauses& causes, const GoldenLayers& layers) : causes_(causes), layers_(layers) {}

  /// Whether a built-in backend computes just what the dump holds, once the tensors named are what they would have been.
  [[nodiscard]] bool becomes_equal(std::int32_t tensor, const TensorCause& cause) const {
    const DumpedLayer& layer = *cause.layer;
    const Integers dumped = integers_of(layers_.codes(layer.output));
    return some_builtin(alone(layer), inputs(layer, true_inputs(layer, causes_)), [&](const Integers& computed) {
      if (cause.ground == TensorCause::Ground::other_sample) return are_its_samples(computed, dumped);
      if (cause.as_dumped) return cause.as_dumped(computed) == integers_of(layers_.codes(tensor));
      const auto named = causes_.find(layer.output);
      return computed == (named != causes_.end() && named->second.truth ? integers_of(*named->second.truth) : dumped);
    });
  }

  /// Whether one rule computes the layer as the dump has it. What follows a tensor has been asked of it already, and tells more than a rule; of
  /// many values it is not asked.
  [[nodiscard]] bool is_explained(std::int32_t tensor, const TensorCause& cause) const {
    const auto reads = [&](const DumpedLayer& layer) { return std::ranges::find(layer.inputs, tensor) != layer.inputs.end(); };
    if (tensor == cause.layer->output && std::ranges::any_of(layers_.layers(), reads)) return false;
    constexpr std::int64_t most_values = 20'000;
    const DumpedLayer& layer = *cause.layer;
    const Codes& codes = layers_.codes(layer.output);
    if (std::ranges::count(codes, codes[0]) == std::ssize(codes)) return false;  // so many rules make all values one
    return std::ssize(codes) <= most_values && known_device_of(alone(layer), inputs(layer, {}), integers_of(codes)).has_value();
  }

 private:
  [[nodiscard]] Model alone(const DumpedLayer& layer) const { return extract_operation(layers_.model(), layer.operation); }

  /// The dump's, but for those that are replaced.
  [[nodiscard]] std::vector<Tensor> inputs(const DumpedLayer& layer, const std::map<std::int32_t, Codes>& replaced) const {
    const Model& model = layers_.model();
    std::vector<std::optional<Tensor>> held(model.tensors.size());
    for (const std::int32_t input : layer.inputs) {
      const auto other = replaced.find(input);
      held[static_cast<std::size_t>(input)] =
          tensor_of(other != replaced.end() ? other->second : layers_.codes(input), model.tensor(input), layers_.samples());
    }
    return inputs_of(model, layer.operation, held);
  }

  /// Whether every sample of the dump is one of those that are computed.
  [[nodiscard]] bool are_its_samples(const Integers& computed, const Integers& dumped) const {
    const auto size = static_cast<std::ptrdiff_t>(std::ssize(dumped) / layers_.samples());
    const auto samples_in = [&](const Integers& all) {
      std::set<Integers> list;
      for (auto first = all.begin(); first != all.end(); first += size) list.emplace(first, first + size);
      return list;
    };
    return std::ranges::includes(samples_in(computed), samples_in(dumped));
  }

  const TensorCauses& causes_;
  const GoldenLayers& layers_;
};

}  // namespace

std::map<std::int32_t, Codes> true_inputs(const DumpedLayer& layer, const TensorCauses& causes) {
  std::map<std::int32_t, Codes> list;
  for (const std::int32_t input : layer.inputs) {
    const auto found = causes.find(input);
    if (found != causes.end() && found->second.truth) list.emplace(input, *found->second.truth);
  }
  return list;
}

TensorCauses settled(TensorCauses causes, const GoldenLayers& layers) {
  using Ground = TensorCause::Ground;
  const CauseCheck check(causes, layers);
  TensorCauses settled;
  for (const auto& [tensor, cause] : causes) {
    if (cause.ground != Ground::misread_as && check.is_explained(tensor, cause)) continue;
    const bool is_asked = cause.ground == Ground::what_if || cause.ground == Ground::other_sample;
    const bool is_fact = cause.ground == Ground::misread_as || (is_asked && check.becomes_equal(tensor, cause));
    TensorCause& kept = settled.emplace(tensor, cause).first->second;
    kept.certainty = is_fact ? Certainty::certain : Certainty::suspected;
  }
  return settled;
}

}  // namespace lastbit
