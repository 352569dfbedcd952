// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// add, sub, mul, div, floor_div, pow, maximum, minimum, comparisons (1 where they hold, else 0), select and prelu with numpy's broadcasting; add_n; concat.
#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/float/real.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

template <class Function>
Executor combine(const Model& model, const Operation& operation, const RealBounds& bounds, Function function) {
  const Shape& out_shape = model.tensor(operation.outputs[0]).shape;
  const auto layout = [&](std::size_t input) { return broadcast_layout(model.tensor(operation.inputs[input]).shape, out_shape); };
  return [function, bounds, loop = StridedLoop<3>(out_shape.sizes(), {layout(0), layout(1), row_major(out_shape)})](const Execution& run) {
    const float* const a = run.inputs[0]->values<float>().data();
    const float* const b = run.inputs[1]->values<float>().data();
    float* const out = run.outputs[0].values<float>().data();
    const auto& step = loop.row_strides();
    loop.each_row([&](const std::array<std::int64_t, 3>& at) {
      for (std::int64_t i = 0; i < loop.row_length(); ++i) {
        out[at[2] + i * step[2]] = bounds(static_cast<float>(function(a[at[0] + i * step[0]], b[at[1] + i * step[1]])));
      }
    });
  };
}

/// The quotient is a double, which no float leads past a whole number that it does not reach.
double floor_of_quotient(float a, float b) { return std::floor(double{a} / double{b}); }
float power(float base, float exponent) { return static_cast<float>(std::pow(double{base}, double{exponent})); }

}  // namespace

Executor prepare_real_elementwise(const Model& model, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::prelu:
      return combine(model, operation, {}, [](float value, float alpha) { return value < 0 ? alpha * value : value; });
    case OperationKind::pow: return combine(model, operation, {}, power);
    case OperationKind::maximum: return combine(model, operation, {}, larger);
    case OperationKind::minimum: return combine(model, operation, {}, smaller);
    case OperationKind::floor_div: return combine(model, operation, {}, floor_of_quotient);
    case OperationKind::less: return combine(model, operation, {}, std::less<>());
    case OperationKind::less_or_equal: return combine(model, operation, {}, std::less_equal<>());
    case OperationKind::equal: return combine(model, operation, {}, std::equal_to<>());
    default: break;
  }
  const RealBounds bounds = real_bounds(std::get<ElementwiseAttributes>(operation.attributes).bounds);
  if (operation.kind == OperationKind::add) return combine(model, operation, bounds, std::plus<>());
  if (operation.kind == OperationKind::sub) return combine(model, operation, bounds, std::minus<>());
  if (operation.kind == OperationKind::div) return combine(model, operation, bounds, std::divides<>());
  return combine(model, operation, bounds, std::multiplies<>());
}

/// By a condition that is not 0 the second operand, else the third.
Executor prepare_real_select(const Model& model, const Operation& operation) {
  const Shape& out_shape = model.tensor(operation.outputs[0]).shape;
  const auto layout = [&](std::size_t input) { return broadcast_layout(model.tensor(operation.inputs[input]).shape, out_shape); };
  return [loop = StridedLoop<4>(out_shape.sizes(), {layout(0), layout(1), layout(2), row_major(out_shape)})](const Execution& run) {
    const auto values = [&](std::size_t input) { return run.inputs[input]->values<float>().data(); };
    const float *const condition = values(0), *const a = values(1), *const b = values(2);
    float* const out = run.outputs[0].values<float>().data();
    const auto& step = loop.row_strides();
    loop.each_row([&](const std::array<std::int64_t, 4>& at) {
      for (std::int64_t i = 0; i < loop.row_length(); ++i)
        out[at[3] + i * step[3]] = condition[at[0] + i * step[0]] != 0 ? a[at[1] + i * step[1]] : b[at[2] + i * step[2]];
    });
  };
}

Executor prepare_real_add_n(const Model&, const Operation& operation) {
  const double sign = operation.kind == OperationKind::sub ? -1 : 1;  // of all inputs but the first
  return [sign, bounds = real_bounds(std::get<ElementwiseAttributes>(operation.attributes).bounds)](const Execution& run) {
    const auto first = run.inputs[0]->values<float>();
    std::vector<double> sums(first.begin(), first.end());
    for (const Tensor* const input : run.inputs.subspan(1)) {
      std::transform(sums.begin(), sums.end(), input->values<float>().begin(), sums.begin(),
                     [=](double sum, float value) { return sum + sign * value; });
    }
    std::transform(sums.begin(), sums.end(), run.outputs[0].values<float>().begin(),
                   [&](double sum) { return bounds(static_cast<float>(sum)); });
  };
}

Executor prepare_real_concat(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<ConcatAttributes>(operation.attributes);
  const Shape& out_shape = model.tensor(operation.outputs[0]).shape;
  const std::size_t axis = static_cast<std::size_t>(attributes.axis);
  std::vector<StridedLoop<2>> parts;
  StridedLayout target = row_major(out_shape);
  for (const std::int32_t input : operation.inputs) {
    const Shape& part = model.tensor(input).shape;
    parts.emplace_back(part.sizes(), std::array<StridedLayout, 2>{row_major(part), target});
    target.offset += part[axis] * target.strides[axis];
  }
  return [parts = std::move(parts), bounds = real_bounds(attributes.activation)](const Execution& run) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      copy_block(parts[i], sizeof(float), run.inputs[i]->bytes().data(), run.outputs[0].bytes().data());
    }
    for (float& value : run.outputs[0].values<float>()) value = bounds(value);
  };
}

}  // namespace lastbit
