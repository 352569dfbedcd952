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

void read_floor_div(const OperatorReader& source) {
  source.require_inputs(2, 2);
  if (source.output().type != ElementType::float32) source.unsupported("data of " + std::string(name_of(source.output().type)));
  const std::int32_t quotient =
      source.emit_between(OperationKind::div, source.inputs(), default_attributes(OperationKind::div), source.output().shape);
  source.emit(OperationKind::floor, {quotient});
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

/// Data, indices [..., depth]: each names an entry of the first `depth` axes. One axis alone is that of a gather; of several, the indices are constants.
void read_gather_nd(const OperatorReader& source) {
  source.require_inputs(2, 2);
  const ModelTensor &data = source.input(0), &indices = source.input(1);
  if (indices.shape.rank() == 0 || indices.shape.back() < 1 || indices.shape.back() > static_cast<std::int64_t>(data.shape.rank()))
    source.malformed("indices of " + indices.shape.text() + " into " + data.shape.text());
  if (!is_integer(indices.type) || indices.type == ElementType::int8)
    source.unsupported("indices of " + std::string(name_of(indices.type)));
  const auto depth = static_cast<std::size_t>(indices.shape.back());
  if (depth == 1) {
    std::vector<std::int64_t> places(indices.shape.sizes().begin(), indices.shape.sizes().end() - 1);
    const std::int32_t flat = source.reshaped_input(1, Shape(std::move(places)));
    return source.emit(gather, {source.input_index(0), flat}, GatherAttributes{0});
  }
  if (!indices.constant) source.unsupported("input 1 '" + indices.name + "' is not a constant");
  const std::vector<std::int64_t> places = flat_indices(source, depth);
  std::vector<std::int64_t> entries{1};
  for (std::size_t axis = 0; axis < data.shape.rank(); ++axis) {
    if (axis < depth) entries[0] *= data.shape[axis];
    else entries.push_back(data.shape[axis]);
  }
  const std::int32_t rows = source.reshaped_input(0, Shape(entries));
  entries[0] = std::ssize(places);
  source.emit_then_reshape(gather, {rows, source.add_integers("places", places)}, GatherAttributes{0}, Shape(entries));
}

}  // namespace lastbit::tflite_format
