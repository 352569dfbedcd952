// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/float_side.hpp"

#include <algorithm>
#include <cmath>

#include "compare/runs.hpp"
#include "compare/trace_index.hpp"
#include "engine/converted_input.hpp"
#include "lastbit/dequantize.hpp"
#include "lastbit/error.hpp"

namespace lastbit {
namespace {

/// The model's input at this position, as the float network's `wanted` reads it.
Tensor real_input(const Model& model, std::size_t position, const Tensor& given, const Counterpart& counterpart,
                  const ModelTensor& wanted) {
  const ModelTensor& own = model.tensor(model.inputs[position]);
  const bool holds_codes = given.type() == own.type && own.quantization.present();
  const Tensor values = holds_codes ? dequantized(given, quantization_in(own, given.shape())) : given;
  return moved(values, opposite(counterpart.move), own.shape, wanted.shape);
}

std::vector<Tensor> real_inputs(const Model& model, const Model& float_network, std::span<const Tensor> inputs,
                                const std::vector<std::optional<Counterpart>>& counterparts) {
  std::vector<Tensor> real;
  for (const std::int32_t index : float_network.inputs) {
    const auto position = std::ranges::find_if(model.inputs, [&](std::int32_t input) {
      const auto& counterpart = counterparts[static_cast<std::size_t>(input)];
      return counterpart && counterpart->tensor == index;
    });
    const ModelTensor& wanted = float_network.tensor(index);
    if (position == model.inputs.end())
      throw Error(ErrorCode::bad_input, "input '" + wanted.name + "' of the float network",
                  "no input of the model has its name, or is the only one of its shape (" + wanted.shape.text() + ")");
    const auto at = static_cast<std::size_t>(position - model.inputs.begin());
    real.push_back(real_input(model, at, inputs[at], *counterparts[static_cast<std::size_t>(*position)], wanted));
  }
  return real;
}

/// Every tensor of the model that has a counterpart, with the values that the float network computes.
NamedTrace under_names_of(const Model& model, const FloatSide& side, const Model& float_network, const NamedTrace& computed) {
  NamedTrace renamed{
      .model = model.name, .backend = computed.backend, .path = computed.path, .tensors = {}, .events = {}, .assumptions = {}};
  const TraceIndex by_index(computed);
  const auto add = [&](std::int32_t index, std::string_view operation, std::optional<std::size_t> number) {
    const auto& counterpart = side.counterparts[static_cast<std::size_t>(index)];
    const NamedTensor* const found = counterpart ? by_index.find(counterpart->tensor) : nullptr;
    if (found == nullptr) return;
    const ModelTensor& tensor = model.tensor(index);
    Tensor values = dequantized(found->values, found->quantization);
    values = moved(values, counterpart->move, float_network.tensor(counterpart->tensor).shape, tensor.shape);
    renamed.tensors.push_back({index, tensor.name, std::string(operation), {}, std::move(values), {}, number});
  };
  for (const std::int32_t input : model.inputs) add(input, "input", {});
  for (std::size_t i = 0; i < model.operations.size(); ++i)
    for (const std::int32_t output : model.operations[i].outputs) add(output, name_of(model.operations[i].kind), i);
  return renamed;
}

bool is_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.values<float>(), [](float value) { return std::isfinite(value); });
}

}  // namespace

FloatSide float_side(const Model& model, const Model* float_network, std::span<const Tensor> inputs, int threads) {
  const SpecSheet& golden = golden_sheet();
  FloatSide side;
  if (float_network == nullptr) {
    side.trace = run_all(Emulator(model, golden.backend), golden, inputs, threads);
    side.counterparts.resize(model.tensors.size());
    for (const NamedTensor& tensor : side.trace.tensors)
      side.counterparts[static_cast<std::size_t>(tensor.index)] = Counterpart{tensor.index, AxesMove::none, MatchedBy::itself};
    return side;
  }
  side.counterparts = match_tensors(model, *float_network);
  const std::vector<Tensor> real = real_inputs(model, *float_network, inputs, side.counterparts);
  side.trace = under_names_of(model, side, *float_network, run_all(Emulator(*float_network, golden.backend), golden, real, threads));
  return side;
}

NamedTrace in_codes(NamedTrace real, const Model& model, const Backend& backend) {
  const bool makes_codes = backend.quantize.division != ScaleDivision::absent;
  for (NamedTensor& tensor : real.tensors) {
    const ModelTensor& wanted = model.tensor(tensor.index);
    const bool to_codes = is_integer(wanted.type) && wanted.quantization.present() && makes_codes;
    const bool to_halves = wanted.type == ElementType::float16 && backend.float16.method != Float16Method::absent;
    if (tensor.values.type() != ElementType::float32 || (!to_codes && !to_halves) || !is_finite(tensor.values)) continue;
    tensor.values = in_form(tensor.values, wanted.type, wanted, backend);
    tensor.quantization = quantization_in(wanted, tensor.values.shape());
  }
  return real;
}

}  // namespace lastbit
