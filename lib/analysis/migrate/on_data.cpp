// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/migrate/on_data.hpp"

#include <algorithm>
#include <unordered_map>

#include "compare/trace_index.hpp"
#include "engine/converted_input.hpp"
#include "lastbit/error.hpp"
#include "lastbit/memory.hpp"

namespace lastbit {
namespace {

/// The input as the version after takes it: its codes where they mean the same, else the real values.
Tensor input_after(const ModelTensor& before, const ModelTensor& after, const Tensor& given) {
  const bool is_real = !is_integer(given.type()) || !is_integer(before.type);
  if (is_real || mean_the_same(before.type, before.quantization, after.type, after.quantization)) return given;
  return dequantized(given, quantization_in(before, given.shape()));
}

std::vector<Tensor> inputs_after(const BothNetworks& both, std::span<const Tensor> inputs) {
  std::vector<Tensor> given;
  for (const std::int32_t input : both.after.inputs) {
    const auto source = std::ranges::find_if(both.before.inputs, [&](std::int32_t each) { return both.counterpart(each) == input; });
    const ModelTensor& tensor = both.after.tensor(input);
    if (source == both.before.inputs.end() || both.before.tensor(*source).shape != tensor.shape)
      throw Error(ErrorCode::bad_input, "input '" + tensor.name + "'",
                  "the old network has none of this shape, " + tensor.shape.text() + ", so that both cannot be given the same data");
    given.push_back(
        input_after(both.before.tensor(*source), tensor, inputs[static_cast<std::size_t>(source - both.before.inputs.begin())]));
  }
  return given;
}

NamedTrace trace_of(const RunnableVersion& version, std::span<const Tensor> inputs, int threads) {
  return named(version.emulator.run(inputs, {.threads = threads, .keep_all = true}), version.emulator.model(), version.sheet);
}

/// The trace before, of the tensors that are in the network after, under their names; codes that mean the same are compared as codes.
NamedTrace in_terms_of(const Model& after, const BothNetworks& both, NamedTrace trace) {
  std::vector<NamedTensor> known;
  for (NamedTensor& tensor : trace.tensors) {
    const auto index = both.counterpart(tensor.index);
    if (!index || both.before.tensor(tensor.index).shape.element_count() != after.tensor(*index).shape.element_count()) continue;
    const ModelTensor& counterpart = after.tensor(*index);
    const Quantization quantization = quantization_in(counterpart, tensor.values.shape());
    if (mean_the_same(tensor.values.type(), tensor.quantization, counterpart.type, quantization)) tensor.quantization = quantization;
    tensor.index = *index;
    tensor.name = counterpart.name;
    tensor.number.reset();
    known.push_back(std::move(tensor));
  }
  trace.tensors = std::move(known);
  return trace;
}

/// One operation of the version after on the tensors of the version before, rounded to its own codes where theirs mean other values.
class OwnRun {
 public:
  OwnRun(const RunnableVersion& after, std::size_t operation, const TraceIndex& before) : emulator_(after.emulator), operation_(operation) {
    for (const std::int32_t index : emulator_.model().operations[operation].inputs) {
      const bool is_data = index != absent_tensor && !emulator_.model().tensor(index).constant;
      inputs_.push_back(is_data ? input(index, before.find(index), after.sheet.backend) : std::nullopt);
      is_complete_ = is_complete_ && (!is_data || inputs_.back());
    }
  }

  /// All samples of the first output; nothing where an input is missing, or the device does not round real values.
  [[nodiscard]] std::optional<Tensor> output() {
    if (!is_complete_ || !samples_) return std::nullopt;
    const Model& model = emulator_.model();
    const ModelTensor& tensor = model.tensor(model.operations[operation_].outputs[0]);
    std::vector<std::int64_t> sizes{*samples_};
    sizes.insert(sizes.end(), tensor.shape.sizes().begin(), tensor.shape.sizes().end());
    Tensor all(tensor.type, Shape(std::move(sizes)));
    for (std::int64_t sample = 0; sample < *samples_; ++sample)
      put_sample(all, sample, emulator_.run_operation(operation_, of_sample(sample)).front());
    return all;
  }

 private:
  std::optional<Tensor> input(std::int32_t index, const NamedTensor* given, const Backend& reader) {
    const ModelTensor& wanted = emulator_.model().tensor(index);
    if (given == nullptr) return std::nullopt;
    const std::int64_t samples = given->values.element_count() / wanted.shape.element_count();
    if (samples_ && samples != *samples_) return std::nullopt;
    samples_ = samples;
    slots_.emplace_back(wanted.type, wanted.shape);
    if (mean_the_same(given->values.type(), given->quantization, wanted.type, quantization_in(wanted, given->values.shape())) ||
        (given->values.type() == wanted.type && !is_integer(wanted.type)))
      return given->values;
    const bool has_codes = is_integer(wanted.type) && wanted.quantization.present() && !wanted.quantization.per_channel();
    if (!has_codes || reader.quantize.division == ScaleDivision::absent) return std::nullopt;
    return in_form(dequantized(given->values, given->quantization), wanted.type, wanted, reader);
  }

  [[nodiscard]] std::vector<const Tensor*> of_sample(std::int64_t sample) {
    std::vector<const Tensor*> given;
    auto slot = slots_.begin();
    for (const auto& batch : inputs_) {
      given.push_back(batch ? &*slot : nullptr);
      if (!batch) continue;
      const auto bytes = slot->bytes();
      std::ranges::copy(batch->bytes().subspan(static_cast<std::size_t>(sample) * bytes.size(), bytes.size()), bytes.begin());
      ++slot;
    }
    return given;
  }

  static void put_sample(Tensor& all, std::int64_t sample, const Tensor& one) {
    std::ranges::copy(one.bytes(), all.bytes().begin() + static_cast<std::ptrdiff_t>(sample) * std::ssize(one.bytes()));
  }

  const Emulator& emulator_;
  std::size_t operation_;
  std::vector<std::optional<Tensor>> inputs_;  ///< of all samples; none for constants
  std::vector<Tensor> slots_;                  ///< of one sample, in the order of `inputs_`
  std::optional<std::int64_t> samples_;
  bool is_complete_ = true;
};

/// Where the inputs' codes mean other values.
void add_rounded(const RunnableVersion& after, const NamedTrace& trace_before, NetworkMigration& migration) {
  const TraceIndex before(trace_before);
  const Model& model = after.emulator.model();
  for (MigratedLayer& layer : migration.layers) {
    const std::int32_t output = model.operations[layer.after].outputs[0];
    const NamedTensor* const expected = before.find(output);
    if (!layer.on_data || layer.on_data->same_input || expected == nullptr) continue;
    std::optional<Tensor> judged = OwnRun(after, layer.after, before).output();
    if (!judged || judged->element_count() != expected->values.element_count()) continue;
    judged->reshape(expected->values.shape());
    layer.on_data->same_input =
        difference(expected->values, expected->quantization, *judged, quantization_in(model.tensor(output), judged->shape()));
    layer.rounded_inputs = true;
  }
}

void add_layers(const CompareReport& report, const Model& after, NetworkMigration& migration) {
  std::unordered_map<std::int32_t, const LayerDifference*> of_tensor;
  for (const LayerDifference& layer : report.layers) of_tensor.emplace(layer.tensor, &layer);
  for (MigratedLayer& layer : migration.layers) {
    const auto found = of_tensor.find(after.operations[layer.after].outputs[0]);
    if (found != of_tensor.end()) layer.on_data = *found->second;
  }
}

void add_agreement(const Model& after, const NamedTrace& trace_before, const NamedTrace& trace_after, NetworkMigration& migration) {
  const TraceIndex before(trace_before), judged(trace_after);
  for (const std::int32_t output : after.outputs) {
    const NamedTensor *const a = before.find(output), *const b = judged.find(output);
    const std::int64_t values = after.tensor(output).shape.element_count();
    if (a == nullptr || b == nullptr || values < 2) continue;
    const auto top_a = top_positions(a->values, values), top_b = top_positions(b->values, values);
    OutputAgreement agreement{after.tensor(output).name, static_cast<std::int64_t>(std::min(top_a.size(), top_b.size())), 0};
    for (std::size_t i = 0; i < static_cast<std::size_t>(agreement.samples); ++i) agreement.same_top += top_a[i] == top_b[i] ? 1 : 0;
    migration.outputs.push_back(std::move(agreement));
  }
}

}  // namespace

void compare_on_data(const RunnableVersion& before, const RunnableVersion& after, const BothNetworks& both, std::span<const Tensor> inputs,
                     int threads, NetworkMigration& migration) {
  const std::vector<Tensor> given = inputs_after(both, inputs);
  const Model& model = after.emulator.model();
  const NamedTrace of_before = in_terms_of(model, both, trace_of(before, inputs, threads)), of_after = trace_of(after, given, threads);
  CompareReport report = compare_traces(of_before, of_after);
  add_same_input(report, of_before, after.emulator);
  add_layers(report, model, migration);
  add_rounded(after, of_before, migration);
  add_agreement(model, of_before, of_after, migration);
}

}  // namespace lastbit
