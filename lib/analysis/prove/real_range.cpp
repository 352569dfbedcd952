// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/real_range.hpp"

#include <algorithm>
#include <cmath>

#include "engine/float/real.hpp"
#include "engine/geometry.hpp"

namespace lastbit {
namespace {

// One rounding moves a value by at most one unit in its last place, whatever the rule, and a small one by the smallest subnormal.
constexpr double float16_unit = 0x1p-10, float16_least = 0x1p-24, float32_unit = 0x1p-23;

RealRange hull(const RealRange& a, const RealRange& b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }
RealRange with_zero(const RealRange& a) { return hull(a, {0, 0}); }
RealRange widened(const RealRange& a, double by) { return {a.min - by, a.max + by}; }
RealRange rounded(const RealRange& a) { return widened(a, a.magnitude() * float16_unit + float16_least); }
RealRange bounded(RealRange a, const RealBounds& bounds) {
  if (bounds.magnitude) a = {std::max({a.min, -a.max, 0.0}), a.magnitude()};
  const auto clamp = [&](double v) { return std::clamp(v, static_cast<double>(bounds.min), static_cast<double>(bounds.max)); };
  return {clamp(a.min), clamp(a.max)};
}
RealRange product(const RealRange& a, const RealRange& b) {
  const auto corners = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
  return {std::min(corners), std::max(corners)};
}

/// A sum of `terms` with a total magnitude, rounded after every step; and what its partial sums can reach.
struct RoundedSum {
  double error = 0, inside = 0;
};
RoundedSum rounded_sum(double magnitude, double terms, StepPrecision precision) {
  const bool in_float16 = precision == StepPrecision::float16;
  const double growth = std::expm1((terms + 2) * std::log1p(in_float16 ? float16_unit : float32_unit));
  const double error = magnitude * growth + (in_float16 ? (terms + 2) * 2 * float16_least : 0);
  return {error, in_float16 ? magnitude + error : 0};
}

/// One operation and the ranges it reads.
struct Request {
  const Model& model;
  const Operation& operation;
  const Float16Arithmetic& rules;
  const RealRanges& ranges;

  [[nodiscard]] RealRange in(std::size_t position) const { return *ranges[static_cast<std::size_t>(operation.inputs[position])]; }
  [[nodiscard]] const ModelTensor& tensor(std::size_t position) const { return model.tensor(operation.inputs[position]); }
  [[nodiscard]] bool has(std::size_t position) const {
    return position < operation.inputs.size() && operation.inputs[position] != absent_tensor;
  }
};

RealBounds bounds_of(const Operation& operation) {
  return std::visit(
      []<class T>(const T& attributes) {
        if constexpr (requires { attributes.bounds; }) return real_bounds(attributes.bounds);
        else if constexpr (requires { attributes.activation; }) return real_bounds(attributes.activation);
        else return RealBounds{};
      },
      operation.attributes);
}

/// Sums of one output channel: their range in exact arithmetic and the sum of all magnitudes.
struct ChannelSum {
  RealRange range;
  double magnitude = 0;
};

/// Weights by output channel: [o, …], of a depthwise convolution [1, kh, kw, o].
std::vector<ChannelSum> channel_sums(const Request& request, const RealRange& input) {
  const ModelTensor& weights = request.tensor(1);
  const bool depthwise = request.operation.kind == OperationKind::depthwise_conv2d;
  const auto values = weights.constant->values<float>();
  const auto channels = static_cast<std::size_t>(depthwise ? weights.shape.back() : weights.shape[0]);
  const std::size_t per_channel = values.size() / channels;
  std::vector<ChannelSum> sums(channels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ChannelSum& sum = sums[depthwise ? i % channels : i / per_channel];
    const double w = double{values[i]};
    const RealRange term = product({w, w}, input);
    sum.range = {sum.range.min + term.min, sum.range.max + term.max};
    sum.magnitude += (std::abs(w) * (1 + float16_unit) + float16_least) * input.magnitude();
  }
  if (!request.has(2)) return sums;
  const ModelTensor& bias = request.tensor(2);
  for (std::size_t o = 0; o < channels; ++o) {
    const RealRange all = request.in(2);
    const bool known = bias.constant && bias.shape.element_count() == static_cast<std::int64_t>(channels);
    const RealRange one = known ? RealRange{double{bias.constant->values<float>()[o]}, double{bias.constant->values<float>()[o]}} : all;
    sums[o].range = {sums[o].range.min + one.min, sums[o].range.max + one.max};
    sums[o].magnitude += one.magnitude() * (1 + float16_unit) + float16_least;
  }
  return sums;
}

RealResult cube_result(const Request& request, const std::vector<ChannelSum>& sums, double terms) {
  RealResult result;
  for (const ChannelSum& sum : sums) {
    const RoundedSum steps = rounded_sum(sum.magnitude, terms, request.rules.cube.sum.precision);
    const double constants = sum.magnitude * float16_unit;  // weights and bias were rounded before
    const RealRange range = rounded(bounded(widened(sum.range, steps.error + constants), bounds_of(request.operation)));
    result.output = result.output ? hull(*result.output, range) : range;
    result.inside = std::max(result.inside, steps.inside);
  }
  return result;
}

RealResult convolution(const Request& request) {
  const ModelTensor& weights = request.tensor(1);
  if (!weights.constant || weights.constant->type() != ElementType::float32) return {};
  const bool dense = request.operation.kind == OperationKind::fully_connected;
  // At a border terms are missing.
  const RealRange input = dense ? request.in(0) : with_zero(request.in(0));
  const bool depthwise = request.operation.kind == OperationKind::depthwise_conv2d;
  const auto channels = static_cast<double>(depthwise ? weights.shape.back() : weights.shape[0]);
  const double terms = static_cast<double>(weights.shape.element_count()) / channels + 16;  // blocks of channels are filled up with zeros
  return cube_result(request, channel_sums(request, input), terms);
}

RealResult matmul(const Request& request) {
  const Shape& a = request.tensor(0).shape;
  const bool transposed = std::get<MatmulAttributes>(request.operation.attributes).transpose_a;
  const auto terms = static_cast<double>(a[a.rank() - (transposed ? 2U : 1U)]);
  const RealRange term = product(request.in(0), request.in(1));
  return cube_result(request, {{{term.min * terms, term.max * terms}, term.magnitude() * terms * (1 + float16_unit)}}, terms + 16);
}

/// One input after the other, each sum rounded.
RealResult addition(const Request& request) {
  const bool minus = request.operation.kind == OperationKind::sub;
  RealRange sum = request.in(0);
  double magnitude = sum.magnitude();
  for (std::size_t i = 1; i < request.operation.inputs.size(); ++i) {
    const RealRange next = request.in(i);
    sum = minus ? RealRange{sum.min - next.max, sum.max - next.min} : RealRange{sum.min + next.min, sum.max + next.max};
    magnitude += next.magnitude();
  }
  const auto terms = static_cast<double>(request.operation.inputs.size());
  const RoundedSum steps = rounded_sum(magnitude, terms, StepPrecision::float16);
  return {rounded(bounded(widened(sum, steps.error), bounds_of(request.operation))), steps.inside};
}

RealResult multiplication(const Request& request) {
  const RealRange range = rounded(product(request.in(0), request.in(1)));
  return {bounded(range, bounds_of(request.operation)), range.magnitude()};
}

/// A mean lies between its terms; its sum may be much larger.
RealResult mean(const Request& request, const Float16Mean& rule, double count) {
  const RealRange input = request.in(0);
  const bool scaled_first = rule.scaling == MeanScaling::before_sum;
  const RoundedSum steps = rounded_sum(input.magnitude() * (scaled_first ? 1 : count), count + 16, rule.sum.precision);
  const double error = steps.error / (scaled_first ? 1 : count) + input.magnitude() * 2 * float16_unit + count * float16_least;
  return {rounded(bounded(widened(with_zero(input), error), bounds_of(request.operation))), steps.inside};
}

double window_of(const Request& request) {
  if (request.operation.kind == OperationKind::average_pool2d) {
    const auto& attributes = std::get<Pool2dAttributes>(request.operation.attributes);
    return static_cast<double>(attributes.filter.height * attributes.filter.width);
  }
  const std::int64_t averages = request.model.tensor(request.operation.outputs[0]).shape.element_count(),
                     of_each = request.tensor(0).shape.element_count() / averages;
  return static_cast<double>(of_each);
}

RealResult moved(const Request& request) {
  RealRange range = request.in(0);
  for (std::size_t i = 1; request.operation.kind == OperationKind::concat && i < request.operation.inputs.size(); ++i)
    range = hull(range, request.in(i));
  if (request.operation.kind == OperationKind::pad) {
    const auto& pad = std::get<PadAttributes>(request.operation.attributes);
    const double value = pad.real_value.value_or(static_cast<double>(pad.value.value_or(0)));
    range = hull(range, {value, value});
  }
  return {bounded(range, bounds_of(request.operation)), 0};
}

RealResult activated(const Request& request, Activation activation) {
  return {rounded(bounded(request.in(0), real_bounds(activation))), 0};
}

/// A magnitude that steps in float16 reach, with what their roundings add.
double in_steps(double magnitude, StepPrecision precision) {
  return precision == StepPrecision::float16 ? magnitude * (1 + 8 * float16_unit) : 0;
}

RealResult function(const Request& request) {
  const RealRange in = request.in(0);
  switch (request.operation.kind) {
    case OperationKind::logistic: {
      const bool raised = request.rules.logistic.bound == LogisticBound::log_of_largest;
      const double exponent = raised ? std::min(-in.min, 11.089) : -in.min;
      return {RealRange{0, 1.01}, in_steps(std::exp(exponent + std::abs(exponent) * float16_unit) + 1, request.rules.logistic.steps)};
    }
    case OperationKind::tanh: return {RealRange{-1.01, 1.01}, in_steps(2 * (in.magnitude() + 1), request.rules.tanh.steps)};
    case OperationKind::hard_swish: {
      const double largest = 6 * (in.magnitude() + 3);
      return {rounded({std::min(in.min, -0.376), std::max(in.max, 0.0)}), in_steps(largest, request.rules.hard_swish.steps)};
    }
    case OperationKind::leaky_relu: {
      const double alpha = std::get<LeakyReluAttributes>(request.operation.attributes).alpha;
      const RealRange negative{std::min(in.min, 0.0) * alpha, std::min(in.max, 0.0) * alpha};
      return {rounded(hull(hull(negative, {negative.max, negative.min}), with_zero(in))), 0};
    }
    case OperationKind::exp: {
      const RealRange range{0, std::exp(in.max + in.magnitude() * float16_unit) * (1 + 4 * float16_unit) + float16_least};
      return {range, range.max};
    }
    case OperationKind::softmax: {
      const auto count = static_cast<double>(request.tensor(0).shape.back());
      const double beta = std::get<SoftmaxAttributes>(request.operation.attributes).beta, below = (in.max - in.min) * (1 + float16_unit);
      const double power = std::exp(std::max(0.0, -beta * below));
      const double difference = in_steps(below * std::max(1.0, std::abs(beta)), StepPrecision::float16);
      return {RealRange{0, 1.01}, std::max(difference, rounded_sum(count * power, count, request.rules.softmax.sum.precision).inside)};
    }
    default: return {};
  }
}

}  // namespace

RealResult real_range_after(const Model& model, const Operation& operation, const Float16Arithmetic& rules, const RealRanges& ranges) {
  using enum OperationKind;
  for (const std::int32_t index : operation.inputs) {
    if (index != absent_tensor && !ranges[static_cast<std::size_t>(index)]) return {};
  }
  const Request request{model, operation, rules, ranges};
  if (is_movement(operation.kind)) return moved(request);
  switch (operation.kind) {
    case conv2d:
    case depthwise_conv2d:
    case transposed_conv2d:
    case fully_connected: return convolution(request);
    case OperationKind::matmul: return lastbit::matmul(request);
    case add:
    case sub:
    case add_n: return addition(request);
    case mul: return multiplication(request);
    case average_pool2d: return lastbit::mean(request, rules.average_pool, window_of(request));
    case global_average_pool:
    case OperationKind::mean: return lastbit::mean(request, rules.mean, window_of(request));
    case concat:
    case max_pool2d:
    case clip: return moved(request);
    case relu: return activated(request, Activation::relu);
    case relu6: return activated(request, Activation::relu6);
    case relu_n1_to_1: return activated(request, Activation::relu_n1_to_1);
    default: return function(request);
  }
}

}  // namespace lastbit
