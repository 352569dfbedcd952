// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The shape of an operation's output, where it follows from inputs and attributes.
#include <algorithm>
#include <utility>

#include "lastbit/shape.hpp"
#include "model/input_shapes.hpp"
#include "model/operation_signature.hpp"

namespace lastbit {
namespace {

using enum OperationKind;
using Sizes = std::vector<std::int64_t>;

Shape windows(const InputShapes& of, const Shape& in, Extent2d filter, const Padding2d& padding, Extent2d stride, Extent2d dilation,
              std::int64_t channels) {
  if (std::min({stride.height, stride.width, dilation.height, dilation.width, filter.height, filter.width}) < 1 ||
      std::max({stride.height, stride.width, dilation.height, dilation.width, filter.height, filter.width}) > largest_window_parameter) {
    of.fail("a stride, dilation or filter is below 1 or too large");
  }
  const Extent2d count = window_count(padding, {in[1], in[2]}, filter, stride, dilation);
  if (count.height < 1 || count.width < 1) of.fail("the window is larger than the padded input");
  return {in[0], count.height, count.width, channels};
}

Shape pools(const InputShapes& of, const Shape& in, Extent2d filter, const Padding2d& padding, Extent2d stride, PartialWindows partial) {
  if (partial == PartialWindows::dropped) return windows(of, in, filter, padding, stride, {1, 1}, in[3]);
  static_cast<void>(windows(of, {1, filter.height, filter.width, 1}, filter, {}, stride, {1, 1}, 1));  // the extents
  const Extent2d count = pool_window_count(padding, {in[1], in[2]}, filter, stride, partial);
  if (count.height < 1 || count.width < 1) of.fail("the window is larger than the padded input");
  return {in[0], count.height, count.width, in[3]};
}

}  // namespace

Shape shape_of_input(const InputShapes& of) { return of.input(0); }

Shape shape_of_convolution(const InputShapes& of) {
  const auto& [stride, dilation, padding, bounds, cross_terms] = of.attributes<Conv2dAttributes>();
  const Shape &in = of.ranked(0, 4), &filter = of.ranked(1, 4);
  return windows(of, in, {filter[1], filter[2]}, padding, stride, dilation, filter[of.kind() == depthwise_conv2d ? 3 : 0]);
}

Shape shape_of_transposed_convolution(const InputShapes& of) {
  const auto& attributes = of.attributes<Conv2dAttributes>();
  const Padding2d& padding = attributes.padding;  // a structured binding could not be captured below
  const Extent2d& stride = attributes.stride;
  const Shape &in = of.ranked(0, 4), &filter = of.ranked(1, 4);
  const auto grown = [&](std::int64_t size, std::int64_t span, std::int64_t step, std::int64_t cut) {
    const std::int64_t full = padding.mode == PaddingMode::same ? size * step : (size - 1) * step + span - cut;
    if (step < 1 || step > largest_window_parameter || full < 1) of.fail("a stride below 1, or padding larger than the output");
    return full;
  };
  const bool cuts = padding.mode == PaddingMode::explicit_sizes;
  return {in[0], grown(in[1], filter[1], stride.height, cuts ? padding.top + padding.bottom : 0),
          grown(in[2], filter[2], stride.width, cuts ? padding.left + padding.right : 0), filter[0]};
}

Shape shape_of_pool(const InputShapes& of) {
  const auto& attributes = of.attributes<Pool2dAttributes>();
  return pools(of, of.ranked(0, 4), attributes.filter, attributes.padding, attributes.stride, attributes.partial_windows);
}

Shape shape_of_global_pool(const InputShapes& of) { return {of.ranked(0, 4)[0], 1, 1, of.input(0)[3]}; }

Shape shape_of_fused_convolution(const InputShapes& of) {
  const auto& attributes = of.attributes<FusedConv2dAttributes>();
  const Shape& filter = of.ranked(1, 4);
  Shape sums = windows(of, of.ranked(0, 4), {filter[1], filter[2]}, attributes.padding, attributes.stride, {1, 1}, filter[0]);
  if (attributes.pool == PoolKind::none) return sums;
  return pools(of, sums, attributes.pool_filter, {}, attributes.pool_stride, attributes.partial_windows);
}

Shape shape_of_rows(const InputShapes& of) {
  const auto& active = of.attributes<FullyConnectedAttributes>().active_rows;
  const std::int64_t length = of.ranked(1, 2)[1], channels = active.empty() ? of.input(1)[0] : std::ssize(active);
  Sizes sizes = of.sizes_of(0);
  if (sizes.empty() || of.input(0).element_count() % length != 0) {
    of.fail("input " + of.input(0).text() + " is not made of rows of " + std::to_string(length) + " values");
  }
  if (sizes.back() != length) return {of.input(0).element_count() / length, channels};
  sizes.back() = channels;
  return Shape(std::move(sizes));
}

Shape shape_of_product(const InputShapes& of) {
  const auto& attributes = of.attributes<MatmulAttributes>();
  Sizes a = of.sizes_of(0), b = of.sizes_of(1);
  if (a.size() < 2 || b.size() < 2) of.fail("both inputs need two dimensions or more");
  if (attributes.transpose_a) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (attributes.transpose_b) std::swap(b[b.size() - 1], b[b.size() - 2]);
  const auto lead = broadcast(Shape({a.begin(), a.end() - 2}), Shape({b.begin(), b.end() - 2}));
  if (!lead) of.fail("leading dimensions do not broadcast");
  Sizes sizes(lead->sizes().begin(), lead->sizes().end());
  sizes.insert(sizes.end(), {a[a.size() - 2], b.back()});
  return Shape(std::move(sizes));
}

Shape shape_of_mean(const InputShapes& of) {
  const auto& [axes, keep_dims] = of.attributes<MeanAttributes>();
  Sizes sizes = of.sizes_of(0);
  for (const std::int64_t at : axes) sizes[of.axis(at)] = keep_dims ? 1 : 0;
  std::erase(sizes, 0);
  return Shape(std::move(sizes));
}

Shape shape_of_broadcast(const InputShapes& of) {
  const auto shape = broadcast(of.input(0), of.input(1));
  if (!shape) of.fail("inputs " + of.input(0).text() + " and " + of.input(1).text() + " do not broadcast");
  return *shape;
}

Shape shape_of_select(const InputShapes& of) {
  const auto values = broadcast(of.input(1), of.input(2));
  const auto shape = values ? broadcast(of.input(0), *values) : std::nullopt;
  if (!shape) of.fail("inputs " + of.input(0).text() + ", " + of.input(1).text() + " and " + of.input(2).text() + " do not broadcast");
  return *shape;
}

Shape shape_of_concat(const InputShapes& of) {
  const std::size_t at = of.axis(of.attributes<ConcatAttributes>().axis);
  Sizes sizes = of.sizes_of(0);
  for (std::size_t i = 1; i < of.count(); ++i) sizes[at] += of.ranked(i, sizes.size())[at];
  return Shape(std::move(sizes));
}

Shape shape_of_gather(const InputShapes& of) {
  const std::size_t at = of.axis(of.attributes<GatherAttributes>().axis);
  Sizes sizes = of.sizes_of(0), indices = of.sizes_of(1);
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), indices.begin(), indices.end());
  return Shape(std::move(sizes));
}

/// The others follow from it.
Shape shape_of_detected_boxes(const InputShapes& of) {
  const auto& attributes = of.attributes<DetectionAttributes>();
  const bool by_best = attributes.suppression == Suppression::best_class;
  for (const std::int64_t count : {attributes.most_detections, attributes.classes_per_detection})
    if (count < 1 || count > largest_window_parameter) of.fail("a number of detections of " + std::to_string(count));
  return {1, attributes.most_detections * (by_best ? attributes.classes_per_detection : 1), 4};
}

Shape shape_of_pad(const InputShapes& of) {
  const auto& paddings = of.attributes<PadAttributes>().paddings;
  Sizes sizes = of.sizes_of(0);
  if (paddings.size() != sizes.size()) of.fail("paddings need one pair per dimension");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (const std::int64_t size : paddings[i]) {
      if (size < 0 || size > largest_tensor_bytes) of.fail("a padding is negative or too large");
      sizes[i] += size;
    }
  }
  return Shape(std::move(sizes));
}

Shape shape_of_transpose(const InputShapes& of) {
  Sizes sizes;
  for (const std::int64_t at : of.attributes<TransposeAttributes>().permutation) sizes.push_back(of.input(0)[of.axis(at)]);
  return Shape(std::move(sizes));
}

Shape shape_of_squeeze(const InputShapes& of) {
  Sizes sizes = of.sizes_of(0);
  std::erase(sizes, 1);
  return Shape(std::move(sizes));
}

Shape shape_of_split(const InputShapes& of) {
  Sizes sizes = of.sizes_of(0);
  const std::size_t at = of.axis(of.attributes<SplitAttributes>().axis);
  sizes[at] = std::max<std::int64_t>(1, sizes[at] / std::max<std::int64_t>(1, of.outputs()));
  return Shape(std::move(sizes));
}

Shape shape_of_recurrent(const InputShapes& of) { return {of.ranked(0, 2)[0], of.ranked(1, 2)[0]}; }

std::vector<Shape> output_shapes(const Model& model, const Operation& operation, std::int64_t outputs) {
  const Shape shape = signature_of(operation.kind).output_shape({model, operation, outputs});
  if (operation.kind == block_quantize) return {shape, Shape({shape.sizes().begin(), shape.sizes().end() - 1})};
  if (operation.kind == dynamic_quantize) return {shape, Shape{}, Shape{}};
  if (operation.kind == detection_postprocess) return {shape, {1, shape[1]}, {1, shape[1]}, {1}};
  return std::vector<Shape>(static_cast<std::size_t>(outputs), shape);
}

}  // namespace lastbit
