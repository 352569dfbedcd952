// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A chain of stages in machine words, many values at a time. ExactMachine (arith/rescale.hpp) defines every step in 128 bits; here each is a loop over
// words of 64, which compilers make vectors of. That the words hold every value on the way is proven first, by the range of the values (WordRange).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "lastbit/arith/rescale.hpp"

namespace lastbit::core {

template <std::size_t count>
using Words = std::array<std::int64_t, count>;

/// v / 2^places for places from 0 to 62 and |v| up to 2^62: v plus a bias, and plus `extra` where the sign or the parity says so, shifted.
template <std::size_t count>
constexpr void shift_words(Words<count>& words, int places, Rounding rounding) noexcept {
  const std::int64_t unit = std::int64_t{1} << places, mask = unit - 1, half = unit / 2, one = half == 0 ? 0 : 1;
  const auto plain = [&](std::int64_t bias) {
    for (std::int64_t& v : words) v = (v + bias) >> places;
  };
  const auto by_sign = [&](std::int64_t bias, std::int64_t extra) {
    for (std::int64_t& v : words) v = (v + bias + ((v >> 63) & extra)) >> places;
  };
  switch (rounding) {
    case Rounding::floor: return plain(0);
    case Rounding::ceil: return plain(mask);
    case Rounding::half_up: return plain(half);
    case Rounding::half_down: return plain(half - one);
    case Rounding::toward_zero: return by_sign(0, mask);
    case Rounding::half_away: return by_sign(half, -one);
    case Rounding::half_toward_zero: return by_sign(half - one, one);
    case Rounding::half_even:
      for (std::int64_t& v : words) v = (v + half - one + ((v >> places) & one)) >> places;
      return;
    case Rounding::to_odd:
      for (std::int64_t& v : words) v = (v >> places) | ((v & mask) != 0 ? 1 : 0);
      return;
  }
}
template <std::size_t count>
constexpr void scale_words(Words<count>& words, std::int64_t factor) noexcept {
  for (std::int64_t& v : words) v *= factor;
}
template <std::size_t count>
constexpr void add_to_words(Words<count>& words, std::int64_t above, std::int64_t below) noexcept {
  for (std::int64_t& v : words) v += v < 0 ? below : above;
}
template <std::size_t count>
constexpr void clamp_words(Words<count>& words, std::int64_t low, std::int64_t high) noexcept {
  for (std::int64_t& v : words) v = std::min(std::max(v, low), high);
}
template <std::size_t count>
constexpr void narrow_words(Words<count>& words, int bits, Overflow overflow) noexcept {
  if (overflow == Overflow::exact || bits >= 64) return;
  if (overflow == Overflow::saturate) return clamp_words(words, min_of_width(bits), max_of_width(bits));
  for (std::int64_t& v : words) v = narrow_wrap(v, bits);
}

/// Numbers below 2^62 in magnitude as integers: round_to_integer without taking them apart.
template <std::size_t count>
constexpr void round_to_words(const std::array<double, count>& values, Words<count>& words, Rounding rounding) noexcept {
  with_rounding(rounding, [&]<Rounding rule>() {
    for (std::size_t i = 0; i < count; ++i) {
      const double value = values[i];
      const auto whole = static_cast<std::int64_t>(value);
      const double rest = value - static_cast<double>(whole), size = rest < 0 ? -rest : rest;  // exact
      const std::int64_t floor = whole - (rest < 0 ? 1 : 0);
      const Fraction fraction = size == 0                    ? Fraction::zero
                                : size == 0.5                ? Fraction::half
                                : (size < 0.5) == (rest > 0) ? Fraction::below_half
                                                             : Fraction::above_half;
      words[i] = floor + (rounds_up(rule, fraction, value < 0, (floor & 1) != 0) ? 1 : 0);
    }
  });
}

/// The machine over words whose range is proven.
template <std::size_t count>
class WordBlock {
 public:
  constexpr WordBlock(Words<count>& words, const RescaleOperands& operands) noexcept : words_(&words), operands_(&operands) {}

  constexpr bool shift_left(auto&& places) noexcept { return scaled(std::int64_t{1} << places(*operands_)); }
  constexpr bool multiply(auto&& factor) noexcept { return scaled(factor(*operands_)); }
  constexpr bool shift_right(auto&& amount, Rounding rounding) noexcept {
    const int places = amount(*operands_, fraction_bits_);
    if (places < 0) return scaled(std::int64_t{1} << -places);
    shift_words(*words_, places, rounding);
    return true;
  }
  constexpr bool add(auto&& addend) noexcept {
    const auto each = static_cast<std::int64_t>(addend(*operands_, fraction_bits_));
    add_to_words(*words_, each, each);
    return true;
  }
  constexpr bool add_by_sign(auto&& addends) noexcept {
    const auto [above, below] = addends(*operands_, fraction_bits_);
    add_to_words(*words_, static_cast<std::int64_t>(above), static_cast<std::int64_t>(below));
    return true;
  }
  constexpr bool add_and_narrow(auto&& addend, int bits, Overflow overflow) noexcept { return add(addend) && narrow(bits, overflow); }
  constexpr bool narrow(int bits, Overflow overflow) noexcept {
    narrow_words(*words_, bits, overflow);
    return true;
  }
  constexpr bool clamp(auto&& bounds) noexcept {
    const StageBounds within = bounds(*operands_);
    clamp_words(*words_, narrow_saturate(within.low, 64), narrow_saturate(within.high, 64));
    return true;
  }
  constexpr bool scale_in_float(auto&& real, Rounding rounding) noexcept {
    std::array<double, count> values{};
    for (std::size_t i = 0; i < count; ++i) values[i] = real((*words_)[i], *operands_);
    round_to_words(values, *words_, rounding);
    return true;
  }
  constexpr bool divide(auto&& divisor, Rounding rounding) noexcept {
    const std::int64_t by = divisor(*operands_);
    for (std::int64_t& v : *words_) v = lastbit::divide(v, by, rounding);
    return true;
  }
  constexpr bool piecewise(auto&&, auto&&, auto&&) noexcept { return true; }  // it does not act: WordRange
  constexpr bool look_up(auto&&) noexcept { return false; }
  constexpr bool binary_point(auto&& fraction_bits) noexcept {
    fraction_bits_ = fraction_bits(*operands_, fraction_bits_);
    return true;
  }

 private:
  constexpr bool scaled(std::int64_t factor) noexcept {
    if (count == 1 || factor != 1) scale_words(*words_, factor);
    return true;
  }

  Words<count>* words_;
  const RescaleOperands* operands_;
  int fraction_bits_ = 0;
};

/// The machine over the least and the largest value: a step that it has keeps all between them within 2^62, where a word holds what rounding adds.
/// It refuses a rule that is not stated, so that blocks need not ask.
class WordRange {
 public:
  constexpr WordRange(std::int64_t low, std::int64_t high, const RescaleOperands& operands) noexcept
      : low_(low), high_(high), operands_(&operands) {}

  constexpr bool shift_left(auto&& places) { return scaled(Int128{1} << places(*operands_)); }
  constexpr bool multiply(auto&& factor) { return scaled(factor(*operands_)); }
  constexpr bool shift_right(auto&& amount, Rounding rounding) {
    stated(rounding, "shift_right", "rounding");
    const int places = amount(*operands_, fraction_bits_);
    if (places < 0) return places > -62 && scaled(Int128{1} << -places);
    return places <= 62 && put(lastbit::shift_right(low_, places, rounding), lastbit::shift_right(high_, places, rounding));
  }
  constexpr bool add(auto&& addend) {
    const Int128 each = addend(*operands_, fraction_bits_);
    return added(each, each);
  }
  constexpr bool add_by_sign(auto&& addends) {
    const auto [above, below] = addends(*operands_, fraction_bits_);
    return added(std::min(above, below), std::max(above, below));
  }
  constexpr bool add_and_narrow(auto&& addend, int bits, Overflow overflow) { return add(addend) && narrow(bits, overflow); }
  constexpr bool narrow(int bits, Overflow overflow) {
    stated(overflow, "narrow", "overflow");
    if (overflow == Overflow::exact || (fits_width(low_, bits) && fits_width(high_, bits))) return true;
    if (overflow == Overflow::wrap) return put(min_of_width(bits), max_of_width(bits));
    return put(narrow_saturate(low_, bits), narrow_saturate(high_, bits));
  }
  constexpr bool clamp(auto&& bounds) {
    const StageBounds within = bounds(*operands_);
    return within.low <= within.high && put(std::clamp(low_, within.low, within.high), std::clamp(high_, within.low, within.high));
  }
  constexpr bool scale_in_float(auto&& real, Rounding rounding) {
    stated(rounding, "stage", "rounding");
    const auto end = [&](Int128 v) { return Int128{round_to_integer(real(static_cast<std::int64_t>(v), *operands_), rounding)}; };
    const Int128 low = end(low_), high = end(high_), most = max_of_width(62);
    return low >= -most && high <= most && put(low, high);
  }
  constexpr bool divide(auto&& divisor, Rounding rounding) {
    const Int128 by = divisor(*operands_);
    return by > 0 && put(lastbit::divide(low_, by, rounding), lastbit::divide(high_, by, rounding));
  }
  constexpr bool piecewise(auto&& acts, auto&&, auto&&) { return !acts(*operands_); }
  constexpr bool look_up(auto&&) { return false; }
  constexpr bool binary_point(auto&& fraction_bits) {
    fraction_bits_ = fraction_bits(*operands_, fraction_bits_);
    return true;
  }

 private:
  static constexpr Int128 limit = Int128{1} << 62;

  constexpr bool put(Int128 low, Int128 high) noexcept {
    low_ = low, high_ = high;
    return low <= high && low >= -limit && high <= limit;
  }
  constexpr bool scaled(Int128 factor) noexcept {
    const Int128 a = low_ * factor, b = high_ * factor;  // both factors are within 2^63
    return put(std::min(a, b), std::max(a, b));
  }
  constexpr bool added(Int128 least, Int128 most) noexcept { return least >= -limit && most <= limit && put(low_ + least, high_ + most); }

  Int128 low_, high_;
  const RescaleOperands* operands_;
  int fraction_bits_ = 0;
};

/// The stages in the steps of a machine, of a chain that is given and of one that is known to the compiler; false where the machine lacks one.
template <class Machine>
constexpr bool run_chain(const Chain& chain, Machine& machine) {
  for (const Stage& stage : chain) {
    if (!run(stage, machine)) return false;
  }
  return true;
}
template <Chain chain, class Machine>
constexpr bool run_chain(Machine& machine) {
  return [&]<std::size_t... stage>(std::index_sequence<stage...>) {
    return (StageOf<chain.stages[stage].kind>::run(machine, chain.stages[stage]) && ...);
  }
  (std::make_index_sequence<chain.size>{});
}

/// Codes of sums, so many at a time; with one at a time the stages become one loop, where the compiler inlines all of them.
template <std::size_t together, class Y>
constexpr void finish_in_words(const RescaleOperands& given, std::span<const std::int32_t> sums, Y* codes, auto&& stages) {
  const RescaleOperands operands = given;  // of its own: no code that is stored changes it
  for (std::size_t first = 0; first < sums.size(); first += together) {
    const std::size_t count = std::min(sums.size() - first, together);
    Words<together> words{};
    for (std::size_t i = 0; i < count; ++i) words[i] = sums[first + i];
    WordBlock<together> block(words, operands);
    stages(block);
    for (std::size_t i = 0; i < count; ++i) codes[first + i] = static_cast<Y>(words[i]);
  }
}
template <class Y>
constexpr void finish_by_list(const Chain& chain, const RescaleOperands& operands, std::span<const std::int32_t> sums, Y* codes) {
  finish_in_words<64>(operands, sums, codes, [&chain](auto& block) { run_chain(chain, block); });
}
#ifdef __clang__
inline constexpr std::size_t known_together = 64;  // it does not
#else
inline constexpr std::size_t known_together = 1;
#endif
template <Chain chain, class Y>
[[gnu::flatten]] constexpr void finish_unrolled(const Chain&, const RescaleOperands& operands, std::span<const std::int32_t> sums,
                                                Y* codes) {
  finish_in_words<known_together>(operands, sums, codes, [](auto& block) { run_chain<chain>(block); });
}

/// From sums to codes by a chain: whether words hold all that it makes of sums from `low` to `high`, and the codes of such sums.
template <class Y>
struct Finish {
  bool (*holds)(const Chain& chain, const RescaleOperands& operands, std::int64_t low, std::int64_t high);
  void (*codes)(const Chain& chain, const RescaleOperands& operands, std::span<const std::int32_t> sums, Y* codes);
};

constexpr bool words_hold(const Chain& chain, const RescaleOperands& operands, std::int64_t low, std::int64_t high) {
  WordRange range(std::min<std::int64_t>(low, 0), std::max<std::int64_t>(high, 0), operands);
  return run_chain(chain, range);
}
template <Chain chain>
constexpr bool words_hold(const Chain&, const RescaleOperands& operands, std::int64_t low, std::int64_t high) {
  WordRange range(std::min<std::int64_t>(low, 0), std::max<std::int64_t>(high, 0), operands);
  return run_chain<chain>(range);
}

/// Of any chain, and of this one.
template <class Y>
inline constexpr Finish<Y> finish_given{&words_hold, &finish_by_list<Y>};
template <Chain chain, class Y>
inline constexpr Finish<Y> finish_known{&words_hold<chain>, &finish_unrolled<chain, Y>};

/// One value, in 128 bits.
[[gnu::noinline]] constexpr std::int64_t finish_exactly(const Chain& chain, std::int64_t sum, const RescaleOperands& operands) {
  return finish(chain, sum, operands);
}

/// Codes of any sums.
template <class Y>
constexpr void finish_all(const Finish<Y>& by, const Chain& chain, const RescaleOperands& operands, std::span<const std::int32_t> sums,
                          Y* codes) {
  if (by.holds(chain, operands, min_of_width(32), max_of_width(32))) return by.codes(chain, operands, sums, codes);
  for (std::size_t i = 0; i < sums.size(); ++i) codes[i] = static_cast<Y>(finish_exactly(chain, sums[i], operands));
}

}  // namespace lastbit::core
