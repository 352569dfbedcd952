// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Vectors of one lane, in place of those of lanes.inc.
#include <bit>
#include <cmath>
#include <type_traits>

#include "engine/kernels/finish.hpp"
#include "lastbit/arith/binary_float.hpp"

namespace lastbit::kernels::scalar {
namespace {

/// Sums and products modulo the lane; shifts by the width or more leave nothing, or the sign.
template <class T>
struct Integer {
  static constexpr std::size_t size = 1;
  using Lane = Integer;
  using Unsigned = std::make_unsigned_t<T>;
  static constexpr T width = sizeof(T) * 8;
  T raw;
  Integer(T value = 0) : raw(value) {}
  static Lane load_unaligned(const T* at) { return {*at}; }
  void store_unaligned(T* at) const { *at = raw; }
  [[nodiscard]] Unsigned bits() const { return static_cast<Unsigned>(raw); }

  friend Lane operator+(Lane a, Lane b) { return {static_cast<T>(a.bits() + b.bits())}; }
  friend Lane operator-(Lane a, Lane b) { return {static_cast<T>(a.bits() - b.bits())}; }
  friend Lane times(Lane a, Lane b) { return {static_cast<T>(a.bits() * b.bits())}; }
  friend Lane operator&(Lane a, Lane b) { return {a.raw & b.raw}; }
  friend Lane operator|(Lane a, Lane b) { return {a.raw | b.raw}; }
  friend Lane smaller(Lane a, Lane b) { return {a.raw < b.raw ? a.raw : b.raw}; }
  friend Lane larger(Lane a, Lane b) { return {a.raw > b.raw ? a.raw : b.raw}; }
  friend Lane shift_up(Lane v, Lane by) { return {by.raw >= width ? 0 : static_cast<T>(v.bits() << by.raw)}; }
  friend Lane shift_down(Lane v, Lane by) { return {v.raw >> (by.raw >= width ? width - 1 : by.raw)}; }
  friend Lane shift_down_logical(Lane v, Lane by) { return {by.raw >= width ? 0 : static_cast<T>(v.bits() >> by.raw)}; }
  friend std::int64_t different_lanes(Lane a, Lane b, Lane&) { return a.raw != b.raw ? 1 : 0; }
  friend bool operator>(Lane a, Lane b) { return a.raw > b.raw; }
  friend Lane one_more_where(bool where, Lane n) { return {n.raw + T{where}}; }
  friend Lane chosen(bool where, Lane yes, Lane no) { return where ? yes : no; }
  friend Lane added_where(bool where, Lane n, T addend) { return {where ? n.raw + addend : n.raw}; }
  friend Lane looked_up(const T* list, Lane place) { return {list[place.raw]}; }
  friend Lane sign_of(Lane v) { return {v.raw >> (width - 1)}; }
  friend Lane one_unless_zero(Lane v) { return {v.raw != 0}; }
};
using I32 = Integer<std::int32_t>;
using I64 = Integer<std::int64_t>;

struct Words16 {
  static constexpr std::size_t together = 1;
  const std::int32_t* list;
  static Words16 load(const std::int32_t* list) { return {list}; }
};
inline I32 looked_up(Words16 words, I32 place) { return {words.list[place.raw & 15]}; }
inline I32 looked_up_below_8(Words16 words, I32 place) { return looked_up(words, place); }

template <class V, class T>
inline void store_as(V v, T* at) {
  *at = static_cast<T>(v.raw);
}

inline I64 shift_up_32(I64 v) { return shift_up(v, {32}); }
inline I64 shift_down_32(I64 v) { return shift_down(v, {32}); }
inline I64 shift_down_logical_32(I64 v) { return shift_down_logical(v, {32}); }
inline I64 low_half(I64 v) { return v & I64{0xFFFFFFFF}; }
inline I64 multiply_low_halves(I64 a, I64 b) {
  return {static_cast<std::int64_t>(static_cast<std::int32_t>(a.raw)) * static_cast<std::int32_t>(b.raw)};
}
inline I64 multiply_low_halves_unsigned(I64 a, I64 b) { return times(low_half(a), low_half(b)); }

struct Halves {
  static constexpr std::size_t count = 1;
  I64 part[count];
};
inline Halves halves_of(I32 v) { return {{{v.raw}}}; }
inline I32 merged(const Halves& v) { return {static_cast<std::int32_t>(v.part[0].raw)}; }

template <class T>
struct Real {
  static constexpr std::size_t size = 1;
  using value_type = T;  // NOLINT(readability-identifier-naming): as xsimd's
  T raw;
  Real(T value) : raw(value) {}
  static Real load_unaligned(const T* at) { return {*at}; }

  friend Real operator+(Real a, Real b) { return {a.raw + b.raw}; }
  friend Real operator-(Real a, Real b) { return {a.raw - b.raw}; }
  friend Real operator*(Real a, Real b) { return {a.raw * b.raw}; }
  friend Real smaller(Real a, Real b) { return {a.raw < b.raw ? a.raw : b.raw}; }
  friend Real larger(Real a, Real b) { return {a.raw > b.raw ? a.raw : b.raw}; }
  friend Real nearest_even(Real v) noexcept {
    return {static_cast<T>(round_to_integer(v.raw, Rounding::half_even))};
  }  // a stated rule throws nothing
  friend Real truncated(Real v) { return {static_cast<T>(static_cast<std::int64_t>(v.raw))}; }
  friend Real moved_by_one(Real whole, Real fraction, Real up, Real down) {
    const T raised = fraction.raw >= up.raw ? whole.raw + 1 : whole.raw;
    return {fraction.raw <= down.raw ? raised - 1 : raised};
  }
};
using F32 = Real<float>;
using F64 = Real<double>;

inline F32 divided(F32 a, F32 b) { return {a.raw / b.raw}; }
inline constexpr bool fuses_floats = false;
inline F32 fused(F32 a, F32 b, F32 c) { return {std::fma(a.raw, b.raw, c.raw)}; }
inline bool all_within(F32 v, float limit) { return std::abs(v.raw) < limit; }
inline F32 to_float(I32 v) { return {static_cast<float>(v.raw)}; }
inline I32 to_integer(F32 v) { return {static_cast<std::int32_t>(v.raw)}; }
template <bool away_from_zero>
inline I32 whole_product(F32 a, F32 b);  // is for paths whose fused is an instruction
inline F32 as_float(I32 v) { return {std::bit_cast<float>(v.raw)}; }
inline F64 two_less_where_raised_below_zero(F64 whole, F64 x) { return {x.raw < 0 && whole.raw > x.raw ? whole.raw - 2 : whole.raw}; }
inline F64 to_single(F64 v) { return {static_cast<double>(static_cast<float>(v.raw))}; }
inline F64 double_of(I64 v) { return {static_cast<double>(v.raw)}; }
inline I64 integer_of(F64 v) { return {static_cast<std::int64_t>(v.raw)}; }

struct Doubles {
  static constexpr std::size_t count = 1;
  F64 part[count];
};
inline Doubles doubles_of(I32 v) { return {{{static_cast<double>(v.raw)}}}; }
inline Doubles doubles_of(F32 v) { return {{{static_cast<double>(v.raw)}}}; }
inline I32 integers_of(const Doubles& v) { return {static_cast<std::int32_t>(v.part[0].raw)}; }

#include "engine/kernels/finish_steps.inc"

#include "engine/kernels/float_codes.inc"

}  // namespace

void finish(const FinishPlan& plan, const FinishWork& work) { run_plan(plan, work); }
const FloatCodeKernels float_codes{sum_in_float, product_in_float, codes_from_float};

}  // namespace lastbit::kernels::scalar
