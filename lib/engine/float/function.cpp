// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions of one value, in double and rounded once; softmax over the last axis.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/float/real.hpp"
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

Executor bound(const RealBounds& bounds) {
  return map([bounds](double value) { return bounds(static_cast<float>(value)); });
}

double hard_swish(double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Executor prepare_real_function(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::quantize:
    case OperationKind::dequantize:
    case OperationKind::cast: return bound(real_bounds(Activation::none));  // one real value, whatever stores it
    case OperationKind::requantize: return bound(real_bounds(std::get<RequantizeAttributes>(operation.attributes).bounds));
    case OperationKind::clip: return bound(real_bounds(std::get<ClipAttributes>(operation.attributes).bounds));
    case OperationKind::relu: return bound(real_bounds(Activation::relu));
    case OperationKind::relu6: return bound(real_bounds(Activation::relu6));
    case OperationKind::relu_n1_to_1: return bound(real_bounds(Activation::relu_n1_to_1));
    case OperationKind::leaky_relu:
      return map([alpha = std::get<LeakyReluAttributes>(operation.attributes).alpha](double x) { return x < 0 ? alpha * x : x; });
    case OperationKind::hard_swish: return map(hard_swish);
    case OperationKind::logistic: return map(logistic);
    case OperationKind::tanh: return map([](double x) { return std::tanh(x); });
    case OperationKind::exp: return map([](double x) { return std::exp(x); });
    default: break;
  }
  throw Error(ErrorCode::unsupported_operation, operation.name, "the golden path has no " + std::string(name_of(operation.kind)));
}

/// Codes and zero point as the real numbers they are: their meaning is made of data, not stated by the model.
Executor prepare_real_dynamic_quantize() {
  constexpr DynamicQuantizeArithmetic rule{DynamicQuantizeMethod::unsigned_range, Rounding::half_even};
  constexpr QuantizeArithmetic codes{.rounding = Rounding::half_even};
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
