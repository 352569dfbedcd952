// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which shapes and attributes an operation takes.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "lastbit/shape.hpp"
#include "model/operation_checks.hpp"

namespace lastbit {
namespace {

using enum OperationKind;
constexpr auto shape_mismatch = ErrorCode::shape_mismatch;
constexpr auto bad_attribute = ErrorCode::bad_attribute;

}  // namespace

void check_extent(const OperationView& operation, const char* what, Extent2d extent) {
  for (const std::int64_t size : {extent.height, extent.width}) {
    if (size >= 1 && size <= largest_window_parameter) continue;
    operation.fail(bad_attribute,
                   std::string(what) + " " + std::to_string(size) + " is not between 1 and " + std::to_string(largest_window_parameter));
  }
}

void check_padding(const OperationView& operation, const Padding2d& padding) {
  operation.require(padding.mode <= PaddingMode::explicit_sizes, bad_attribute, "unknown padding");
  if (padding.mode != PaddingMode::explicit_sizes) return;
  for (const std::int64_t size : {padding.top, padding.bottom, padding.left, padding.right}) {
    if (size >= 0 && size <= largest_window_parameter) continue;
    operation.fail(bad_attribute, "padding " + std::to_string(size) + " is not between 0 and " + std::to_string(largest_window_parameter));
  }
}

void require_bias_count(const OperationView& operation, const ModelTensor& bias, std::initializer_list<std::int64_t> allowed) {
  const std::int64_t found = bias.shape.element_count();
  if (std::find(allowed.begin(), allowed.end(), found) != allowed.end()) return;
  std::string counts;
  for (const std::int64_t count : allowed) counts += (counts.empty() ? "" : " or ") + std::to_string(count);
  operation.fail(shape_mismatch, "bias '" + bias.name + "' is " + bias.shape.text() + "; " + counts + " values are needed");
}

Extent2d checked_pool_windows(const OperationView& operation, Extent2d in, const PoolWindows& windows) {
  const auto& [filter, stride, padding, partial] = windows;
  check_extent(operation, "filter", filter);
  check_extent(operation, "stride", stride);
  check_padding(operation, padding);
  operation.require(partial <= PartialWindows::every_start, bad_attribute, "unknown partial windows");
  const Extent2d count = pool_window_count(padding, in, filter, stride, partial);
  const ResolvedPadding around = resolve_padding(padding, in, filter, stride);
  operation.require(std::max(around.top, around.bottom) < filter.height && std::max(around.left, around.right) < filter.width,
                    bad_attribute, "padding as large as the filter leaves windows without a value");
  operation.require(
      (count.height - 1) * stride.height - around.top < in.height && (count.width - 1) * stride.width - around.left < in.width,
      bad_attribute, "the last window would lie outside the image");
  return count;
}

void require_window_count(const OperationView& operation, Extent2d expected, Extent2d found) {
  const auto text = [](Extent2d extent) { return std::to_string(extent.height) + "x" + std::to_string(extent.width); };
  operation.require(expected.height >= 1 && expected.width >= 1, shape_mismatch, "the window is larger than the padded input");
  if (expected == found) return;
  operation.fail(shape_mismatch, "windows fit " + text(expected) + " times, the tensor has " + text(found) + " places");
}

void require_axis(const OperationView& operation, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(operation.input().shape.rank());
  if (axis >= 0 && axis < rank) return;
  operation.fail(bad_attribute, "axis " + std::to_string(axis) + " of a tensor with " + std::to_string(rank) + " dimensions");
}

namespace {

void check_activation(const OperationView& operation, Activation activation) {
  operation.require(activation <= Activation::absolute, bad_attribute, "unknown activation");
  const ModelTensor& output = operation.output();
  const OperationKind kind = operation.kind();
  const bool sums = kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected || kind == matmul;
  operation.require(activation != Activation::absolute || (sums && output.type != ElementType::float16), bad_attribute,
                    "the activation absolute is for sums of products in integers or float32");
  const bool bounds_need_scale = activation == Activation::relu6 || activation == Activation::relu_n1_to_1;  // zero is the zero point
  operation.require(!bounds_need_scale || !is_integer(output.type) || output.quantization.present(), ErrorCode::bad_quantization,
                    "an activation needs the output's scale");
}

/// What a layer may state of the way from its sums to its output: one value, or one for each channel.
void check_of_channels(const OperationView& operation, const std::string& name, std::size_t count, const std::string& one,
                       std::initializer_list<OperationKind> more) {
  const OperationKind kind = operation.kind();
  const bool rescales = kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected ||
                        kind == requantize || kind == add_n || std::find(more.begin(), more.end(), kind) != more.end();
  const Shape& out = operation.output().shape;
  operation.require(rescales && is_integer(operation.output().type), bad_attribute, name + " is for quantised sums");
  const std::int64_t channels = out.rank() == 0 ? 1 : out.back();
  operation.require(count == 1 || static_cast<std::int64_t>(count) == channels, bad_attribute,
                    name + " needs one " + one + ", or one for each of the " + std::to_string(channels) + " channels");
}

void check_registers(const OperationView& operation, const std::string& name, const std::vector<ScaleRegister>& registers,
                     std::initializer_list<OperationKind> more) {
  if (registers.empty()) return;
  check_of_channels(operation, name, registers.size(), "pair", more);
  operation.require(registers.size() == 1 || (operation.kind() != mul && operation.kind() != global_average_pool), bad_attribute,
                    name + " of a product or an average are one pair");
  operation.require(operation.output().quantization.present(), bad_attribute, name + " of an output without a scale");
  const auto all = [&](auto&& holds) { return std::all_of(registers.begin(), registers.end(), holds); };
  operation.require(all([](const ScaleRegister& each) { return each.shift >= 0 && each.shift <= largest_register_shift; }), bad_attribute,
                    name + " shift by 0 to " + std::to_string(largest_register_shift) + " places");
  operation.require(all([](const ScaleRegister& each) { return fits_width(each.offset, register_offset_bits); }), bad_attribute,
                    name + " have offsets of at most " + std::to_string(register_offset_bits) + " bits");
}

void check_segments(const OperationView& operation, std::span<const ScaleSegment> segments) {
  if (segments.empty()) return;
  const OperationKind kind = operation.kind();
  operation.require((kind == conv2d || kind == depthwise_conv2d || kind == fully_connected) && is_integer(operation.output().type),
                    bad_attribute, "segments are for quantised sums of products");
  const auto all = [&](auto&& holds) { return std::all_of(segments.begin(), segments.end(), holds); };
  operation.require(all([](const ScaleSegment& each) { return each.shift >= 0 && each.shift <= largest_register_shift; }), bad_attribute,
                    "segments shift by 0 to " + std::to_string(largest_register_shift) + " places");
  operation.require(all([](const ScaleSegment& each) {
                      return fits_width(each.start, register_offset_bits) && fits_width(each.multiplier, 32) && fits_width(each.add, 32);
                    }),
                    bad_attribute, "segments start within " + std::to_string(register_offset_bits) + " bits, multiply by and add 32 bits");
  const auto rises = [](const ScaleSegment& a, const ScaleSegment& b) { return a.start >= b.start; };
  operation.require(std::adjacent_find(segments.begin(), segments.end(), rises) == segments.end(), bad_attribute,
                    "segments need starts in rising order");
}

void check_accumulator_clip(const OperationView& operation, const std::vector<std::int64_t>& clip) {
  if (clip.empty()) return;
  check_of_channels(operation, "accumulator_clip", clip.size(), "bound", {});
  operation.require(std::all_of(clip.begin(), clip.end(), [](std::int64_t bound) { return bound >= 0; }), bad_attribute,
                    "accumulator_clip is negative");
}

}  // namespace

void check_bounds(const OperationView& operation, const OutputBounds& bounds) {
  check_activation(operation, bounds.activation);
  const ElementType type = operation.output().type;
  if (bounds.real_clamp) {
    operation.require((type == ElementType::float32 || type == ElementType::float16) && (*bounds.real_clamp)[0] <= (*bounds.real_clamp)[1],
                      bad_attribute, "real_clamp is not a range for float32 or float16");
  }
  check_accumulator_clip(operation, bounds.accumulator_clip);
  check_registers(operation, "registers", bounds.registers, {mul, global_average_pool});
  check_registers(operation, "below_zero", bounds.below_zero, {});
  operation.require(
      std::all_of(bounds.below_zero.begin(), bounds.below_zero.end(), [](const ScaleRegister& each) { return each.offset == 0; }),
      bad_attribute, "below_zero has an offset, which nothing reads");
  check_registers(operation, "converter", bounds.converter, {});
  check_segments(operation, bounds.segments.segments());
  if (!bounds.clamp) return;
  const IntegerRange range = range_of(type);
  operation.require(is_integer(type), bad_attribute, "clamp is for integer outputs");
  operation.require(bounds.activation == Activation::none || bounds.activation == Activation::relu, bad_attribute,
                    "activations other than relu and clamp exclude each other");
  operation.require(bounds.clamp->min <= bounds.clamp->max && bounds.clamp->min >= range.min && bounds.clamp->max <= range.max,
                    bad_attribute, "clamp is not a range of the output's type");
}

void check_pool(const OperationView& operation) {
  const auto& attributes = operation.attributes<Pool2dAttributes>();
  const ModelTensor &input = operation.input(), &output = operation.output();
  operation.require_rank(input, 4);
  operation.require_rank(output, 4);
  check_bounds(operation, attributes.bounds);
  const Extent2d expected = checked_pool_windows(operation, image_of(input),
                                                 {attributes.filter, attributes.stride, attributes.padding, attributes.partial_windows});
  require_window_count(operation, expected, image_of(output));
  operation.require_shape(output, {input.shape[0], expected.height, expected.width, input.shape[3]});
}

void check_global_pool(const OperationView& operation) {
  const ModelTensor& input = operation.input();
  operation.require_rank(input, 4);
  check_bounds(operation, operation.attributes<Pool2dAttributes>().bounds);
  if (operation.output().shape == Shape{input.shape[0], input.shape[3]}) return;
  operation.require_shape(operation.output(), {input.shape[0], 1, 1, input.shape[3]});
}

void check_mean(const OperationView& operation) {
  const auto& attributes = operation.attributes<MeanAttributes>();
  std::vector<std::int64_t> sizes = sizes_of(operation.input());
  std::vector<bool> averaged(sizes.size(), false);
  operation.require(!attributes.axes.empty(), bad_attribute, "no axes");
  for (const std::int64_t axis : attributes.axes) {
    require_axis(operation, axis);
    operation.require(!averaged[static_cast<std::size_t>(axis)], bad_attribute, "an axis is named twice");
    averaged[static_cast<std::size_t>(axis)] = true;
  }
  std::vector<std::int64_t> expected;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (!averaged[axis]) expected.push_back(sizes[axis]);
    else if (attributes.keep_dims) expected.push_back(1);
  }
  operation.require_shape(operation.output(), Shape(std::move(expected)));
}

void check_inputs_of_output_shape(const OperationView& operation) {
  for (std::size_t i = 0; i < operation.input_count(); ++i) operation.require_shape(operation.input(i), operation.output().shape);
}

void check_elementwise(const OperationView& operation) {
  const auto& attributes = operation.attributes<ElementwiseAttributes>();
  check_bounds(operation, attributes.bounds);
  const bool shifts = operation.kind() == OperationKind::add || operation.kind() == OperationKind::sub;
  operation.require(!attributes.power_of_two_scales || shifts, bad_attribute, "power_of_two_scales is for add and sub");
  if (operation.input_count() > 2) return check_inputs_of_output_shape(operation);
  check_broadcast(operation);
}

void check_broadcast(const OperationView& operation) {
  const auto expected = broadcast(operation.input(0).shape, operation.input(1).shape);
  operation.require(expected.has_value(), shape_mismatch,
                    "inputs " + operation.input(0).shape.text() + " and " + operation.input(1).shape.text() + " do not broadcast");
  operation.require_shape(operation.output(), *expected);
}

void check_select(const OperationView& operation) {
  const Shape &condition = operation.input(0).shape, &a = operation.input(1).shape, &b = operation.input(2).shape;
  const auto values = broadcast(a, b);
  const auto expected = values ? broadcast(condition, *values) : std::nullopt;
  operation.require(expected.has_value(), shape_mismatch,
                    "inputs " + condition.text() + ", " + a.text() + " and " + b.text() + " do not broadcast");
  operation.require_shape(operation.output(), *expected);
}

void check_add_n(const OperationView& operation) {
  const auto& attributes = operation.attributes<ElementwiseAttributes>();
  check_bounds(operation, attributes.bounds);
  operation.require(!attributes.power_of_two_scales, bad_attribute, "power_of_two_scales is for add and sub");
  check_inputs_of_output_shape(operation);
}

void check_argmax(const OperationView& operation) {
  const std::int64_t axis = operation.attributes<ArgmaxAttributes>().axis;
  require_axis(operation, axis);
  std::vector<std::int64_t> expected = sizes_of(operation.input());
  expected.erase(expected.begin() + axis);
  operation.require_shape(operation.output(), Shape(std::move(expected)));
}

void check_gather(const OperationView& operation) {
  const std::int64_t axis = operation.attributes<GatherAttributes>().axis;
  require_axis(operation, axis);
  const ModelTensor& indices = operation.input(1);
  std::vector<std::int64_t> expected = sizes_of(operation.input());
  const std::int64_t size = expected[static_cast<std::size_t>(axis)];
  expected.erase(expected.begin() + axis);
  expected.insert(expected.begin() + axis, indices.shape.sizes().begin(), indices.shape.sizes().end());
  operation.require_shape(operation.output(), Shape(std::move(expected)));
  const bool known = indices.constant && is_integer(indices.type);
  for (std::int64_t i = 0; known && i < indices.shape.element_count(); ++i) {
    const std::int64_t index = indices.constant->integer_at(i);
    operation.require(index >= 0 && index < size, bad_attribute,
                      "index " + std::to_string(index) + " of an axis of " + std::to_string(size));
  }
}

void check_concat(const OperationView& operation) {
  const auto& attributes = operation.attributes<ConcatAttributes>();
  check_activation(operation, attributes.activation);
  require_axis(operation, attributes.axis);
  const auto axis = static_cast<std::size_t>(attributes.axis);
  std::vector<std::int64_t> expected = sizes_of(operation.input());
  for (std::size_t i = 1; i < operation.input_count(); ++i) {
    operation.require_rank(operation.input(i), expected.size());
    std::vector<std::int64_t> sizes = sizes_of(operation.input(i));
    expected[axis] += std::exchange(sizes[axis], operation.input().shape[axis]);
    operation.require(Shape(std::move(sizes)) == operation.input().shape, shape_mismatch, "inputs differ outside the joined axis");
  }
  operation.require_shape(operation.output(), Shape(std::move(expected)));
}

void check_pad(const OperationView& operation) {
  const auto& attributes = operation.attributes<PadAttributes>();
  std::vector<std::int64_t> expected = sizes_of(operation.input());
  operation.require(attributes.paddings.size() == expected.size(), bad_attribute, "paddings need one pair per dimension");
  for (std::size_t axis = 0; axis < expected.size(); ++axis) {
    for (const std::int64_t size : attributes.paddings[axis]) {
      operation.require(size >= 0 && size <= largest_tensor_bytes, bad_attribute, "a padding is negative or too large");
      expected[axis] += size;
    }
  }
  operation.require_shape(operation.output(), Shape(std::move(expected)));
  const ElementType type = operation.output().type;
  operation.require(!attributes.real_value || !is_integer(type), bad_attribute, "a real padding value for integers");
  if (!attributes.value) return;
  operation.require(!is_integer(type) || (*attributes.value >= range_of(type).min && *attributes.value <= range_of(type).max),
                    bad_attribute, "the padding value is outside the tensor's type");
}

void check_reshape(const OperationView& operation) {
  const Shape &in = operation.input().shape, &out = operation.output().shape;
  operation.require(in.element_count() == out.element_count(), shape_mismatch, in.text() + " cannot become " + out.text());
  if (operation.kind() == reshape) return;
  std::vector<std::int64_t> kept = sizes_of(operation.input()), remaining = sizes_of(operation.output());
  std::erase(kept, 1);
  std::erase(remaining, 1);
  operation.require(kept == remaining && out.rank() <= in.rank(), shape_mismatch, in.text() + " cannot be squeezed to " + out.text());
}

void check_transpose(const OperationView& operation) {
  const auto& permutation = operation.attributes<TransposeAttributes>().permutation;
  const Shape& in = operation.input().shape;
  std::vector<bool> used(in.rank(), false);
  operation.require(permutation.size() == in.rank(), bad_attribute, "permutation needs one entry per dimension");
  std::vector<std::int64_t> expected;
  for (const std::int64_t axis : permutation) {
    require_axis(operation, axis);
    operation.require(!used[static_cast<std::size_t>(axis)], bad_attribute, "permutation names an axis twice");
    used[static_cast<std::size_t>(axis)] = true;
    expected.push_back(in[static_cast<std::size_t>(axis)]);
  }
  operation.require_shape(operation.output(), Shape(std::move(expected)));
}

void check_slice(const OperationView& operation) {
  const auto& [begin, strides] = operation.attributes<SliceAttributes>();
  const Shape &in = operation.input().shape, &out = operation.output().shape;
  operation.require_rank(operation.output(), in.rank());
  operation.require(begin.size() == in.rank() && (strides.empty() || strides.size() == in.rank()), bad_attribute,
                    "begin and strides need one entry per dimension");
  for (std::size_t axis = 0; axis < in.rank(); ++axis) {
    const std::int64_t first = begin[axis], step = strides.empty() ? 1 : strides[axis], more = out[axis] - 1;
    operation.require(step != 0 && (operation.kind() == strided_slice || step == 1), bad_attribute,
                      operation.kind() == slice ? "slice has strides of 1" : "a stride of 0");
    operation.require(first >= 0 && first < in[axis], bad_attribute, "begin is outside the input");
    const std::int64_t furthest = step > 0 ? (in[axis] - 1 - first) / step : step >= -first ? first / -step : 0;
    operation.require(more <= furthest, shape_mismatch, "axis " + std::to_string(axis) + " would be read beyond its end");
  }
}

void check_split(const OperationView& operation) {
  const std::int64_t axis = operation.attributes<SplitAttributes>().axis;
  require_axis(operation, axis);
  std::vector<std::int64_t> part = sizes_of(operation.input());
  const auto parts = static_cast<std::int64_t>(operation.output_count());
  std::int64_t& size = part[static_cast<std::size_t>(axis)];
  operation.require(size % parts == 0, shape_mismatch, std::to_string(size) + " values cannot be split into " + std::to_string(parts));
  size /= parts;
  for (std::size_t i = 0; i < operation.output_count(); ++i) operation.require_shape(operation.output(i), Shape(part));
}

void check_same_shape(const OperationView& operation) { operation.require_shape(operation.output(), operation.input().shape); }

void check_requantize(const OperationView& operation) {
  check_bounds(operation, operation.attributes<RequantizeAttributes>().bounds);
  check_same_shape(operation);
}

void check_prelu(const OperationView& operation) {
  const auto joined = broadcast(operation.input(0).shape, operation.input(1).shape);
  operation.require(joined && *joined == operation.input(0).shape, shape_mismatch, "alpha does not broadcast to the input");
  check_same_shape(operation);
}

void check_softmax(const OperationView& operation) {
  operation.require(operation.input().shape.rank() >= 1, shape_mismatch, "a scalar has no last axis");
  const double beta = operation.attributes<SoftmaxAttributes>().beta;
  operation.require(std::isfinite(beta) && beta > 0 && beta <= 1e6, bad_attribute, "beta is not between 0 and 1e6");
  check_same_shape(operation);
}

void check_leaky_relu(const OperationView& operation) {
  const double alpha = operation.attributes<LeakyReluAttributes>().alpha;
  operation.require(std::isfinite(alpha) && std::abs(alpha) <= 1e6, bad_attribute, "alpha is not within 1e6 of 0");
  check_same_shape(operation);
}

void check_clip(const OperationView& operation) {
  check_bounds(operation, operation.attributes<ClipAttributes>().bounds);
  check_same_shape(operation);
}

void check_dynamic_quantize(const OperationView& operation) {
  operation.require(operation.output_count() == 3, shape_mismatch, "codes, scale and zero point are three outputs");
  check_same_shape(operation);
  for (const std::size_t scalar : {std::size_t{1}, std::size_t{2}}) operation.require_shape(operation.output(scalar), {});
}

void check_resize(const OperationView& operation) {
  const auto& attributes = operation.attributes<ResizeAttributes>();
  operation.require_rank(operation.input(), 4);
  operation.require_rank(operation.output(), 4);
  const Shape &in = operation.input().shape, &out = operation.output().shape;
  operation.require(in[0] == out[0] && in[3] == out[3], shape_mismatch, "batch or channels of input and output differ");
  operation.require(out[1] <= largest_window_parameter && out[2] <= largest_window_parameter && in[1] <= largest_window_parameter &&
                        in[2] <= largest_window_parameter,
                    shape_mismatch, "an image side is larger than " + std::to_string(largest_window_parameter));
  const Rounding rounding = attributes.nearest;
  operation.require(
      rounding == Rounding::floor || rounding == Rounding::ceil || rounding == Rounding::half_down || rounding == Rounding::half_up,
      bad_attribute, "nearest_rounding is not one of floor, ceil, half_down, half_up");
  operation.require(attributes.mode <= ResizeMode::bilinear && attributes.coordinates <= ResizeCoordinates::half_pixel_or_zero,
                    bad_attribute, "unknown mode or coordinates");
  if (!attributes.scales) return;
  for (const double scale : *attributes.scales)
    operation.require(std::isfinite(scale) && scale >= 1e-6 && scale <= 1e6, bad_attribute, "a scale is not between 1e-6 and 1e6");
}

void check_svdf(const OperationView& operation) {
  const ModelTensor &input = operation.input(0), &features = operation.input(1), &times = operation.input(2), &state = operation.input(3);
  const std::int64_t rank = operation.attributes<SvdfAttributes>().rank;
  for (const ModelTensor* tensor : {&input, &features, &times}) operation.require_rank(*tensor, 2);
  const std::int64_t batch = input.shape[0], filters = features.shape[0];
  operation.require(rank >= 1 && filters % rank == 0, bad_attribute, "rank does not divide the number of filters");
  check_activation(operation, operation.attributes<SvdfAttributes>().activation);
  operation.require_shape(features, {filters, input.shape[1]});
  operation.require_shape(times, {filters, times.shape[1]});
  operation.require_shape(state, {batch, filters * times.shape[1]});
  operation.require_shape(operation.output(), {batch, filters / rank});
  operation.require_shape(operation.output(1), state.shape);
  if (operation.has_input(4)) operation.require_shape(operation.input(4), {filters / rank});
}

void check_lstm(const OperationView& operation) {
  const auto& attributes = operation.attributes<LstmAttributes>();
  const ModelTensor &input = operation.input(0), &hidden = operation.input(1);
  operation.require_rank(input, 3);
  operation.require_rank(hidden, 2);
  operation.require(std::isfinite(attributes.cell_clip) && attributes.cell_clip >= 0 && attributes.cell_clip <= 1e6, bad_attribute,
                    "cell_clip is not between 0 and 1e6");
  const std::int64_t cells = hidden.shape[1], inputs = input.shape[2];
  operation.require_shape(hidden, {input.shape[attributes.time_major ? 1 : 0], cells});
  operation.require_shape(operation.input(2), hidden.shape);
  for (std::size_t gate = 0; gate < 4; ++gate) {
    operation.require_shape(operation.input(3 + gate), {cells, inputs});
    operation.require_shape(operation.input(7 + gate), {cells, cells});
    operation.require_shape(operation.input(11 + gate), {cells});
  }
  operation.require_shape(operation.output(), {input.shape[0], input.shape[1], cells});
  operation.require_shape(operation.output(1), hidden.shape);
  operation.require_shape(operation.output(2), hidden.shape);
}

}  // namespace lastbit
