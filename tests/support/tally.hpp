// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Millions of comparisons as one check that names the first difference; and values worth trying.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "lastbit/arith/integer.hpp"
#include "support/catch.hpp"

namespace lastbit::test {

inline std::string to_text(Int128 value) {
  if (value < 0) return "-" + to_text(-value);
  std::string digits(1, static_cast<char>('0' + static_cast<int>(value % 10)));
  return value < 10 ? digits : to_text(value / 10) + digits;
}

/// Counts what it compared. `context` (integers that locate the comparison) is printed for the first difference only.
class Tally {
 public:
  template <class... Context>
  void equal(Int128 found, Int128 expected, const Context&... context) {
    ++compared_;
    if (found == expected) return;
    if (different_++ > 0) return;
    std::ostringstream text;
    text << "found " << to_text(found) << ", expected " << to_text(expected) << " at (";
    ((text << to_text(static_cast<Int128>(context)) << ", "), ...);
    first_ = text.str() + ")";
  }

  [[nodiscard]] std::int64_t compared() const { return compared_; }

  /// Fails if anything differed, or if fewer than `at_least` values were compared.
  void check(std::int64_t at_least = 1) const {
    INFO(compared_ << " compared; first difference: " << first_);
    CHECK(different_ == 0);
    CHECK(compared_ >= at_least);
  }

 private:
  std::int64_t compared_ = 0;
  std::int64_t different_ = 0;
  std::string first_;
};

/// 0, ±2^k and their neighbours, minimum and maximum, and `random_count` values of random size.
template <class T>
std::vector<T> chosen_values(std::mt19937_64& random, int random_count) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{0, Limits::min(), Limits::min() + 1, Limits::max(), Limits::max() - 1};
  for (int k = 0; k < Limits::digits; ++k) {
    const T power = static_cast<T>(T{1} << k);
    for (const T delta : {T{-1}, T{0}, T{1}}) {
      values.push_back(static_cast<T>(power + delta));
      values.push_back(static_cast<T>(-power + delta));
    }
  }
  for (int i = 0; i < random_count; ++i) {
    values.push_back(static_cast<T>(static_cast<T>(random()) >> static_cast<int>(random() % (Limits::digits + 1))));
  }
  return values;
}

}  // namespace lastbit::test
