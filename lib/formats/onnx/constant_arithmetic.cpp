// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic and comparisons of constants: Add, Sub, Mul, Div, Mod, Pow, Min, Max, Equal and its like, And, Or, Not, Neg, Abs, Floor, Ceil,
// Sqrt, ReduceSum and its like.
#include <algorithm>
#include <cmath>
#include <functional>

#include "formats/onnx/constants.hpp"
#include "model/strided_loop.hpp"

namespace lastbit::onnx_format {
namespace {

constexpr const char* beyond_int64 = "a result beyond int64";

/// a op b for integers, which may not leave int64, and reals.
struct Add {
  static bool compute(std::int64_t a, std::int64_t b, std::int64_t& out) { return !__builtin_add_overflow(a, b, &out); }
  static bool compute(double a, double b, double& out) { return out = a + b, true; }
};
struct Subtract {
  static bool compute(std::int64_t a, std::int64_t b, std::int64_t& out) { return !__builtin_sub_overflow(a, b, &out); }
  static bool compute(double a, double b, double& out) { return out = a - b, true; }
};
struct Multiply {
  static bool compute(std::int64_t a, std::int64_t b, std::int64_t& out) { return !__builtin_mul_overflow(a, b, &out); }
  static bool compute(double a, double b, double& out) { return out = a * b, true; }
};
/// Of integers: toward zero.
struct Divide {
  static bool compute(std::int64_t a, std::int64_t b, std::int64_t& out) {
    std::int64_t negated = 0;
    if (b == 0 || (b == -1 && __builtin_sub_overflow(std::int64_t{0}, a, &negated))) return false;
    return out = b == -1 ? negated : a / b, true;
  }
  static bool compute(double a, double b, double& out) { return out = a / b, true; }
};
struct Power {
  static bool compute(std::int64_t a, std::int64_t b, std::int64_t& out) {
    if (b < 0 || b > 63) return false;
    out = 1;
    for (std::int64_t i = 0; i < b; ++i)
      if (__builtin_mul_overflow(out, a, &out)) return false;
    return true;
  }
  static bool compute(double a, double b, double& out) { return out = std::pow(a, b), true; }
};
struct Smaller {
  static bool compute(auto a, auto b, auto& out) { return out = std::min(a, b), true; }
};
struct Larger {
  static bool compute(auto a, auto b, auto& out) { return out = std::max(a, b), true; }
};

/// Every element of two operands of one type.
template <class Number, class Use>
std::vector<Number> each_pair(const std::vector<Number>& a, const Shape& a_shape, const std::vector<Number>& b, const Shape& b_shape,
                              const Shape& shape, Use use) {
  std::vector<Number> out(static_cast<std::size_t>(shape.element_count()));
  const StridedLoop<3> loop(shape.sizes(), {broadcast_layout(a_shape, shape), broadcast_layout(b_shape, shape), row_major(shape)});
  const auto& step = loop.row_strides();
  loop.each_row([&](const std::array<std::int64_t, 3>& at) {
    for (std::int64_t i = 0; i < loop.row_length(); ++i) {
      const auto place = [&](std::size_t tensor) { return static_cast<std::size_t>(at[tensor] + i * step[tensor]); };
      out[place(2)] = use(a[place(0)], b[place(1)]);
    }
  });
  return out;
}

void require_one_type(const NodeReader& node) {
  if (node.input_count() == 0) node.malformed("no inputs");
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) node.malformed("input " + std::to_string(i) + " has no elements");
    if (node.constant(i).type() != node.constant(0).type()) node.malformed("inputs of different types");
  }
}

/// From the first to the last operand.
template <class Rule>
void compute_in_turn(const NodeReader& node) {
  require_one_type(node);
  const ElementType type = node.constant(0).type();
  with_numbers(type, [&]<class Number>() {
    Shape shape = node.constant(0).shape();
    auto result = numbers_of<Number>(node, node.constant(0));
    for (std::size_t i = 1; i < node.input_count(); ++i) {
      const Shape &next = node.constant(i).shape(), joined = broadcast_of(node, shape, next);
      node.graph().budget().spend(static_cast<std::size_t>(joined.element_count()) * size_of(type), node.graph().place());
      result = each_pair(result, shape, numbers_of<Number>(node, node.constant(i)), next, joined, [&](Number a, Number b) {
        Number out = 0;
        if (!Rule::compute(a, b, out)) node.malformed(beyond_int64);
        return out;
      });
      shape = joined;
    }
    set_output(node, tensor_of<Number>(node, type, shape, result));
  });
}

template <class Rule>
void compute_pair(const NodeReader& node) {
  node.require_inputs(2, 2);
  compute_in_turn<Rule>(node);
}

/// The remainder has the divisor's sign, or with fmod the dividend's.
void compute_mod(const NodeReader& node) {
  node.require_inputs(2, 2);
  require_one_type(node);
  const Tensor &a = node.constant(0), &b = node.constant(1);
  const bool of_dividend = node.integer("fmod", 0) != 0;
  if (!is_integer(a.type())) node.unsupported("the remainder of " + std::string(name_of(a.type())));
  const Shape shape = broadcast_of(node, a.shape(), b.shape());
  node.graph().budget().spend(static_cast<std::size_t>(shape.element_count()) * size_of(a.type()), node.graph().place());
  using Number = std::int64_t;
  const auto result =
      each_pair(numbers_of<Number>(node, a), a.shape(), numbers_of<Number>(node, b), b.shape(), shape, [&](Number x, Number y) {
        if (y == 0) node.malformed("a division by 0");
        const Number rest = y == -1 ? 0 : x % y;
        return rest != 0 && !of_dividend && (rest < 0) != (y < 0) ? rest + y : rest;
      });
  set_output(node, tensor_of<Number>(node, a.type(), shape, result));
}

template <class Relation>
void compute_relation(const NodeReader& node) {
  node.require_inputs(2, 2);
  require_one_type(node);
  const Tensor &a = node.constant(0), &b = node.constant(1);
  const Shape shape = broadcast_of(node, a.shape(), b.shape());
  node.graph().budget().spend(static_cast<std::size_t>(shape.element_count()), node.graph().place());
  with_numbers(a.type(), [&]<class Number>() {
    const auto holds = each_pair(numbers_of<Number>(node, a), a.shape(), numbers_of<Number>(node, b), b.shape(), shape,
                                 [](Number x, Number y) { return static_cast<Number>(Relation()(x, y) ? 1 : 0); });
    const std::vector<std::int64_t> bits(holds.begin(), holds.end());
    set_output(node, tensor_of<std::int64_t>(node, ElementType::boolean, shape, bits));
  });
}

struct Not {
  static bool compute(auto a, auto& out) { return out = a == 0 ? 1 : 0, true; }
};
struct Negate {
  static bool compute(std::int64_t a, std::int64_t& out) { return Subtract::compute(0, a, out); }
  static bool compute(double a, double& out) { return out = -a, true; }
};
struct Magnitude {
  static bool compute(std::int64_t a, std::int64_t& out) { return a < 0 ? Negate::compute(a, out) : (out = a, true); }
  static bool compute(double a, double& out) { return out = std::abs(a), true; }
};
struct Floor {
  static bool compute(auto a, auto& out) {
    if constexpr (std::is_same_v<decltype(a), double>) out = std::floor(a);
    else out = a;
    return true;
  }
};
struct Ceil {
  static bool compute(auto a, auto& out) {
    if constexpr (std::is_same_v<decltype(a), double>) out = std::ceil(a);
    else out = a;
    return true;
  }
};
struct SquareRoot {
  static bool compute(std::int64_t, std::int64_t&) { return false; }
  static bool compute(double a, double& out) { return out = std::sqrt(a), true; }
};

template <class Rule>
void compute_each(const NodeReader& node) {
  node.require_inputs(1, 1);
  const Tensor& values = node.constant(0);
  with_numbers(values.type(), [&]<class Number>() {
    auto numbers = numbers_of<Number>(node, values);
    for (Number& number : numbers)
      if (!Rule::compute(number, number)) node.malformed(beyond_int64);
    set_output(node, tensor_of<Number>(node, values.type(), values.shape(), numbers));
  });
}

/// Over the axes, all where none are stated.
template <class Rule>
void compute_reduction(const NodeReader& node) {
  node.require_inputs(1, 2);
  const Tensor& values = node.constant(0);
  const Shape& in = values.shape();
  const std::vector<std::int64_t> axes = node.axes(1, in.rank());
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) return set_output(node, values);
  std::vector<std::int64_t> kept, out;
  for (std::size_t axis = 0; axis < in.rank(); ++axis) {
    const bool reduced = axes.empty() || std::ranges::binary_search(axes, static_cast<std::int64_t>(axis));
    kept.push_back(reduced ? 1 : in[axis]);
    if (!reduced || node.integer("keepdims", 1) != 0) out.push_back(kept.back());
  }
  with_numbers(values.type(), [&]<class Number>() {
    const auto numbers = numbers_of<Number>(node, values);
    const Shape single(kept);
    std::vector<std::optional<Number>> sums(static_cast<std::size_t>(single.element_count()));
    const StridedLoop<2> loop(in.sizes(), {row_major(in), broadcast_layout(single, in)});
    loop.each_row([&](const std::array<std::int64_t, 2>& at) {
      for (std::int64_t i = 0; i < loop.row_length(); ++i) {
        auto& sum = sums[static_cast<std::size_t>(at[1] + i * loop.row_strides()[1])];
        const Number next = numbers[static_cast<std::size_t>(at[0] + i * loop.row_strides()[0])];
        Number joined = next;
        if (sum && !Rule::compute(*sum, next, joined)) node.malformed(beyond_int64);
        sum = joined;
      }
    });
    std::vector<Number> result;
    for (const auto& sum : sums) result.push_back(*sum);
    set_output(node, tensor_of<Number>(node, values.type(), Shape(out), result));
  });
}

constexpr ConstantOperator constant_arithmetic_table[] = {
    {"Add", compute_pair<Add>},
    {"Sub", compute_pair<Subtract>},
    {"Mul", compute_pair<Multiply>},
    {"Div", compute_pair<Divide>},
    {"Mod", compute_mod},
    {"Pow", compute_pair<Power>},
    {"Min", compute_in_turn<Smaller>},
    {"Max", compute_in_turn<Larger>},
    {"Equal", compute_relation<std::equal_to<>>},
    {"Less", compute_relation<std::less<>>},
    {"LessOrEqual", compute_relation<std::less_equal<>>},
    {"Greater", compute_relation<std::greater<>>},
    {"GreaterOrEqual", compute_relation<std::greater_equal<>>},
    {"And", compute_relation<std::logical_and<>>},
    {"Or", compute_relation<std::logical_or<>>},
    {"Xor", compute_relation<std::not_equal_to<>>},
    {"Not", compute_each<Not>},
    {"Neg", compute_each<Negate>},
    {"Abs", compute_each<Magnitude>},
    {"Floor", compute_each<Floor>},
    {"Ceil", compute_each<Ceil>},
    {"Sqrt", compute_each<SquareRoot>},
    {"ReduceSum", compute_reduction<Add>},
    {"ReduceProd", compute_reduction<Multiply>},
    {"ReduceMin", compute_reduction<Smaller>},
    {"ReduceMax", compute_reduction<Larger>},
};

}  // namespace

std::span<const ConstantOperator> arithmetic_of_constants() { return constant_arithmetic_table; }

}  // namespace lastbit::onnx_format
