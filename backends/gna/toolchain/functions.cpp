// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "gna/toolchain/functions.hpp"

#include <cmath>
#include <limits>

namespace lastbit::gna {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Beyond these a curve counts as flat.
constexpr double sigmoid_domain = 10, tanh_domain = 5;

Function bounded(double low, double high) {
  Function function;
  if (low == -infinity && high == infinity) return {{{-infinity, 1, 0}}, true};
  if (low != -infinity) function.lines.push_back({-infinity, 0, low});
  function.lines.push_back({low, 1, 0});
  if (high != infinity) function.lines.push_back({high, 0, high});
  return function;
}

Function sigmoid(double percent) {
  const auto value = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {design_pwl({value, [value](double x) { return value(x) * (1 - value(x)); }, {-sigmoid_domain, 0, sigmoid_domain}}, percent),
          false};
}

Function hyperbolic_tangent(double percent) {
  const auto value = [](double x) { return std::tanh(x); };
  return {design_pwl({value, [value](double x) { return 1 - value(x) * value(x); }, {-tanh_domain, 0, tanh_domain}}, percent), false};
}

}  // namespace

Function bounds_function(const OutputBounds& bounds) {
  if (bounds.real_clamp) {
    const auto finite = [](float value) {
      return std::abs(value) < std::numeric_limits<float>::max() ? double{value} : std::copysign(infinity, value);
    };
    return bounded(finite((*bounds.real_clamp)[0]), finite((*bounds.real_clamp)[1]));
  }
  switch (bounds.activation) {
    case Activation::relu: return bounded(0, infinity);
    case Activation::relu6: return bounded(0, 6);
    case Activation::relu_n1_to_1: return bounded(-1, 1);
    case Activation::absolute: return Function{{{-infinity, -1, 0}, {0, 1, 0}}, false};
    case Activation::none: break;
  }
  return bounded(-infinity, infinity);
}

std::optional<Function> function_of(const Operation& operation, double percent) {
  using enum OperationKind;
  switch (operation.kind) {
    case relu: return bounded(0, infinity);
    case relu6: return bounded(0, 6);
    case relu_n1_to_1: return bounded(-1, 1);
    case clip: return bounds_function(std::get<ClipAttributes>(operation.attributes).bounds);
    case leaky_relu: return Function{{{-infinity, std::get<LeakyReluAttributes>(operation.attributes).alpha, 0}, {0, 1, 0}}, false};
    case logistic: return sigmoid(percent);
    case OperationKind::tanh: return hyperbolic_tangent(percent);
    default: return std::nullopt;
  }
}

}  // namespace lastbit::gna
