// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers and truth values as such; contract: op/whole_number.hpp.
#include <algorithm>
#include <cstring>
#include <string>

#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "lastbit/op/whole_number.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

/// Calls body.template operator()<T>() with int32 or int64, or, where `Truths` says so, bool.
template <bool Truths, class Body>
void with_whole_numbers(ElementType type, const Body& body) {
  if (type == ElementType::int32) return body.template operator()<std::int32_t>();
  if (type == ElementType::int64) return body.template operator()<std::int64_t>();
  if constexpr (Truths) body.template operator()<bool>();
}

/// function(a, b) of each pair.
template <bool Truths = false, class Function>
Executor of_pairs(const Model& model, const Operation& operation, Function function) {
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  const auto layout = [&](std::size_t input) { return broadcast_layout(model.tensor(operation.inputs[input]).shape, out); };
  return [function, loop = StridedLoop<3>(out.sizes(), {layout(0), layout(1), row_major(out)})](const Execution& run) {
    with_whole_numbers<Truths>(run.inputs[0]->type(), [&]<class T>() {
      using Out = decltype(function(T{}, T{}));
      const T *const a = run.inputs[0]->values<T>().data(), *const b = run.inputs[1]->values<T>().data();
      Out* const to = run.outputs[0].values<Out>().data();
      const auto& step = loop.row_strides();
      loop.each_row([&](const std::array<std::int64_t, 3>& at) {
        for (std::int64_t i = 0; i < loop.row_length(); ++i)
          to[at[2] + i * step[2]] = function(a[at[0] + i * step[0]], b[at[1] + i * step[1]]);
      });
    });
  };
}

template <class Function>
Executor of_each(Function function) {
  return [function](const Execution& run) {
    with_whole_numbers<false>(run.inputs[0]->type(), [&]<class T>() {
      std::ranges::transform(run.inputs[0]->values<T>(), run.outputs[0].values<T>().begin(), function);
    });
  };
}

Executor prepare_choice(const Model& model, const Operation& operation) {
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  const auto layout = [&](std::size_t input) { return broadcast_layout(model.tensor(operation.inputs[input]).shape, out); };
  return [loop = StridedLoop<4>(out.sizes(), {layout(0), layout(1), layout(2), row_major(out)})](const Execution& run) {
    with_whole_numbers<true>(run.outputs[0].type(), [&]<class T>() {
      const bool* const condition = run.inputs[0]->values<bool>().data();
      const T *const a = run.inputs[1]->values<T>().data(), *const b = run.inputs[2]->values<T>().data();
      T* const to = run.outputs[0].values<T>().data();
      const auto& step = loop.row_strides();
      loop.each_row([&](const std::array<std::int64_t, 4>& at) {
        for (std::int64_t i = 0; i < loop.row_length(); ++i)
          to[at[3] + i * step[3]] = condition[at[0] + i * step[0]] ? a[at[1] + i * step[1]] : b[at[2] + i * step[2]];
      });
    });
  };
}

Executor prepare_joined(const Model& model, const Operation& operation) {
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  std::size_t blocks = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::get<ConcatAttributes>(operation.attributes).axis); ++i)
    blocks *= static_cast<std::size_t>(out[i]);
  return [blocks](const Execution& run) {
    std::byte* to = run.outputs[0].bytes().data();
    for (std::size_t block = 0; block < blocks; ++block) {
      for (const Tensor* const input : run.inputs) {
        const std::size_t part = input->bytes().size() / blocks;
        std::memcpy(to, input->bytes().data() + block * part, part);
        to += part;
      }
    }
  };
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!has_truncated<To>(value))
      throw Error(ErrorCode::bad_input, {}, "a cast of " + std::to_string(value) + ", for which its type has no number");
  }
  return static_cast<To>(value);
}

/// Calls body.template operator()<T>() with the type of a number that a cast knows.
template <class Body>
void with_number(ElementType type, const Body& body) {
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_same_v<T, float> || (std::is_integral_v<T> && !std::is_same_v<T, bool>)) body.template operator()<T>();
  });
}

Executor prepare_conversion() {
  return [](const Execution& run) {
    with_number(run.inputs[0]->type(), [&]<class From>() {
      with_number(run.outputs[0].type(), [&]<class To>() {
        std::ranges::transform(run.inputs[0]->values<From>(), run.outputs[0].values<To>().begin(), converted<To, From>);
      });
    });
  };
}

template <class T>
T checked_quotient(T a, T b) {
  if (b == 0) throw Error(ErrorCode::bad_input, {}, "a division of " + std::to_string(a) + " by 0");
  return floored_quotient(a, b);
}

}  // namespace

Executor prepare_whole_numbers(const Model& model, const Operation& operation) {
  using enum OperationKind;
  switch (operation.kind) {
    case add: return of_pairs(model, operation, []<class T>(T a, T b) { return wrapped_sum(a, b); });
    case sub: return of_pairs(model, operation, []<class T>(T a, T b) { return wrapped_difference(a, b); });
    case mul: return of_pairs(model, operation, []<class T>(T a, T b) { return wrapped_product(a, b); });
    case floor_div: return of_pairs(model, operation, []<class T>(T a, T b) { return checked_quotient(a, b); });
    case maximum: return of_pairs(model, operation, []<class T>(T a, T b) { return std::max(a, b); });
    case minimum: return of_pairs(model, operation, []<class T>(T a, T b) { return std::min(a, b); });
    case less: return of_pairs<true>(model, operation, []<class T>(T a, T b) { return a < b; });
    case less_or_equal: return of_pairs<true>(model, operation, []<class T>(T a, T b) { return a <= b; });
    case equal: return of_pairs<true>(model, operation, []<class T>(T a, T b) { return a == b; });
    case neg: return of_each([]<class T>(T value) { return wrapped_difference(T{0}, value); });
    case OperationKind::abs: return of_each([]<class T>(T value) { return value < 0 ? wrapped_difference(T{0}, value) : value; });
    case OperationKind::select: return prepare_choice(model, operation);
    case concat: return prepare_joined(model, operation);
    default: return prepare_conversion();
  }
}

}  // namespace lastbit
