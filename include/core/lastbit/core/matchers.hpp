// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Matchers for unit tests that pin what a device computes of one layer: of the standard library alone, and without a test framework's headers.
//
//   Catch2 2, 3         REQUIRE_THAT(conv2d(npu, x, w, bias, how), within_lsb(1, 0.02).of(conv2d(cpu, x, w, bias, how)));
//   GoogleTest          EXPECT_TRUE(judge(actual, exactly_equal_to(expected)));
//   GoogleTest + gMock  EXPECT_THAT(actual, within_lsb(1, 0.02).of(expected));
//
// Arrays and views (arrays.hpp) stand on either side. Codes are compared as integers; types and shapes must be the same, scales and zero points are
// not compared. The message says what is not, or how many values differ, their share, the largest difference, and the first one with its position
// and both values. lastbit/testing.hpp has the same for tensors and ranges.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "lastbit/core/arrays.hpp"

namespace lastbit {

/// "int8", "uint8", "int16" or "int32".
template <Code T>
[[nodiscard]] std::string code_name() {
  return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
}

/// "int8 1x8x8x4", so that test frameworks can print an array.
template <Code T>
std::ostream& operator<<(std::ostream& out, const View<T>& view) {
  return out << code_name<T>() << ' ' << view.shape().text();
}
template <Code T>
std::ostream& operator<<(std::ostream& out, const Array<T>& array) {
  return out << array.view();
}

namespace testing {

/// The outcome of a comparison and why.
class Verdict {
 public:
  Verdict(bool passed, std::string message) : passed_(passed), message_(std::move(message)) {}

  [[nodiscard]] bool passed() const { return passed_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  explicit operator bool() const { return passed_; }

  /// To `testing::AssertionResult`, whose header this one does not include: EXPECT_TRUE then prints the message.
  template <class Result>
  requires std::is_class_v<Result> && requires(Result result, const std::string& text) {
    result << text;
    { result.failure_message() } -> std::convertible_to<const char*>;
  }
  operator Result() const { return Result(passed_) << message_; }

  /// The message, for frameworks that print what they judge.
  friend std::ostream& operator<<(std::ostream& out, const Verdict& verdict) { return out << verdict.message(); }

 private:
  bool passed_;
  std::string message_;
};

/// At most a share of the values may differ, each by at most so many LSB (a number 0 allows none to differ).
struct Tolerance {
  std::int64_t lsb = 0;
  double share = 0;
  /// "exactly equal to int8 1x4", "within 1 LSB in at most 2 % of int8 1x4".
  [[nodiscard]] std::string of(const std::string& what) const {
    return lsb == 0 ? "exactly equal to " + what : "within " + std::to_string(lsb) + " LSB in at most " + percent(share) + " of " + what;
  }
  [[nodiscard]] static std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g %%", 100 * share);
    return text;
  }
};

/// What Catch2 and GoogleTest call of a matcher; `Derived` has judge(actual), which gives a Verdict, and description().
template <class Derived>
class FrameworkMatcher {
 public:
  // Catch2's names; it calls match() before toString().
  template <class T>
  [[nodiscard]] bool match(const T& actual) const {
    const Verdict verdict = self().judge(actual);
    message_ = verdict.message();
    return verdict.passed();
  }
  [[nodiscard]] std::string toString() const { return self().description() + (message_.empty() ? "" : "\n" + message_); }  // NOLINT

  // gMock's names.
  using is_gtest_matcher = void;               // NOLINT
  template <class T, class Matcher = Derived>  // a parameter: asked when it is called, when Derived is complete
  requires requires(const Matcher& matcher, const T& actual) { matcher.judge(actual); }
  bool MatchAndExplain(const T& actual, std::ostream* out) const {  // NOLINT
    const Verdict verdict = self().judge(actual);
    if (out != nullptr) *out << verdict.message();
    return verdict.passed();
  }
  void DescribeTo(std::ostream* out) const { *out << self().description(); }                     // NOLINT
  void DescribeNegationTo(std::ostream* out) const { *out << "not: " << self().description(); }  // NOLINT

 private:
  [[nodiscard]] const Derived& self() const { return static_cast<const Derived&>(*this); }
  mutable std::string message_;
};

/// Codes against codes of any type: where types or shapes differ, the verdict says so.
template <Code A, Code T>
[[nodiscard]] Verdict judge_codes(const View<A>& actual, const View<T>& expected, const Tolerance& tolerance) {
  if (!std::same_as<A, T> || actual.shape() != expected.shape())
    return {false, "got " + code_name<A>() + " " + actual.shape().text() + ", expected " + code_name<T>() + " " + expected.shape().text()};
  std::int64_t differing = 0, largest = 0, first = -1;
  for (std::size_t i = 0; i < actual.values().size(); ++i) {
    const std::int64_t by = std::int64_t{actual.values()[i]} - std::int64_t{expected.values()[i]};
    if (by == 0) continue;
    if (differing++ == 0) first = static_cast<std::int64_t>(i);
    if ((by < 0 ? -by : by) > (largest < 0 ? -largest : largest)) largest = by;
  }
  if (differing == 0) return {true, "every value is equal"};
  const auto count = std::ssize(actual.values());
  const double share = static_cast<double>(differing) / static_cast<double>(count);
  std::string place;
  std::int64_t rest = first;
  for (std::size_t axis = actual.shape().rank(); axis-- > 0; rest /= actual.shape()[axis])
    place = std::to_string(rest % actual.shape()[axis]) + (place.empty() ? "" : ",") + place;
  const auto at = static_cast<std::size_t>(first);
  return {(largest < 0 ? -largest : largest) <= tolerance.lsb && share <= tolerance.share,
          std::to_string(differing) + " of " + std::to_string(count) + " values differ (" + Tolerance::percent(share) +
              (tolerance.share > 0 ? ", allowed " + Tolerance::percent(tolerance.share) : "") + "); largest " + (largest > 0 ? "+" : "") +
              std::to_string(largest) + " LSB" + (tolerance.lsb > 0 ? " (allowed " + std::to_string(tolerance.lsb) + ")" : "") +
              "; first at index " + std::to_string(first) + " [" + place + "]: got " + std::to_string(actual.values()[at]) + ", expected " +
              std::to_string(expected.values()[at])};
}
template <Code A, Code T>
[[nodiscard]] Verdict judge_codes(const Array<A>& actual, const View<T>& expected, const Tolerance& tolerance) {
  return judge_codes(actual.view(), expected, tolerance);
}

/// A matcher of codes that lie within a tolerance of the expected ones, which it keeps.
template <Code T>
class ArrayMatcher : public FrameworkMatcher<ArrayMatcher<T>> {
 public:
  ArrayMatcher(const View<T>& expected, Tolerance tolerance)
      : expected_{{expected.values().begin(), expected.values().end()}, expected.shape()}, tolerance_(tolerance) {}
  template <class A>
  requires requires(const A& actual, const View<T>& expected, const Tolerance& tolerance) { judge_codes(actual, expected, tolerance); }
  [[nodiscard]] Verdict judge(const A& actual) const { return judge_codes(actual, expected_.view(), tolerance_); }
  [[nodiscard]] std::string description() const { return tolerance_.of(code_name<T>() + " " + expected_.shape.text()); }

 private:
  Array<T> expected_;
  Tolerance tolerance_;
};

template <Code T>
[[nodiscard]] ArrayMatcher<T> matcher_of(const View<T>& expected, const Tolerance& tolerance) {
  return {expected, tolerance};
}
template <Code T>
[[nodiscard]] ArrayMatcher<T> matcher_of(const Array<T>& expected, const Tolerance& tolerance) {
  return {expected.view(), tolerance};
}

template <class T, class Described>
requires requires(const T& actual, const Described& matcher) {
  { matcher.judge(actual) } -> std::same_as<Verdict>;
}
[[nodiscard]] Verdict judge(const T& actual, const Described& matcher) { return matcher.judge(actual); }

/// Every value.
template <class T>
[[nodiscard]] auto exactly_equal_to(const T& expected) {
  return matcher_of(expected, Tolerance{});
}

/// within_lsb(1, 0.02).of(expected): at most 2 % of the values differ, each by at most 1. Integers only.
class WithinLsb {
 public:
  constexpr WithinLsb(std::int64_t lsb, double max_share) : tolerance_{lsb, max_share} {}
  template <class T>
  [[nodiscard]] auto of(const T& expected) const {
    return matcher_of(expected, tolerance_);
  }

 private:
  Tolerance tolerance_;
};

[[nodiscard]] constexpr WithinLsb within_lsb(std::int64_t lsb, double max_share) { return {lsb, max_share}; }

}  // namespace testing
}  // namespace lastbit
