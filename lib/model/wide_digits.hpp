// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Integers of 128 bits as decimal text, which the standard library does not write.
#pragma once

#include <string>

#include "lastbit/arith/integer.hpp"

namespace lastbit {

[[nodiscard]] inline std::string digits_of(Int128 value) {
  UInt128 rest = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  std::string text;
  do text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  while ((rest /= 10) != 0);
  return value < 0 ? "-" + text : text;
}

}  // namespace lastbit
