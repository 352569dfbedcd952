// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The exact sum of any finite doubles: a fixed-point number as wide as double's whole range, so the order and the grouping of the additions
// do not matter. The product of two float32 is a double, so sums of such products are exact as well.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastbit {

/// Limb i counts in 2^(32 i - 1076). A double covers three of them; each takes up to 32 bits of it, with its sign, and the carries wait
/// until 2^30 of them might fill the limb. The limbs above the largest double leave room for 2^64 additions and more.
class ExactSum {
 public:
  /// `value` must be finite.
  void add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto exponent = static_cast<std::uint32_t>(bits >> 52) & 0x7FF;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | (std::uint64_t{1} << 52);
    const std::uint32_t position = (exponent == 0 ? 0 : exponent - 1) + 2;  // of its lowest bit: 2^(position - 1076)
    const std::uint32_t shift = position % 32;
    const std::uint64_t low = mantissa << shift;                           // bits 0 … 63 of 85
    const std::uint64_t high = shift == 0 ? 0 : mantissa >> (64 - shift);  // the others
    const auto sign = -static_cast<std::int64_t>(bits >> 63);              // 0, or all ones: (x ^ sign) - sign negates
    std::int64_t* const limb = &limbs_[position / 32];
    limb[0] += (static_cast<std::int64_t>(low & 0xFFFFFFFF) ^ sign) - sign;
    limb[1] += (static_cast<std::int64_t>(low >> 32) ^ sign) - sign;
    limb[2] += (static_cast<std::int64_t>(high) ^ sign) - sign;
    if (++pending_ == most_pending) carry();
  }
  void add(const ExactSum& other) { add_multiple(other, 1); }
  /// -4 <= factor <= 4.
  void add_multiple(const ExactSum& other, int factor);

  /// Of the exact value, half to even; infinite beyond double's range.
  [[nodiscard]] double to_double() const;

  /// "-1af*16^-20", "0": hexadecimal digits, the last of which is not 0, and what they count in. One text per value.
  [[nodiscard]] std::string text() const;
  /// Nothing where the text is no number in this form, or too large.
  [[nodiscard]] static std::optional<ExactSum> from(std::string_view text);

  friend bool operator==(const ExactSum& a, const ExactSum& b) { return a.canonical() == b.canonical(); }

 private:
  static constexpr std::size_t limbs = 68;
  static constexpr std::int32_t most_pending = 1 << 30;
  using Limbs = std::array<std::int64_t, limbs>;
  struct Magnitude;

  void carry();
  /// Every limb but the last in [0, 2^32).
  [[nodiscard]] Limbs canonical() const;
  [[nodiscard]] Magnitude magnitude() const;

  Limbs limbs_{};
  std::int32_t pending_ = 0;
};

}  // namespace lastbit
