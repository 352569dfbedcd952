// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/shrink/crop.hpp"

#include <algorithm>

#include "engine/geometry.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

using enum OperationKind;
using Indices = std::vector<std::int64_t>;

Shape ones(std::size_t rank) { return Shape(Indices(rank, 1)); }

/// Of a list with an entry per channel, the entries of these.
template <class Entry>
void pick_entries(std::vector<Entry>& list, const Indices& channels) {
  if (list.size() <= 1) return;
  std::vector<Entry> picked;
  for (const std::int64_t channel : channels) picked.push_back(list[static_cast<std::size_t>(channel)]);
  list = std::move(picked);
}

// Sums of taps.

std::vector<Tap> forward_taps(const LayerCase& layer, const ConvShape& shape, const ConvIndex& at) {
  const bool depthwise = layer.operation().kind == depthwise_conv2d;
  std::vector<Tap> taps;
  each_tap(shape, at, [&](std::size_t input, std::size_t weight) {
    auto offset = static_cast<std::int64_t>(weight);
    if (depthwise) offset = offset % (shape.kernel_height * shape.kernel_width) * shape.out_channels + at.o;  // [1, kh, kw, O]
    taps.push_back({static_cast<std::int64_t>(input), offset});
  });
  return taps;
}

/// Of the windows that the input's places lay over the output, the ones that cover this place.
std::vector<Tap> backward_taps(const LayerCase& layer, const ConvShape& shape, const ConvIndex& at) {
  const Shape& weights = layer.input_shape(1);
  const auto place = [](std::int64_t out, std::int64_t pad, std::int64_t k, std::int64_t stride, std::int64_t size) -> std::int64_t {
    const std::int64_t from = out + pad - k;
    return from >= 0 && from % stride == 0 && from / stride < size ? from / stride : -1;
  };
  std::vector<Tap> taps;
  for (std::int64_t ky = 0; ky < shape.kernel_height; ++ky) {
    const std::int64_t y = place(at.y, shape.pad_top, ky * shape.dilation_height, shape.stride_height, shape.in_height);
    for (std::int64_t kx = 0; y >= 0 && kx < shape.kernel_width; ++kx) {
      const std::int64_t x = place(at.x, shape.pad_left, kx * shape.dilation_width, shape.stride_width, shape.in_width);
      if (x < 0) continue;
      for (std::int64_t i = 0; i < weights[3]; ++i)
        taps.push_back({offset_of(layer.input_shape(0), {at.n, y, x, i}), offset_of(weights, {at.o, ky, kx, i})});
    }
  }
  return taps;
}

ConvIndex conv_index(const LayerCase& layer) {
  const Indices at = coordinates(layer.output_shape(), layer.index);
  return {at[0], at[1], at[2], at[3]};
}

std::vector<Tap> row_taps(const LayerCase& layer) {
  const std::int64_t length = layer.input_shape(1)[1];
  const std::int64_t row = layer.index / layer.output_shape().back();
  std::vector<Tap> taps;
  for (std::int64_t i = 0; i < length; ++i) taps.push_back({row * length + i, channel_of(layer) * length + i});
  return taps;
}

/// Bias, row multipliers and bounds of these channels; of a bias per position, what the value's position has.
void crop_channels(LayerCase& layer, const LayerCase& from, const Indices& channels) {
  const std::int64_t count = from.operation().kind == fully_connected ? from.input_shape(1)[0] : from.output_shape().back();
  const auto size = static_cast<std::int64_t>(channels.size());
  if (from.has_input(bias_input)) {
    const std::int64_t values = from.input_shape(bias_input).element_count();
    Indices offsets = channels;
    if (const auto* row = std::get_if<FullyConnectedAttributes>(&from.operation().attributes); row != nullptr && row->bias_column) {
      for (std::int64_t& offset : offsets) offset = offset * (values / count) + *row->bias_column;
    } else if (values != count) {
      const std::int64_t place = from.index / count % (values / count) * count;
      for (std::int64_t& offset : offsets) offset += place;
    }
    pick(layer, layer.input_tensor(bias_input), Shape{size}, offsets);
    pick_scales(layer, layer.input_tensor(bias_input), channels);
  }
  if (from.has_input(multiplier_input)) pick(layer, layer.input_tensor(multiplier_input), Shape{size}, channels);
  pick_scales(layer, layer.input_tensor(1), channels);
  pick_scales(layer, layer.output_tensor(), channels);
  if (OutputBounds* const bounds = bounds_of(layer.operation())) {
    pick_entries(bounds->accumulator_clip, channels);
    pick_entries(bounds->registers, channels);
    pick_entries(bounds->below_zero, channels);
    pick_entries(bounds->converter, channels);
  }
}

void plain_windows(LayerCase& layer) {
  if (auto* const conv = std::get_if<Conv2dAttributes>(&layer.operation().attributes)) {
    conv->stride = conv->dilation = {1, 1};
    conv->padding = {};
  }
  if (auto* const row = std::get_if<FullyConnectedAttributes>(&layer.operation().attributes)) {
    row->active_rows.clear();
    row->bias_column.reset();
  }
}

/// Where taps and channels lie in a layer whose every value is one place: [1, taps of a channel, channels].
struct TapLayout {
  Shape input, weights, output;
};

TapLayout layout_of(OperationKind kind, std::int64_t taps, std::int64_t channels) {
  if (kind == depthwise_conv2d) return {Shape{1, 1, taps, channels}, Shape{1, 1, taps, channels}, Shape{1, 1, 1, channels}};
  if (kind == fully_connected) return {Shape{1, taps}, Shape{channels, taps}, Shape{1, channels}};
  return {Shape{1, 1, 1, taps}, Shape{channels, 1, 1, taps}, Shape{1, 1, 1, channels}};
}

LayerCase one_sum(const LayerCase& from, const std::vector<Tap>& taps) {
  LayerCase layer = from;
  const TapLayout to = layout_of(from.operation().kind, static_cast<std::int64_t>(taps.size()), 1);
  Indices inputs, weights;
  for (const Tap& tap : taps) {
    inputs.push_back(tap.input);
    weights.push_back(tap.weight);
  }
  pick(layer, layer.input_tensor(0), to.input, inputs);
  pick(layer, layer.input_tensor(1), to.weights, weights);
  pick(layer, layer.output_tensor(), to.output, {});
  crop_channels(layer, from, {channel_of(from)});
  plain_windows(layer);
  layer.index = 0;
  return layer;
}

/// The same place of every channel.
LayerCase every_channel(const LayerCase& from, const std::vector<Tap>& taps) {
  LayerCase layer = from;
  const OperationKind kind = from.operation().kind;
  const Shape& old = from.input_shape(1);
  const std::int64_t channels = kind == depthwise_conv2d ? old[3] : old[0];
  const auto count = static_cast<std::int64_t>(taps.size());
  const TapLayout to = layout_of(kind, count, channels);
  Indices inputs, weights;
  if (kind == depthwise_conv2d) {
    for (const Tap& tap : taps) {
      const std::int64_t in_channels = from.input_shape(0)[3], place = tap.input / in_channels * in_channels;
      for (std::int64_t c = 0; c < channels; ++c) inputs.push_back(place + c * in_channels / channels);
      for (std::int64_t c = 0; c < channels; ++c) weights.push_back(tap.weight / channels * channels + c);
    }
  } else {
    const std::int64_t per_channel = old.element_count() / channels;
    for (const Tap& tap : taps) inputs.push_back(tap.input);
    for (std::int64_t c = 0; c < channels; ++c)
      for (const Tap& tap : taps) weights.push_back(c * per_channel + tap.weight % per_channel);
  }
  pick(layer, layer.input_tensor(0), to.input, inputs);
  pick(layer, layer.input_tensor(1), to.weights, weights);
  pick(layer, layer.output_tensor(), to.output, {});
  crop_channels(layer, from, counting(channels));
  plain_windows(layer);
  layer.index = channel_of(from);
  return layer;
}

bool has_one_group(const LayerCase& layer) {
  return layer.operation().kind != conv2d || layer.input_shape(0)[3] == layer.input_shape(1)[3];
}

std::vector<LayerCase> crop_sum(const LayerCase& layer) {
  const std::vector<Tap> taps = taps_of(layer);
  if (taps.empty()) return {};
  std::vector<LayerCase> result{one_sum(layer, taps)};
  if (has_one_group(layer)) result.push_back(every_channel(layer, taps));
  return result;
}

// Everything else.

std::vector<LayerCase> crop_matmul(const LayerCase& from) {
  const auto& attributes = std::get<MatmulAttributes>(from.operation().attributes);
  const Indices at = coordinates(from.output_shape(), from.index);
  LayerCase layer = from;
  for (const std::size_t position : {std::size_t{0}, std::size_t{1}}) {
    const Shape shape = from.input_shape(position);
    const bool own_is_last = (position == 1) != (position == 0 ? attributes.transpose_a : attributes.transpose_b);
    const std::size_t last = shape.rank() - 1, own = own_is_last ? last : last - 1, inner = own_is_last ? last - 1 : last;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t batch = shape[axis] == 1 || axis == own || axis == inner ? 0 : at[axis + at.size() - shape.rank()];
      if (axis != inner) keep(layer, layer.input_tensor(position), axis, {axis == own ? at[at.size() - 2 + position] : batch});
    }
  }
  pick(layer, layer.output_tensor(), ones(at.size()), {});
  layer.index = 0;
  return {layer};
}

/// One element of the output, and of every input the one that broadcasting puts there.
std::vector<LayerCase> crop_elementwise(const LayerCase& from) {
  LayerCase layer = from;
  const Indices at = coordinates(from.output_shape(), from.index);
  const std::size_t operands = from.operation().kind == pwl ? 1 : from.operation().inputs.size();
  for (std::size_t position = 0; position < operands; ++position) {
    if (!from.has_input(position)) continue;
    const Shape shape = from.input_shape(position);
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
      keep(layer, layer.input_tensor(position), axis, {shape[axis] == 1 ? 0 : at[axis + at.size() - shape.rank()]});
  }
  for (std::size_t axis = 0; axis < at.size(); ++axis) keep(layer, layer.output_tensor(), axis, {at[axis]});
  layer.index = 0;
  return {layer};
}

/// The channel's image, or none of the other channels.
LayerCase one_channel(const LayerCase& from) {
  LayerCase layer = from;
  Indices at = coordinates(from.output_shape(), from.index);
  keep(layer, layer.input_tensor(0), 3, {at[3]});
  keep(layer, layer.output_tensor(), 3, {at[3]});
  at[3] = 0;
  layer.index = offset_of(layer.output_shape(), at);
  return layer;
}

struct WindowSpan {
  std::int64_t first, last;    ///< inside the image
  std::int64_t before, after;  ///< places of the window outside of it
};

WindowSpan window_span(std::int64_t out, std::int64_t stride, std::int64_t pad, std::int64_t filter, std::int64_t size) {
  const std::int64_t first = out * stride - pad, last = first + filter - 1;
  return {std::max<std::int64_t>(first, 0), std::min(last, size - 1), std::max<std::int64_t>(-first, 0),
          std::max<std::int64_t>(last - size + 1, 0)};
}

Indices from_to(std::int64_t first, std::int64_t last) {
  Indices indices = counting(last - first + 1);
  for (std::int64_t& index : indices) index += first;
  return indices;
}

/// The window alone: as if there were no border, then with the border as padding, then the whole image of the channel.
std::vector<LayerCase> crop_pool(const LayerCase& from) {
  const ConvShape shape = pool_shape_of(from.layer, from.operation());
  const Indices at = coordinates(from.output_shape(), from.index);
  const WindowSpan rows = window_span(at[1], shape.stride_height, shape.pad_top, shape.kernel_height, shape.in_height);
  const WindowSpan columns = window_span(at[2], shape.stride_width, shape.pad_left, shape.kernel_width, shape.in_width);
  LayerCase window = one_channel(from);
  keep(window, window.input_tensor(0), 0, {at[0]});
  keep(window, window.input_tensor(0), 1, from_to(rows.first, rows.last));
  keep(window, window.input_tensor(0), 2, from_to(columns.first, columns.last));
  pick(window, window.output_tensor(), ones(4), {});
  window.index = 0;
  auto& attributes = std::get<Pool2dAttributes>(window.operation().attributes);
  attributes.stride = {1, 1};
  attributes.partial_windows = PartialWindows::dropped;
  attributes.padding = {PaddingMode::explicit_sizes, rows.before, rows.after, columns.before, columns.after};
  LayerCase borderless = window;
  auto& plain = std::get<Pool2dAttributes>(borderless.operation().attributes);
  plain.filter = {rows.last - rows.first + 1, columns.last - columns.first + 1};
  plain.padding = {};
  return {borderless, window, one_channel(from)};
}

std::vector<LayerCase> crop_global_pool(const LayerCase& from) {
  LayerCase layer = one_channel(from);
  const std::int64_t sample = coordinates(from.output_shape(), from.index)[0];
  keep(layer, layer.input_tensor(0), 0, {sample});
  keep(layer, layer.output_tensor(), 0, {sample});
  layer.index = 0;
  return {layer};
}

/// Every axis but those reduced.
std::vector<LayerCase> crop_reduction(const LayerCase& from, const std::vector<std::int64_t>& reduced, bool keeps_dims) {
  LayerCase layer = from;
  const Indices at = coordinates(from.output_shape(), from.index);
  std::size_t out_axis = 0;
  for (std::size_t axis = 0; axis < from.input_shape(0).rank(); ++axis) {
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), static_cast<std::int64_t>(axis)) != reduced.end();
    if (!is_reduced) keep(layer, layer.input_tensor(0), axis, {at[out_axis]});
    if (!is_reduced || keeps_dims) keep(layer, layer.output_tensor(), out_axis, {at[out_axis]}), ++out_axis;
  }
  layer.index = 0;
  return {layer};
}

std::vector<LayerCase> crop_softmax(const LayerCase& from) {
  LayerCase layer = from;
  const Indices at = coordinates(from.output_shape(), from.index);
  for (std::size_t axis = 0; axis + 1 < at.size(); ++axis) {
    for (const std::int32_t tensor : {layer.input_tensor(0), layer.output_tensor()}) keep(layer, tensor, axis, {at[axis]});
  }
  layer.index = at.back();
  return {layer};
}

/// One element of every input.
std::vector<LayerCase> crop_concat(const LayerCase& from) {
  LayerCase layer = from;
  const auto axis = static_cast<std::size_t>(std::get<ConcatAttributes>(from.operation().attributes).axis);
  const Indices at = coordinates(from.output_shape(), from.index);
  std::int64_t before = 0;
  Indices kept;
  for (std::size_t position = 0; position < from.operation().inputs.size(); ++position) {
    const std::int64_t size = from.input_shape(position)[axis];
    const bool here = at[axis] >= before && at[axis] < before + size;
    if (here) layer.index = static_cast<std::int64_t>(position);
    kept.push_back(here ? at[axis] : before);
    for (std::size_t i = 0; i < at.size(); ++i) keep(layer, layer.input_tensor(position), i, {i == axis ? kept.back() - before : at[i]});
    before += size;
  }
  for (std::size_t i = 0; i < at.size(); ++i) keep(layer, layer.output_tensor(), i, i == axis ? kept : Indices{at[i]});
  return {layer};
}

bool is_elementwise(OperationKind kind) {
  constexpr OperationKind kinds[] = {add,
                                     sub,
                                     mul,
                                     add_n,
                                     relu,
                                     relu6,
                                     relu_n1_to_1,
                                     leaky_relu,
                                     prelu,
                                     hard_swish,
                                     clip,
                                     logistic,
                                     exp,
                                     quantize,
                                     dequantize,
                                     requantize,
                                     cast,
                                     pwl,
                                     OperationKind::tanh,
                                     bitwise_or,
                                     bitwise_xor,
                                     maximum,
                                     minimum,
                                     OperationKind::div,
                                     OperationKind::abs,
                                     neg,
                                     OperationKind::log,
                                     OperationKind::sqrt,
                                     rsqrt,

                                     OperationKind::pow,
                                     OperationKind::erf,
                                     less,
                                     less_or_equal,
                                     equal,
                                     OperationKind::select,
                                     elu,
                                     OperationKind::floor,
                                     round_half_even,
                                     OperationKind::truncate,
                                     floor_div};
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

std::vector<LayerCase> smaller(const LayerCase& layer) {
  const Operation& operation = layer.operation();
  if (is_sum_of_taps(operation.kind)) return crop_sum(layer);
  if (is_elementwise(operation.kind)) return crop_elementwise(layer);
  switch (operation.kind) {
    case matmul: return crop_matmul(layer);
    case max_pool2d:
    case average_pool2d:
    case sum_pool2d: return crop_pool(layer);
    case global_average_pool: return crop_global_pool(layer);
    case mean:
    case reduce_sum:
    case reduce_max:
    case reduce_min: {
      const auto& attributes = std::get<MeanAttributes>(operation.attributes);
      return crop_reduction(layer, attributes.axes, attributes.keep_dims);
    }
    case argmax:
    case argmin: return crop_reduction(layer, {std::get<ArgmaxAttributes>(operation.attributes).axis}, false);
    case softmax:
    case log_softmax:
    case l2_normalization: return crop_softmax(layer);
    case concat: return crop_concat(layer);
    case resize: return {one_channel(layer)};
    default: return {};
  }
}

}  // namespace

std::int64_t channel_of(const LayerCase& layer) {
  const std::int64_t column = layer.index % layer.output_shape().back();
  const auto* row = std::get_if<FullyConnectedAttributes>(&layer.operation().attributes);
  return row == nullptr || row->active_rows.empty() ? column : row->active_rows[static_cast<std::size_t>(column)];
}

std::vector<Tap> taps_of(const LayerCase& layer) {
  if (layer.operation().kind == fully_connected) return row_taps(layer);
  const ConvShape shape = conv_shape_of(layer.layer, layer.operation());
  const ConvIndex at = conv_index(layer);
  return layer.operation().kind == transposed_conv2d ? backward_taps(layer, shape, at) : forward_taps(layer, shape, at);
}

std::vector<LayerCase> crops(const LayerCase& layer) {
  std::vector<LayerCase> result = smaller(layer);
  result.push_back(layer);
  return result;
}

}  // namespace lastbit
