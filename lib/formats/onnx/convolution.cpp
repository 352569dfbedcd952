// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Conv, ConvTranspose; the rest of QLinearConv and ConvInteger.
#include <algorithm>
#include <cstring>

#include "formats/onnx/operators.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

/// A plain tensor as NCHW: a signal gets a height of 1.
std::int32_t with_height(const NodeReader& node, std::int32_t index, const std::string& name) {
  const Shape shape = node.graph().tensor(index).shape;
  if (shape.rank() == 4) return index;
  return node.graph().reshaped(index, {shape[0], shape[1], 1, shape[2]}, name + " (NC1W)");
}

std::int64_t groups_of(const NodeReader& node, std::int64_t channels) {
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > largest_parameter || channels % groups != 0)
    node.malformed(std::to_string(groups) + " groups of " + std::to_string(channels) + " channels");
  return groups;
}

/// The spatial sizes of OIHW weights, which kernel_shape may only repeat.
Extent2d filter_of(const NodeReader& node, const Shape& weights) {
  const Extent2d filter{weights.rank() == 3 ? 1 : weights[2], weights.back()};
  const auto stated = node.integers("kernel_shape");
  if (!stated.empty() && extent_of(node, stated, weights.rank() - 2) != filter) node.malformed("kernel_shape is not that of the weights");
  return filter;
}

struct Sizes {
  std::int64_t in, groups, out;
};

/// Weights of a transposed convolution, IOHW with O of one group, as OHWI without groups and dilation: what both leave out is zero.
class SpreadWeights {
 public:
  SpreadWeights(const NodeReader& node, const Tensor& source, Sizes channels, Extent2d dilation)
      : node_(node), source_(source), channels_(channels), dilation_(dilation) {}

  [[nodiscard]] Tensor spread(std::int64_t zero) const {
    const std::int64_t rows = source_.shape().rank() == 3 ? 1 : source_.shape()[2], columns = source_.shape().back();
    const Shape shape{channels_.out, (rows - 1) * dilation_.height + 1, (columns - 1) * dilation_.width + 1, channels_.in};
    const auto count = checked_element_count(shape.sizes(), source_.type());
    if (!count) node_.malformed("the weights are too large");
    node_.graph().budget().spend(static_cast<std::size_t>(*count) * size_of(source_.type()), node_.graph().place());
    Tensor result(source_.type(), shape);
    fill(result, zero);
    const std::size_t size = size_of(source_.type());
    const std::int64_t group_in = channels_.in / channels_.groups, group_out = channels_.out / channels_.groups;
    const std::byte* from = source_.bytes().data();
    for (std::int64_t i = 0; i < channels_.in; ++i) {
      for (std::int64_t o = 0; o < group_out; ++o) {
        for (std::int64_t tap = 0; tap < rows * columns; ++tap, from += size) {
          const std::int64_t y = tap / columns * dilation_.height, x = tap % columns * dilation_.width;
          const std::int64_t channel = i / group_in * group_out + o;
          const std::int64_t to = ((channel * shape[1] + y) * shape[2] + x) * channels_.in + i;
          std::memcpy(result.bytes().data() + static_cast<std::size_t>(to) * size, from, size);
        }
      }
    }
    return result;
  }

 private:
  static void fill(Tensor& tensor, std::int64_t zero) {
    visit_element_type(tensor.type(), [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        for (T& value : tensor.values<T>()) value = static_cast<T>(zero);
    });
  }

  const NodeReader& node_;
  const Tensor& source_;
  Sizes channels_;
  Extent2d dilation_;
};

void read_convolution(const NodeReader& node) {
  node.require_inputs(2, 3);
  emit_convolution(node, 1, node.plain(2));
}

/// Spatial sizes of a transposed convolution's output, and the padding that gives them.
struct TransposedAxis {
  std::int64_t out = 0, before = 0, after = 0;
};

TransposedAxis transposed_axis(const NodeReader& node, std::int64_t in, std::int64_t span, std::int64_t stride, std::int64_t extra,
                               std::int64_t stated, std::int64_t before, std::int64_t after) {
  const std::int64_t whole = (in - 1) * stride + span + extra;  // without padding
  const std::string mode = node.text("auto_pad", "NOTSET");
  if (mode == "NOTSET" && stated == 0) return {whole - before - after, before, after};
  const std::int64_t out = stated != 0 ? stated : mode == "VALID" ? whole : in * stride;
  const std::int64_t total = std::max<std::int64_t>(whole - out, 0);
  const bool odd_before = mode == "SAME_LOWER" || mode == "NOTSET";
  const std::int64_t first = odd_before ? total - total / 2 : total / 2;
  return {out, first, total - first};
}

std::vector<std::int64_t> spatial_integers(const NodeReader& node, std::string_view name, std::size_t spatial, std::int64_t otherwise) {
  std::vector<std::int64_t> values = node.integers(name);
  if (values.empty()) values.assign(spatial, otherwise);
  if (name == "output_shape" && values.size() == spatial + 2) values.erase(values.begin(), values.begin() + 2);
  if (values.size() != spatial) node.malformed(std::string(name) + " has " + std::to_string(values.size()) + " sizes");
  for (const std::int64_t value : values)
    if (value < 0 || value > largest_parameter) node.unsupported(std::string(name) + " of " + std::to_string(value));
  if (spatial == 1) values.insert(values.begin(), otherwise);
  return values;
}

struct TransposedWindows {
  Extent2d filter, stride, dilation;
  TransposedAxis rows, columns;
};

TransposedWindows transposed_windows(const NodeReader& node, const Shape& in, Extent2d filter) {
  const std::size_t spatial = in.rank() - 2;
  const Extent2d stride = extent_of(node, node.integers("strides"), spatial),
                 dilation = extent_of(node, node.integers("dilations"), spatial);
  const Extent2d span{(filter.height - 1) * dilation.height + 1, (filter.width - 1) * dilation.width + 1};
  if (std::max(span.height, span.width) > largest_parameter) node.malformed("a dilated filter of more than 2^24");
  const auto extra = spatial_integers(node, "output_padding", spatial, 0), stated = spatial_integers(node, "output_shape", spatial, 0);
  std::vector<std::int64_t> pads = node.integers("pads");
  if (pads.empty()) pads.assign(2 * spatial, 0);
  if (pads.size() != 2 * spatial) node.malformed(std::to_string(pads.size()) + " pads");
  for (const std::int64_t size : pads)
    if (size < 0 || size > largest_parameter) node.unsupported("a padding of " + std::to_string(size));
  const Shape image = image_shape(in);
  TransposedWindows windows{filter, stride, dilation, {.out = 1}, {}};
  if (spatial == 2) windows.rows = transposed_axis(node, image[1], span.height, stride.height, extra[0], stated[0], pads[0], pads[2]);
  windows.columns =
      transposed_axis(node, image[2], span.width, stride.width, extra[1], stated[1], pads[spatial - 1], pads[2 * spatial - 1]);
  return windows;
}

/// IOHW weights as OHWI, without groups and dilation.
std::int32_t transposed_weights(const NodeReader& node, Sizes channels, Extent2d dilation) {
  Graph& graph = node.graph();
  const std::string name = node.input(1).name;
  const Quantization quantization = node.input(1).quantization;
  if (quantization.per_channel()) node.unsupported("weights with one scale per channel");
  if (channels.groups == 1 && dilation == Extent2d{})
    return graph.transposed(with_height(node, node.plain(1), name), {1, 2, 3, 0}, name + " (OHWI)");
  const SpreadWeights spread(node, node.constant(1), channels, dilation);
  return graph.add_constant(name + " (OHWI)", spread.spread(quantization.zero_point()), quantization);
}

void read_transposed(const NodeReader& node) {
  node.require_inputs(2, 3);
  const Shape in = node.shape(0), weights = node.shape(1);
  require_image(node, in);
  if (weights.rank() != in.rank() || weights[0] != in[1]) node.malformed("weights " + weights.text() + " for an input of " + in.text());
  const std::int64_t groups = groups_of(node, in[1]), channels = weights[1] * groups;
  const TransposedWindows windows = transposed_windows(node, in, filter_of(node, weights));
  const std::int32_t ohwi = transposed_weights(node, {in[1], groups, channels}, windows.dilation);
  const TransposedAxis &rows = windows.rows, &columns = windows.columns;
  if (in.rank() == 3) node.define({in[0], channels, columns.out});
  else node.define({in[0], channels, rows.out, columns.out});
  const Padding2d padding{PaddingMode::explicit_sizes, rows.before, rows.after, columns.before, columns.after};
  node.emit_image(OperationKind::transposed_conv2d, {node.image(0), ohwi, node.plain(2)},
                  Conv2dAttributes{.stride = windows.stride, .dilation = {1, 1}, .padding = padding, .bounds = node.bounds()});
}

constexpr Operator convolution_table[] = {
    {"Conv", read_convolution, Folding::bounded, 3},
    {"ConvTranspose", read_transposed, Folding::bounded, 3},
};

}  // namespace

void emit_convolution(const NodeReader& node, std::size_t weights_position, std::int32_t bias) {
  const Shape in = node.shape(0), weights = node.shape(weights_position);
  require_image(node, in);
  if (weights.rank() != in.rank()) node.malformed("weights " + weights.text() + " for an input of " + in.text());
  const std::int64_t groups = groups_of(node, in[1]);
  if (weights[1] * groups != in[1] || weights[0] % groups != 0)
    node.malformed("weights " + weights.text() + " for " + std::to_string(in[1]) + " channels in " + std::to_string(groups) + " groups");
  const Windows windows = windows_of(node, in, filter_of(node, weights));
  const bool depthwise = groups > 1 && weights[1] == 1;
  const std::string& name = node.input(weights_position).name;
  const std::int32_t oihw = with_height(node, node.plain(weights_position), name);
  const std::int32_t arranged = depthwise ? node.graph().transposed(oihw, {1, 2, 3, 0}, name + " (1HWO)")
                                          : node.graph().transposed(oihw, {0, 2, 3, 1}, name + " (OHWI)");
  node.define(windowed_shape(node, in, windows, weights[0]));
  node.emit_image(
      depthwise ? OperationKind::depthwise_conv2d : OperationKind::conv2d, {node.image(0), arranged, bias},
      Conv2dAttributes{.stride = windows.stride, .dilation = windows.dilation, .padding = windows.padding, .bounds = node.bounds()});
}

std::span<const Operator> convolution_operators() { return convolution_table; }

}  // namespace lastbit::onnx_format
