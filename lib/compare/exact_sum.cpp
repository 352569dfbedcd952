// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/exact_sum.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lastbit {
namespace {

constexpr std::int64_t limb_mask = 0xFFFFFFFF;
constexpr int lowest_exponent = -1076;             // of limb 0
constexpr int lowest_power = lowest_exponent / 4;  // the same as a power of 16
constexpr int double_bits = 53;

}  // namespace

/// Sign and digits; every limb but the last in [0, 2^32).
struct ExactSum::Magnitude {
  bool negative = false;
  Limbs limbs{};

  /// Of the highest and of the lowest bit that is set; -1: none is.
  [[nodiscard]] int highest_bit() const {
    for (std::size_t i = limbs.size(); i-- > 0;)
      if (limbs[i] != 0) return static_cast<int>(32 * i) + 63 - std::countl_zero(static_cast<std::uint64_t>(limbs[i]));
    return -1;
  }
  [[nodiscard]] int lowest_bit() const {
    for (std::size_t i = 0; i < limbs.size(); ++i)
      if (limbs[i] != 0) return static_cast<int>(32 * i) + std::countr_zero(static_cast<std::uint64_t>(limbs[i]));
    return -1;
  }
  /// `count` bits, at most 60, from bit `first` on.
  [[nodiscard]] std::uint64_t bits(int first, int count) const {
    std::uint64_t value = 0;
    for (int bit = first + count; bit-- > first;) {
      const int limb = std::min(bit / 32, static_cast<int>(limbs.size()) - 1);  // the last one may hold more than 32 bits
      value = value << 1 | (static_cast<std::uint64_t>(limbs[static_cast<std::size_t>(limb)]) >> (bit - 32 * limb) & 1);
    }
    return value;
  }
};

void ExactSum::carry() {
  limbs_ = canonical();
  pending_ = 0;
}

ExactSum::Limbs ExactSum::canonical() const {
  Limbs result = limbs_;
  for (std::size_t i = 0; i + 1 < limbs; ++i) {
    result[i + 1] += result[i] >> 32;  // floor
    result[i] &= limb_mask;
  }
  return result;
}

void ExactSum::add_multiple(const ExactSum& other, int factor) {
  carry();
  const Limbs more = other.canonical();
  for (std::size_t i = 0; i < limbs; ++i) limbs_[i] += factor * more[i];
  carry();
}

ExactSum::Magnitude ExactSum::magnitude() const {
  const Limbs value = canonical();
  if (value.back() >= 0) return {false, value};
  ExactSum negated;
  for (std::size_t i = 0; i < limbs; ++i) negated.limbs_[i] = -value[i];
  return {true, negated.canonical()};
}

double ExactSum::to_double() const {
  const Magnitude exact = magnitude();
  const int top = exact.highest_bit();
  if (top < 0) return 0;
  constexpr int lowest_of_double = 2;  // 2^-1074
  const int first = std::max(top - double_bits + 1, lowest_of_double);
  std::uint64_t mantissa = exact.bits(first, top - first + 1);
  const bool half = exact.bits(first - 1, 1) != 0, beyond = exact.lowest_bit() < first - 1;
  if (half && (beyond || mantissa % 2 != 0)) ++mantissa;
  const double value = std::ldexp(static_cast<double>(mantissa), first + lowest_exponent);
  return exact.negative ? -value : value;
}

std::string ExactSum::text() const {
  const Magnitude exact = magnitude();
  if (exact.highest_bit() < 0) return "0";
  const int last = exact.lowest_bit() / 4, first = exact.highest_bit() / 4;
  std::string text = exact.negative ? "-" : "";
  for (int digit = first; digit >= last; --digit) text += "0123456789abcdef"[exact.bits(4 * digit, 4)];
  return text + "*16^" + std::to_string(last + lowest_power);
}

std::optional<ExactSum> ExactSum::from(std::string_view text) {
  const std::string_view whole = text;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t digits = std::min(text.find('*'), text.size());
  int power = 0;
  if (text == "0" && !negative) return ExactSum();
  if (!text.substr(digits).starts_with("*16^")) return std::nullopt;
  const std::string_view exponent = text.substr(digits + 4);
  const auto [end, error] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  constexpr int highest_power = lowest_power + 8 * static_cast<int>(limbs - 1);
  if (error != std::errc{} || end != exponent.data() + exponent.size() || power < lowest_power || power > highest_power)
    return std::nullopt;
  ExactSum sum;
  for (std::size_t i = 0; i < digits; ++i) {
    const std::size_t value = std::string_view("0123456789abcdef").find(text[i]);
    const auto place = static_cast<std::size_t>(power - lowest_power) + digits - 1 - i;
    if (value == std::string_view::npos || place / 8 >= limbs) return std::nullopt;
    sum.limbs_[place / 8] += (negative ? -1 : 1) * (static_cast<std::int64_t>(value) << (place % 8 * 4));
  }
  if (sum.text() != whole) return std::nullopt;
  return sum;
}

}  // namespace lastbit
