// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/testing.hpp"

#include <array>
#include <limits>
#include <sstream>
#include <vector>

#include "support/catch.hpp"

using lastbit::Shape;
using lastbit::Tensor;
using lastbit::testing::exactly_equal_to;
using lastbit::testing::judge;
using lastbit::testing::within_lsb;

namespace {

Tensor int8(const Shape& shape, const std::vector<std::int8_t>& values) { return Tensor::from<std::int8_t>(shape, values); }

/// What GoogleTest's class asks for, as far as a verdict is concerned.
class AssertionLike {
 public:
  explicit AssertionLike(bool passed) : passed_(passed) {}
  AssertionLike& operator<<(const std::string& text) {
    message_ += text;
    return *this;
  }
  [[nodiscard]] bool passed() const { return passed_; }
  [[nodiscard]] const char* failure_message() const { return message_.c_str(); }

 private:
  bool passed_;
  std::string message_;
};

}  // namespace

TEST_CASE("a test framework takes the matchers as they are") {
  REQUIRE_THAT(int8({2, 2}, {1, 2, 3, 4}), exactly_equal_to(int8({2, 2}, {1, 2, 3, 4})));
  REQUIRE_THAT(int8({2, 2}, {1, 2, 3, 5}), within_lsb(1, 0.25).of(int8({2, 2}, {1, 2, 3, 4})));
}

TEST_CASE("the message names count, share, largest difference, position and both values") {
  const auto verdict = judge(int8({1, 2, 3}, {1, 2, 3, 4, 8, 4}), exactly_equal_to(int8({1, 2, 3}, {1, 2, 3, 4, 5, 6})));
  CHECK_FALSE(verdict.passed());
  CHECK(verdict.message() == "2 of 6 values differ (33.33 %); largest +3 LSB; first at index 4 [0,1,1]: got 8, expected 5");
}

TEST_CASE("both limits of within_lsb count") {
  const Tensor expected = int8({4}, {0, 0, 0, 0});
  CHECK(judge(int8({4}, {1, 0, 0, -1}), within_lsb(1, 0.5).of(expected)).passed());
  CHECK_FALSE(judge(int8({4}, {1, 0, 0, -2}), within_lsb(1, 0.5).of(expected)).passed());
  CHECK_FALSE(judge(int8({4}, {1, 1, 0, -1}), within_lsb(1, 0.5).of(expected)).passed());
  CHECK(judge(int8({4}, {0, 0, 0, 0}), within_lsb(0, 0.0).of(expected)).passed());
  CHECK_FALSE(judge(int8({4}, {1, 0, 0, 0}), within_lsb(0, 1.0).of(expected)).passed());
  CHECK(judge(int8({4}, {1, 1, 0, -1}), within_lsb(1, 0.5).of(expected)).message() ==
        "3 of 4 values differ (75 %, allowed 50 %); largest +1 LSB (allowed 1); first at index 0 [0]: got 1, expected 0");
}

TEST_CASE("ranges have no shape, tensors do") {
  const std::array<std::int8_t, 4> values{1, 2, 3, 4};
  CHECK(judge(int8({2, 2}, {1, 2, 3, 4}), exactly_equal_to(values)).passed());
  CHECK(judge(values, exactly_equal_to(int8({2, 2}, {1, 2, 3, 4}))).passed());
  CHECK(judge(int8({4}, {1, 2, 3, 4}), exactly_equal_to(int8({2, 2}, {1, 2, 3, 4}))).message() == "got int8 4, expected int8 2x2");
  CHECK(judge(std::vector<std::int8_t>{1}, exactly_equal_to(values)).message() == "got 1 int8 values, expected 4 int8 values");
  CHECK_FALSE(judge(std::vector<std::int16_t>{1, 2, 3, 4}, exactly_equal_to(values)).passed());
  CHECK_THROWS(judge(std::vector<std::int8_t>{}, exactly_equal_to(values)));  // nothing is equal to nothing
}

TEST_CASE("64-bit integers beyond the precision of double are told apart") {
  const std::int64_t large = std::int64_t{1} << 60;
  CHECK_FALSE(judge(std::vector<std::int64_t>{large + 1}, exactly_equal_to(std::vector<std::int64_t>{large})).passed());
  const std::vector<std::int64_t> extremes{std::numeric_limits<std::int64_t>::min()};
  CHECK_FALSE(judge(extremes, within_lsb(1, 1).of(std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()})).passed());
}

TEST_CASE("floats are equal by their bits, NaNs to each other, and have no LSB") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(judge(std::vector<float>{nan, -0.0F}, exactly_equal_to(std::vector<float>{nan, -0.0F})).passed());
  CHECK_FALSE(judge(std::vector<float>{-0.0F}, exactly_equal_to(std::vector<float>{0.0F})).passed());
  CHECK_FALSE(judge(std::vector<float>{nan}, exactly_equal_to(std::vector<float>{1})).passed());
  CHECK_FALSE(judge(std::vector<float>{1}, within_lsb(1, 1).of(std::vector<float>{2})).passed());
}

TEST_CASE("verdicts become what GoogleTest's macros ask for") {
  const AssertionLike assertion = judge(std::vector<std::int8_t>{1}, exactly_equal_to(std::vector<std::int8_t>{2}));
  CHECK_FALSE(assertion.passed());
  CHECK(std::string(assertion.failure_message()) ==
        "1 of 1 values differ (100 %); largest -1 LSB; first at index 0 [0]: got 1, expected 2");
  std::ostringstream out;
  CHECK_FALSE(exactly_equal_to(std::vector<std::int8_t>{2}).MatchAndExplain(std::vector<std::int8_t>{1}, &out));
  CHECK(out.str() == assertion.failure_message());
}

TEST_CASE("arrays of the core stand beside tensors and ranges, on either side") {
  const Tensor tensor = int8({2, 2}, {1, 2, 3, 4});
  const lastbit::Array<std::int8_t> array{{1, 2, 3, 4}, {2, 2}}, other{{1, 2, 3, 5}, {2, 2}};
  REQUIRE_THAT(array, exactly_equal_to(tensor));
  REQUIRE_THAT(tensor, exactly_equal_to(array));
  REQUIRE_THAT(array.values, exactly_equal_to(tensor));
  REQUIRE_THAT(other, within_lsb(1, 0.25).of(array.view()));
  CHECK(judge(other, exactly_equal_to(tensor)).message() ==
        "1 of 4 values differ (25 %); largest +1 LSB; first at index 3 [1,1]: got 5, expected 4");
  CHECK(judge(tensor, exactly_equal_to(other)).message() ==
        "1 of 4 values differ (25 %); largest -1 LSB; first at index 3 [1,1]: got 4, expected 5");
  CHECK(judge(int8({4}, {1, 2, 3, 4}), exactly_equal_to(array)).message() == "got int8 4, expected int8 2x2");
}
