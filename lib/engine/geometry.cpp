// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/geometry.hpp"

#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

struct Window {
  Extent2d filter, stride, dilation;
  const Padding2d& padding;
};

/// `padded`: the image that the windows slide over.
ConvShape shape_of(const Shape& in, const Shape& out, const Window& window, const Shape& padded, std::int64_t groups) {
  const ResolvedPadding padding = resolve_padding(window.padding, {padded[1], padded[2]}, window.filter, window.stride, window.dilation);
  return {.batch = in[0],
          .in_height = in[1],
          .in_width = in[2],
          .in_channels = in[3],
          .out_height = out[1],
          .out_width = out[2],
          .out_channels = out[3],
          .kernel_height = window.filter.height,
          .kernel_width = window.filter.width,
          .stride_height = window.stride.height,
          .stride_width = window.stride.width,
          .dilation_height = window.dilation.height,
          .dilation_width = window.dilation.width,
          .pad_top = padding.top,
          .pad_left = padding.left,
          .groups = groups};
}

}  // namespace

ConvShape conv_shape_of(const Model& model, const Operation& operation) {
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  const Shape& weights = model.tensor(operation.inputs[1]).shape;
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  const auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
  const Window window{{weights[1], weights[2]}, attributes.stride, attributes.dilation, attributes.padding};
  if (operation.kind == OperationKind::transposed_conv2d) return shape_of(in, out, window, out, 1);
  return shape_of(in, out, window, in, operation.kind == OperationKind::depthwise_conv2d ? in[3] : in[3] / weights[3]);
}

ConvShape pool_shape_of(const Model& model, const Operation& operation) {
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  if (operation.kind == OperationKind::global_average_pool) {
    return {.batch = in[0],
            .in_height = in[1],
            .in_width = in[2],
            .in_channels = in[3],
            .out_channels = in[3],
            .kernel_height = in[1],
            .kernel_width = in[2],
            .groups = in[3]};
  }
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  const auto& attributes = std::get<Pool2dAttributes>(operation.attributes);
  return shape_of(in, out, {attributes.filter, attributes.stride, {1, 1}, attributes.padding}, in, in[3]);
}

}  // namespace lastbit
