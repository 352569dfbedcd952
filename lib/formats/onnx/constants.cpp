// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shape, Size, ConstantOfShape, Range, Expand, Gather, Concat, Cast, Where of constants.
#include "formats/onnx/constants.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lastbit/arith/float16.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/shape.hpp"
#include "model/strided_loop.hpp"

namespace lastbit::onnx_format {
namespace {

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

void set_integers(const NodeReader& node, Shape shape, const std::vector<std::int64_t>& values) {
  set_output(node, tensor_of<std::int64_t>(node, ElementType::int64, std::move(shape), values));
}

/// From opset 15 on a part of the shape, its bounds cut to the rank.
void compute_shape(const NodeReader& node) {
  node.require_inputs(1, 1);
  const auto rank = static_cast<std::int64_t>(node.shape().rank());
  const auto place = [&](std::int64_t axis) { return std::clamp(axis < 0 ? axis + rank : axis, std::int64_t{0}, rank); };
  const std::int64_t begin = place(node.integer("start", 0)), end = place(node.integer("end", rank));
  std::vector<std::int64_t> sizes;
  for (std::int64_t axis = begin; axis < end; ++axis) sizes.push_back(node.shape()[static_cast<std::size_t>(axis)]);
  if (sizes.empty()) return set_empty_output(node);
  set_integers(node, {static_cast<std::int64_t>(sizes.size())}, sizes);
}

void compute_size(const NodeReader& node) {
  node.require_inputs(1, 1);
  set_integers(node, {}, {node.shape().element_count()});
}

/// The sizes of an output that an input states; nothing where one of them is 0.
std::optional<Shape> stated_shape(const NodeReader& node, std::size_t position) {
  std::vector<std::int64_t> sizes = node.has_input(position) ? node.constant_integers(position) : std::vector<std::int64_t>();
  for (const std::int64_t size : sizes)
    if (size < 0) node.malformed("a size of " + std::to_string(size));
  if (std::ranges::find(sizes, 0) != sizes.end()) return std::nullopt;
  return Shape(std::move(sizes));
}

/// One value, copied to every element.
void fill(std::span<std::byte> to, std::span<const std::byte> value) {
  for (std::size_t at = 0; at < to.size(); at += value.size()) std::memcpy(to.data() + at, value.data(), value.size());
}

void compute_constant_of_shape(const NodeReader& node) {
  node.require_inputs(0, 1);
  const auto shape = stated_shape(node, 0);
  const Tensor value = node.tensor("value").value_or(Tensor(ElementType::float32, {1}));
  if (value.element_count() != 1) node.malformed("value has " + count_of(value.element_count(), "element"));
  if (!shape) return set_empty_output(node);
  Tensor filled = new_tensor(node, value.type(), *shape);
  fill(filled.bytes(), value.bytes());
  set_output(node, std::move(filled));
}

/// How many values lie from start to limit, in int64 or double; no number for a step of 0.
double range_length(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0) return std::nan("");
  __extension__ using Wide = __int128;  // a difference of int64 has 65 bits
  const Wide distance = Wide{limit} - start, rest = distance % delta;
  const Wide length = distance / delta + (rest != 0 && (rest < 0) == (delta < 0) ? 1 : 0);
  return static_cast<double>(length);
}
double range_length(double start, double limit, double delta) { return std::ceil((limit - start) / delta); }

void compute_range(const NodeReader& node) {
  node.require_inputs(3, 3);
  const ElementType type = node.constant(0).type();
  with_numbers(type, [&]<class Number>() {
    std::array<Number, 3> stated{};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto values = numbers_of<Number>(node, node.constant(i));
      if (values.size() != 1 || node.constant(i).type() != type) node.malformed("start, limit and delta are not three numbers of one type");
      stated[i] = values[0];
    }
    const auto [start, limit, delta] = stated;
    const double count = range_length(start, limit, delta);
    if (count <= 0) return set_empty_output(node);
    if (!(count <= static_cast<double>(largest_parameter))) node.malformed("a range of " + std::to_string(count) + " values");
    std::vector<Number> values{start};
    while (values.size() < static_cast<std::size_t>(count)) values.push_back(values.back() + delta);
    set_output(node, tensor_of<Number>(node, type, {static_cast<std::int64_t>(values.size())}, values));
  });
}

void compute_expand(const NodeReader& node) {
  node.require_inputs(1, 2);
  const Tensor& values = node.constant(0);
  const auto stated = stated_shape(node, 1);
  if (!stated) return set_empty_output(node);
  const Shape shape = broadcast_of(node, values.shape(), *stated);
  Tensor expanded = new_tensor(node, values.type(), shape);
  const StridedLoop<2> loop(shape.sizes(), {broadcast_layout(values.shape(), shape), row_major(shape)});
  copy_block(loop, size_of(values.type()), values.bytes().data(), expanded.bytes().data());
  set_output(node, std::move(expanded));
}

void compute_gather(const NodeReader& node) {
  node.require_inputs(2, 2);
  const Tensor &data = node.constant(0), &indices = node.constant(1);
  if (!is_integer(indices.type())) node.malformed("the indices are " + std::string(name_of(indices.type())));
  const auto sizes = data.shape().sizes();
  const auto axis = static_cast<std::size_t>(node.axis_of(node.integer("axis", 0), sizes.size()));
  std::vector<std::int64_t> out(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), indices.shape().sizes().begin(), indices.shape().sizes().end());
  out.insert(out.end(), sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, sizes.end());
  Tensor gathered = new_tensor(node, data.type(), Shape(std::move(out)));
  const std::size_t block = static_cast<std::size_t>(product(sizes.subspan(axis + 1))) * size_of(data.type());
  const std::int64_t rows = product(sizes.first(axis)), length = sizes[axis];
  std::byte* to = gathered.bytes().data();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < indices.element_count(); ++i, to += block) {
      const std::int64_t stated = indices.integer_at(i), index = stated < 0 ? stated + length : stated;
      if (index < 0 || index >= length) node.malformed("index " + std::to_string(stated) + " of " + std::to_string(length));
      std::memcpy(to, data.bytes().data() + static_cast<std::size_t>(row * length + index) * block, block);
    }
  }
  set_output(node, std::move(gathered));
}

/// Parts without elements add nothing.
void compute_concat(const NodeReader& node) {
  std::vector<const Tensor*> parts;
  for (std::size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i)) parts.push_back(&node.constant(i));
  if (parts.empty()) return set_empty_output(node);
  const Shape& first = parts[0]->shape();
  const auto axis = static_cast<std::size_t>(node.axis_of(node.integer("axis", 0), first.rank()));
  std::vector<std::int64_t> sizes(first.sizes().begin(), first.sizes().end());
  sizes[axis] = 0;
  for (const Tensor* const part : parts) {
    if (part->type() != parts[0]->type() || part->shape().rank() != first.rank()) node.malformed("inputs of different types or ranks");
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (i != axis && part->shape()[i] != first[i]) node.malformed("inputs " + first.text() + " and " + part->shape().text());
    sizes[axis] += part->shape()[axis];
  }
  Tensor joined = new_tensor(node, parts[0]->type(), Shape(std::move(sizes)));
  StridedLayout target = row_major(joined.shape());
  for (const Tensor* const part : parts) {
    const StridedLoop<2> loop(part->shape().sizes(), {row_major(part->shape()), target});
    copy_block(loop, size_of(part->type()), part->bytes().data(), joined.bytes().data());
    target.offset += part->shape()[axis] * target.strides[axis];
  }
  set_output(node, std::move(joined));
}

/// To integers, reals lose what is behind the point; a bool is whether it is not 0; float16 is rounded to, and held in float32.
void compute_cast(const NodeReader& node) {
  node.require_inputs(1, 1);
  const Tensor& values = node.constant(0);
  const std::int64_t code = node.integer("to", 0);
  const auto type = code > 0 && code < 64 ? element_type_from(static_cast<std::int32_t>(code)) : std::nullopt;
  if (!type) node.unsupported("a cast to type " + std::to_string(code));
  with_numbers(values.type(), [&]<class From>() {
    const auto from = numbers_of<From>(node, values);
    with_numbers(*type, [&]<class To>() {
      std::vector<To> to(from.size());
      std::ranges::transform(from, to.begin(), [&](From value) -> To {
        if (*type == ElementType::boolean) return value != 0 ? 1 : 0;
        if (code == onnx::TensorProto::FLOAT16) return static_cast<To>(to_float32(to_float16(static_cast<double>(value), ieee_float16)));
        constexpr double limit = 0x1p63;
        const bool fits = std::is_same_v<To, double> || std::is_same_v<From, std::int64_t> || std::abs(static_cast<double>(value)) < limit;
        if (!fits) node.malformed("a value beyond int64 is cast to an integer");
        return static_cast<To>(value);
      });
      set_output(node, tensor_of<To>(node, *type, values.shape(), to));
    });
  });
}

void compute_where(const NodeReader& node) {
  node.require_inputs(3, 3);
  const Tensor &condition = node.constant(0), &a = node.constant(1), &b = node.constant(2);
  if (condition.type() != ElementType::boolean || a.type() != b.type()) node.malformed("a bool and two values of one type are needed");
  const Shape shape = broadcast_of(node, broadcast_of(node, condition.shape(), a.shape()), b.shape());
  Tensor chosen = new_tensor(node, a.type(), shape);
  const std::size_t size = size_of(a.type());
  const StridedLoop<4> loop(shape.sizes(), {broadcast_layout(condition.shape(), shape), broadcast_layout(a.shape(), shape),
                                            broadcast_layout(b.shape(), shape), row_major(shape)});
  const auto& step = loop.row_strides();
  loop.each_row([&](const std::array<std::int64_t, 4>& at) {
    for (std::int64_t i = 0; i < loop.row_length(); ++i) {
      const auto place = [&](std::size_t tensor) { return static_cast<std::size_t>(at[tensor] + i * step[tensor]); };
      const bool first = condition.bytes()[place(0)] != std::byte{0};
      const std::byte* const from = first ? a.bytes().data() + place(1) * size : b.bytes().data() + place(2) * size;
      std::memcpy(chosen.bytes().data() + place(3) * size, from, size);
    }
  });
  set_output(node, std::move(chosen));
}

constexpr ConstantOperator constant_movement_table[] = {
    {"Shape", compute_shape, true}, {"Size", compute_size, true}, {"ConstantOfShape", compute_constant_of_shape},
    {"Range", compute_range},       {"Expand", compute_expand},   {"Gather", compute_gather},
    {"Concat", compute_concat},     {"Cast", compute_cast},       {"Where", compute_where},
};

}  // namespace

template <class Number>
std::vector<Number> numbers_of(const NodeReader& node, const Tensor& tensor) {
  node.graph().budget().spend(tensor.bytes().size(), node.graph().place());
  std::vector<Number> numbers;
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (!std::is_class_v<T>)
      for (const T value : tensor.values<T>()) numbers.push_back(static_cast<Number>(value));
  });
  return numbers;
}
template std::vector<double> numbers_of<double>(const NodeReader&, const Tensor&);
template std::vector<std::int64_t> numbers_of<std::int64_t>(const NodeReader&, const Tensor&);

template <class Number>
Tensor tensor_of(const NodeReader& node, ElementType type, Shape shape, const std::vector<Number>& numbers) {
  Tensor tensor = new_tensor(node, type, std::move(shape));
  visit_element_type(type, [&]<class T>() {
    if constexpr (!std::is_class_v<T>) {
      const auto values = tensor.values<T>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        constexpr bool can_leave = std::is_integral_v<T> && std::is_same_v<Number, std::int64_t> && !std::is_same_v<T, std::int64_t>;
        if constexpr (can_leave) {
          const bool fits =
              numbers[i] >= std::int64_t{std::numeric_limits<T>::min()} && numbers[i] <= std::int64_t{std::numeric_limits<T>::max()};
          if (!fits) node.malformed(std::to_string(numbers[i]) + " does not fit " + std::string(name_of(type)));
        }
        values[i] = static_cast<T>(numbers[i]);
      }
    }
  });
  return tensor;
}
template Tensor tensor_of<double>(const NodeReader&, ElementType, Shape, const std::vector<double>&);
template Tensor tensor_of<std::int64_t>(const NodeReader&, ElementType, Shape, const std::vector<std::int64_t>&);

Tensor new_tensor(const NodeReader& node, ElementType type, Shape shape) {
  if (shape.rank() > largest_rank) node.malformed("more than " + std::to_string(largest_rank) + " dimensions");
  const auto count = checked_element_count(shape.sizes(), type);
  if (!count) node.malformed("a constant of shape " + shape.text());
  node.graph().budget().spend(static_cast<std::size_t>(*count) * size_of(type), node.graph().place());
  return {type, std::move(shape)};
}

Shape broadcast_of(const NodeReader& node, const Shape& a, const Shape& b) {
  const auto shape = broadcast(a, b);
  if (!shape) node.malformed("inputs " + a.text() + " and " + b.text() + " do not broadcast");
  return *shape;
}

void set_output(const NodeReader& node, Tensor values) { node.graph().set_constant(node.output_id(), std::move(values)); }

void set_empty_output(const NodeReader& node) {
  Value& value = node.graph()[node.output_id()];
  value.known = value.empty = true;
}

bool has_constant_inputs(const NodeReader& node) {
  for (std::size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.graph().constant(node.input_id(i)) == nullptr) return false;
  return true;
}

const ConstantOperator* find_constant_operator(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return nullptr;
  for (const auto& table : {arithmetic_of_constants(), movement_of_constants()}) {
    const auto found = std::ranges::find(table, node.op_type(), &ConstantOperator::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

std::span<const ConstantOperator> movement_of_constants() { return constant_movement_table; }

}  // namespace lastbit::onnx_format
