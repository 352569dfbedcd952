// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A sum in a device's width. Contract, for terms t1, t2, … in the device's order:
//   1. the running sum starts at the start value (the bias, or 0), narrowed as in 3;
//   2. terms are added exactly;
//   3. after every term, after every `tile` terms, or only after the last one (`when`), the running sum is narrowed to `bits` by `overflow`.
// A term is a product of two values of at most 16 bits; the sum itself has 128 bits, so that a 64-bit accumulator can leave its width too.
// An exact sum is kept as far as 64 bits reach; there the result saturates.
#pragma once

#include <cstdint>

#include "lastbit/arith/overflow.hpp"

namespace lastbit {

enum class NarrowingPoint : std::uint8_t { every_add, every_tile, at_end };

struct AccumulatorRule {
  std::uint8_t bits = 32;
  Overflow overflow = Overflow::wrap;
  NarrowingPoint when = NarrowingPoint::every_add;
  std::uint32_t tile = 0;  ///< terms between two narrowings; read for every_tile only

  friend constexpr bool operator==(const AccumulatorRule&, const AccumulatorRule&) = default;
};

/// True if the order of the terms and the points of narrowing cannot change the result: modular sums, and sums narrowed once.
[[nodiscard]] constexpr bool is_order_independent(const AccumulatorRule& rule) noexcept {
  return rule.overflow == Overflow::wrap || rule.overflow == Overflow::exact || rule.when == NarrowingPoint::at_end;
}

class Accumulator {
 public:
  constexpr Accumulator(const AccumulatorRule& rule, std::int64_t start) noexcept : rule_(rule), sum_(start) {
    if (rule_.when != NarrowingPoint::at_end) settle();
  }

  constexpr void add(std::int64_t term) noexcept {
    sum_ += term;
    ++terms_;
    if (rule_.when == NarrowingPoint::every_add || (rule_.when == NarrowingPoint::every_tile && terms_ % rule_.tile == 0)) settle();
  }

  [[nodiscard]] constexpr std::int64_t result() noexcept {
    settle();
    return narrow_saturate(sum_, 64);
  }
  /// How often the running sum left the width.
  [[nodiscard]] constexpr std::int64_t overflow_count() const noexcept { return overflows_; }

 private:
  constexpr void settle() noexcept {
    if (fits_width(sum_, rule_.bits)) return;
    ++overflows_;
    if (rule_.overflow != Overflow::exact) sum_ = narrow(sum_, rule_.bits, rule_.overflow);
  }

  AccumulatorRule rule_;
  Int128 sum_;
  std::int64_t terms_ = 0;
  std::int64_t overflows_ = 0;
};

}  // namespace lastbit
