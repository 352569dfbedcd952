// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/advise/census.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/advise/side.hpp"
#include "analysis/last_chain.hpp"
#include "analysis/unrounded.hpp"
#include "engine/finisher.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/explain.hpp"

namespace lastbit {
namespace {

/// Rules that go to the nearest integer step half-way between two; the others step on integers.
bool steps_half_way(Rounding rounding) {
  using enum Rounding;
  return rounding != floor && rounding != ceil && rounding != toward_zero && rounding != to_odd;
}

/// How many steps of the rule lie below, counted twice so that a value on a step is odd and one between two steps is even.
Int128 position(const Unrounded& at, Rounding rounding) {
  if (at.is_real) {
    const double from_step = at.real - (steps_half_way(rounding) ? 0.5 : 0.0), below = std::floor(from_step);
    return 2 * static_cast<Int128>(below) + (from_step == below ? 1 : 2);
  }
  const Int128 from_step = 2 * at.value - (steps_half_way(rounding) ? at.unit : 0), below = divide(from_step, 2 * at.unit, Rounding::floor);
  return 2 * below + (below * 2 * at.unit == from_step ? 1 : 2);
}

/// The last stage that rounds, and what it rounds there.
struct LastRounding {
  std::size_t stage = 0;
  Int128 position = 0;
};
std::optional<LastRounding> last_rounding(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) {
  std::optional<LastRounding> last;
  InFlight at{accumulator, 0};
  for (std::size_t i = 0; i < chain.size; ++i) {
    const Stage& stage = chain.stages[i];
    if (const auto value = unrounded(stage, at, operands)) last = {i, position(*value, stage.rounding)};
    at = apply(stage, at, operands);
  }
  return last;
}

/// With a multiplier one step larger or smaller, as the multiply stage of the chain holds it.
RescaleOperands stepped(const Chain& chain, RescaleOperands operands, int step) {
  EncodedScale& scale = operands.scale;
  for (const Stage& stage : chain) {
    if (scale_of(stage) == ScaleUse::in_float) {
      scale.real_f32 = std::nextafter(scale.real_f32, step < 0 ? 0.0F : std::numeric_limits<float>::max());
      scale.real_f64 = stage.arithmetic == ScaleArithmetic::f32 ? static_cast<double>(scale.real_f32)
                                                                : std::nextafter(scale.real_f64, step < 0 ? 0.0 : 1e300);
    }
    const int dropped = stage.kind == StageKind::multiply && stage.bits > 0 ? std::max(0, scale.significant_bits - stage.bits) : 0;
    if (dropped > 0) step *= 1 << std::min(dropped, 30);
  }
  scale.multiplier = std::max<std::int64_t>(0, scale.multiplier + step);
  return operands;
}

void count(TieCount& ties, TiePlace place) {
  ties.on += place == TiePlace::on ? 1 : 0;
  ties.near += place != TiePlace::clear ? 1 : 0;
}

/// What b would hold of the layer's output in float.
std::vector<std::int64_t> float_codes(const Model& layer, const Side& real, const Side& b, std::span<const Tensor* const> inputs) {
  const Operation& operation = layer.operations[0];
  std::vector<Tensor> forms(inputs.size());
  std::vector<const Tensor*> given(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    forms[i] = real.in_form(*inputs[i], operation.inputs[i]);
    given[i] = &forms[i];
  }
  const Tensor codes = b.in_form(real.run(0, given)[0], operation.outputs[0]);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < codes.element_count(); ++i) values.push_back(codes.integer_at(i));
  return values;
}

/// The layer's outputs on one side, and where the sums behind them stand.
struct Outputs {
  std::vector<std::int64_t> codes;
  std::vector<TiePlace> places;
};
Outputs outputs_of(const LastChain& last) {
  Outputs outputs;
  for (std::size_t i = 0; i < last.sums.size(); ++i) {
    outputs.codes.push_back(finish(last.chain, last.sums[i], last.at(i)));
    outputs.places.push_back(tie_place(last.chain, last.sums[i], last.at(i)).value_or(TiePlace::clear));
  }
  return outputs;
}

void compare(const Outputs& a, const Outputs& b, TieCensus& census) {
  census.accumulators += static_cast<std::int64_t>(b.codes.size());
  for (std::size_t i = 0; i < b.codes.size(); ++i) {
    const TiePlace either = std::max(a.places[i], b.places[i]);
    count(census.a, a.places[i]);
    count(census.b, b.places[i]);
    count(census.either, either);
    if (a.codes[i] == b.codes[i]) continue;
    ++census.differing;
    count(census.differing_at, either);
  }
}

}  // namespace

std::optional<TiePlace> tie_place(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands) {
  const auto at = last_rounding(chain, accumulator, operands);
  if (!at) return std::nullopt;
  if (at->position % 2 != 0) return TiePlace::on;
  for (const int step : {-1, 1}) {
    const auto beside = last_rounding(chain, accumulator, stepped(chain, operands, step));
    if (beside && beside->stage == at->stage && beside->position != at->position) return TiePlace::near;
  }
  return TiePlace::clear;
}

Tensor output_of(const Model& layer, const Side& side, const Tensor& input) {
  const Operation& operation = layer.operations[0];
  std::vector<const Tensor*> inputs(operation.inputs.size());
  const Tensor own = side.in_form(input, operation.inputs[0]);
  inputs[0] = &own;
  return std::move(side.run(0, inputs)[0]);
}

std::optional<LayerSums> layer_sums(const Model& model, std::size_t operation, const Backend& backend, std::span<const Tensor> inputs) {
  const Operation& at = model.operations[operation];
  if (backend.domain == Domain::real || !is_conv_layer(at.kind)) return std::nullopt;
  const bool constants = std::all_of(at.inputs.begin() + 1, at.inputs.end(),
                                     [&](std::int32_t index) { return index == absent_tensor || model.tensor(index).constant; });
  if (!constants || !check(extract_operation(model, operation), backend).empty() || !is_integer(model.tensor(at.inputs[0]).type) ||
      !is_integer(model.tensor(at.outputs[0]).type))
    return std::nullopt;
  LayerSums result{conv_layer(model, at, backend), {}, 64};
  const ConvLayer& layer = result.layer;
  if (layer.delivers_sums()) return std::nullopt;
  const Convolution convolution = convolution_of(layer);
  result.bits = convolution.accumulator_bits();
  for (const Tensor& input : inputs) {
    std::vector<std::int64_t>& sums = result.sums.emplace_back(static_cast<std::size_t>(layer.shape.out_count()));
    convolution.sums(conv_input(input, layer.zero_points), sums, nullptr);
  }
  return result;
}

std::vector<std::int64_t> finished(const LayerSums& sums, std::size_t sample, const std::vector<RescaleOperands>& operands) {
  std::vector<std::int64_t> values = sums.sums[sample];
  Finisher(sums.layer.arithmetic.sum.output.chain, operands, sums.bits)(values);
  return values;
}

std::optional<TieCensus> tie_census(const Model& model, std::size_t operation, const Backend& a, const Backend& b,
                                    std::span<const std::vector<Tensor>> samples) {
  const Model layer = extract_operation(model, operation);
  const bool in_float = a.domain == Domain::real;
  const Side side_a(layer, a), side_b(layer, b);
  TieCensus census;
  for (const std::vector<Tensor>& sample : samples) {
    std::vector<const Tensor*> inputs(layer.operations[0].inputs.size(), nullptr);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const std::int32_t index = layer.operations[0].inputs[i];
      if (index != absent_tensor && !layer.tensor(index).constant) inputs[i] = &sample[i];
    }
    const auto of_b = last_chain(layer, 0, b, inputs), of_a = last_chain(layer, 0, a, inputs);
    if (!of_b || (!of_a && !in_float)) return std::nullopt;
    const Outputs on_b = outputs_of(*of_b);
    const auto clear = [&] { return std::vector<TiePlace>(on_b.codes.size(), TiePlace::clear); };
    compare(of_a ? outputs_of(*of_a) : Outputs{float_codes(layer, side_a, side_b, inputs), clear()}, on_b, census);
  }
  return census;
}

}  // namespace lastbit
