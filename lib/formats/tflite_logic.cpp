// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Comparisons, connectives of truth values, what they choose, and casts: made of less, less_or_equal, equal, select and cast.
#include <numeric>

#include "formats/tflite_operator.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {
namespace {

using enum OperationKind;

std::int32_t truth(const OperatorReader& source, bool value) {
  lastbit::Tensor tensor(ElementType::boolean, Shape{});
  tensor.values<bool>()[0] = value;
  return source.add_constant(value ? "true" : "false", std::move(tensor));
}

/// 0 or 1.
std::int32_t number(const OperatorReader& source, ElementType type, int value) {
  lastbit::Tensor one(type, Shape{});
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>) one.values<T>()[0] = static_cast<T>(value);
  });
  return source.add_constant(std::to_string(value), std::move(one));
}

void emit_opposite(const OperatorReader& source, std::int32_t condition) {
  const std::int32_t no = truth(source, false);
  source.emit(OperationKind::select, {condition, no, truth(source, true)});
}

/// Where the order of the operands is the other one, so are they.
void compare(const OperatorReader& source, OperationKind kind, std::size_t first) {
  source.require_inputs(2, 2);
  source.emit(kind, {source.input_index(first), source.input_index(1 - first)});
}

}  // namespace

void read_less(const OperatorReader& source) { compare(source, less, 0); }
void read_less_equal(const OperatorReader& source) { compare(source, less_or_equal, 0); }
void read_greater(const OperatorReader& source) { compare(source, less, 1); }
void read_greater_equal(const OperatorReader& source) { compare(source, less_or_equal, 1); }
void read_equal(const OperatorReader& source) { compare(source, equal, 0); }

void read_not_equal(const OperatorReader& source) {
  source.require_inputs(2, 2);
  emit_opposite(source, source.emit_between(equal, source.inputs(), std::monostate{}, source.output().shape));
}

void read_logical_and(const OperatorReader& source) {
  source.require_inputs(2, 2);
  source.emit(OperationKind::select, {source.input_index(0), source.input_index(1), source.input_index(0)});
}

void read_logical_or(const OperatorReader& source) {
  source.require_inputs(2, 2);
  source.emit(OperationKind::select, {source.input_index(0), source.input_index(0), source.input_index(1)});
}

void read_logical_not(const OperatorReader& source) {
  source.require_inputs(1, 1);
  emit_opposite(source, source.input_index(0));
}

/// A condition of one dimension chooses whole entries of the first axis.
void read_select(const OperatorReader& source) {
  source.require_inputs(3, 3);
  const Shape &condition = source.input(0).shape, &data = source.input(1).shape;
  if (source.input(2).shape != data) source.malformed("what it chooses from differs in shape");
  if (condition.rank() == 0 || condition == data) return source.emit(OperationKind::select, source.inputs());
  if (condition.rank() != 1 || data.rank() == 0 || condition[0] != data[0])
    source.malformed("a condition of " + condition.text() + " for " + data.text());
  std::vector<std::int64_t> sizes(data.rank(), 1);
  sizes[0] = condition[0];
  const std::int32_t chosen = source.reshaped_input(0, Shape(std::move(sizes)));
  source.emit(OperationKind::select, {chosen, source.input_index(1), source.input_index(2)});
}

void read_select_v2(const OperatorReader& source) {
  source.require_inputs(3, 3);
  source.emit(OperationKind::select, source.inputs());
}

/// Of truth values a choice between 1 and 0; to them whether it is another number than 0.
void read_cast(const OperatorReader& source) {
  source.require_inputs(1, 1);
  const ElementType from = source.input(0).type, to = source.output().type;
  if (source.input(0).quantization.present() || source.output().quantization.present()) source.unsupported("a cast of codes with a scale");
  if (from == to) return source.emit(reshape, {source.input_index(0)});
  if (from == ElementType::boolean) {
    const std::int32_t zero = number(source, to, 0);
    return source.emit(OperationKind::select, {source.input_index(0), number(source, to, 1), zero});
  }
  if (to != ElementType::boolean) return source.emit(cast, {source.input_index(0)});
  const std::int32_t zero = number(source, from, 0);
  emit_opposite(source, source.emit_between(equal, {source.input_index(0), zero}, std::monostate{}, source.output().shape));
}

/// Indices, depth, on, off. An index that the depth has not is none of the places.
void read_one_hot(const OperatorReader& source) {
  source.require_inputs(4, 4);
  const auto depth = source.constant_integers(1);
  const Shape& out = source.output().shape;
  std::vector<std::int64_t> sizes(source.input(0).shape.sizes().begin(), source.input(0).shape.sizes().end());
  if (out.rank() != sizes.size() + 1) source.malformed("its output has " + std::to_string(out.rank()) + " dimensions");
  const auto* const options = source.find_options<OneHotOptions>();
  const std::int64_t axis = source.axis_of(options == nullptr ? -1 : options->axis(), source.output());
  if (depth.size() != 1 || depth[0] != out[static_cast<std::size_t>(axis)]) source.malformed("the depth is not that of its output");
  const ElementType type = source.input(0).type;
  if (type != ElementType::int32 && type != ElementType::int64) source.unsupported("indices of " + std::string(name_of(type)));
  sizes.insert(sizes.begin() + axis, 1);
  std::vector<std::int64_t> place_sizes(out.rank(), 1);
  place_sizes[static_cast<std::size_t>(axis)] = depth[0];
  lastbit::Tensor places(type, Shape(std::move(place_sizes)));
  const auto count = [&]<class T>(std::span<T> values) { std::iota(values.begin(), values.end(), T{0}); };
  if (type == ElementType::int32) count(places.values<std::int32_t>());
  else count(places.values<std::int64_t>());
  const std::int32_t indices = source.reshaped_input(0, Shape(std::move(sizes)));
  const std::int32_t is_there = source.emit_of_type(ElementType::boolean, {}, equal,
                                                    {indices, source.add_constant("places", std::move(places))}, std::monostate{}, out);
  source.emit(OperationKind::select, {is_there, source.input_index(2), source.input_index(3)});
}

}  // namespace lastbit::tflite_format
