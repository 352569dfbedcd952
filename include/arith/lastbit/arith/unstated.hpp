// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a rule holds until it is stated. No device computes by it: require_stated (rules.hpp) refuses a sheet that reads one, and whatever computes by
// a rule refuses it too. In a constant expression that does not compile; at run time it is an Error(unknown_rule) that names the rule.
#pragma once

#include <string>
#include <type_traits>

#include "lastbit/error.hpp"

namespace lastbit {

template <class E>
requires std::is_enum_v<E>
inline constexpr E unstated = static_cast<E>(0xFF);

[[noreturn]] inline void refuse_unstated(const char* of, const char* rule) {
  throw Error(ErrorCode::unknown_rule, of, std::string(rule) + " is not stated, and no rule has a default");
}
/// The rule, which must be stated.
template <class E>
constexpr E stated(E value, const char* of, const char* rule) {
  if (value == unstated<E>) refuse_unstated(of, rule);
  return value;
}

[[noreturn]] inline void refuse_width(const char* of, int bits) {
  throw Error(ErrorCode::unknown_rule, of, "a width of " + std::to_string(bits) + " bits; 1 to 64 are allowed");
}
/// A width, which must be 1 to 64 bits.
constexpr int stated_width(int bits, const char* of) {
  if (bits < 1 || bits > 64) refuse_width(of, bits);
  return bits;
}

}  // namespace lastbit
