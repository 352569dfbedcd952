// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators that only move data, as a few operations say them: gathers, slices, transposes and reshapes; and resizes.
#include <algorithm>
#include <utility>

#include "formats/tflite_operator.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {
namespace {

using enum OperationKind;
using Sizes = std::vector<std::int64_t>;

Sizes sizes_of(const ModelTensor& tensor) { return {tensor.shape.sizes().begin(), tensor.shape.sizes().end()}; }

void require_output(const OperatorReader& source, const Sizes& expected, std::size_t position = 0) {
  if (source.output(position).shape == Shape(expected)) return;
  source.malformed("its output is " + source.output(position).shape.text() + "; " + Shape(expected).text() + " follows");
}

/// For each place along an axis the place of the input that it takes.
struct PlacesOfAxis {
  std::int64_t axis;
  Sizes places;
};

/// So many along one axis can become a constant of the model.
void require_few_places(const OperatorReader& source, std::int64_t count) {
  constexpr std::int64_t most_places = 65536;
  if (count > most_places) source.unsupported("an axis of more than " + std::to_string(most_places) + " values");
}

/// One gather after the other; the last gives the operator's output.
void emit_gathers(const OperatorReader& source, std::int32_t from, Sizes sizes, const std::vector<PlacesOfAxis>& gathers) {
  if (gathers.empty()) return source.emit(reshape, {from});
  for (std::size_t i = 0; i < gathers.size(); ++i) {
    const auto& [axis, places] = gathers[i];
    const std::int32_t indices = source.add_integers("places", places);
    sizes[static_cast<std::size_t>(axis)] = std::ssize(places);
    if (i + 1 == gathers.size()) source.emit(gather, {from, indices}, GatherAttributes{axis});
    else from = source.emit_between(gather, {from, indices}, GatherAttributes{axis}, Shape(sizes));
  }
}

void emit_slice(const OperatorReader& source, std::size_t axis, std::int64_t begin, std::size_t part) {
  SliceAttributes attributes{Sizes(source.input(0).shape.rank(), 0), {}};
  attributes.begin[axis] = begin;
  source.emit_output(slice, {source.input_index(0)}, std::move(attributes), part);
}

std::int64_t block_of(const OperatorReader& source, std::int64_t block, const Sizes& sizes) {
  if (sizes.size() != 4) source.malformed("the input has " + std::to_string(sizes.size()) + " dimensions; 4 are needed");
  if (block < 1 || block > largest_window_parameter) source.malformed("a block of " + std::to_string(block));
  return block;
}

/// [batch, height, width, …] as six axes, of which the third and the fourth change places.
void emit_blocks(const OperatorReader& source, const Sizes& six) {
  Sizes turned = six;
  std::swap(turned[2], turned[3]);
  const std::int32_t parts = source.reshaped(source.input_index(0), Shape(six));
  const std::int32_t between = source.emit_between(transpose, {parts}, TransposeAttributes{{0, 1, 3, 2, 4, 5}}, Shape(std::move(turned)));
  source.emit(reshape, {between});
}

}  // namespace

void read_gather(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const auto* options = source.find_options<GatherOptions>();
  if (options != nullptr && options->batch_dims() != 0) source.unsupported("batch_dims");
  source.emit(gather, source.inputs(), GatherAttributes{source.axis_of(options == nullptr ? 0 : options->axis(), source.input(0))});
}

void read_pack(const OperatorReader& source) {
  source.require_inputs(1, source.input_count());
  Sizes one = sizes_of(source.input(0));
  for (std::size_t i = 1; i < source.input_count(); ++i)
    if (source.has_input(i) && sizes_of(source.input(i)) != one) source.malformed("its inputs differ in shape");
  const std::int64_t axis = source.axis_of(source.options<PackOptions>().axis(), source.output());
  if (axis > std::ssize(one)) source.malformed("its output has too many dimensions");
  one.insert(one.begin() + axis, 1);
  std::vector<std::int32_t> parts;
  for (std::size_t i = 0; i < source.input_count(); ++i) {
    if (!source.has_input(i)) source.malformed("input " + std::to_string(i) + " is missing");
    parts.push_back(source.reshaped(source.input_index(i), Shape(one)));
  }
  source.emit(concat, std::move(parts), ConcatAttributes{.axis = axis});
}

void read_unpack(const OperatorReader& source) {
  source.require_inputs(1, 1);
  Sizes one = sizes_of(source.input(0));
  const auto axis = static_cast<std::size_t>(source.axis_of(source.options<UnpackOptions>().axis(), source.input(0)));
  if (std::exchange(one[axis], 1) != static_cast<std::int64_t>(source.output_count()))
    source.malformed(std::to_string(source.output_count()) + " outputs of an axis of another size");
  for (std::size_t part = 0; part < source.output_count(); ++part) {
    SliceAttributes attributes{Sizes(one.size(), 0), {}};
    attributes.begin[axis] = static_cast<std::int64_t>(part);
    const std::int32_t between = source.emit_between(slice, {source.input_index(0)}, std::move(attributes), Shape(one));
    source.emit_output(reshape, {between}, std::monostate{}, part);
  }
}

/// Input, sizes, axis.
void read_split_v(const OperatorReader& source) {
  source.require_inputs(3, 3);
  const Sizes axes = source.constant_integers(2);
  if (axes.size() != 1) source.malformed("the axis is not one number");
  const auto axis = static_cast<std::size_t>(source.axis_of(axes.front(), source.input(0)));
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < source.output_count(); ++part) {
    if (source.output(part).shape.rank() != source.input(0).shape.rank()) source.malformed("an output has other dimensions than the input");
    const std::int64_t size = source.output(part).shape[axis];
    if (size > source.input(0).shape[axis] - begin) source.malformed("its outputs are larger than its input");
    emit_slice(source, axis, std::exchange(begin, begin + size), part);
  }
  if (begin != source.input(0).shape[axis]) source.malformed("its outputs are smaller than its input");
}

void read_space_to_depth(const OperatorReader& source) {
  source.require_inputs(1, 1);
  const Sizes in = sizes_of(source.input(0));
  const std::int64_t block = block_of(source, source.options<SpaceToDepthOptions>().block_size(), in);
  if (in[1] % block != 0 || in[2] % block != 0) source.malformed("blocks of " + std::to_string(block) + " do not fit the image");
  require_output(source, {in[0], in[1] / block, in[2] / block, in[3] * block * block});
  emit_blocks(source, {in[0], in[1] / block, block, in[2] / block, block, in[3]});
}

void read_depth_to_space(const OperatorReader& source) {
  source.require_inputs(1, 1);
  const Sizes in = sizes_of(source.input(0));
  const std::int64_t block = block_of(source, source.options<DepthToSpaceOptions>().block_size(), in);
  if (in[3] % (block * block) != 0) source.malformed("blocks of " + std::to_string(block) + " do not fit the channels");
  require_output(source, {in[0], in[1] * block, in[2] * block, in[3] / (block * block)});
  emit_blocks(source, {in[0], in[1], in[2], block, block, in[3] / (block * block)});
}

namespace {

/// Input, the block of each spatial axis, and two numbers for each: paddings or crops.
struct Blocks {
  Sizes in, block, ends;
};

Blocks blocks_of(const OperatorReader& source) {
  source.require_inputs(3, 3);
  Blocks found{sizes_of(source.input(0)), source.constant_integers(1), source.constant_integers(2)};
  const std::size_t axes = found.block.size();
  if (axes == 0 || axes >= found.in.size() || found.ends.size() != 2 * axes)
    source.malformed("a block and a pair of paddings or crops per spatial axis are needed");
  for (const std::int64_t block : found.block)
    if (block < 1 || block > largest_window_parameter) source.malformed("a block of " + std::to_string(block));
  if (std::ranges::any_of(found.ends, [](std::int64_t end) { return end < 0; })) source.malformed("a negative padding or crop");
  return found;
}

/// The input in these parts, its axes in this order.
std::int32_t emit_turned(const OperatorReader& source, std::int32_t from, const Sizes& parts, const Sizes& order) {
  Sizes turned;
  for (const std::int64_t axis : order) turned.push_back(parts[static_cast<std::size_t>(axis)]);
  return source.emit_between(transpose, {source.reshaped(from, Shape(parts))}, TransposeAttributes{order}, Shape(std::move(turned)));
}

}  // namespace

/// Of each block's values the first go into the first part of the batch, and so on.
void read_space_to_batch(const OperatorReader& source) {
  const auto [in, block, paddings] = blocks_of(source);
  PadAttributes pads;
  pads.paddings.resize(in.size());
  Sizes padded = in;
  for (std::size_t i = 0; i < block.size(); ++i) {
    padded[1 + i] += paddings[2 * i] + paddings[2 * i + 1];
    pads.paddings[1 + i] = {paddings[2 * i], paddings[2 * i + 1]};
    if (padded[1 + i] % block[i] != 0) source.malformed("blocks of " + std::to_string(block[i]) + " do not fit the padded image");
  }
  const std::int32_t from =
      padded == in ? source.input_index(0) : source.emit_between(pad, {source.input_index(0)}, std::move(pads), Shape(padded));
  Sizes parts{in[0]}, out{in[0]}, order;
  for (std::size_t i = 0; i < block.size(); ++i) {
    parts.insert(parts.end(), {padded[1 + i] / block[i], block[i]});
    out.push_back(padded[1 + i] / block[i]);
    out[0] *= block[i];
    order.push_back(static_cast<std::int64_t>(2 + 2 * i));
  }
  order.push_back(0);
  for (std::size_t i = 0; i < block.size(); ++i) order.push_back(static_cast<std::int64_t>(1 + 2 * i));
  for (std::size_t i = 1 + block.size(); i < in.size(); ++i) {
    order.push_back(std::ssize(parts));
    parts.push_back(in[i]);
    out.push_back(in[i]);
  }
  require_output(source, out);
  source.emit(reshape, {emit_turned(source, from, parts, order)});
}

/// The way back.
void read_batch_to_space(const OperatorReader& source) {
  const auto [in, block, crops] = blocks_of(source);
  std::int64_t batch = in[0];
  for (const std::int64_t size : block) {
    if (batch % size != 0) source.malformed("blocks of " + std::to_string(size) + " do not fit the batch");
    batch /= size;
  }
  const std::size_t axes = block.size();
  Sizes parts = block, order{static_cast<std::int64_t>(axes)}, whole{batch}, out;
  parts.push_back(batch);
  parts.insert(parts.end(), in.begin() + 1, in.end());
  for (std::size_t i = 0; i < axes; ++i) {
    order.insert(order.end(), {static_cast<std::int64_t>(axes + 1 + i), static_cast<std::int64_t>(i)});
    whole.push_back(in[1 + i] * block[i]);
  }
  for (std::size_t i = 1 + axes; i < in.size(); ++i) {
    order.push_back(static_cast<std::int64_t>(axes + i));
    whole.push_back(in[i]);
  }
  out = whole;
  SliceAttributes attributes{Sizes(in.size(), 0), {}};
  for (std::size_t i = 0; i < axes; ++i) {
    attributes.begin[1 + i] = crops[2 * i];
    out[1 + i] -= crops[2 * i] + crops[2 * i + 1];
    if (out[1 + i] < 1) source.malformed("the crops leave nothing");
  }
  require_output(source, out);
  const std::int32_t turned = emit_turned(source, source.input_index(0), parts, order);
  if (out == whole) return source.emit(reshape, {turned});
  source.emit(slice, {source.reshaped(turned, Shape(whole))}, std::move(attributes));
}

void read_mirror_pad(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const Sizes in = sizes_of(source.input(0)), paddings = source.constant_integers(1);
  if (paddings.size() != 2 * in.size()) source.malformed("one pair of paddings per dimension is needed");
  const std::int64_t left_out = source.options<MirrorPadOptions>().mode() == MirrorPadMode::REFLECT ? 1 : 0;  // the border itself
  std::vector<PlacesOfAxis> gathers;
  Sizes out = in;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    const std::int64_t size = in[axis], before = paddings[2 * axis], after = paddings[2 * axis + 1];
    if (std::min(before, after) < 0 || std::max(before, after) > size - left_out)
      source.malformed("a padding is larger than what it mirrors");
    if (before == 0 && after == 0) continue;
    require_few_places(source, size + before + after);
    PlacesOfAxis& gather_of_axis = gathers.emplace_back(PlacesOfAxis{static_cast<std::int64_t>(axis), {}});
    for (std::int64_t i = -before; i < size + after; ++i) {
      const std::int64_t folded = i < 0 ? left_out - 1 - i : i;
      gather_of_axis.places.push_back(folded < size ? folded : 2 * size - 1 - left_out - folded);
    }
    out[axis] += before + after;
  }
  require_output(source, out);
  emit_gathers(source, source.input_index(0), in, gathers);
}

void read_tile(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const Sizes in = sizes_of(source.input(0)), out = sizes_of(source.output());
  if (out.size() != in.size()) source.malformed("its output has other dimensions than its input");
  std::vector<PlacesOfAxis> gathers;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    if (out[axis] % in[axis] != 0) source.malformed("its output is no whole number of its inputs");
    if (out[axis] == in[axis]) continue;
    require_few_places(source, out[axis]);
    PlacesOfAxis& gather_of_axis = gathers.emplace_back(PlacesOfAxis{static_cast<std::int64_t>(axis), {}});
    for (std::int64_t i = 0; i < out[axis]; ++i) gather_of_axis.places.push_back(i % in[axis]);
  }
  emit_gathers(source, source.input_index(0), in, gathers);
}

/// The output tensor has the shape already.
void read_broadcast_to(const OperatorReader& source) {
  source.require_inputs(1, 2);
  Sizes in = sizes_of(source.input(0));
  const Sizes out = sizes_of(source.output());
  if (in.size() > out.size()) source.malformed("its output has fewer dimensions than its input");
  const bool grows = in.size() < out.size();
  in.insert(in.begin(), out.size() - in.size(), 1);
  std::vector<PlacesOfAxis> gathers;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    if (in[axis] == out[axis]) continue;
    if (in[axis] != 1) source.malformed("its input does not broadcast to its output");
    require_few_places(source, out[axis]);
    gathers.push_back({static_cast<std::int64_t>(axis), Sizes(static_cast<std::size_t>(out[axis]), 0)});
  }
  const std::int32_t from = grows && !gathers.empty() ? source.reshaped(source.input_index(0), Shape(in)) : source.input_index(0);
  emit_gathers(source, from, std::move(in), gathers);
}

void read_reverse(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const Shape in = source.input(0).shape;
  SliceAttributes attributes{Sizes(in.rank(), 0), Sizes(in.rank(), 1)};
  for (const std::int64_t given : source.constant_integers(1)) {
    const auto axis = static_cast<std::size_t>(source.axis_of(given, source.input(0)));
    attributes.begin[axis] = in[axis] - 1;
    attributes.strides[axis] = -1;
  }
  require_output(source, {in.sizes().begin(), in.sizes().end()});
  source.emit(strided_slice, {source.input_index(0)}, std::move(attributes));
}

namespace {

/// Input, size, which a constant must repeat: the output tensor has it already.
void read_resize(const OperatorReader& source, ResizeMode mode, bool align_corners, bool half_pixel_centers) {
  source.require_inputs(1, 2);
  if (align_corners && half_pixel_centers) source.unsupported("align_corners with half_pixel_centers");
  const Shape& out = source.output().shape;
  if (source.has_input(1) && source.input(1).constant && out.rank() == 4 && source.constant_integers(1) != Sizes{out[1], out[2]})
    source.malformed("the constant size is not that of the output");
  ResizeAttributes attributes;
  attributes.mode = mode;
  attributes.coordinates = align_corners        ? ResizeCoordinates::align_corners
                           : half_pixel_centers ? ResizeCoordinates::half_pixel
                                                : ResizeCoordinates::asymmetric;
  attributes.nearest = align_corners || half_pixel_centers ? Rounding::half_up : Rounding::floor;
  source.emit(resize, {source.input_index(0)}, attributes);
}

template <class Options, ResizeMode mode>
void read_resize_options(const OperatorReader& source) {
  const auto* options = source.find_options<Options>();
  read_resize(source, mode, options != nullptr && options->align_corners(), options != nullptr && options->half_pixel_centers());
}

}  // namespace

void read_resize_bilinear(const OperatorReader& source) { read_resize_options<ResizeBilinearOptions, ResizeMode::bilinear>(source); }
void read_resize_nearest(const OperatorReader& source) { read_resize_options<ResizeNearestNeighborOptions, ResizeMode::nearest>(source); }

}  // namespace lastbit::tflite_format
