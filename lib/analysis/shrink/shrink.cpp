// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/shrink.hpp"

#include <algorithm>
#include <cstring>

#include "analysis/shrink/crop.hpp"
#include "analysis/shrink/reduce.hpp"
#include "engine/parallel.hpp"
#include "lastbit/emulator.hpp"

namespace lastbit {
namespace {

[[noreturn]] void refuse(const std::string& reason) { throw Error(ErrorCode::bad_input, "shrink", reason); }

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// One operation of the network, fed with a's tensors, samples and all.
struct LayerInNetwork {
  Model layer;
  std::vector<Tensor> inputs;
  Tensor of_a, of_b;
  std::size_t operation = 0;

  [[nodiscard]] std::int64_t values_of_sample() const { return layer.tensor(layer.outputs[0]).shape.element_count(); }
};

bool same_values(const Tensor& a, const Tensor& b) { return std::ranges::equal(a.bytes(), b.bytes()); }

class Locator {
 public:
  Locator(const Model& model, std::span<const Tensor> inputs, const SpecSheet& a, const SpecSheet& b)
      : model_(model), a_(a), b_(b), trace_(run(model, a.backend, inputs, {.keep_all = true})) {}

  std::optional<LayerInNetwork> find(const std::optional<std::string>& name) const {
    const OperationRange asked = operations_called(model_, name, "shrink");
    if (name && is_movement(model_.operations[asked.first].kind)) refuse("layer '" + *name + "' moves values and computes none");
    for (std::size_t i = asked.first; i < asked.end; ++i) {
      const Operation& operation = model_.operations[i];
      if (is_movement(operation.kind)) continue;
      LayerInNetwork layer = layer_at(i);
      if (!same_values(layer.of_a, layer.of_b)) return layer;
    }
    if (name) refuse("layer '" + *name + "' does not differ");
    return std::nullopt;
  }

 private:
  [[nodiscard]] LayerInNetwork layer_at(std::size_t operation) const {
    LayerInNetwork layer{extract_operation(model_, operation), inputs_of(model_, operation, trace_.tensors), {}, {}, operation};
    const auto first_output = [&](const Backend& backend) {
      return *lastbit::run(layer.layer, backend, layer.inputs).tensors[at(layer.layer.outputs[0])];
    };
    layer.of_a = first_output(a_.backend);
    layer.of_b = first_output(b_.backend);
    if (layer.of_a.type() == layer.of_b.type() && layer.of_a.type() == layer.layer.tensor(layer.layer.outputs[0]).type) return layer;
    refuse("'" + a_.name + "' and '" + b_.name + "' compute " + std::string(name_of(layer.of_a.type())) + " and " +
           std::string(name_of(layer.of_b.type())) + "; a case needs values of the layer's own type on both");
  }

  const Model& model_;
  const SpecSheet& a_;
  const SpecSheet& b_;
  Trace trace_;
};

/// Who computes the one layer: the device itself, or what the user puts in its place.
SpecSheet computing(const Model& layer, const SpecSheet& device) {
  const Placement* const placement = Emulator(layer, device.backend).placement(0);
  SpecSheet sheet = placement != nullptr ? placement->sheet : device;
  sheet.backend.elsewhere = {};
  return sheet;
}

/// A value of the layer, counted over all samples, and why it differs.
struct ChosenValue {
  std::int64_t index = 0;
  ShrinkCause cause;
};

bool differs_at(const LayerInNetwork& layer, std::int64_t index) { return TwoOutputs{layer.of_a, layer.of_b}.differ_at(index); }

/// The values to begin with, the best first: of the commonest cause, or the one asked for.
std::vector<ChosenValue> chosen_values(const LayerInNetwork& layer, const SpecSheet& a, const SpecSheet& b,
                                       const std::optional<std::int64_t>& asked) {
  constexpr std::size_t most = 8;
  if (asked && (*asked < 0 || *asked >= layer.of_a.element_count()))
    refuse("value " + std::to_string(*asked) + " of a layer with " + std::to_string(layer.of_a.element_count()));
  if (asked && !differs_at(layer, *asked)) refuse("value " + std::to_string(*asked) + " does not differ");
  std::vector<ChosenValue> chosen;
  const LayerAttribution found = explain(layer.layer, layer.inputs, a, b);
  for (const AttributedValue& value : found.differing) {
    const bool wanted = asked ? value.index == *asked : found.causes.empty() || value.cause == std::size_t{0};
    if (!wanted || chosen.size() == most) continue;
    ShrinkCause cause{value.cause.has_value(), {}};
    if (value.cause)
      for (const std::size_t change : found.causes[*value.cause].changes) cause.changes.push_back(found.changes[change]);
    chosen.push_back({value.index, std::move(cause)});
  }
  if (chosen.empty()) refuse("'" + layer.layer.name + "' differs in the bits of zeros or of NaN, but in no value");
  return chosen;
}

Tensor sample_of(const Tensor& tensor, const Shape& shape, std::int64_t sample) {
  if (tensor.shape() == shape) return tensor;
  Tensor one(tensor.type(), shape);
  std::memcpy(one.bytes().data(), tensor.bytes().data() + static_cast<std::size_t>(sample) * one.bytes().size(), one.bytes().size());
  return one;
}

LayerCase case_of(const LayerInNetwork& layer, std::int64_t index) {
  LayerCase result{layer.layer, {}, index % layer.values_of_sample()};
  for (std::size_t i = 0; i < layer.inputs.size(); ++i)
    result.inputs.push_back(sample_of(layer.inputs[i], layer.layer.tensor(layer.layer.inputs[i]).shape, index / layer.values_of_sample()));
  tidy(result);
  return result;
}

class Shrinker {
 public:
  Shrinker(const SpecSheet& a, const SpecSheet& b, const ShrinkOptions& options) : a_(a), b_(b), options_(options), oracle_(a, b) {}

  ShrunkCase shrink(const Model& network, const LayerInNetwork& layer) {
    const auto values = chosen_values(layer, a_, b_, options_.index);
    std::optional<std::pair<LayerCase, std::size_t>> best;
    std::int64_t index = values.front().index;
    ShrinkCause cause;
    for (const ChosenValue& value : values) {
      auto found = cut_to(layer, value);
      if (best && found.second >= best->second) continue;
      best = std::move(found);
      index = value.index;
      cause = oracle_.cause();
      if (best->second == 0) break;
    }
    oracle_.expect(cause);
    LayerCase smallest = std::move(best->first);
    reduce(smallest, oracle_, options_.on_progress);
    return result(network, layer, index, std::move(smallest));
  }

 private:
  std::pair<LayerCase, std::size_t> cut_to(const LayerInNetwork& layer, const ChosenValue& value) {
    const LayerCase whole = case_of(layer, value.index);
    oracle_.expect(value.cause);
    const auto outputs = oracle_.run(whole);
    if (!outputs) refuse("the layer '" + layer.layer.name + "' cannot run by itself");
    auto found = cut(whole, *outputs, oracle_);
    // Its changes may be seen in another way among fewer samples.
    if (found.second == crops(whole).size()) oracle_.expect(cause_of(whole, a_, b_));
    return found;
  }

  ShrunkCase result(const Model& network, const LayerInNetwork& layer, std::int64_t index, LayerCase smallest) {
    TwoOutputs outputs = oracle_.run(smallest).value();
    ShrunkCase shrunk;
    shrunk.network = network.name;
    shrunk.layer = layer.layer.tensor(layer.layer.outputs[0]).name;
    shrunk.operation = layer.operation;
    shrunk.sample = index / layer.values_of_sample();
    shrunk.position = index % layer.values_of_sample();
    shrunk.a = a_;
    shrunk.b = b_;
    shrunk.before = size_of(case_of(layer, index));
    shrunk.after = size_of(smallest);
    shrunk.model = std::move(smallest.layer);
    shrunk.inputs = std::move(smallest.inputs);
    shrunk.index = smallest.index;
    shrunk.of_a = std::move(outputs.a);
    shrunk.of_b = std::move(outputs.b);
    shrunk.cause = oracle_.cause();
    shrunk.trials = oracle_.trials();
    return shrunk;
  }

  const SpecSheet& a_;
  const SpecSheet& b_;
  const ShrinkOptions& options_;
  Oracle oracle_;
};

}  // namespace

std::pair<LayerCase, std::size_t> cut(const LayerCase& whole, const TwoOutputs& outputs, Oracle& oracle) {
  const std::vector<LayerCase> candidates = crops(whole);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (oracle.holds_with(candidates[i], outputs, whole.index)) return {candidates[i], i};
  return {whole, candidates.size()};
}

void reduce(LayerCase& layer, Oracle& oracle, const std::function<void(std::size_t, std::size_t)>& on_step) {
  constexpr void (*steps[])(LayerCase&, Oracle&) = {drop_parts, zero_elements, strengthen_taps, simplify_tap, simplify_values, drop_parts};
  for (std::size_t i = 0; i < std::size(steps); ++i) {
    if (on_step) on_step(i + 1, std::size(steps) + 1);
    steps[i](layer, oracle);
  }
  tidy(layer);
}

std::string ShrinkCause::text() const {
  if (!attributed) return "not attributed";
  std::string text;
  for (const RuleChange& change : changes) text += (text.empty() ? "" : " with ") + change.name + ": " + change.what;
  return text;
}

std::optional<ShrunkCase> shrink(const Model& model, std::span<const Tensor> inputs, const Device& a, const Device& b,
                                 const ShrinkOptions& options) {
  std::optional<ShrunkCase> shrunk;
  with_threads(options.threads, [&] {
    const Locator locator(model, inputs, a, b);
    const auto layer = locator.find(options.layer);
    if (!layer) return;
    const SpecSheet of_a = computing(layer->layer, a), of_b = computing(layer->layer, b);
    shrunk = Shrinker(of_a, of_b, options).shrink(model, *layer);
  });
  return shrunk;
}

}  // namespace lastbit
