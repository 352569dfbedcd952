// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// add, sub, mul and prelu with broadcasting, add_n, and concat, of float16 data. Bounds are a step of their own behind the rounded result.
#include <vector>

#include "emulator/float16/bounds.hpp"
#include "emulator/float16/prepare.hpp"
#include "emulator/float16/steps.hpp"
#include "emulator/strided_loop.hpp"

namespace lastbit {
namespace {

/// out = bounds(function(rounder, a, b)).
template <class Function>
Executor combine(const Model& model, const Operation& operation, const Float16Arithmetic& rules, const RealBounds& bounds,
                 Function function) {
  const Shape& out_shape = model.tensor(operation.outputs[0]).shape;
  const auto layout = [&](std::size_t input) { return broadcast_layout(model.tensor(operation.inputs[input]).shape, out_shape); };
  const StridedLoop<3> loop(out_shape.sizes(), {layout(0), layout(1), row_major(out_shape)});
  return [=](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const Float16Bounds bounded(bounds, rounder);
    const Float16* const a = run.inputs[0]->values<Float16>().data();
    const Float16* const b = run.inputs[1]->values<Float16>().data();
    Float16* const out = run.outputs[0].values<Float16>().data();
    const auto& step = loop.row_strides();
    loop.each_row([&](const std::array<std::int64_t, 3>& at) {
      for (std::int64_t i = 0; i < loop.row_length(); ++i) {
        out[at[2] + i * step[2]] = bounded(function(rounder, a[at[0] + i * step[0]], b[at[1] + i * step[1]]));
        counter.next();
      }
    });
  };
}

RealBounds bounds_of(const Operation& operation) { return real_bounds(std::get<ElementwiseAttributes>(operation.attributes).bounds); }

Executor prepare_add_n(const Operation& operation, const Float16Arithmetic& rules) {
  return [rules, bounds = bounds_of(operation)](const Execution& run) {
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
      return combine(model, operation, rules, {}, [](Float16Rounder& rounder, Float16 value, Float16 alpha) {
        return rounder.real(value) < 0 ? rounder.product(value, alpha) : rounder.passed(value);
      });
    case OperationKind::add:
      return combine(model, operation, rules, bounds_of(operation),
                     [](Float16Rounder& rounder, Float16 a, Float16 b) { return rounder.sum(a, b); });
    case OperationKind::sub:
      return combine(model, operation, rules, bounds_of(operation),
                     [](Float16Rounder& rounder, Float16 a, Float16 b) { return rounder.difference(a, b); });
    default:
      return combine(model, operation, rules, bounds_of(operation),
                     [](Float16Rounder& rounder, Float16 a, Float16 b) { return rounder.product(a, b); });
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
