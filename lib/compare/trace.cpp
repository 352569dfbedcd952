// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/trace.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "lastbit/one_operation.hpp"

namespace lastbit {

const NamedTensor* NamedTrace::find(std::int32_t index) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& tensor) { return tensor.index == index; });
  return found == tensors.end() ? nullptr : &*found;
}

const NamedTensor* NamedTrace::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Quantization quantization_in(const ModelTensor& tensor, const Shape& shape) {
  Quantization quantization = tensor.quantization;
  const bool per_channel = quantization.scales.size() > 1 || quantization.zero_points.size() > 1;
  if (per_channel) quantization.axis += static_cast<std::int64_t>(shape.rank()) - static_cast<std::int64_t>(tensor.shape.rank());
  return quantization;
}

std::int64_t samples_of(const Model& model, const NamedTensor& tensor) {
  return tensor.values.element_count() / model.tensor(tensor.index).shape.element_count();
}

Tensor first_samples(const Tensor& values, const Shape& own, std::int64_t samples) {
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), own.sizes().begin(), own.sizes().end());
  Tensor first(values.type(), samples == 1 ? own : Shape(std::move(sizes)));
  std::copy_n(values.bytes().begin(), first.bytes().size(), first.bytes().begin());
  return first;
}

SampleCounts sample_counts(const Model& model, const NamedTrace& trace) {
  SampleCounts counts{std::numeric_limits<std::int64_t>::max(), 0};
  for (const NamedTensor& tensor : trace.tensors) {
    if (model.tensor(tensor.index).constant) continue;
    counts.least = std::min(counts.least, samples_of(model, tensor));
    counts.most = std::max(counts.most, samples_of(model, tensor));
  }
  return counts.most == 0 ? SampleCounts{} : counts;
}

std::string text_of(const SampleCounts& counts) {
  return "tensors hold from " + std::to_string(counts.least) + " to " + std::to_string(counts.most) + " samples";
}

NamedTrace with_common_samples(const Model& model, NamedTrace trace) {
  const SampleCounts counts = sample_counts(model, trace);
  if (counts.are_equal()) return trace;
  trace.readings.push_back(text_of(counts) + "; judged are the first " + std::to_string(counts.least));
  for (NamedTensor& tensor : trace.tensors) {
    if (!model.tensor(tensor.index).constant) tensor.values = first_samples(tensor.values, model.tensor(tensor.index).shape, counts.least);
  }
  return trace;
}

NamedTrace named(Trace trace, const Model& model, const Device& sheet) {
  NamedTrace result{
      .model = model.name, .backend = sheet.name, .path = std::move(trace.path), .tensors = {}, .events = {}, .assumptions = {}};
  const auto take = [&](std::int32_t index, std::string_view operation, std::optional<std::size_t> number = {}) {
    auto& values = trace.tensors[static_cast<std::size_t>(index)];
    if (!values) return;
    const ModelTensor& tensor = model.tensor(index);
    result.tensors.push_back(
        {index, tensor.name, std::string(operation), quantization_in(tensor, values->shape()), std::move(*values), {}, number});
    values.reset();
  };
  for (const std::int32_t input : model.inputs) take(input, "input");
  for (const State& state : model.states) take(state.before, "state");
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    for (const std::int32_t output : model.operations[i].outputs) take(output, name_of(model.operations[i].kind), i);
  }
  for (const std::int32_t output : model.outputs) take(output, "constant");
  for (std::size_t i = 0; i < trace.events.size(); ++i) result.events.push_back({layer_name(model, i), trace.events[i]});
  result.assumptions = assumptions_of(model, sheet);
  return result;
}

NamedTrace run_named(const Model& model, const Device& sheet, std::span<const Tensor> inputs, int threads) {
  const Emulator emulator(model, sheet.backend);
  return named(emulator.run(inputs, {.threads = threads, .keep_all = true, .count_events = true}), emulator.model(), sheet);
}

}  // namespace lastbit
