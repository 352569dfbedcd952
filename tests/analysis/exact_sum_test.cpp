// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: multiples of 2^-1074 … in integers of as many decimal limbs as it takes, added digit by digit, and the definition of rounding.
#include "lastbit/exact_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"

using namespace lastbit;

namespace {

/// A signed integer as a list of bits in two's complement: 2400 of them, one at a time.
class Bits {
 public:
  static constexpr std::size_t count = 2400;

  /// value * 2^1074.
  explicit Bits(double value) : bits_(count, false) {
    int exponent = 0;
    const double mantissa = std::frexp(std::abs(value), &exponent);
    auto whole = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
    for (int place = exponent - 53 + 1074; whole != 0; whole /= 2, ++place)
      if (whole % 2 != 0) bits_[static_cast<std::size_t>(place)] = true;
    if (value < 0) negate();
  }

  Bits& operator+=(const Bits& other) {
    int carry = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const int sum = carry + (bits_[i] ? 1 : 0) + (other.bits_[i] ? 1 : 0);
      bits_[i] = sum % 2 != 0;
      carry = sum / 2;
    }
    return *this;
  }

  /// The nearest double: of the two neighbours in 53 bits, or of whole numbers, the closer one, or the even one.
  [[nodiscard]] double rounded() const {
    Bits magnitude = *this;
    if (bits_.back()) magnitude.negate();
    const std::vector<bool>& all = magnitude.bits_;
    const auto top = static_cast<std::size_t>(std::find(all.rbegin(), all.rend(), true).base() - all.begin());  // one past
    const std::size_t first = top > 53 ? top - 53 : 0;
    double value = 0;
    for (std::size_t i = top; i-- > first;) value = 2 * value + (all[i] ? 1 : 0);
    const bool half = first > 0 && all[first - 1];
    const bool more = first > 1 && std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first - 1), true) !=
                                       all.begin() + static_cast<std::ptrdiff_t>(first - 1);
    if (half && (more || std::fmod(value, 2) != 0)) value += 1;
    value = std::ldexp(value, static_cast<int>(first) - 1074);
    return bits_.back() ? -value : value;
  }

 private:
  void negate() {
    bits_.flip();
    Bits one(std::numeric_limits<double>::denorm_min());
    *this += one;
  }
  std::vector<bool> bits_;
};

ExactSum sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return sum;
}

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::denorm_min();

}  // namespace

TEST_CASE("An exact sum of chosen values is rounded once, half to even") {
  struct Case {
    const char* separates;
    std::vector<double> values;
    double sum;
  };
  const std::vector<Case> cases{
      {"nothing", {}, 0},
      {"cancelling leaves +0", {1.5, -1.5}, 0},
      {"what a float sum would lose", {1e300, 1, -1e300}, 1},
      {"below the last bit", {0x1p53, 1}, 0x1p53},
      {"tie to even, downwards", {0x1p53, 1, smallest, -smallest}, 0x1p53},
      {"tie to even, upwards", {0x1p53, 3}, 0x1p53 + 4},
      {"just above a tie", {0x1p53, 1, smallest}, 0x1p53 + 2},
      {"just below a tie", {0x1p53, 1, -smallest}, 0x1p53},
      {"the same, negative", {-0x1p53, -1, -smallest}, -0x1p53 - 2},
      {"subnormal", {smallest, smallest, smallest}, 3 * smallest},
      {"the smallest difference", {0x1p-1022, -smallest}, 0x1p-1022 - smallest},
      {"beyond double and back", {largest, largest, -largest}, largest},
      {"beyond double", {largest, largest}, std::numeric_limits<double>::infinity()},
      {"rounded to infinity", {largest, 0x1p970}, std::numeric_limits<double>::infinity()},
      {"just not", {largest, 0x1p970, -smallest}, largest},
      {"beyond double, negative", {-largest, -largest}, -std::numeric_limits<double>::infinity()},
  };
  for (const Case& each : cases) {
    INFO(each.separates);
    REQUIRE(same(sum_of(each.values).to_double(), each.sum));
  }
}

TEST_CASE("An exact sum equals an integer of 2400 bits, whatever the order and the grouping") {
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U);
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const int spread = seed % 2 == 0 ? 2046 : 60;
  std::vector<double> values;
  Bits expected(0);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t exponent = 1023 - static_cast<std::uint64_t>(spread) / 2 + random() % static_cast<std::uint64_t>(spread);
    const std::uint64_t bits = (random() & 0x800FFFFFFFFFFFFF) | exponent << 52;
    values.push_back(std::bit_cast<double>(bits));
    expected += Bits(values.back());
  }
  const ExactSum sum = sum_of(values);
  REQUIRE(same(sum.to_double(), expected.rounded()));
  for (int round = 0; round < 20; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    const auto cut = static_cast<std::ptrdiff_t>(random() % values.size());
    ExactSum left = sum_of({values.begin(), values.begin() + cut});
    left.add(sum_of({values.begin() + cut, values.end()}));
    REQUIRE(left == sum);
    REQUIRE(left.text() == sum.text());
  }
}

TEST_CASE("Carries: more additions than a limb has room for") {
  ExactSum ones, doubled;
  doubled.add(0x1.fffffffffffffp+31);
  for (int i = 0; i < 40; ++i) {
    const ExactSum copy = doubled;
    doubled.add(copy);  // times 2^40: far more than 2^30 additions would leave pending
  }
  ones.add(0x1.fffffffffffffp+71);
  REQUIRE(doubled == ones);
}

TEST_CASE("Multiples of sums") {
  ExactSum a = sum_of({3, 0x1p-1000}), b = sum_of({-5, 0x1p900});
  a.add_multiple(b, -2);
  REQUIRE(a == sum_of({13, 0x1p-1000, -0x1p901}));
}

TEST_CASE("One text per exact sum, which reads back; anything else is refused") {
  for (const std::vector<double>& values : std::vector<std::vector<double>>{
           {}, {1}, {-1}, {16}, {0.1}, {largest, largest}, {-largest, smallest}, {smallest}, {-smallest}, {1e300, 1e-300, 1}}) {
    const ExactSum sum = sum_of(values);
    const auto read = ExactSum::from(sum.text());
    INFO(sum.text());
    REQUIRE(read);
    REQUIRE(*read == sum);
  }
  REQUIRE(sum_of({1}).text() == "1*16^0");
  REQUIRE(sum_of({-26.5}).text() == "-1a8*16^-1");
  REQUIRE(sum_of({}).text() == "0");
  for (const char* wrong : {"", "-0", "1", "10*16^0", "01*16^0", "1*16^", "1*16^999", "1*16^-999", "g*16^0", "1*16^0 ", "+1*16^0", "-",
                            "1*16^+0", "*16^0", "1*16^99999999999999", "00"}) {
    INFO(wrong);
    REQUIRE(!ExactSum::from(wrong));
  }
}
