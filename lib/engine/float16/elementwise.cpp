// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// add, sub, mul and prelu with broadcasting, add_n, and concat, of float16 data. Bounds are a step of their own behind the rounded result.
#include <cmath>
#include <vector>

#include "engine/counted_parts.hpp"
#include "engine/float16/prepare.hpp"
#include "engine/float16/vectors.hpp"
#include "engine/operands.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t values_per_part = units_per_part(0.5);

/// An operation on two values: by definition, and by vectors.
template <class Function>
struct Combination {
  Combination(Function by_definition, kernels::HalfOp by_vectors) : function(by_definition), vectors(by_vectors) {}
  Function function;
  kernels::HalfOp vectors;
};

/// One operand of a row: as it lies, or one value as often as the row is long.
class RowOperand {
 public:
  RowOperand(const Float16* from, std::int64_t step, std::size_t length) : values_(from) {
    if (step == 1) return;
    spread_.resize(length);
    for (std::size_t i = 0; i < length; ++i) spread_[i] = from[static_cast<std::int64_t>(i) * step];
    values_ = spread_.data();
  }
  [[nodiscard]] const Float16* values() const { return values_; }

 private:
  const Float16* values_;
  std::vector<Float16> spread_;
};

/// out = bounds(function(rounder, a, b)) for side-by-side values.
template <class Function>
void combine_row(const Float16Arithmetic& rules, const kernels::HalfKernels* half, const RealBounds& bounds,
                 const Combination<Function>& combination, const Float16* a, const Float16* b, Float16* out, std::size_t count,
                 Events* events) {
  Float16Rounder rounder(rules);
  OutputCounter counter(rounder, events);
  const Float16Bounds bounded(bounds, rounder);
  const kernels::HalfBounds limits = half_bounds(bounded);
  const bool bounds_nothing = std::isinf(bounds.min) && std::isinf(bounds.max);
  each_half(
      half, count, counter,
      [&](std::size_t i, std::size_t left) {
        return half->combine(combination.vectors, patterns(a + i), patterns(b + i), patterns(out + i), left,
                             bounds_nothing ? nullptr : &limits);
      },
      [&](std::size_t i) { out[i] = bounded(combination.function(rounder, a[i], b[i])); });
}

template <class Function>
Executor combine(const Model& model, const Operation& operation, const Float16Arithmetic& rules, const RealBounds& bounds,
                 const kernels::HalfKernels* half, Combination<Function> combination) {
  const Shape& out_shape = model.tensor(operation.outputs[0]).shape;
  const auto layout = [&](std::size_t input) { return broadcast_layout(model.tensor(operation.inputs[input]).shape, out_shape); };
  const StridedLoop<3> loop(out_shape.sizes(), {layout(0), layout(1), row_major(out_shape)});
  return [=](const Execution& run) {
    const auto& step = loop.row_strides();
    const auto length = static_cast<std::size_t>(loop.row_length());
    loop.each_row([&](const std::array<std::int64_t, 3>& at) {
      const RowOperand a(run.inputs[0]->values<Float16>().data() + at[0], step[0], length);
      const RowOperand b(run.inputs[1]->values<Float16>().data() + at[1], step[1], length);
      Float16* const out = run.outputs[0].values<Float16>().data() + at[2];
      for_each_counted_part(run.events, loop.row_length(), values_per_part, [&](std::int64_t first, std::int64_t last, Events* events) {
        combine_row(rules, half, bounds, combination, a.values() + first, b.values() + first, out + first,
                    static_cast<std::size_t>(last - first), events);
      });
    });
  };
}

Executor prepare_add_n(const Operation& operation, const Float16Arithmetic& rules) {
  return [rules, bounds = real_bounds(bounds_of(operation))](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const Float16Bounds bounded(bounds, rounder);
    with_steps(rules.add_n.precision, rounder, [&]<class Steps>(const Steps& steps) {
      using Value = typename Steps::Value;
      std::vector<Value> terms(run.inputs.size());
      const auto out = run.outputs[0].values<Float16>();
      for (std::size_t i = 0; i < out.size(); ++i) {
        for (std::size_t n = 0; n < terms.size(); ++n) terms[n] = steps.from(run.inputs[n]->values<Float16>()[i]);
        out[i] = bounded(steps.delivered(ordered_sum<Value>(terms, rules.add_n, std::nullopt, steps)));
        counter.next();
      }
    });
  };
}

}  // namespace

Executor prepare_float16_elementwise(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  switch (operation.kind) {
    case OperationKind::add_n: return prepare_add_n(operation, rules);
    case OperationKind::prelu:
      return combine(model, operation, rules, {}, half_kernels({&rules.product, &rules.conversion}),
                     Combination{[](Float16Rounder& rounder, Float16 value, Float16 alpha) {
                                   return rounder.real(value) < 0 ? rounder.product(value, alpha) : rounder.passed(value);
                                 },
                                 kernels::HalfOp::prelu});
    case OperationKind::add:
      return combine(model, operation, rules, real_bounds(bounds_of(operation)), half_kernels({&rules.sum, &rules.conversion}),
                     Combination{[](Float16Rounder& rounder, Float16 a, Float16 b) { return rounder.sum(a, b); }, kernels::HalfOp::add});
    case OperationKind::sub:
      if (operation.inputs.size() > 2) throw_unsupported(operation, "the backend subtracts one float16 tensor from another");
      return combine(
          model, operation, rules, real_bounds(bounds_of(operation)), half_kernels({&rules.sum, &rules.conversion}),
          Combination{[](Float16Rounder& rounder, Float16 a, Float16 b) { return rounder.difference(a, b); }, kernels::HalfOp::subtract});
    default:
      return combine(
          model, operation, rules, real_bounds(bounds_of(operation)), half_kernels({&rules.product, &rules.conversion}),
          Combination{[](Float16Rounder& rounder, Float16 a, Float16 b) { return rounder.product(a, b); }, kernels::HalfOp::multiply});
  }
}

Executor prepare_float16_concat(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  const auto& attributes = std::get<ConcatAttributes>(operation.attributes);
  const Shape& out_shape = model.tensor(operation.outputs[0]).shape;
  const auto axis = static_cast<std::size_t>(attributes.axis);
  std::vector<StridedLoop<2>> parts;
  StridedLayout target = row_major(out_shape);
  for (const std::int32_t input : operation.inputs) {
    const Shape& part = model.tensor(input).shape;
    parts.emplace_back(part.sizes(), std::array<StridedLayout, 2>{row_major(part), target});
    target.offset += part[axis] * target.strides[axis];
  }
  return [rules, parts = std::move(parts), activation = attributes.activation](const Execution& run) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      copy_block(parts[i], sizeof(Float16), run.inputs[i]->bytes().data(), run.outputs[0].bytes().data());
    }
    if (activation == Activation::none) return;  // moved, not computed
    Float16Rounder rounder(rules);
    const Float16Bounds bounded(real_bounds(activation), rounder);
    for (Float16& value : run.outputs[0].values<Float16>()) value = bounded(rounder.passed(value));
  };
}

}  // namespace lastbit
