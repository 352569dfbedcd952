// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A sum in a device's width. Contract, for terms t1, t2, … in the device's order, multiplied by the row's multiplier m (1 for most layers):
//   1. the running sum starts at the start value (the bias, or 0), narrowed as in 3;
//   2. m * t is added exactly; with partial sums, terms are first added up, that sum is narrowed to the partial sums' own bits by their own
//      overflow rule, and then m * it is added exactly;
//   3. after every term, after every `tile` terms, or only after the last one (`when`), the running sum is narrowed to `bits` by `overflow`.
//      A tile ends the partial sum as well.
// A term is a product of two values of at most 16 bits; the sum itself has 128 bits, so that a 64-bit accumulator can leave its width too.
// An exact sum is kept as far as 64 bits reach; there the result saturates.
//
// Partial sums are what vector instructions make of a sum. Terms come in runs that lie side by side in memory (a row of a filter, a row of
// a matrix). In a run, n consecutive terms form a partial sum, counted from the start of the run or tile. What is left behind the last whole
// vector of `vector` terms is the run's tail (vector 0: there is none): its terms are added exactly, or form one partial sum, or are dropped.
// With `emptied` above 0 partial sums do not go into the accumulator one by one: each is added to a second sum of the same bits and overflow
// rule, and that one goes into the accumulator after so many terms of a run, and at the end of the run or tile.
// consecutive_codes: the products in a partial sum are those of the codes as they are, and a run is what one position of the kernel holds. What a
// product of codes has more than its term is taken off the accumulator, exactly. kernel_codes: likewise, but the whole kernel is one run, in which
// a tap in the padding has the zero point's code: its term is 0, its product is not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "lastbit/arith/overflow.hpp"
#include "lastbit/arith/unstated.hpp"

namespace lastbit {

enum class NarrowingPoint : std::uint8_t { every_add, every_tile, at_end };

/// The most vectors that any device processes together.
inline constexpr std::size_t largest_group = 8;

/// A number of terms for every number of vectors processed together, 1 to 8: the more vectors share a buffer, the shorter their part of it.
struct TermsByGroup {
  std::array<std::uint32_t, largest_group> terms{};

  constexpr TermsByGroup() = default;
  /// The same however many vectors there are.
  constexpr TermsByGroup(std::uint32_t always) { terms.fill(always); }  // NOLINT(google-explicit-constructor): a number is the usual table
  constexpr TermsByGroup(const std::array<std::uint32_t, largest_group>& table) : terms(table) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] constexpr std::uint32_t operator()(std::size_t group) const { return terms[group - 1]; }
  friend constexpr bool operator==(const TermsByGroup&, const TermsByGroup&) = default;
};

/// absent: every term is added by itself. consecutive_terms: terms that lie side by side form partial sums. consecutive_codes: products of codes
/// at one position of the kernel do, no zero point subtracted. kernel_codes: those of the whole kernel do, row by row, padding among them.
enum class PartialMethod : std::uint8_t { absent, consecutive_terms, consecutive_codes, kernel_codes };
enum class PartialTail : std::uint8_t { exact, one_sum, dropped };

/// A rule: terms are first added in a narrower register, groups at a time.
struct PartialSums {
  PartialMethod method = PartialMethod::absent;
  TermsByGroup terms{2};    ///< of one partial sum
  std::uint8_t vector = 0;  ///< terms of a vector
  PartialTail tail = PartialTail::exact;
  std::uint8_t bits = 32;
  Overflow overflow = Overflow::wrap;
  std::uint16_t emptied = 0;  ///< terms that a second sum takes in; 0: there is none
  friend constexpr bool operator==(const PartialSums&, const PartialSums&) = default;
};

/// A device's accumulator: width in bits, what happens to a sum that leaves it, and when that is looked at.
struct AccumulatorRule {
  std::uint8_t bits = 0;
  Overflow overflow = unstated<Overflow>;
  NarrowingPoint when = unstated<NarrowingPoint>;
  TermsByGroup tile{};  ///< terms between two narrowings; read for every_tile only
  PartialSums partial{};

  friend constexpr bool operator==(const AccumulatorRule&, const AccumulatorRule&) = default;
};

[[nodiscard]] constexpr bool has_partial_sums(const AccumulatorRule& rule) noexcept { return rule.partial.method != PartialMethod::absent; }
/// Whether a partial sum may cross positions of the kernel, and padding takes part.
[[nodiscard]] constexpr bool sums_kernels(const AccumulatorRule& rule) noexcept {
  return rule.partial.method == PartialMethod::kernel_codes;
}
/// Whether these are sums of products of codes as they are.
[[nodiscard]] constexpr bool sums_codes(const AccumulatorRule& rule) noexcept {
  return rule.partial.method == PartialMethod::consecutive_codes || sums_kernels(rule);
}

/// Refuses a rule that leaves out its width, what becomes of a sum beyond it, or when that is looked at.
constexpr void require_stated(const AccumulatorRule& rule) {
  if (rule.bits == 0) refuse_unstated("accumulator", "bits");
  stated_width(rule.bits, "accumulator");
  stated(rule.overflow, "accumulator", "overflow");
  stated(rule.when, "accumulator", "when");
  if (!has_partial_sums(rule)) return;
  stated_width(rule.partial.bits, "accumulator: partial");
  stated(rule.partial.overflow, "accumulator: partial", "overflow");
  stated(rule.partial.tail, "accumulator: partial", "tail");
}

/// True if the order of the terms and the points of narrowing cannot change the result: modular sums, and sums narrowed once.
[[nodiscard]] constexpr bool is_order_independent(const AccumulatorRule& rule) noexcept {
  const bool once = rule.overflow == Overflow::wrap || rule.overflow == Overflow::exact || rule.when == NarrowingPoint::at_end;
  return once && !has_partial_sums(rule);
}

/// The running sum of one output by an AccumulatorRule.
class Accumulator {
 public:
  /// `group`: how many vectors are processed together, this one among them. `multiplier`: below 2^31, as its products with terms fit 64 bits.
  constexpr Accumulator(const AccumulatorRule& rule, std::int64_t start, std::size_t group = 1, std::int64_t multiplier = 1)
      : sum_(start),
        multiplier_(multiplier),
        period_(period_of(rule, group)),
        to_settling_(period_),
        partial_terms_(has_partial_sums(rule) ? rule.partial.terms(group) : 0),
        partial_rule_(rule.partial),
        overflow_(rule.overflow),
        bits_(rule.bits) {
    require_stated(rule);
    if (period_ != never) settle();
  }

  /// A new run of `length` terms. Only partial sums notice.
  constexpr void begin_run(std::int64_t length) noexcept {
    empty();
    before_tail_ = length - (partial_rule_.vector == 0 ? 0 : length % partial_rule_.vector);
  }

  /// `beyond`: what the product of the codes has more than the term, where partial sums are of codes.
  constexpr void add(std::int64_t term, std::int64_t beyond = 0) noexcept {
    if (partial_terms_ == 0) sum_ += term * multiplier_;
    else add_to_partial(term, beyond);
    if (--to_settling_ == 0) settle();
  }

  /// A value that is no product, such as a bias that comes last.
  constexpr void add_beside(std::int64_t value) noexcept {
    sum_ += value;
    if (--to_settling_ == 0) settle();
  }

  [[nodiscard]] constexpr std::int64_t result() noexcept {
    settle();
    return narrow_saturate(sum_, 64);
  }
  /// How often the running sum left the width.
  [[nodiscard]] constexpr std::int64_t overflow_count() const noexcept { return overflows_; }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  static constexpr std::int64_t period_of(const AccumulatorRule& rule, std::size_t group) noexcept {
    return rule.when == NarrowingPoint::every_add ? 1 : rule.when == NarrowingPoint::every_tile ? rule.tile(group) : never;
  }

  constexpr void add_to_partial(std::int64_t term, std::int64_t beyond) noexcept {
    const bool in_tail = before_tail_ == 0;
    if (in_tail && partial_rule_.tail == PartialTail::dropped) return;
    if (in_tail && partial_rule_.tail == PartialTail::exact) {
      sum_ += term * multiplier_;
      return;
    }
    if (!in_tail) --before_tail_;
    partial_ += term + beyond;
    sum_ -= beyond * multiplier_;
    const bool is_last = !in_tail && (++in_partial_ == partial_terms_ || before_tail_ == 0);
    if (is_last) flush();
    if (partial_rule_.emptied > 0 && ++in_second_ == partial_rule_.emptied) empty();
  }

  /// The partial sum goes on into the accumulator, or into the second sum.
  constexpr void flush() noexcept {
    const std::int64_t partial = narrow(partial_, partial_rule_.bits, partial_rule_.overflow);
    if (partial_rule_.emptied == 0) sum_ += partial * multiplier_;
    else second_ = narrow(second_ + partial, partial_rule_.bits, partial_rule_.overflow);
    partial_ = 0;
    in_partial_ = 0;
  }

  /// Both go into the accumulator.
  constexpr void empty() noexcept {
    if (partial_terms_ == 0) return;
    flush();
    sum_ += second_ * multiplier_;
    second_ = 0;
    in_second_ = 0;
  }

  constexpr void settle() noexcept {
    empty();
    to_settling_ = period_;
    if (fits_width(sum_, bits_)) return;
    ++overflows_;
    if (overflow_ != Overflow::exact) sum_ = narrow(sum_, bits_, overflow_);
  }

  Int128 sum_;
  std::int64_t multiplier_;
  std::int64_t period_;  ///< terms between two narrowings
  std::int64_t to_settling_;
  std::int64_t partial_terms_;
  std::int64_t partial_ = 0;  ///< exact: a run is shorter than 2^32 terms
  std::int64_t in_partial_ = 0;
  std::int64_t second_ = 0, in_second_ = 0;
  std::int64_t before_tail_ = never;  ///< terms still to come that do not belong to the run's tail
  std::int64_t overflows_ = 0;
  PartialSums partial_rule_;
  Overflow overflow_;
  std::uint8_t bits_;
};

}  // namespace lastbit
