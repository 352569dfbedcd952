// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Resize and Upsample of images, nearest and linear.
#include <algorithm>
#include <cmath>

#include "formats/onnx/operators.hpp"

namespace lastbit::onnx_format {
namespace {

struct Stretch {
  std::vector<double> scales;       ///< one per axis; empty: given by the sizes
  std::vector<std::int64_t> sizes;  ///< of the output
};

void require_per_axis(const NodeReader& node, std::size_t count) {
  if (count != node.shape().rank())
    node.malformed(std::to_string(count) + " scales or sizes for " + std::to_string(node.shape().rank()) + " axes");
}

/// What the standard rounds down to a size, as ONNX Runtime computes it.
double scaled_in_float(double scale, std::int64_t size) { return double{static_cast<float>(scale) * static_cast<float>(size)}; }

Stretch by_scales(const NodeReader& node, std::vector<double> scales) {
  require_per_axis(node, scales.size());
  Stretch stretch{std::move(scales), {}};
  for (std::size_t axis = 0; axis < stretch.scales.size(); ++axis) {
    const double scale = stretch.scales[axis], size = std::floor(scaled_in_float(scale, node.shape()[axis]));
    if (!(scale > 0) || !(size >= 1) || size > static_cast<double>(largest_parameter))
      node.malformed("a scale of " + std::to_string(scale));
    stretch.sizes.push_back(static_cast<std::int64_t>(size));
  }
  return stretch;
}

Stretch stretch_of(const NodeReader& node) {
  if (node.source().op_type() == "Upsample" && node.opset() < 9) return by_scales(node, node.reals("scales"));
  if (node.source().op_type() == "Upsample" || node.opset() < 11) {
    node.require_inputs(2, 2);
    return by_scales(node, node.constant_reals(1));
  }
  if (node.has("axes")) node.unsupported("axes");
  if (node.has_input(3)) {
    if (node.text("keep_aspect_ratio_policy", "stretch") != "stretch") node.unsupported("keep_aspect_ratio_policy");
    Stretch stretch{{}, node.constant_integers(3)};
    require_per_axis(node, stretch.sizes.size());
    return stretch;
  }
  if (!node.has_input(2)) node.malformed("neither scales nor sizes");
  return by_scales(node, node.constant_reals(2));
}

/// What the attributes say for the nearest value; before opset 11 the floor of the scaled coordinate.
Rounding nearest_rounding(const NodeReader& node) {
  const std::string mode = node.text("nearest_mode", "round_prefer_floor");
  if (mode == "round_prefer_floor") return Rounding::half_down;
  if (mode == "round_prefer_ceil") return Rounding::half_up;
  if (mode == "floor") return Rounding::floor;
  if (mode != "ceil") node.malformed("nearest_mode '" + mode + "'");
  return Rounding::ceil;
}

/// The rounding of a half-pixel coordinate h that gives what `rounding` gives for h + 1/2.
Rounding half_a_pixel_further(const NodeReader& node, Rounding rounding) {
  if (rounding == Rounding::floor) return Rounding::half_up;
  if (rounding == Rounding::half_down) return Rounding::ceil;
  node.unsupported("tf_half_pixel_for_nn with this nearest_mode");
}

ResizeAttributes attributes_of(const NodeReader& node) {
  ResizeAttributes attributes;
  const std::string mode = node.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "bilinear") node.unsupported("mode '" + mode + "'");
  attributes.mode = mode == "nearest" ? ResizeMode::nearest : ResizeMode::bilinear;
  if (node.source().op_type() == "Upsample" || node.opset() < 11) {
    attributes.coordinates = ResizeCoordinates::asymmetric;
    attributes.nearest = Rounding::floor;
    return attributes;
  }
  attributes.nearest = nearest_rounding(node);
  const std::string coordinates = node.text("coordinate_transformation_mode", "half_pixel");
  if (coordinates == "half_pixel") attributes.coordinates = ResizeCoordinates::half_pixel;
  else if (coordinates == "asymmetric") attributes.coordinates = ResizeCoordinates::asymmetric;
  else if (coordinates == "align_corners") attributes.coordinates = ResizeCoordinates::align_corners;
  else if (coordinates == "pytorch_half_pixel") attributes.coordinates = ResizeCoordinates::half_pixel_or_zero;
  else if (coordinates == "tf_half_pixel_for_nn" && attributes.mode == ResizeMode::nearest) {
    attributes.nearest = half_a_pixel_further(node, attributes.nearest);
  } else node.unsupported("coordinate_transformation_mode '" + coordinates + "'");
  return attributes;
}

void read_resize(const NodeReader& node) {
  node.require_inputs(1, 4);
  require_image(node, node.shape());
  node.refuse("exclude_outside", "exclude_outside");
  node.refuse("antialias", "antialias");
  const Stretch stretch = stretch_of(node);
  const Shape in = node.shape();
  if (stretch.sizes[0] != in[0] || stretch.sizes[1] != in[1]) node.unsupported("a resize of batch or channels");
  ResizeAttributes attributes = attributes_of(node);
  const auto is_whole = [&](std::size_t axis) {
    return scaled_in_float(stretch.scales[axis], in[axis]) == static_cast<double>(stretch.sizes[axis]);
  };
  for (std::size_t axis = 2; axis < stretch.scales.size(); ++axis)
    if (attributes.coordinates == ResizeCoordinates::align_corners && !is_whole(axis))
      node.unsupported("align_corners with a scale that gives no whole size, of which implementations make different things");
  if (!stretch.scales.empty()) attributes.scales = {in.rank() == 3 ? 1.0 : stretch.scales[2], stretch.scales.back()};
  node.define(Shape(stretch.sizes));
  node.emit_image(OperationKind::resize, {node.image()}, attributes);
}

constexpr Operator resize_table[] = {
    {"Resize", read_resize, Folding::equal},
    {"Upsample", read_resize, Folding::equal},
};

}  // namespace

std::span<const Operator> resize_operators() { return resize_table; }

}  // namespace lastbit::onnx_format
