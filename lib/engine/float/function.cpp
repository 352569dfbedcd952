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

/// What makes an output of an input, row by row of the last axis.
template <class Row>
Executor by_row(const Model& model, const Operation& operation, Row row) {
  return [row, length = static_cast<std::size_t>(model.tensor(operation.inputs[0]).shape.back())](const Execution& run) {
    const std::span<const float> input = run.inputs[0]->values<float>();
    const std::span<float> output = run.outputs[0].values<float>();
    for (std::size_t at = 0; at < input.size(); at += length) row(input.subspan(at, length), output.subspan(at, length));
  };
}

double hard_swish(double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }
/// Whatever the floating-point environment says.
double rounded_half_even(double x) {
  const double below = std::floor(x), rest = x - below;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
  return std::copysign(up ? below + 1 : below, x);
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Executor prepare_real_bounds(const Model&, const Operation& operation) {
  return map([bounds = real_bounds(bounds_of(operation))](double value) { return bounds(static_cast<float>(value)); });
}

Executor prepare_real_leaky(const Model&, const Operation& operation) {
  return map([alpha = std::get<LeakyReluAttributes>(operation.attributes).alpha](double x) { return x < 0 ? alpha * x : x; });
}

Executor prepare_real_elu(const Model&, const Operation& operation) {
  return map([alpha = std::get<LeakyReluAttributes>(operation.attributes).alpha](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
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
    case OperationKind::floor: return map([](double x) { return std::floor(x); });
    case OperationKind::round_half_even: return map(rounded_half_even);
    case OperationKind::truncate: return map([](double x) { return std::trunc(x); });
    default: return map([](double x) { return 1 / std::sqrt(x); });
  }
}

/// Rows of where a line begins, its value there and its slope; before the first the value is its.
Executor prepare_real_pwl(const Model& model, const Operation& operation) {
  const auto rows = model.tensor(operation.inputs[1]).constant.value().values<float>();
  return map([lines = std::vector<float>(rows.begin(), rows.end())](double x) {
    std::size_t at = 0;
    while (at + 3 < lines.size() && double{lines[at + 3]} <= x) at += 3;
    const double from = std::max(x, double{lines[at]}) - double{lines[at]};
    return x != x ? x : double{lines[at + 1]} + from * double{lines[at + 2]};
  });
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

/// x - max - log(sum of exp(x - max))
Executor prepare_real_log_softmax(const Model& model, const Operation& operation) {
  return by_row(model, operation, [](std::span<const float> in, std::span<float> out) {
    const double largest = double{*std::ranges::max_element(in)};
    double sum = 0;
    for (const float value : in) sum += std::exp(double{value} - largest);
    std::ranges::transform(in, out.begin(), [&](float value) { return static_cast<float>(double{value} - largest - std::log(sum)); });
  });
}

/// x / max(root of the sum of squares, 1e-6), as TensorFlow Lite's l2norm.cc has it.
Executor prepare_real_l2_normalization(const Model& model, const Operation& operation) {
  return by_row(model, operation, [](std::span<const float> in, std::span<float> out) {
    constexpr double least = double{1e-6F};
    double sum = 0;
    for (const float value : in) sum += double{value} * double{value};
    const double length = std::max(std::sqrt(sum), least);
    std::ranges::transform(in, out.begin(), [&](float value) { return static_cast<float>(double{value} / length); });
  });
}

}  // namespace lastbit
