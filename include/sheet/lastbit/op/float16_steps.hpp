// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The elementary steps that operations on float16 data are made of, each rounded at once: to float16 by the backend's rules, or to float32.
// Both kinds of steps have the same names, so that an operation is written once as a template.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "lastbit/arith/float16.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/op/real_bounds.hpp"

namespace lastbit {

/// Float16 results by the rules, and whether one of them left the finite values since the last time it was asked.
class Float16Rounder {
  // Ahead of what calls it: clang evaluates no call of a template whose body it has not read.
  /// With all_ones every overflow, infinity and NaN is one pattern, whatever the rounding; any other result does not depend on that rule.
  template <class Operation>
  [[nodiscard]] constexpr Float16 settled(const Float16Rules& rules, Operation&& operation) {
    Float16Rules probe = rules;
    probe.overflow = Float16Overflow::all_ones;
    const Float16 result = operation(probe);
    if ((result.bits & float16_all_ones_bits) != float16_all_ones_bits) return result;
    left_ = true;
    return operation(rules);
  }

 public:
  explicit constexpr Float16Rounder(const Float16Arithmetic& rules) : rules_(rules) {}

  [[nodiscard]] constexpr Float16 sum(Float16 a, Float16 b) {
    return settled(rules_.sum, [&](const Float16Rules& rules) { return add(a, b, rules); });
  }
  [[nodiscard]] constexpr Float16 difference(Float16 a, Float16 b) {
    return settled(rules_.sum, [&](const Float16Rules& rules) { return subtract(a, b, rules); });
  }
  [[nodiscard]] constexpr Float16 product(Float16 a, Float16 b) {
    return settled(rules_.product, [&](const Float16Rules& rules) { return multiply(a, b, rules); });
  }
  [[nodiscard]] constexpr Float16 quotient(Float16 a, Float16 b) {
    return settled(rules_.quotient.rounded, [&](const Float16Rules& rules) { return divide(a, b, rules, rules_.quotient.zero_division); });
  }
  /// A NaN that a calculation has made has no sign and no payload, whatever the host made of it.
  template <class Float>
  [[nodiscard]] constexpr Float16 converted(Float value) {
    const Float known = value != value ? std::numeric_limits<Float>::quiet_NaN() : value;
    return settled(rules_.conversion, [&](const Float16Rules& rules) { return to_float16(known, rules); });
  }
  /// A stored float32: of a NaN sign and payload count.
  [[nodiscard]] constexpr Float16 cast(float value) {
    return settled(rules_.conversion, [&](const Float16Rules& rules) { return to_float16(value, rules); });
  }
  [[nodiscard]] constexpr float real(Float16 value) const { return to_float32(value, rules_.conversion.top_exponent); }
  /// A value that passes the vector unit unchanged: only what the rules have no place for is replaced.
  [[nodiscard]] constexpr Float16 passed(Float16 value) {
    return rules_.conversion.top_exponent == Float16TopExponent::ordinary ? value : cast(real(value));
  }

  [[nodiscard]] constexpr bool take_left() { return std::exchange(left_, false); }

 private:
  Float16Arithmetic rules_;
  bool left_ = false;
};

/// Every step rounded to float16.
struct Float16Steps {
  using Value = Float16;
  Float16Rounder& rounder;

  [[nodiscard]] constexpr Value from(Float16 value) const { return value; }
  [[nodiscard]] constexpr Value rounded(float value) const { return rounder.converted(value); }
  [[nodiscard]] constexpr Value constant(double value) const { return rounder.converted(value); }
  [[nodiscard]] constexpr float real(Value value) const { return rounder.real(value); }
  [[nodiscard]] constexpr Value sum(Value a, Value b) const { return rounder.sum(a, b); }
  [[nodiscard]] constexpr Value difference(Value a, Value b) const { return rounder.difference(a, b); }
  [[nodiscard]] constexpr Value product(Value a, Value b) const { return rounder.product(a, b); }
  [[nodiscard]] constexpr Value quotient(Value a, Value b) const { return rounder.quotient(a, b); }
  [[nodiscard]] Value exponential(Value value) const { return rounder.converted(std::exp(double{rounder.real(value)})); }
  [[nodiscard]] constexpr Float16 delivered(Value value) const { return value; }
};

/// Every step rounded to float32, the result converted to float16.
struct Float32Steps {
  using Value = float;
  Float16Rounder& rounder;

  [[nodiscard]] constexpr Value from(Float16 value) const { return rounder.real(value); }
  [[nodiscard]] constexpr Value rounded(float value) const { return value; }
  [[nodiscard]] constexpr Value constant(double value) const { return static_cast<float>(value); }
  [[nodiscard]] constexpr float real(Value value) const { return value; }
  [[nodiscard]] constexpr Value sum(Value a, Value b) const { return a + b; }
  [[nodiscard]] constexpr Value difference(Value a, Value b) const { return a - b; }
  [[nodiscard]] constexpr Value product(Value a, Value b) const { return a * b; }
  [[nodiscard]] constexpr Value quotient(Value a, Value b) const { return a / b; }
  [[nodiscard]] Value exponential(Value value) const { return static_cast<float>(std::exp(double{value})); }
  [[nodiscard]] constexpr Float16 delivered(Value value) const { return rounder.converted(value); }
};

/// Calls visit(steps) with the steps of a precision.
template <class Visit>
constexpr void with_steps(StepPrecision precision, Float16Rounder& rounder, Visit&& visit) {
  if (precision == StepPrecision::float16) visit(Float16Steps{rounder});
  else visit(Float32Steps{rounder});
}

/// Bounds as float16 constants. NaN passes through, so that it is seen; a bound that is absent bounds nothing.
class Float16Bounds {
 public:
  constexpr Float16Bounds(const RealBounds& bounds, Float16Rounder& rounder)
      : min_(rounder.converted(bounds.min)), max_(rounder.converted(bounds.max)), bounds_(bounds), rounder_(rounder) {
    static_cast<void>(rounder_.take_left());
  }

  [[nodiscard]] constexpr Float16 operator()(Float16 value) const {
    const float real = rounder_.real(value);
    if (real < bounds_.min) return min_;
    return real > bounds_.max ? max_ : value;
  }
  [[nodiscard]] constexpr const RealBounds& real() const { return bounds_; }
  [[nodiscard]] constexpr Float16 min() const { return min_; }
  [[nodiscard]] constexpr Float16 max() const { return max_; }

 private:
  Float16 min_, max_;
  RealBounds bounds_;
  Float16Rounder& rounder_;
};

}  // namespace lastbit
