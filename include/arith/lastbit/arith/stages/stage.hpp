// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a stage of a rescaling chain is. Each kind is described in one file, stages/<kind>.hpp, by a specialisation of StageOf:
//
//   facts  what other parts of the library ask of it, as data (StageFacts)
//   run    what it does, in the steps of a machine
//   write  its formula                          (lib/sheet/chain_text.cpp has the words)
//   tell   what a hidden device's stage tells   (lib/analysis/identify/coordinates.cpp has the words)
//
// A machine has these steps; ExactMachine (rescale.hpp) computes a value with them, the engine's planner a vector step and its range, and
// analyses read off them where a value is rounded. What a step needs to know of a layer it asks by a function of the operands (o) and the
// places f below the binary point that earlier stages have added. A step says whether the machine has it; ExactMachine has every step.
//
//   shift_left(o)                      v * 2^places
//   multiply(o)                        v * factor
//   shift_right(o, f; rounding)        v / 2^amount; a negative amount is a shift left
//   add(o, f)                          v + addend
//   add_by_sign(o, f)                  v + the first addend, of v < 0 the second
//   add_and_narrow(o, f; bits, overflow)  v + addend, to `bits` by `overflow`
//   narrow(; bits, overflow)           to `bits` by `overflow`
//   clamp(o)                           into the bounds
//   scale_in_float(v, o; rounding)     a real number, rounded to an integer
//   divide(o; rounding)                v / divisor, an integer above 0: no vectors
//   piecewise(o; piece, v, o)          where it acts, a function that rises or falls all through each piece: no vectors then
//   look_up(v, o)                      any other function: vectors where it is in segments
//   binary_point(o, f)                 the places from here on
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "lastbit/arith/multiplier.hpp"
#include "lastbit/arith/overflow.hpp"
#include "lastbit/arith/pwl.hpp"
#include "lastbit/arith/rounding.hpp"
#include "lastbit/arith/scale_segment.hpp"
#include "lastbit/arith/table.hpp"
#include "lastbit/arith/unstated.hpp"

namespace lastbit {

// clang-format off
enum class StageKind : std::uint8_t {
  shift_left, multiply, doubling_high_multiply, two_term_shift, shift_right, float_scale, narrow, relu, add_zero_point, clamp, table, pwl,
  add_half, clamp_accumulator, clamp_to_type, shift_right_with_zero_point, float_scale_with_zero_point,
  shift_left_by, divide, absolute, add_offset, add_converter_offset, multiply_by_converter,
  scale_below_zero, shift_right_by_sign, add_half_by_sign, segments,
};
// clang-format on
inline constexpr std::size_t stage_kinds = static_cast<std::size_t>(StageKind::segments) + 1;

enum class ShiftAmount : std::uint8_t { remaining, negative_exponent, constant, fraction, excess, rest, converter };

/// In which float type a stage multiplies.
enum class ProductArithmetic : std::uint8_t { f64, f32 };

/// A rule: a constant of the device. What a layer brings comes in through RescaleOperands. A member that the kind reads must be stated; the others stay as
/// they are here.
struct Stage {
  StageKind kind = StageKind::clamp;
  Rounding rounding = unstated<Rounding>;
  Overflow overflow = unstated<Overflow>;
  std::uint8_t bits = 0;
  ShiftAmount amount = ShiftAmount::remaining;
  std::uint8_t constant = 0;
  std::uint8_t limit = 0;  ///< largest shift, read by excess and rest; most segments
  ProductArithmetic arithmetic = unstated<ProductArithmetic>;
  RoundingStep step = unstated<RoundingStep>;

  friend constexpr bool operator==(const Stage&, const Stage&) = default;
};

/// A number of a device's data sheet: one out of range does not compile. Numbers from files are checked where they are read.
template <int least, int most>
struct DeviceConstant {
  std::uint8_t value;
  consteval DeviceConstant(int number) : value(static_cast<std::uint8_t>(number)) {
    if (number < least || number > most) throw "device constant out of range";
  }
};
using Width = DeviceConstant<2, 64>;
using MultiplierBits = DeviceConstant<1, 32>;
using ConstantShift = DeviceConstant<0, 62>;

/// What a layer's activation makes of negative values, for the stages relu and absolute.
enum class Rectifier : std::uint8_t { none, at_zero, magnitude };

inline constexpr std::int64_t no_clip = -1;

/// What a layer states outright of a device's registers: (v + offset) * multiplier / 2^shift. Of itself it changes nothing.
struct StatedScale {
  std::int64_t offset = 0;
  std::int64_t multiplier = 1;
  int shift = 0;
  friend constexpr bool operator==(const StatedScale&, const StatedScale&) = default;
};

/// What a layer, or a channel of it, brings to the chain.
struct RescaleOperands {
  EncodedScale scale{};
  std::int64_t zero_point = 0;
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  Rectifier rectifier = Rectifier::none;
  LookupTable table{};
  std::span<const PwlSegment> pwl{};
  std::span<const ScaleSegment> segments{};
  int data_bits = 32;   ///< width of what comes in
  int output_bits = 8;  ///< width of what goes out
  std::int64_t clip = no_clip;
  std::int64_t storage_min = std::numeric_limits<std::int64_t>::min();  ///< read by clamp_to_type
  std::int64_t storage_max = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 1;   ///< read by divide
  std::int64_t offset = 0;  ///< read by add_offset
  StatedScale converter{};  ///< a second scale, behind the first
  std::optional<StatedScale> below_zero{};
};

/// The values that come into a stage: from low to high.
struct StageBounds {
  Int128 low = -static_cast<Int128>(~UInt128{0} >> 1) - 1;
  Int128 high = static_cast<Int128>(~UInt128{0} >> 1);
};

/// Which members of Stage a stage reads, besides its kind.
struct StageMembers {
  bool bits = false, overflow = false, rounding = false, arithmetic = false, amount = false, constant = false, limit = false, step = false;
};

enum class ScaleUse : std::uint8_t { none, exponent, multiplier, in_float };
enum class ZeroPointUse : std::uint8_t { none, before_rounding, after_rounding };

/// For a reader: how many places below the binary point of the output the value has, in which the multiplies so far have added `fraction`.
struct BinaryPlaces {
  int places = 0, fraction_before = 0, fraction_after = 0;
};

/// What other layers of the library ask of a stage.
struct StageFacts {
  std::string_view name;
  std::string_view meaning;     ///< v, M, e, n as in docs/rules.md
  std::string_view formerly{};  ///< its name in files of version 0.1, where that was another
  StageMembers (*reads)(const Stage&) = [](const Stage&) { return StageMembers{}; };
  int least_bits = 2, most_bits = 64;  ///< of Stage::bits
  ScaleUse (*scale)(const Stage&) = [](const Stage&) { return ScaleUse::none; };
  ZeroPointUse zero_point = ZeroPointUse::none;
  /// Bits that the value gains before it settles, given those of M and those it has.
  int (*added_bits)(const Stage&, int, int) = [](const Stage&, int, int) { return 0; };
  bool settles = true;                                      ///< in 64 bits
  bool keeps_order = true;                                  ///< the larger value stays the larger one, or equal
  StageBounds (*bounds)(const RescaleOperands&) = nullptr;  ///< of a stage that bounds
  bool bounds_output = false;                               ///< it may end a layer's chain, and reports what it moves as saturated
  bool needs_values = false;                                ///< that only a caller can bring
  /// Whether it keeps of the value no more than its low bits, but for a step narrow.
  bool (*keeps_low_bits)(const Stage&, Int128, const RescaleOperands&) = [](const Stage&, Int128, const RescaleOperands&) { return false; };
  int (*places)(const Stage&, const RescaleOperands&, const BinaryPlaces&) = [](const Stage&, const RescaleOperands&,
                                                                                const BinaryPlaces& before) { return before.places; };
};

template <StageKind kind>
struct StageOf;

/// What most stages do not tell.
struct UntoldStage {
  template <class Words>
  static void tell(Words&, const Stage&) {}
};

}  // namespace lastbit
