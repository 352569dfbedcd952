// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "gna/toolchain/functions.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace lastbit::gna {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Function bounded(double low, double high) {
  Function function;
  if (low == -infinity && high == infinity) return {{{-infinity, 1, 0}}, true};
  if (low != -infinity) function.lines.push_back({-infinity, 0, low});
  function.lines.push_back({low, 1, 0});
  if (high != infinity) function.lines.push_back({high, 0, high});
  return function;
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
    case logistic: return Function{design_pwl(logistic_curve(), percent), false};
    case OperationKind::tanh: return Function{design_pwl(tanh_curve(), percent), false};
    default: return std::nullopt;
  }
}

Tensor pwl_table(std::vector<Line> lines, double input_factor, double output_factor, FlatEnds ends) {
  std::vector<std::int32_t> records;
  for (const PwlSegment& segment : pwl_segments(std::move(lines), input_factor, output_factor, ends)) {
    records.push_back(pwl_base_record(segment));
    records.push_back(segment.y_base);
    records.push_back(segment.slope);
  }
  const auto rows = static_cast<std::int64_t>(records.size()) / 3;
  return Tensor::from<std::int32_t>({rows, 3}, records);
}

}  // namespace lastbit::gna
