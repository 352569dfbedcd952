// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A dump as pairs, and against the network as a whole.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "analysis/layout_copies.hpp"
#include "analysis/try_run.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

/// What a state was before each sample: what it became in the one before, at first real 0.
Tensor state_before(const ModelTensor& before, const Tensor& after) {
  Tensor values = after;
  const std::size_t size = Tensor(before.type, before.shape).bytes().size();
  std::memmove(values.bytes().data() + size, after.bytes().data(), after.bytes().size() - size);
  visit_element_type(values.type(), [&]<class T>() {
    const auto first = values.values<T>().first(size / sizeof(T));
    if constexpr (std::is_integral_v<T>) std::ranges::fill(first, static_cast<T>(before.quantization.zero_point()));
    else std::ranges::fill(first, T{});
  });
  return values;
}

std::optional<Tensor> values_of(const Model& model, const NamedTrace& dump, std::int32_t tensor) {
  if (const NamedTensor* const found = dump.find(tensor)) return found->values;
  const auto state = std::ranges::find(model.states, tensor, &State::before);
  const NamedTensor* const after = state == model.states.end() ? nullptr : dump.find(state->after);
  if (after == nullptr || after->values.type() != model.tensor(tensor).type) return std::nullopt;
  return state_before(model.tensor(tensor), after->values);
}

/// Which of its tensors the dump lacks; empty: none.
std::string lacking(const Model& model, const NamedTrace& dump, const Model& layer, const Operation& operation) {
  const auto is_real = [&](std::int32_t index) {
    const NamedTensor* const found = dump.find(index);
    return found != nullptr && found->values.type() != model.tensor(index).type;
  };
  const auto as_said = [&](std::int32_t index) { return "'" + model.tensor(index).name + "'"; };
  for (const std::int32_t index : operation.inputs) {
    const bool is_data = index != absent_tensor && !model.tensor(index).constant;
    if (is_data && !values_of(model, dump, index)) return "the dump lacks its input " + as_said(index);
    if (is_data && is_real(index)) return "the dump's values of its input " + as_said(index) + " tell no codes";
  }
  for (const std::int32_t index : operation.outputs) {
    if (dump.find(index) == nullptr) return "the dump lacks its output " + as_said(index);
    if (is_real(index)) return "the dump's values of its output " + as_said(index) + " tell no codes";
  }
  return layer.inputs.empty() ? "it has no input" : "";
}

/// Calls visit(values, shape of one sample) for every tensor of the pair.
void each_tensor(IdentifyPair& pair, const auto& visit) {
  const Model& layer = pair.layer;
  for (std::size_t i = 0; i < pair.inputs.size(); ++i) visit(pair.inputs[i], layer.tensor(layer.inputs[i]).shape);
  visit(pair.output, layer.tensor(layer.outputs[0]).shape);
  for (std::size_t o = 0; o < pair.further.size(); ++o) visit(pair.further[o], layer.tensor(layer.outputs[o + 1]).shape);
}

void cut_to_common_samples(IdentifyPair& pair) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  each_tensor(pair, [&](const Tensor& values, const Shape& own) { least = std::min(least, values.element_count() / own.element_count()); });
  each_tensor(pair, [&](Tensor& values, const Shape& own) {
    if (values.element_count() > least * own.element_count()) values = first_samples(values, own, least);
  });
}

std::string layer_text(const Model& model, std::size_t operation) {
  const std::int32_t output = model.operations[operation].outputs[0];
  const std::string name = model.tensor(output).name.empty() ? layer_name(model, operation) : name_in_file(model, output);
  return "layer " + std::to_string(operation) + " '" + name + "'";
}

}  // namespace

std::vector<IdentifyPair> pairs_of(const Model& model, const NamedTrace& given, std::vector<SkippedPair>* skipped) {
  const NamedTrace dump = with_layout_copies(model, given);
  std::vector<IdentifyPair> pairs;
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    const auto is_given = [&](std::int32_t index) { return index == absent_tensor || given.find(index) != nullptr; };
    if (operation.kind == OperationKind::transpose && !(is_given(operation.inputs[0]) && is_given(operation.outputs[0]))) continue;
    Model layer = extract_operation(model, i);
    std::string reason = lacking(model, dump, layer, operation);
    if (!reason.empty()) {
      if (skipped != nullptr) skipped->push_back({layer_text(model, i), std::string(name_of(operation.kind)) + ", " + reason});
      continue;
    }
    IdentifyPair pair{layer_text(model, i), std::move(layer), {}, dump.find(operation.outputs[0])->values};
    for (std::size_t o = 1; o < operation.outputs.size(); ++o) pair.further.push_back(dump.find(operation.outputs[o])->values);
    std::vector<std::int32_t> seen;
    for (const std::int32_t index : operation.inputs) {
      const bool is_data = index != absent_tensor && !model.tensor(index).constant;
      if (!is_data || std::ranges::find(seen, index) != seen.end()) continue;
      seen.push_back(index);
      pair.inputs.push_back(*values_of(model, dump, index));
    }
    cut_to_common_samples(pair);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Reproduction reproduce(const Model& model, const NamedTrace& dump, const Device& device) {
  const Backend& backend = device.backend;
  Reproduction result;
  NamedTrace given;
  for (const std::int32_t input : model.inputs) {
    const NamedTensor* const found = dump.find(input);
    if (found == nullptr) {
      result.impossible = "the dump lacks the input '" + model.tensor(input).name + "'";
      return result;
    }
    given.tensors.push_back(*found);
  }
  given = with_common_samples(model, std::move(given));
  std::vector<Tensor> inputs;
  for (NamedTensor& input : given.tensors) {
    result.samples = samples_of(model, input);
    inputs.push_back(std::move(input.values));
  }
  if (const auto diagnostics = check(model, backend); !diagnostics.empty()) {
    result.impossible = diagnostics.front().where + ": " + diagnostics.front().message;
    return result;
  }
  const auto trace = try_run(model, backend, inputs, {.keep_all = true});
  if (!trace) {
    result.impossible = "a sum is wider than the tensor it is delivered in";
    return result;
  }
  for (const NamedTensor& tensor : dump.tensors) {
    const auto& own = trace->tensors[static_cast<std::size_t>(tensor.index)];
    if (!own || own->type() != tensor.values.type()) continue;
    const std::size_t bytes = std::min(own->bytes().size(), tensor.values.bytes().size()), size = size_of(own->type());
    std::int64_t differing = 0;
    for (std::size_t i = 0; i < bytes; i += size)
      differing += std::memcmp(own->bytes().data() + i, tensor.values.bytes().data() + i, size) != 0 ? 1 : 0;
    if (differing > 0 && result.first.empty()) result.first = tensor.name;
    result.differing += differing;
    result.values += static_cast<std::int64_t>(bytes / size);
    ++result.tensors;
  }
  return result;
}

}  // namespace lastbit
