// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/shrink/crop.hpp"
#include "analysis/shrink/ddmin.hpp"
#include "analysis/shrink/reduce.hpp"

namespace lastbit {
namespace {

using enum OperationKind;
using Indices = std::vector<std::int64_t>;

struct AxisOf {
  std::int32_t tensor;
  std::size_t axis;
};

/// Axes of several tensors that become shorter together.
struct SharedAxis {
  std::vector<AxisOf> axes;
  std::optional<std::size_t> value_axis{};   ///< of the output: the value lies on it, so its own index stays
  bool is_taps = false;                      ///< of a sum: what is dropped may move into the bias
  std::int64_t Extent2d::*filter = nullptr;  ///< of a pool, which shrinks with it
};

void add_if_there(const LayerCase& layer, SharedAxis& shared, std::size_t position, std::size_t axis) {
  if (layer.has_input(position)) shared.axes.push_back({layer.input_tensor(position), axis});
}

/// A device may process rows together, so that they are not cut away at once.
std::vector<SharedAxis> rows_of(const LayerCase& layer) {
  if (layer.operation().kind != fully_connected || layer.output_shape()[0] == 1) return {};
  SharedAxis rows{{{layer.input_tensor(0), 0}, {layer.output_tensor(), 0}}};
  rows.value_axis = 0;
  return {rows};
}

std::vector<SharedAxis> axes_of_sum(const LayerCase& layer) {
  const OperationKind kind = layer.operation().kind;
  const std::size_t tap_axis = kind == depthwise_conv2d ? 2 : layer.input_shape(0).rank() - 1;
  SharedAxis taps{{{layer.input_tensor(0), tap_axis},
                   {layer.input_tensor(1), kind == fully_connected    ? 1
                                           : kind == depthwise_conv2d ? 2
                                                                      : std::size_t{3}}}};
  taps.is_taps = true;
  std::vector<SharedAxis> result = rows_of(layer);
  if (layer.output_shape().back() == 1) {
    result.push_back(taps);
    return result;
  }
  SharedAxis channels{{{layer.output_tensor(), layer.output_shape().rank() - 1}}};
  channels.value_axis = layer.output_shape().rank() - 1;
  add_if_there(layer, channels, bias_input, 0);
  add_if_there(layer, channels, multiplier_input, 0);
  add_if_there(layer, channels, 1, kind == depthwise_conv2d ? 3 : 0);
  if (kind == depthwise_conv2d) add_if_there(layer, channels, 0, 3);
  result.insert(result.end(), {channels, taps});
  return result;
}

/// Whether a layer is cut already to windows that cover its whole input.
bool is_one_place(const LayerCase& layer) {
  const Shape &in = layer.input_shape(0), &out = layer.output_shape();
  if (const auto* const row = std::get_if<FullyConnectedAttributes>(&layer.operation().attributes))
    return in.rank() == 2 && row->active_rows.empty() && !row->bias_column;
  if (out.element_count() != out[3]) return false;
  if (layer.operation().kind == depthwise_conv2d) return in[1] == 1 && in[2] == layer.input_shape(1)[2];
  return in[1] == 1 && in[2] == 1 && in[3] == layer.input_shape(1)[3];
}

std::vector<SharedAxis> axes_of_pool(const LayerCase& layer) {
  std::vector<SharedAxis> result;
  const auto* pool = std::get_if<Pool2dAttributes>(&layer.operation().attributes);
  const Shape& in = layer.input_shape(0);
  const bool covered = pool == nullptr || (pool->filter == Extent2d{in[1], in[2]} && pool->padding.mode == PaddingMode::valid);
  if (!covered || layer.output_shape().element_count() != 1) return result;
  for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
    SharedAxis shared{{{layer.input_tensor(0), axis}}};
    if (pool != nullptr) shared.filter = axis == 1 ? &Extent2d::height : &Extent2d::width;
    result.push_back(shared);
  }
  return result;
}

std::vector<SharedAxis> shared_axes(const LayerCase& layer) {
  const Operation& operation = layer.operation();
  const std::size_t last = layer.tensor(layer.operation().inputs[0]).shape.rank() - 1;
  if (is_sum_of_taps(operation.kind)) return is_one_place(layer) ? axes_of_sum(layer) : std::vector<SharedAxis>{};
  switch (operation.kind) {
    case matmul: {
      const auto& attributes = std::get<MatmulAttributes>(operation.attributes);
      const std::size_t last_b = layer.input_shape(1).rank() - 1;
      return {{{{layer.input_tensor(0), attributes.transpose_a ? last - 1 : last},
                {layer.input_tensor(1), attributes.transpose_b ? last_b : last_b - 1}}}};
    }
    case max_pool2d:
    case average_pool2d:
    case sum_pool2d:
    case global_average_pool: return axes_of_pool(layer);
    case mean:
    case reduce_sum:
    case reduce_max:
    case reduce_min: {
      std::vector<SharedAxis> result;
      for (const std::int64_t axis : std::get<MeanAttributes>(operation.attributes).axes)
        result.push_back({{{layer.input_tensor(0), static_cast<std::size_t>(axis)}}});
      return result;
    }
    case argmax:
    case argmin: return {{{{layer.input_tensor(0), static_cast<std::size_t>(std::get<ArgmaxAttributes>(operation.attributes).axis)}}}};
    case softmax:
    case log_softmax:
    case l2_normalization: {
      SharedAxis shared{{{layer.input_tensor(0), last}, {layer.output_tensor(), last}}};
      shared.value_axis = last;
      return {shared};
    }
    default: return {};
  }
}

std::int64_t length_of(const LayerCase& layer, const SharedAxis& shared) {
  return layer.tensor(shared.axes.front().tensor).shape[shared.axes.front().axis];
}

LayerCase with_only(const LayerCase& from, const SharedAxis& shared, const Indices& kept, std::int64_t own) {
  LayerCase layer = from;
  for (const AxisOf& each : shared.axes) keep(layer, each.tensor, each.axis, kept);
  if (shared.value_axis) {
    std::vector<std::int64_t> at = coordinates(from.output_shape(), from.index);
    at[*shared.value_axis] = std::find(kept.begin(), kept.end(), own) - kept.begin();
    layer.index = offset_of(layer.output_shape(), at);
  }
  if (shared.filter != nullptr)
    std::get<Pool2dAttributes>(layer.operation().attributes).filter.*shared.filter = static_cast<std::int64_t>(kept.size());
  OutputBounds* const bounds = bounds_of(layer.operation());
  const bool is_channels = shared.value_axis && *shared.value_axis + 1 == from.output_shape().rank();
  const auto keep_entries = [&](auto& list) {
    if (list.size() <= 1) return;
    auto entries = std::exchange(list, {});
    for (const std::int64_t index : kept) list.push_back(entries[static_cast<std::size_t>(index)]);
  };
  if (is_channels && bounds != nullptr) {
    keep_entries(bounds->accumulator_clip);
    keep_entries(bounds->registers);
    keep_entries(bounds->below_zero);
    keep_entries(bounds->converter);
  }
  return layer;
}

/// The products of the taps of the value, zero points subtracted, as the device sums them.
std::vector<std::int64_t> products_of(const LayerCase& layer) {
  const Tensor *input = layer.values(layer.input_tensor(0)), *weights = layer.values(layer.input_tensor(1));
  const std::int64_t input_zero = layer.tensor(layer.input_tensor(0)).quantization.zero_point();
  const auto channel = static_cast<std::size_t>(channel_of(layer));
  const std::int64_t weight_zero = layer.tensor(layer.input_tensor(1)).quantization.zero_point(channel);
  std::int64_t multiplier = 1;
  if (layer.has_input(multiplier_input))
    multiplier = layer.values(layer.input_tensor(multiplier_input))->integer_at(static_cast<std::int64_t>(channel));
  std::vector<std::int64_t> products;
  for (const Tap& tap : taps_of(layer))
    products.push_back((input->integer_at(tap.input) - input_zero) * (weights->integer_at(tap.weight) - weight_zero) * multiplier);
  return products;
}

/// A bias of zeros where there is none. Its scale is what a .tflite file would say.
void require_bias(LayerCase& layer) {
  if (layer.has_input(bias_input)) return;
  const Quantization &input = layer.tensor(layer.input_tensor(0)).quantization, &weights = layer.tensor(layer.input_tensor(1)).quantization;
  const std::int64_t channels = layer.output_shape().back();
  ModelTensor bias{"bias", ElementType::int32, Shape{channels}, {}, Tensor(ElementType::int32, Shape{channels})};
  for (const double scale : weights.scales)
    bias.quantization.scales.push_back(static_cast<double>(static_cast<float>(input.scale() * scale)));
  bias.quantization.zero_points.assign(bias.quantization.scales.size(), 0);
  Operation& operation = layer.operation();
  operation.inputs.resize(std::max(operation.inputs.size(), bias_input + 1), absent_tensor);
  operation.inputs[bias_input] = static_cast<std::int32_t>(layer.layer.tensors.size());
  layer.layer.tensors.push_back(std::move(bias));
}

/// Adds to the value's bias; false where it does not fit.
bool add_to_bias(LayerCase& layer, std::int64_t amount) {
  require_bias(layer);
  Tensor* const bias = layer.values(layer.input_tensor(bias_input));
  if (bias == nullptr || bias->element_count() != layer.output_shape().back()) return false;
  const std::int64_t at = channel_of(layer);
  const std::int64_t sum = bias->integer_at(at) + amount;
  return visit_element_type(bias->type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      bias->values<T>()[static_cast<std::size_t>(at)] = static_cast<T>(sum);
      return bias->integer_at(at) == sum;
    } else {
      return false;
    }
  });
}

bool can_fold(const LayerCase& layer) {
  const ModelTensor& input = layer.tensor(layer.input_tensor(0));
  return is_integer(input.type) && layer.values(layer.input_tensor(1)) != nullptr &&
         (layer.has_input(bias_input) || size_of(input.type) == 1);
}

void shorten(LayerCase& best, const SharedAxis& shared, Oracle& oracle) {
  const LayerCase base = best;
  const std::int64_t own = shared.value_axis ? coordinates(base.output_shape(), base.index)[*shared.value_axis] : -1;
  const bool folds = shared.is_taps && can_fold(base);
  const std::vector<std::int64_t> products = folds ? products_of(base) : std::vector<std::int64_t>{};
  const auto accept = [&](LayerCase candidate) {
    if (!oracle.holds(candidate)) return false;
    best = std::move(candidate);
    return true;
  };
  const auto holds = [&](const Indices& others) {
    Indices kept = others;
    if (shared.value_axis) kept.insert(std::upper_bound(kept.begin(), kept.end(), own), own);
    if (accept(with_only(base, shared, kept, own))) return true;
    if (!folds) return false;
    std::int64_t dropped = 0;
    for (const std::int64_t product : products) dropped += product;
    for (const std::int64_t index : kept) dropped -= products[static_cast<std::size_t>(index)];
    LayerCase folded = with_only(base, shared, kept, own);
    return add_to_bias(folded, dropped) && accept(std::move(folded));
  };
  Indices all = counting(length_of(base, shared));
  if (shared.value_axis) std::erase(all, own);
  if (all.empty() || (shared.value_axis && holds({}))) return;
  (void)ddmin(std::move(all), holds);
}

/// Of a concat or a sum of many tensors, fewer of them.
void drop_inputs(LayerCase& best, Oracle& oracle) {
  const OperationKind kind = best.operation().kind;
  if (kind != concat && kind != add_n) return;
  const LayerCase base = best;
  const auto holds = [&](const Indices& kept) {
    LayerCase layer = base;
    layer.operation().inputs.clear();
    layer.inputs.clear();
    layer.layer.inputs.clear();
    for (const std::int64_t position : kept) {
      const std::int32_t tensor = base.input_tensor(static_cast<std::size_t>(position));
      layer.operation().inputs.push_back(tensor);
      if (base.tensor(tensor).constant) continue;
      layer.layer.inputs.push_back(tensor);
      layer.inputs.push_back(*base.values(tensor));
    }
    if (kind == concat) {
      const auto own = std::find(kept.begin(), kept.end(), base.index);
      if (own == kept.end()) return false;
      keep(layer, layer.output_tensor(), static_cast<std::size_t>(std::get<ConcatAttributes>(base.operation().attributes).axis), kept);
      layer.index = own - kept.begin();
    }
    if (layer.inputs.empty() || !oracle.holds(layer)) return false;
    best = std::move(layer);
    return true;
  };
  (void)ddmin(counting(static_cast<std::int64_t>(base.operation().inputs.size())), holds);
}

}  // namespace

void drop_parts(LayerCase& layer, Oracle& oracle) {
  if (layer.operation().inputs.front() == absent_tensor) return;
  // An axis of which one index is left may be gone from the list, and what follows takes its place.
  for (std::size_t i = 0; i < shared_axes(layer).size();) {
    const std::size_t before = shared_axes(layer).size();
    shorten(layer, shared_axes(layer)[i], oracle);
    if (shared_axes(layer).size() == before) ++i;
  }
  drop_inputs(layer, oracle);
}

}  // namespace lastbit
