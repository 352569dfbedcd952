// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Matchers for unit tests that pin what a device computes. They include no test framework and serve each in its own way:
//
//   Catch2 2, 3         REQUIRE_THAT(actual, exactly_equal_to(expected));
//   GoogleTest          EXPECT_TRUE(judge(actual, within_lsb(1, 0.02).of(expected)));
//   GoogleTest + gMock  EXPECT_THAT(actual, within_lsb(1, 0.02).of(expected));
//
// Tensors, arrays of lastbit/core.hpp (whose matchers, core/matchers.hpp, need no library) and contiguous ranges of their element types may stand on
// either side. Integers are compared as integers, floats by their bits
// with all NaNs equal. Types must be the same, shapes too where both sides are tensors; the message says what is not, or how many values differ,
// their share, the largest difference, and the first one with its position and both values.
//
// Where a test says how its values were computed, the message says why they differ, and the command that shows it again:
//
//   REQUIRE_THAT(actual, exactly_equal_to(expected).explained({.model = model, .inputs = inputs, .a = cpu, .b = npu, .tensor = "conv1"}));
//
// A folder written by `lastbit gen-golden` (recording.hpp) is one assertion:
//
//   EXPECT_TRUE(unchanged_since(folder, model, backend));     CHECK(unchanged_since(folder, model, backend));
//
// And so is equality without any data:
//
//   EXPECT_TRUE(equal_for_every_input(model, a, b));          CHECK(equal_for_every_input(model, a, b));
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/core/matchers.hpp"
#include "lastbit/device.hpp"
#include "lastbit/model.hpp"
#include "lastbit/tensor.hpp"
#include "lastbit/verdict_assumptions.hpp"

namespace lastbit {

/// "int8 1x8x8x4", so that test frameworks can print a tensor.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

namespace testing {

template <class R>
concept ValueRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::is_arithmetic_v<std::ranges::range_value_t<R>>;

/// How compared values were computed: by one model and its inputs, on two backends. a is what is expected, b what is judged.
struct Computation {
  Model model;
  std::vector<Tensor> inputs;  ///< as for Emulator::run
  Device a, b;
  std::string tensor{};      ///< its name; empty: the model's first output
  std::string model_file{};  ///< for the command; empty: the model and its inputs are written to a folder among the system's temporary ones
  std::vector<std::string> input_files{};
};

/// Why the value at the index differs between the two backends, stage by stage, and the command that shows it.
[[nodiscard]] std::string explanation(const Computation& computation, std::int64_t index);

/// A side of a comparison: a tensor, or values without a shape.
struct Values {
  Tensor tensor;
  bool has_shape = true;
};

[[nodiscard]] inline Values values_of(const Tensor& tensor) { return {tensor, true}; }

template <ValueRange R>
[[nodiscard]] Values values_of(const R& range) {
  using T = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return {Tensor::from<T>(Shape{static_cast<std::int64_t>(std::ranges::size(range))}, std::span<const T>(range)), false};
}

/// An array of lastbit/core.hpp.
template <Code T>
[[nodiscard]] Values values_of(const View<T>& view) {
  const auto sizes = view.shape().sizes();
  return {Tensor::from<T>(Shape(std::vector<std::int64_t>(sizes.begin(), sizes.end())), view.values()), true};
}
template <Code T>
[[nodiscard]] Values values_of(const Array<T>& array) {
  return values_of(array.view());
}

template <class T>
concept Comparable = requires(const T& value) {
  values_of(value);
};

/// `computation`, where given, explains the first value that differs.
[[nodiscard]] Verdict judge(const Values& actual, const Values& expected, const Tolerance& tolerance,
                            const Computation* computation = nullptr);

/// A tensor against an array.
template <Code T>
[[nodiscard]] Verdict judge_codes(const Tensor& actual, const View<T>& expected, const Tolerance& tolerance) {
  return judge(values_of(actual), values_of(expected), tolerance);
}

/// A matcher of Catch2 (2 and 3) and GoogleTest: values that lie within a tolerance of the expected ones.
class Matcher : public FrameworkMatcher<Matcher> {
 public:
  Matcher(Values expected, Tolerance tolerance) : expected_(std::move(expected)), tolerance_(tolerance) {}

  template <Comparable T>
  [[nodiscard]] Verdict judge(const T& actual) const {
    return testing::judge(values_of(actual), expected_, tolerance_, computation_.get());
  }
  /// The same, whose message also says why.
  [[nodiscard]] Matcher explained(Computation computation) const {
    Matcher matcher = *this;
    matcher.computation_ = std::make_shared<const Computation>(std::move(computation));
    return matcher;
  }
  [[nodiscard]] std::string description() const;

 private:
  Values expected_;
  Tolerance tolerance_;
  std::shared_ptr<const Computation> computation_;
};

/// For exactly_equal_to() and within_lsb() (core/matchers.hpp).
[[nodiscard]] inline Matcher matcher_of(const Tensor& expected, const Tolerance& tolerance) { return {values_of(expected), tolerance}; }
template <ValueRange R>
[[nodiscard]] Matcher matcher_of(const R& expected, const Tolerance& tolerance) {
  return {values_of(expected), tolerance};
}

/// A recording against the model and the backend of today: same network, same rules, same values. The message names the rules that changed
/// and the first value that differs. Throws Error where the store cannot be read.
[[nodiscard]] Verdict unchanged_since(const std::filesystem::path& folder, const Model& model, const Device& backend);

/// Whether every layer computes the same on both for every input (certify.hpp): nothing is run on samples. The message is the certificate. A layer that cannot
/// be decided is not equal, nor is one that rests on an assumption, unless they are accepted. Throws Error where a backend cannot run the model.
[[nodiscard]] Verdict equal_for_every_input(const Model& model, const Device& a, const Device& b,
                                            AssumptionsAre assumptions = AssumptionsAre::named);

}  // namespace testing
}  // namespace lastbit
