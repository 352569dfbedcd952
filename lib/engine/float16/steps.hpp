// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The elementary steps that operations on float16 data are made of, each rounded at once: to float16 by the backend's rules, or to float32.
// Both kinds of steps have the same names, so that an operation is written once as a template.
#pragma once

#include <cmath>
#include <limits>

#include "lastbit/backend.hpp"
#include "lastbit/emulator.hpp"

namespace lastbit {

/// Float16 results by the rules, and whether one of them left the finite values since the last time it was asked.
class Float16Rounder {
 public:
  explicit Float16Rounder(const Float16Arithmetic& rules) : rules_(rules) {}

  [[nodiscard]] Float16 sum(Float16 a, Float16 b) {
    return settled(rules_.sum, [&](const Float16Rules& rules) { return add(a, b, rules); });
  }
  [[nodiscard]] Float16 difference(Float16 a, Float16 b) {
    return settled(rules_.sum, [&](const Float16Rules& rules) { return subtract(a, b, rules); });
  }
  [[nodiscard]] Float16 product(Float16 a, Float16 b) {
    return settled(rules_.product, [&](const Float16Rules& rules) { return multiply(a, b, rules); });
  }
  [[nodiscard]] Float16 quotient(Float16 a, Float16 b) {
    return settled(rules_.quotient.rounded, [&](const Float16Rules& rules) { return divide(a, b, rules, rules_.quotient.zero_division); });
  }
  /// A NaN that a calculation has made has no sign and no payload, whatever the host made of it.
  template <class Float>
  [[nodiscard]] Float16 converted(Float value) {
    const Float known = value != value ? std::numeric_limits<Float>::quiet_NaN() : value;
    return settled(rules_.conversion, [&](const Float16Rules& rules) { return to_float16(known, rules); });
  }
  /// A stored float32: of a NaN sign and payload count.
  [[nodiscard]] Float16 cast(float value) {
    return settled(rules_.conversion, [&](const Float16Rules& rules) { return to_float16(value, rules); });
  }
  [[nodiscard]] float real(Float16 value) const { return to_float32(value, rules_.conversion.top_exponent); }
  /// A value that passes the vector unit unchanged: only what the rules have no place for is replaced.
  [[nodiscard]] Float16 passed(Float16 value) {
    return rules_.conversion.top_exponent == Float16TopExponent::ordinary ? value : cast(real(value));
  }

  [[nodiscard]] bool take_left() { return std::exchange(left_, false); }

 private:
  /// With all_ones every overflow, infinity and NaN is one pattern, whatever the rounding; any other result does not depend on that rule.
  template <class Operation>
  [[nodiscard]] Float16 settled(const Float16Rules& rules, Operation&& operation) {
    Float16Rules probe = rules;
    probe.overflow = Float16Overflow::all_ones;
    const Float16 result = operation(probe);
    if ((result.bits & float16_all_ones_bits) != float16_all_ones_bits) return result;
    left_ = true;
    return operation(rules);
  }

  Float16Arithmetic rules_;
  bool left_ = false;
};

/// Every step rounded to float16.
struct Float16Steps {
  using Value = Float16;
  Float16Rounder& rounder;

  [[nodiscard]] Value from(Float16 value) const { return value; }
  [[nodiscard]] Value rounded(float value) const { return rounder.converted(value); }
  [[nodiscard]] Value constant(double value) const { return rounder.converted(value); }
  [[nodiscard]] float real(Value value) const { return rounder.real(value); }
  [[nodiscard]] Value sum(Value a, Value b) const { return rounder.sum(a, b); }
  [[nodiscard]] Value difference(Value a, Value b) const { return rounder.difference(a, b); }
  [[nodiscard]] Value product(Value a, Value b) const { return rounder.product(a, b); }
  [[nodiscard]] Value quotient(Value a, Value b) const { return rounder.quotient(a, b); }
  [[nodiscard]] Value exponential(Value value) const { return rounder.converted(std::exp(double{rounder.real(value)})); }
  [[nodiscard]] Float16 delivered(Value value) const { return value; }
};

/// Every step rounded to float32, the result converted to float16.
struct Float32Steps {
  using Value = float;
  Float16Rounder& rounder;

  [[nodiscard]] Value from(Float16 value) const { return rounder.real(value); }
  [[nodiscard]] Value rounded(float value) const { return value; }
  [[nodiscard]] Value constant(double value) const { return static_cast<float>(value); }
  [[nodiscard]] float real(Value value) const { return value; }
  [[nodiscard]] Value sum(Value a, Value b) const { return a + b; }
  [[nodiscard]] Value difference(Value a, Value b) const { return a - b; }
  [[nodiscard]] Value product(Value a, Value b) const { return a * b; }
  [[nodiscard]] Value quotient(Value a, Value b) const { return a / b; }
  [[nodiscard]] Value exponential(Value value) const { return static_cast<float>(std::exp(double{value})); }
  [[nodiscard]] Float16 delivered(Value value) const { return rounder.converted(value); }
};

/// Calls visit(steps) with the steps of a precision.
template <class Visit>
void with_steps(StepPrecision precision, Float16Rounder& rounder, Visit&& visit) {
  if (precision == StepPrecision::float16) visit(Float16Steps{rounder});
  else visit(Float32Steps{rounder});
}

/// Counts the outputs for which a step left the finite values.
class OutputCounter {
 public:
  OutputCounter(Float16Rounder& rounder, Events* events) : rounder_(rounder), events_(events) {}
  void next() {
    const bool left = rounder_.take_left();
    if (events_ == nullptr) return;
    ++events_->outputs;
    events_->saturated_outputs += left ? 1 : 0;
  }
  /// Outputs that are known to be finite.
  void skip(std::size_t count) {
    if (events_ != nullptr) events_->outputs += static_cast<std::int64_t>(count);
  }

 private:
  Float16Rounder& rounder_;
  Events* events_;
};

}  // namespace lastbit
