// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions of one float16 value, step by step as Huawei's operators write them:
//   logistic    1 / (exp(-1 * x) + 1), x first raised to -11.089 by LogisticBound::log_of_largest
//   tanh        (x - e * x) / ((|x| + tiny) * (e + 1)), e = exp(-2 * |x|), tiny the smallest normal value of the precision
//   hard_swish  x * bounded(x + 3, 0, 6) * (1/6)
//   leaky_relu  x, or alpha * x for x below 0
// exp is correctly rounded. Max, min and the bounds of relu round nothing.
#include <cmath>

#include "engine/counted_parts.hpp"
#include "engine/float16/prepare.hpp"
#include "engine/float16/vectors.hpp"
#include "engine/operands.hpp"

namespace lastbit {
namespace {

/// out = function(rounder, x).
template <class Function>
Executor map(const Float16Arithmetic& rules, Function function) {
  return [rules, function](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const auto out = run.outputs[0].values<Float16>();
    const auto in = run.inputs[0]->values<Float16>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = function(rounder, in[i]);
      counter.next();
    }
  };
}

/// out = function(steps, x), in steps of a precision.
template <class Function>
Executor map_steps(const Float16Arithmetic& rules, StepPrecision precision, Function function) {
  return map(rules, [precision, function](Float16Rounder& rounder, Float16 x) {
    Float16 result;
    with_steps(precision, rounder, [&](const auto& steps) { result = steps.delivered(function(steps, steps.from(x))); });
    return result;
  });
}

Executor bound(const Float16Arithmetic& rules, const RealBounds& bounds) {
  return [rules, bounds, half = half_kernels({&rules.conversion})](const Execution& run) {
    constexpr std::int64_t values_per_part = units_per_part(0.5);
    for_each_counted_part(run.events, run.outputs[0].element_count(), values_per_part,
                          [&](std::int64_t first, std::int64_t last, Events* events) {
                            Float16Rounder rounder(rules);
                            OutputCounter counter(rounder, events);
                            const Float16Bounds bounded(bounds, rounder);
                            pass_values(half, rounder, counter, &bounded, run.inputs[0]->values<Float16>().data() + first,
                                        run.outputs[0].values<Float16>().data() + first, static_cast<std::size_t>(last - first));
                          });
  };
}

Executor leaky(const Float16Arithmetic& rules, double alpha) {
  return map(rules, [alpha](Float16Rounder& rounder, Float16 x) {
    return rounder.real(x) < 0 ? rounder.product(x, rounder.converted(alpha)) : rounder.passed(x);
  });
}

Executor logistic(const Float16Arithmetic& rules) {
  const bool is_bounded = rules.logistic.bound == LogisticBound::log_of_largest;
  return map_steps(rules, rules.logistic.steps, [is_bounded](const auto& steps, auto x) {
    const auto lowest = steps.constant(-11.089), one = steps.constant(1);
    if (is_bounded && steps.real(x) < steps.real(lowest)) x = lowest;
    const auto power = steps.exponential(steps.product(x, steps.constant(-1)));
    return steps.quotient(one, steps.sum(power, one));
  });
}

template <class Steps>
typename Steps::Value magnitude(const Steps& steps, typename Steps::Value x) {
  return std::signbit(steps.real(x)) ? steps.product(x, steps.constant(-1)) : x;
}

Executor tangent(const Float16Arithmetic& rules) {
  const double tiny = rules.tanh.steps == StepPrecision::float16 ? 0x1p-14 : 0x1p-126;
  return map_steps(rules, rules.tanh.steps, [tiny](const auto& steps, auto x) {
    const auto size = magnitude(steps, x);
    const auto power = steps.exponential(steps.product(size, steps.constant(-2)));
    const auto above = steps.difference(x, steps.product(power, x));
    const auto below = steps.product(steps.sum(power, steps.constant(1)), steps.sum(size, steps.constant(tiny)));
    return steps.quotient(above, below);
  });
}

Executor hard_swish(const Float16Arithmetic& rules) {
  return map_steps(rules, rules.hard_swish.steps, [](const auto& steps, auto x) {
    auto gate = steps.sum(x, steps.constant(3));
    if (steps.real(gate) < 0) gate = steps.constant(0);
    if (steps.real(gate) > 6) gate = steps.constant(6);
    return steps.product(steps.product(x, gate), steps.constant(1.0 / 6));
  });
}

}  // namespace

Executor prepare_float16_bounds(const Model&, const Operation& operation, const Float16Arithmetic& rules) {
  return bound(rules, real_bounds(bounds_of(operation)));
}
Executor prepare_float16_leaky(const Model&, const Operation& operation, const Float16Arithmetic& rules) {
  return leaky(rules, std::get<LeakyReluAttributes>(operation.attributes).alpha);
}
Executor prepare_float16_hard_swish(const Model&, const Operation&, const Float16Arithmetic& rules) { return hard_swish(rules); }
Executor prepare_float16_logistic(const Model&, const Operation&, const Float16Arithmetic& rules) { return logistic(rules); }
Executor prepare_float16_tanh(const Model&, const Operation&, const Float16Arithmetic& rules) { return tangent(rules); }
Executor prepare_float16_exp(const Model&, const Operation&, const Float16Arithmetic& rules) {
  return map_steps(rules, StepPrecision::float16, [](const auto& steps, auto x) { return steps.exponential(x); });
}

}  // namespace lastbit
