// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// conv2d, depthwise_conv2d, transposed_conv2d and fully_connected as layers: which tensors, which arithmetic, which scales.
#include "engine/ops/conv_layer.hpp"

#include <algorithm>
#include <numeric>

#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/conv_chains.hpp"
#include "engine/ops/layer_parts.hpp"
#include "lastbit/op/per_channel.hpp"
#include "lastbit/op/transposed_conv2d.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

const ConvByType& arithmetic_of(const Backend& backend, OperationKind kind) {
  switch (kind) {
    case OperationKind::depthwise_conv2d: return backend.depthwise_conv;
    case OperationKind::transposed_conv2d: return backend.transposed_conv;
    case OperationKind::fully_connected: return backend.fully_connected;
    default: return backend.conv;
  }
}

const std::optional<CrossTerms>& cross_terms_of(const Operation& operation) {
  static const std::optional<CrossTerms> none;
  const auto* const conv = std::get_if<Conv2dAttributes>(&operation.attributes);
  return conv == nullptr ? none : conv->cross_terms;
}

/// Throws where the backend does not take what the layer states in place of zero points.
void require_cross_terms(const Model& model, const Operation& operation, const ConvArithmetic& arithmetic) {
  if (!cross_terms_of(operation)) return;
  const AccumulatorRule& rule = arithmetic.sum.accumulator;
  if (arithmetic.cross_terms.method == CrossTermMethod::absent) throw_unsupported(operation, "the backend has no cross terms");
  if (arithmetic.sum.centring != Centring::own_zero_point || !arithmetic.sum.operand.chain.empty() || rule.when != NarrowingPoint::at_end ||
      has_partial_sums(rule))
    throw_unsupported(operation, "cross terms join sums of products that are narrowed once");
  if (input_tensor(model, operation, bias_input) != nullptr || input_tensor(model, operation, multiplier_input) != nullptr)
    throw_unsupported(operation, "a layer of cross terms has neither bias nor multipliers: both are in its registers");
}

/// Depthwise weights [1, kh, kw, channels] as [channels, kh, kw, 1].
std::vector<std::int16_t> channels_first(const std::vector<std::int16_t>& weights, std::size_t channels) {
  std::vector<std::int16_t> out(weights.size());
  const std::size_t taps = weights.size() / channels;
  for (std::size_t t = 0; t < taps; ++t) {
    for (std::size_t c = 0; c < channels; ++c) out[c * taps + t] = weights[t * channels + c];
  }
  return out;
}

/// Weights minus zero points in the order of ConvShape.
std::vector<std::int16_t> centred_weights(const Operation& operation, const SumArithmetic& rule, const ModelTensor& info,
                                          std::int64_t out_channels) {
  const std::vector<std::int64_t> zero_points = cross_terms_of(operation) ? std::vector<std::int64_t>{0} : subtracted(rule, info);
  const Tensor& weights = *info.constant;
  std::vector<std::int16_t> values(static_cast<std::size_t>(weights.element_count()));
  const bool depthwise = operation.kind == OperationKind::depthwise_conv2d;
  centre<std::int16_t>(weights, zero_points, depthwise ? 1 : values.size() / static_cast<std::size_t>(out_channels), values);
  return depthwise ? channels_first(values, static_cast<std::size_t>(out_channels)) : values;
}

/// Of a table with rows of `columns` values, the given rows one after the other.
template <class T>
std::vector<T> rows_of(const std::vector<T>& table, const std::vector<std::int64_t>& rows, std::size_t columns) {
  std::vector<T> out;
  for (const std::int64_t row : rows) {
    const auto first = table.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * columns);
    out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(columns));
  }
  return out;
}

/// What a layer brings to its sums.
struct LayerConstants {
  std::vector<std::int16_t> weights;
  std::vector<std::int64_t> bias, multipliers;
};

/// One column of a bias, and the active rows of everything.
void choose_rows(const Model& model, const Operation& operation, LayerConstants& layer) {
  const auto* const attributes = std::get_if<FullyConnectedAttributes>(&operation.attributes);
  if (attributes == nullptr) return;
  const Shape& weights = model.tensor(operation.inputs[1]).shape;
  if (attributes->bias_column) {
    const std::size_t columns = layer.bias.size() / static_cast<std::size_t>(weights[0]);
    for (std::size_t row = 0; row < static_cast<std::size_t>(weights[0]); ++row)
      layer.bias[row] = layer.bias[row * columns + static_cast<std::size_t>(*attributes->bias_column)];
    layer.bias.resize(static_cast<std::size_t>(weights[0]));
  }
  const auto& active = attributes->active_rows;
  if (active.empty()) return;
  layer.weights = rows_of(layer.weights, active, static_cast<std::size_t>(weights[1]));
  if (!layer.bias.empty()) layer.bias = rows_of(layer.bias, active, 1);
  if (!layer.multipliers.empty()) layer.multipliers = rows_of(layer.multipliers, active, 1);
}

LayerConstants constants_of(const Model& model, const Operation& operation, const ConvArithmetic& arithmetic) {
  const ModelTensor& weights = model.tensor(operation.inputs[1]);
  const ModelTensor* const bias = input_tensor(model, operation, bias_input);
  const ModelTensor* const multiplier = input_tensor(model, operation, multiplier_input);
  require_constant(operation, &weights);
  require_constant(operation, bias);
  const bool depthwise = operation.kind == OperationKind::depthwise_conv2d;
  LayerConstants layer{centred_weights(operation, arithmetic.sum, weights, weights.shape[depthwise ? 3 : 0]),
                       bias == nullptr ? std::vector<std::int64_t>{} : centred(*bias->constant, 0),
                       multipliers_of(operation, multiplier, arithmetic)};
  choose_rows(model, operation, layer);
  return layer;
}

/// Scales of the weights' active rows.
Quantization weight_quantization(const Model& model, const Operation& operation) {
  Quantization quantization = model.tensor(operation.inputs[1]).quantization;
  const auto* const attributes = std::get_if<FullyConnectedAttributes>(&operation.attributes);
  if (attributes != nullptr && !attributes->active_rows.empty() && quantization.per_channel())
    quantization.scales = rows_of(quantization.scales, attributes->active_rows, 1);
  return quantization;
}

/// Of codes as they are: what padding and the registers add to every sum of a channel.
std::vector<std::int64_t> channel_terms(const CrossTerms& terms, Rounding rounding, const ConvLayer& layer) {
  const auto taps = static_cast<std::size_t>(layer.shape.taps());
  std::vector<std::int64_t> added;
  for (auto row = layer.weights.begin(); row != layer.weights.end(); row += static_cast<std::ptrdiff_t>(taps)) {
    const std::int64_t sum = std::accumulate(row, row + static_cast<std::ptrdiff_t>(taps), std::int64_t{0});
    const Int128 of_weights = shift_right(Int128{sum} * terms.weights.multiplier, terms.weights.shift, rounding);
    const Int128 constant = Int128{terms.per_channel} * layer.shape.group_channels();
    added.push_back(narrow_saturate(Int128{layer.zero_points.front()} * sum + of_weights + constant, 64));
  }
  return added;
}

void join_cross_terms(const Operation& operation, ConvLayer& layer) {
  const std::optional<CrossTerms>& terms = cross_terms_of(operation);
  if (!terms) return;
  const Rounding rounding = layer.arithmetic.cross_terms.rounding;
  layer.bias = channel_terms(*terms, rounding, layer);
  layer.arithmetic.bias = BiasAt::accumulator_start;
  layer.data_term = DataTerm{terms->data, rounding, layer.zero_points.front() * layer.shape.taps()};
}

}  // namespace

ConvShape sum_shape_of(const Model& model, const Operation& operation) {
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  if (operation.kind == OperationKind::matmul) {
    const Shape& a = model.tensor(operation.inputs[0]).shape;
    const std::int64_t rows = out[out.rank() - 2];
    const std::int64_t terms = a[a.rank() - (std::get<MatmulAttributes>(operation.attributes).transpose_a ? 2U : 1U)];
    return {.in_width = rows, .in_channels = terms, .out_width = rows, .out_channels = out.back()};
  }
  if (operation.kind != OperationKind::fully_connected) return conv_shape_of(model, operation);
  const Shape& weights = model.tensor(operation.inputs[1]).shape;
  const std::int64_t rows = model.tensor(operation.inputs[0]).shape.element_count() / weights[1];
  return {.in_width = rows, .in_channels = weights[1], .out_width = rows, .out_channels = out.back(), .together = largest_group};
}

bool is_conv_layer(OperationKind kind) {
  return kind == OperationKind::conv2d || kind == OperationKind::depthwise_conv2d || kind == OperationKind::transposed_conv2d ||
         kind == OperationKind::fully_connected;
}

ConvLayer conv_layer(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  require_integer_data(operation, input);
  require_integer_data(operation, model.tensor(operation.inputs[1]));
  require_16_bits(operation, model.tensor(operation.inputs[1]));
  const ConvShape shape = sum_shape_of(model, operation);
  const ConvArithmetic& arithmetic = select_arithmetic(model, operation, arithmetic_of(backend, operation.kind));
  if (!applies_scale(arithmetic.sum)) require_plain_sums(operation, model);
  require_whole_vectors(operation, arithmetic.sum.accumulator, shape.kernel_width * shape.group_channels());
  require_sums_of_codes(operation, arithmetic.sum, model.tensor(operation.inputs[1]));
  require_cross_terms(model, operation, arithmetic);
  LayerConstants constants = constants_of(model, operation, arithmetic);
  if (arithmetic.per_channel == PerChannelLowering::refused && model.tensor(operation.inputs[1]).quantization.per_channel())
    throw_unsupported(operation, "the weights have a scale per channel, for which the backend states no arithmetic");
  LoweredLayer lowered =
      lower_per_channel(arithmetic, {std::move(constants.weights), std::move(constants.bias), weight_quantization(model, operation)},
                        input.quantization.scale());
  for (auto& value : lowered.values.bias) value = stored_bias(value, lowered.arithmetic.bias_bits, lowered.arithmetic.bias_rounding);
  const Direction direction = operation.kind == OperationKind::transposed_conv2d ? Direction::transposed : Direction::forward;
  ConvLayer layer{shape,
                  direction,
                  lowered.arithmetic,
                  std::move(lowered.values.weights),
                  std::move(lowered.values.bias),
                  std::move(constants.multipliers),
                  {},
                  subtracted(arithmetic.sum, input),
                  input.type,
                  largest_value(arithmetic.sum, input)};
  layer.term_operands = term_operands(operation, layer.arithmetic.sum, input, lowered.values.quantization, output);
  layer.code_zeros = {layer.zero_points.empty() ? 0 : layer.zero_points.front(),
                      subtracted(arithmetic.sum, model.tensor(operation.inputs[1]))};
  join_cross_terms(operation, layer);
  layer.segments = output_bounds(operation).segments;
  if (!delivers_accumulators(output, layer.arithmetic.sum))
    layer.operands =
        chain_operands(operation, layer.arithmetic.sum.output, input, lowered.values.quantization, output, output_bounds(operation));
  return layer;
}

Convolution convolution_of(ConvLayer layer) {
  return Convolution(layer.shape, layer.direction, layer.arithmetic, std::move(layer.weights), std::move(layer.bias), layer.input_type,
                     layer.largest_input, std::move(layer.multipliers), std::move(layer.term_operands), std::move(layer.code_zeros));
}

namespace {

/// Of sums that are narrowed once the data's term has joined them: until then they are exact.
Convolution products_of(ConvLayer layer) {
  if (layer.data_term) layer.arithmetic.sum.accumulator = {.bits = 64, .overflow = Overflow::exact, .when = NarrowingPoint::at_end};
  return convolution_of(std::move(layer));
}

/// One output for each group of channels, every weight 1.
std::optional<Convolution> windows_of(const ConvLayer& layer) {
  if (!layer.data_term) return std::nullopt;
  ConvLayer windows = layer;
  windows.shape.out_channels = layer.shape.groups;
  windows.weights.assign(static_cast<std::size_t>(layer.shape.groups * layer.shape.taps()), 1);
  windows.bias.clear();
  return products_of(std::move(windows));
}

}  // namespace

LayerSums::LayerSums(ConvLayer layer)
    : rule_(layer.arithmetic.sum.accumulator),
      data_term_(layer.data_term),
      windows_(windows_of(layer)),
      products_(products_of(std::move(layer))) {}

void LayerSums::for_each_tile(const ConvInput& input, const ReceiveSums& receive, Events* events, SumRoutes* routes,
                              const OutputsByLines* by_lines) const {
  if (!data_term_) return products_.for_each_tile(input, receive, events, routes, by_lines);
  const ConvShape& shape = products_.shape();
  const std::int64_t together = shape.out_channels / shape.groups;  // channels of one window
  std::vector<std::int64_t> terms(static_cast<std::size_t>(shape.out_count() / together));
  windows_->sums(input, terms, nullptr);
  std::transform(terms.begin(), terms.end(), terms.begin(), *data_term_);
  const auto join = [&](const SumTile& tile) {
    thread_local std::vector<std::int64_t> sums;
    sums.assign(tile.narrow.begin(), tile.narrow.end());
    sums.insert(sums.end(), tile.wide.begin(), tile.wide.end());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Int128 exact = Int128{sums[i]} + terms[(tile.first + i) / static_cast<std::size_t>(together)];
      const bool fits = fits_width(exact, rule_.bits);
      if (!fits && tile.events != nullptr) ++tile.events->accumulator_overflows;
      sums[i] = fits || rule_.overflow == Overflow::exact ? narrow_saturate(exact, 64) : narrow(exact, rule_.bits, rule_.overflow);
    }
    receive({tile.first, {}, sums, tile.events});
  };
  products_.for_each_tile(input, join, events, routes);
}

std::vector<std::int64_t> LayerSums::all(const ConvInput& input) const {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(products_.shape().out_count()));
  for_each_tile(
      input,
      [&](const SumTile& tile) {
        const auto to = sums.begin() + static_cast<std::ptrdiff_t>(tile.first);
        if (tile.wide.empty()) std::ranges::copy(tile.narrow, to);
        else std::ranges::copy(tile.wide, to);
      },
      nullptr, nullptr);
  return sums;
}

std::vector<std::int32_t> centred_input(const ConvLayer& layer, const Tensor& input) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(input.element_count()));
  centre<std::int32_t>(input, layer.zero_points, values.size(), values);
  return values;
}

ConvIndex output_at(const ConvShape& shape, std::int64_t index) {
  const std::int64_t pixel = index / shape.out_channels, row = pixel / shape.out_width;
  return {row / shape.out_height, row % shape.out_height, pixel % shape.out_width, index % shape.out_channels};
}

Accumulator accumulate(const ConvLayer& layer, std::span<const std::int32_t> input, const ConvIndex& at) {
  const auto sum = layer.direction == Direction::forward ? accumulate_values<std::int32_t> : accumulate_transposed_values<std::int32_t>;
  Accumulator total = sum(layer.shape, at, input, layer.weights, layer.bias, layer.arithmetic.sum.accumulator, layer.arithmetic.bias,
                          layer.multiplier(at.o), layer.term_rule(at.o));
  if (layer.data_term) {
    std::int64_t window = 0;
    each_tap(layer.shape, at, [&](std::size_t i, std::size_t) { window += input[i]; });
    total.add_beside((*layer.data_term)(window));
  }
  return total;
}

std::vector<ConvTerm> terms_of(const ConvLayer& layer, const ConvIndex& at, std::vector<std::size_t>* runs) {
  std::vector<ConvTerm> terms;
  const auto add = [&](std::size_t input, std::size_t weight) {
    if (input != in_padding || runs != nullptr) terms.push_back({input, weight});
  };
  const auto begin_run = [&](std::int64_t) {
    if (runs != nullptr) runs->push_back(terms.size());
  };
  if (layer.direction == Direction::forward) each_tap(layer.shape, at, runs_of(layer.arithmetic.sum.accumulator), add, begin_run);
  else each_transposed_tap(layer.shape, at, add);
  return terms;
}

}  // namespace lastbit
