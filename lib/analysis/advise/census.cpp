// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/advise/census.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/advise/side.hpp"
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
  const Int128 one = Int128{1} << at.places, from_step = at.value - (steps_half_way(rounding) ? one / 2 : 0);
  const Int128 below = from_step >> at.places;
  return 2 * below + ((from_step & (one - 1)) == 0 ? 1 : 2);
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

std::vector<TiePlace> places_of(const LayerSums& sums, std::size_t sample) {
  std::vector<TiePlace> places;
  const std::vector<std::int64_t>& values = sums.sums[sample];
  const std::int64_t channels = sums.layer.shape.out_channels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const RescaleOperands& operands = sums.layer.operands_of(static_cast<std::int64_t>(i) % channels);
    places.push_back(tie_place(sums.layer.arithmetic.rescale.chain, values[i], operands).value_or(TiePlace::clear));
  }
  return places;
}

/// What b would hold of the layer's output in float.
std::vector<std::int64_t> float_codes(const Model& layer, const Side& real, const Side& b, const Tensor& input) {
  const Tensor codes = b.in_form(output_of(layer, real, input), layer.operations[0].outputs[0]);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < codes.element_count(); ++i) values.push_back(codes.integer_at(i));
  return values;
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
  const Convolution convolution(layer.shape, layer.direction, layer.arithmetic, layer.weights, layer.bias, layer.input_type,
                                layer.largest_input, layer.multipliers);
  result.bits = convolution.accumulator_bits();
  for (const Tensor& input : inputs) {
    std::vector<std::int64_t>& sums = result.sums.emplace_back(static_cast<std::size_t>(layer.shape.out_count()));
    convolution.sums(conv_input(input, layer.zero_points), sums, nullptr);
  }
  return result;
}

std::vector<std::int64_t> finished(const LayerSums& sums, std::size_t sample, const std::vector<RescaleOperands>& operands) {
  std::vector<std::int64_t> values = sums.sums[sample];
  Finisher(sums.layer.arithmetic.rescale.chain, operands, sums.bits)(values);
  return values;
}

std::optional<TieCensus> tie_census(const Model& model, std::size_t operation, const Backend& a, const Backend& b,
                                    std::span<const Tensor> inputs) {
  const auto of_b = layer_sums(model, operation, b, inputs), of_a = layer_sums(model, operation, a, inputs);
  if (!of_b || (!of_a && a.domain != Domain::real)) return std::nullopt;
  const Model layer = extract_operation(model, operation);
  const Side side_a(layer, a), side_b(layer, b);
  TieCensus census;
  for (std::size_t s = 0; s < inputs.size(); ++s) {
    const std::vector<TiePlace> places_b = places_of(*of_b, s);
    const std::vector<TiePlace> places_a = of_a ? places_of(*of_a, s) : std::vector<TiePlace>(places_b.size(), TiePlace::clear);
    const std::vector<std::int64_t> codes_b = finished(*of_b, s, of_b->layer.operands);
    const std::vector<std::int64_t> codes_a =
        of_a ? finished(*of_a, s, of_a->layer.operands) : float_codes(layer, side_a, side_b, inputs[s]);
    census.accumulators += static_cast<std::int64_t>(codes_b.size());
    for (std::size_t i = 0; i < codes_b.size(); ++i) {
      const TiePlace either = std::max(places_a[i], places_b[i]);
      count(census.a, places_a[i]);
      count(census.b, places_b[i]);
      count(census.either, either);
      if (codes_a[i] == codes_b[i]) continue;
      ++census.differing;
      count(census.differing_at, either);
    }
  }
  return census;
}

}  // namespace lastbit
