// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions of one value, in double and rounded once; softmax over the last axis.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/float/real.hpp"
#include "engine/operands.hpp"
#include "lastbit/op/dynamic_quantize.hpp"
#include "lastbit/op/quantize.hpp"

namespace lastbit {
namespace {

template <class Function>
Executor map(Function function) {
  return [function](const Execution& run) {
    const auto input = run.inputs[0]->values<float>();
    std::transform(input.begin(), input.end(), run.outputs[0].values<float>().begin(),
                   [&](float value) { return static_cast<float>(function(double{value})); });
  };
}

double hard_swish(double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Executor prepare_real_bounds(const Model&, const Operation& operation) {
  return map([bounds = real_bounds(bounds_of(operation))](double value) { return bounds(static_cast<float>(value)); });
}

Executor prepare_real_leaky(const Model&, const Operation& operation) {
  return map([alpha = std::get<LeakyReluAttributes>(operation.attributes).alpha](double x) { return x < 0 ? alpha * x : x; });
}

Executor prepare_real_hard_swish(const Model&, const Operation&) { return map(hard_swish); }
Executor prepare_real_logistic(const Model&, const Operation&) { return map(logistic); }
Executor prepare_real_tanh(const Model&, const Operation&) {
  return map([](double x) { return std::tanh(x); });
}
Executor prepare_real_exp(const Model&, const Operation&) {
  return map([](double x) { return std::exp(x); });
}

Executor prepare_real_function(const Model&, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::abs: return map([](double x) { return std::abs(x); });
    case OperationKind::neg: return map([](double x) { return -x; });
    case OperationKind::log: return map([](double x) { return std::log(x); });
    case OperationKind::sqrt: return map([](double x) { return std::sqrt(x); });
    case OperationKind::erf: return map([](double x) { return std::erf(x); });
    default: return map([](double x) { return 1 / std::sqrt(x); });
  }
}

/// Codes and zero point as the real numbers they are: their meaning is made of data, not stated by the model.
Executor prepare_real_dynamic_quantize(const Model&, const Operation&) {
  constexpr DynamicQuantizeArithmetic rule{DynamicQuantizeMethod::unsigned_range, Rounding::half_even};
  constexpr QuantizeArithmetic codes = by_division(Rounding::half_even);
  return [=](const Execution& run) {
    const auto input = run.inputs[0]->values<float>();
    const DynamicScale found = dynamic_scale(rule, input);
    std::transform(input.begin(), input.end(), run.outputs[0].values<float>().begin(), [&](float value) {
      return static_cast<float>(quantize(codes, value, found.scale, found.zero_point, range_of(ElementType::uint8)));
    });
    run.outputs[1].values<float>()[0] = found.scale;
    run.outputs[2].values<float>()[0] = static_cast<float>(found.zero_point);
  };
}

Executor prepare_real_softmax(const Model& model, const Operation& operation) {
  const auto length = static_cast<std::size_t>(model.tensor(operation.inputs[0]).shape.back());
  return [length, beta = std::get<SoftmaxAttributes>(operation.attributes).beta](const Execution& run) {
    const auto input = run.inputs[0]->values<float>();
    const auto output = run.outputs[0].values<float>();
    std::vector<double> powers(length);
    for (std::size_t row = 0; row < input.size(); row += length) {
      const double largest = double{
          *std::max_element(input.begin() + static_cast<std::ptrdiff_t>(row), input.begin() + static_cast<std::ptrdiff_t>(row + length))};
      double sum = 0;
      for (std::size_t i = 0; i < length; ++i) sum += powers[i] = std::exp((double{input[row + i]} - largest) * beta);
      for (std::size_t i = 0; i < length; ++i) output[row + i] = static_cast<float>(powers[i] / sum);
    }
  };
}

}  // namespace lastbit
