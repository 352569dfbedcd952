// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What happens to a value that leaves its width.
#pragma once

#include <cstdint>

#include "lastbit/arith/integer.hpp"

namespace lastbit {

/// wrap: two's complement, modulo 2^bits. saturate: the nearest value of the width. exact: the value is kept, as far as 64 bits reach, and
/// reported as an error event.
enum class Overflow : std::uint8_t { wrap, saturate, exact };

template <SignedInteger T>
[[nodiscard]] constexpr std::int64_t narrow(T value, int bits, Overflow rule) {
  switch (rule) {
    case Overflow::wrap: return narrow_wrap(value, bits);
    case Overflow::saturate: return narrow_saturate(value, bits);
    case Overflow::exact: return narrow_saturate(value, 64);
  }
  refuse_unstated("narrow", "overflow");
}

}  // namespace lastbit
