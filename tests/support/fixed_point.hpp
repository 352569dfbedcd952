// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Oracles for fixed-point code, from the definitions in 128 bits, and a hash that pins recorded values without listing them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lastbit/arith/integer.hpp"
#include "lastbit/arith/multiplier.hpp"

namespace lastbit::test {

/// floor(numerator / 2^amount + 1/2) and its mirrored form, from the definition.
constexpr Int128 half_up_oracle(Int128 numerator, int amount) {
  const Int128 shifted = 2 * numerator + (Int128{1} << amount);
  const Int128 divisor = Int128{1} << (amount + 1);
  return shifted / divisor - static_cast<Int128>(shifted % divisor < 0);
}
constexpr Int128 half_away_oracle(Int128 numerator, int amount) {
  return numerator < 0 ? -half_up_oracle(-numerator, amount) : half_up_oracle(numerator, amount);
}

/// The devices' requantisation as a function object. Twice: left shift, half_up at 31 bits, half_away for the rest of the shift.
inline auto rescale_twice_by(const EncodedScale& scale) {
  return [scale](std::int32_t value) {
    const int left = std::max(scale.exponent, 0);
    const Int128 high = half_up_oracle((Int128{value} << left) * scale.multiplier, scale.fraction_bits);
    return static_cast<std::int64_t>(half_away_oracle(high, left - scale.exponent));
  };
}
/// Once: half_up of the exact product.
inline auto rescale_once_by(const EncodedScale& scale) {
  return [scale](std::int32_t value) {
    return static_cast<std::int64_t>(half_up_oracle(Int128{value} * scale.multiplier, scale.fraction_bits - scale.exponent));
  };
}

/// FNV-1a over the low 16 bits of each value: pins recorded outputs without listing them.
std::uint64_t hash_of_range(int first, int last, auto&& value_at) {
  std::uint64_t hash = 14695981039346656037U;
  for (int i = first; i <= last; ++i) hash = (hash ^ static_cast<std::uint16_t>(value_at(i))) * 1099511628211U;
  return hash;
}
std::uint64_t hash_of(const auto& table) {
  return hash_of_range(0, static_cast<int>(table.size()) - 1, [&](int i) { return table[static_cast<std::size_t>(i)]; });
}

}  // namespace lastbit::test
