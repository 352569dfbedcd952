// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators that order, sum, divide or pick values, as a few operations say them.
#include <utility>

#include "formats/tflite_operator.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {
namespace {

using enum OperationKind;

std::int64_t stated_axis(const OperatorReader& source) {
  const std::vector<std::int64_t> axis = source.constant_integers(1);
  if (axis.size() != 1) source.malformed("the axis is not one number");
  return source.axis_of(axis.front(), source.input(0));
}

/// Input, axis.
void read_extreme_index(const OperatorReader& source, OperationKind kind) {
  source.require_inputs(2, 2);
  source.emit(kind, {source.input_index(0)}, ArgmaxAttributes{stated_axis(source)});
}

/// The indices of whole entries, as one number each.
std::vector<std::int64_t> flat_indices(const OperatorReader& source, std::size_t depth) {
  const Shape& data = source.input(0).shape;
  const lastbit::Tensor& indices = *source.input(1).constant;
  std::vector<std::int64_t> flat;
  for (std::int64_t i = 0; i < indices.element_count(); i += static_cast<std::int64_t>(depth)) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < depth; ++axis) {
      const std::int64_t index = indices.integer_at(i + static_cast<std::int64_t>(axis));
      if (index < 0 || index >= data[axis])
        source.malformed("index " + std::to_string(index) + " of an axis of " + std::to_string(data[axis]));
      place = place * data[axis] + index;
    }
    flat.push_back(place);
  }
  return flat;
}

std::int32_t add_whole_numbers(const OperatorReader& source, ElementType type, const std::vector<std::int64_t>& values) {
  if (type == ElementType::int32) return source.add_integers("numbers", values);
  return source.add_constant("numbers", lastbit::Tensor::from<std::int64_t>({std::ssize(values)}, values));
}

/// The same of indices that are computed. Each counts as the nearest one that its axis has, as those of a gather do.
std::int32_t computed_places(const OperatorReader& source, std::size_t depth, std::int64_t count) {
  const ElementType type = source.input(1).type;
  if (type != ElementType::int32 && type != ElementType::int64) source.unsupported("computed indices of " + std::string(name_of(type)));
  const Shape data = source.input(0).shape, all{count, static_cast<std::int64_t>(depth)}, column{count, 1};
  std::vector<std::int64_t> last;
  for (std::size_t axis = 0; axis < depth; ++axis) last.push_back(data[axis] - 1);
  const auto step = [&](OperationKind kind, std::vector<std::int32_t> inputs, const Shape& shape, Attributes attributes) {
    return source.emit_of_type(type, {}, kind, std::move(inputs), std::move(attributes), shape);
  };
  const std::int32_t from_first = step(maximum, {source.reshaped_input(1, all), add_whole_numbers(source, type, {0})}, all, {});
  const std::int32_t inside = step(minimum, {from_first, add_whole_numbers(source, type, last)}, all, {});
  std::int32_t place = absent_tensor;
  for (std::size_t axis = 0; axis < depth; ++axis) {
    const std::int32_t index = step(slice, {inside}, column, SliceAttributes{{0, static_cast<std::int64_t>(axis)}, {}});
    if (axis == 0) place = index;
    else {
      const std::int32_t size = add_whole_numbers(source, type, {data[axis]});
      place = step(add, {step(mul, {place, size}, column, default_attributes(mul)), index}, column, default_attributes(add));
    }
  }
  return step(reshape, {place}, {count}, {});
}

}  // namespace

void read_arg_max(const OperatorReader& source) { read_extreme_index(source, argmax); }
void read_arg_min(const OperatorReader& source) { read_extreme_index(source, argmin); }

/// -floor(-x)
void read_ceil(const OperatorReader& source) {
  source.require_inputs(1, 1);
  const Shape shape = source.input(0).shape;
  const std::int32_t negated = source.emit_between(neg, source.inputs(), std::monostate{}, shape);
  source.emit(neg, {source.emit_between(OperationKind::floor, {negated}, std::monostate{}, shape)});
}

void read_l2_normalization(const OperatorReader& source) {
  source.require_inputs(1, 1);
  const auto* const options = source.find_options<L2NormOptions>();
  if (options != nullptr && options->fused_activation_function() != ActivationFunctionType::NONE) source.unsupported("a fused activation");
  source.emit(l2_normalization, source.inputs());
}

/// Input, axis.
void read_cumsum(const OperatorReader& source) {
  source.require_inputs(2, 2);
  CumsumAttributes attributes{.axis = stated_axis(source)};
  if (const auto* const options = source.find_options<CumsumOptions>()) {
    attributes.exclusive = options->exclusive();
    attributes.reverse = options->reverse();
  }
  source.emit(cumsum, {source.input_index(0)}, attributes);
}

/// Input, count; along the last axis.
void read_top_k(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const std::vector<std::int64_t> count = source.constant_integers(1);
  const std::int64_t axis = source.axis_of(-1, source.input(0));
  if (source.output_count() != 2) source.malformed("2 outputs needed: values and indices");
  if (count.size() != 1 || source.output().shape.rank() == 0 || count[0] != source.output().shape.back())
    source.malformed("the count is not that of its output");
  source.emit(top_k, {source.input_index(0)}, TopKAttributes{.axis = axis});
}

/// Data, indices [..., depth]: each names an entry of the first `depth` axes, which become one.
void read_gather_nd(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const ModelTensor &data = source.input(0), &indices = source.input(1);
  if (indices.shape.rank() == 0 || indices.shape.back() < 1 || indices.shape.back() > static_cast<std::int64_t>(data.shape.rank()))
    source.malformed("indices of " + indices.shape.text() + " into " + data.shape.text());
  if (!is_integer(indices.type) || indices.type == ElementType::int8)
    source.unsupported("indices of " + std::string(name_of(indices.type)));
  const auto depth = static_cast<std::size_t>(indices.shape.back());
  const std::vector<std::int64_t> counted(indices.shape.sizes().begin(), indices.shape.sizes().end() - 1);
  if (depth == 1) return source.emit(gather, {source.input_index(0), source.reshaped_input(1, Shape(counted))}, GatherAttributes{0});
  std::vector<std::int64_t> entries{1};
  for (std::size_t axis = 0; axis < data.shape.rank(); ++axis) {
    if (axis < depth) entries[0] *= data.shape[axis];
    else entries.push_back(data.shape[axis]);
  }
  constexpr std::int64_t most_entries = std::int64_t{1} << 24;  // the golden path has every one of these numbers
  const bool is_stored = indices.constant.has_value();
  if (!is_stored && entries[0] > most_entries) source.unsupported("computed indices into more than 2^24 entries");
  const std::int64_t count = Shape(counted).element_count();
  const std::int32_t places =
      is_stored ? source.add_integers("places", flat_indices(source, depth)) : computed_places(source, depth, count);
  const std::int32_t rows = source.reshaped_input(0, Shape(entries));
  entries[0] = count;
  source.emit_then_reshape(gather, {rows, places}, GatherAttributes{0}, Shape(entries));
}

}  // namespace lastbit::tflite_format
