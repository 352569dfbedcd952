// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/layer.hpp"
#include "lastbit/shape.hpp"
#include "model/operation_signature.hpp"

namespace lastbit {
namespace {

using enum OperationKind;
using Sizes = std::vector<std::int64_t>;

/// Of one operation, from the shapes of its inputs; or why they do not serve.
class OutputShape {
 public:
  OutputShape(const Model& model, const Operation& operation) : model_(model), operation_(operation) {}

  [[nodiscard]] Shape one() const {
    switch (operation_.kind) {
      case conv2d:
      case depthwise_conv2d: return convolution();
      case transposed_conv2d: return transposed_convolution();
      case fully_connected: return rows();
      case matmul: return product();
      case global_average_pool: return {ranked(0, 4)[0], 1, 1, input(0)[3]};
      case mean: return averaged();
      case OperationKind::add:
      case sub:
      case mul: return joined();
      case concat: return concatenated();
      case pad: return padded();
      case transpose: return transposed();
      case squeeze: return squeezed();
      case split: return divided(0);
      case fused_conv2d: return fused();
      case recurrent: return {ranked(0, 2)[0], ranked(1, 2)[0]};
      default: return std::holds_alternative<Pool2dAttributes>(operation_.attributes) ? pooled() : input(0);
    }
  }

  [[nodiscard]] Shape divided(std::int64_t parts) const {
    Sizes sizes = sizes_of(0);
    const std::size_t at = axis(std::get<SplitAttributes>(operation_.attributes).axis);
    sizes[at] = std::max<std::int64_t>(1, sizes[at] / std::max<std::int64_t>(1, parts));
    return Shape(std::move(sizes));
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::shape_mismatch, std::string(name_of(operation_.kind)), message);
  }
  [[nodiscard]] const Shape& input(std::size_t position) const {
    if (position >= operation_.inputs.size() || operation_.inputs[position] == absent_tensor) {
      fail("input " + std::to_string(position) + " is missing");
    }
    return model_.tensor(operation_.inputs[position]).shape;
  }
  [[nodiscard]] const Shape& ranked(std::size_t position, std::size_t rank) const {
    const Shape& shape = input(position);
    if (shape.rank() != rank) {
      fail("'" + model_.tensor(operation_.inputs[position]).name + "' is " + shape.text() + "; " + std::to_string(rank) +
           " dimensions are needed");
    }
    return shape;
  }
  [[nodiscard]] Sizes sizes_of(std::size_t position) const { return {input(position).sizes().begin(), input(position).sizes().end()}; }
  [[nodiscard]] std::size_t axis(std::int64_t value) const {
    const auto rank = static_cast<std::int64_t>(input(0).rank());
    if (value < 0 || value >= rank) fail("axis " + std::to_string(value) + " of a tensor with " + std::to_string(rank) + " dimensions");
    return static_cast<std::size_t>(value);
  }

  [[nodiscard]] Shape windows(const Shape& in, Extent2d filter, const Padding2d& padding, Extent2d stride, Extent2d dilation,
                              std::int64_t channels) const {
    if (std::min({stride.height, stride.width, dilation.height, dilation.width, filter.height, filter.width}) < 1 ||
        std::max({stride.height, stride.width, dilation.height, dilation.width, filter.height, filter.width}) > largest_window_parameter) {
      fail("a stride, dilation or filter is below 1 or too large");
    }
    const Extent2d count = window_count(padding, {in[1], in[2]}, filter, stride, dilation);
    if (count.height < 1 || count.width < 1) fail("the window is larger than the padded input");
    return {in[0], count.height, count.width, channels};
  }

  [[nodiscard]] Shape convolution() const {
    const auto& [stride, dilation, padding, bounds] = std::get<Conv2dAttributes>(operation_.attributes);
    const Shape &in = ranked(0, 4), &filter = ranked(1, 4);
    return windows(in, {filter[1], filter[2]}, padding, stride, dilation, filter[operation_.kind == depthwise_conv2d ? 3 : 0]);
  }

  [[nodiscard]] Shape transposed_convolution() const {
    const auto& attributes = std::get<Conv2dAttributes>(operation_.attributes);
    const Padding2d& padding = attributes.padding;  // a structured binding could not be captured below
    const Extent2d& stride = attributes.stride;
    const Shape &in = ranked(0, 4), &filter = ranked(1, 4);
    const auto grown = [&](std::int64_t size, std::int64_t span, std::int64_t step, std::int64_t cut) {
      const std::int64_t full = padding.mode == PaddingMode::same ? size * step : (size - 1) * step + span - cut;
      if (step < 1 || step > largest_window_parameter || full < 1) fail("a stride below 1, or padding larger than the output");
      return full;
    };
    const bool cuts = padding.mode == PaddingMode::explicit_sizes;
    return {in[0], grown(in[1], filter[1], stride.height, cuts ? padding.top + padding.bottom : 0),
            grown(in[2], filter[2], stride.width, cuts ? padding.left + padding.right : 0), filter[0]};
  }

  [[nodiscard]] Shape pooled() const {
    const auto& attributes = std::get<Pool2dAttributes>(operation_.attributes);
    return pools(ranked(0, 4), attributes.filter, attributes.padding, attributes.stride, attributes.partial_windows);
  }

  [[nodiscard]] Shape pools(const Shape& in, Extent2d filter, const Padding2d& padding, Extent2d stride, PartialWindows partial) const {
    if (partial == PartialWindows::dropped) return windows(in, filter, padding, stride, {1, 1}, in[3]);
    static_cast<void>(windows({1, filter.height, filter.width, 1}, filter, {}, stride, {1, 1}, 1));  // the extents
    const Extent2d count = pool_window_count(padding, {in[1], in[2]}, filter, stride, partial);
    if (count.height < 1 || count.width < 1) fail("the window is larger than the padded input");
    return {in[0], count.height, count.width, in[3]};
  }

  [[nodiscard]] Shape fused() const {
    const auto& attributes = std::get<FusedConv2dAttributes>(operation_.attributes);
    const Shape& filter = ranked(1, 4);
    const Shape sums = windows(ranked(0, 4), {filter[1], filter[2]}, attributes.padding, attributes.stride, {1, 1}, filter[0]);
    if (attributes.pool == PoolKind::none) return sums;
    return pools(sums, attributes.pool_filter, {}, attributes.pool_stride, attributes.partial_windows);
  }

  [[nodiscard]] Shape rows() const {
    const auto& active = std::get<FullyConnectedAttributes>(operation_.attributes).active_rows;
    const std::int64_t length = ranked(1, 2)[1], channels = active.empty() ? input(1)[0] : std::ssize(active);
    Sizes sizes = sizes_of(0);
    if (sizes.empty() || input(0).element_count() % length != 0) {
      fail("input " + input(0).text() + " is not made of rows of " + std::to_string(length) + " values");
    }
    if (sizes.back() != length) return {input(0).element_count() / length, channels};
    sizes.back() = channels;
    return Shape(std::move(sizes));
  }

  [[nodiscard]] Shape product() const {
    const auto& attributes = std::get<MatmulAttributes>(operation_.attributes);
    Sizes a = sizes_of(0), b = sizes_of(1);
    if (a.size() < 2 || b.size() < 2) fail("both inputs need two dimensions or more");
    if (attributes.transpose_a) std::swap(a[a.size() - 1], a[a.size() - 2]);
    if (attributes.transpose_b) std::swap(b[b.size() - 1], b[b.size() - 2]);
    const auto lead = broadcast(Shape({a.begin(), a.end() - 2}), Shape({b.begin(), b.end() - 2}));
    if (!lead) fail("leading dimensions do not broadcast");
    Sizes sizes(lead->sizes().begin(), lead->sizes().end());
    sizes.insert(sizes.end(), {a[a.size() - 2], b.back()});
    return Shape(std::move(sizes));
  }

  [[nodiscard]] Shape averaged() const {
    const auto& [axes, keep_dims] = std::get<MeanAttributes>(operation_.attributes);
    Sizes sizes = sizes_of(0);
    for (const std::int64_t at : axes) sizes[axis(at)] = keep_dims ? 1 : 0;
    std::erase(sizes, 0);
    return Shape(std::move(sizes));
  }

  [[nodiscard]] Shape joined() const {
    const auto shape = broadcast(input(0), input(1));
    if (!shape) fail("inputs " + input(0).text() + " and " + input(1).text() + " do not broadcast");
    return *shape;
  }

  [[nodiscard]] Shape concatenated() const {
    const std::size_t at = axis(std::get<ConcatAttributes>(operation_.attributes).axis);
    Sizes sizes = sizes_of(0);
    for (std::size_t i = 1; i < operation_.inputs.size(); ++i) sizes[at] += ranked(i, sizes.size())[at];
    return Shape(std::move(sizes));
  }

  [[nodiscard]] Shape padded() const {
    const auto& paddings = std::get<PadAttributes>(operation_.attributes).paddings;
    Sizes sizes = sizes_of(0);
    if (paddings.size() != sizes.size()) fail("paddings need one pair per dimension");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (const std::int64_t size : paddings[i]) {
        if (size < 0 || size > largest_tensor_bytes) fail("a padding is negative or too large");
        sizes[i] += size;
      }
    }
    return Shape(std::move(sizes));
  }

  [[nodiscard]] Shape transposed() const {
    Sizes sizes;
    for (const std::int64_t at : std::get<TransposeAttributes>(operation_.attributes).permutation) sizes.push_back(input(0)[axis(at)]);
    return Shape(std::move(sizes));
  }

  [[nodiscard]] Shape squeezed() const {
    Sizes sizes = sizes_of(0);
    std::erase(sizes, 1);
    return Shape(std::move(sizes));
  }

  const Model& model_;
  const Operation& operation_;
};

}  // namespace

std::vector<Shape> output_shapes(const Model& model, const Operation& operation, std::int64_t outputs) {
  const OutputShape of(model, operation);
  if (operation.kind == dynamic_quantize) return {of.one(), Shape{}, Shape{}};
  const Shape shape = operation.kind == split ? of.divided(outputs) : of.one();
  return std::vector<Shape>(static_cast<std::size_t>(outputs), shape);
}

}  // namespace lastbit
