// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A finishing chain as host paths run it: vector steps over lanes of 32 or 64 bits, made by engine/finish_plan.hpp, which proves that no
// lane leaves its width where a step does not say that it wraps. The steps' text is finish_steps.inc, one for all paths. Plain numbers and
// pointers alone, so that a path calls nothing that belongs to others too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/kernels/float_codes.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit::kernels {

/// What one step reads for every lane: the same for all channels (stride 0), or one value per channel (stride 1).
template <class T>
struct LaneParameter {
  const T* values = nullptr;
  std::size_t stride = 0;
};

/// x >> amount, rounded: every rule is one of these forms.
///   plain   (x + bias) >> amount                             sign    (x + bias + (x < 0 ? extra : 0)) >> amount
///   parity  (x + bias + ((x >> amount) & extra)) >> amount   sticky  x >> amount | ((x & extra) != 0)
enum class ShiftForm : std::uint8_t { plain, sign, parity, sticky };

enum class FinishOp : std::uint8_t {
  add,             ///< v + bias, modulo the lane
  clamp,           ///< into [low, high]
  wrap,            ///< the low bits, sign-extended: v << amount >> amount
  shift_left,      ///< v << amount, modulo the lane
  shift_right,     ///< rounded; v + bias + extra fits the lane
  multiply,        ///< lanes of 64 bits: v * multiplier, which fits
  multiply_shift,  ///< v * multiplier, rounded shift of the exact product: 64 bits for lanes of 32, 96 for lanes of 64
  float_scale,     ///< v * scale + zero in float or double, held within [-limit, limit], rounded
  segments,        ///< of the segment of v, v * multiplier + offset, which fits 64 bits, or a double, its rounded shift, + add
};

/// What multiply_shift reads. For lanes of 32 bits in groups of a vector's lanes, those of even index first.
struct ProductParameters {
  LaneParameter<std::int64_t> multiplier;  ///< its low 32 bits are read, as signed
  LaneParameter<std::int64_t> carry;       ///< all ones where the multiplier is 2^31 or more
  LaneParameter<std::int64_t> bias, amount, extra;
  LaneParameter<std::int64_t> bias_high, extra_high;  ///< lanes of 64 bits: the part from bit 32 on; `bias` and `extra` hold the lower
  LaneParameter<std::int64_t> up, down, keep_down;    ///< and the shift in parts: high << up | low >> amount | (high >> down & keep_down)
};

/// Segments as lanes of 32 bits compute them, in float or double; `slope` holds floats, multiplier / 2^shift. A segment lies at the place whose
/// bits, the lowest first, say whether its values are above the start in the middle of all, then of the half they are in, and so on.
struct RealSegments {
  static constexpr std::size_t levels = 4, count = 16;
  std::int32_t middle[levels][count]{};  ///< of each level, at the place as the levels before have it
  std::int32_t start[count]{}, slope[count]{}, add[count]{};
  bool in_float = false;  ///< v - start is a float's, ties go to even, and results are below 2^21
};

/// A function in segments, the same for all channels; every list but `starts` has an entry for each segment.
struct SegmentParameters {
  const std::int64_t* starts = nullptr;  ///< of all but the first: a value belongs to the last segment whose start lies below it
  std::size_t start_count = 0;
  const std::int64_t *multiplier = nullptr, *offset = nullptr, *amount = nullptr, *bias = nullptr, *extra = nullptr, *add = nullptr;
  RealSegments real;
  bool away_from_zero = false;  ///< a product below 0 that is rounded up goes down by one from its floor
};

/// As what a clamp, or a wrap, counts the values that it moves.
enum class Counted : std::uint8_t { nothing, outputs, stages, wraps };

template <class Lane>
struct FinishStep {
  FinishOp op = FinishOp::add;
  ShiftForm form = ShiftForm::plain;
  Counted counted = Counted::nothing;  ///< of a clamp or a wrap
  bool unsigned_multiplier = false;    ///< some multiplier is 2^31 or more
  LaneParameter<Lane> bias, amount, extra, low, high;
  ProductParameters product;
  SegmentParameters segments;

  FloatRounding rounding;
  bool in_double = false;
  bool onto_zero = false;
  LaneParameter<float> scale_f32, zero_f32;
  LaneParameter<double> scale_f64, zero_f64;
  double limit = 0;
};

/// The steps, and the last of all: v + bias into [low, high], stored as the output's type.
template <class Lane>
struct LanePlan {
  const FinishStep<Lane>* steps = nullptr;
  std::size_t step_count = 0;
  FinishStep<Lane> last;
};

struct FinishPlan {
  bool in_64_bits = false;
  std::size_t period = 0;  ///< of the channels' parameters, in values; 0: all channels have the same
  LanePlan<std::int32_t> narrow;
  LanePlan<std::int64_t> wide;
};

/// A piece of work: `sums` begins with the first channel.
struct FinishWork {
  const void* sums = nullptr;
  ElementType sum_type = ElementType::int32;  ///< an integer, of 8 to 64 bits
  void* out = nullptr;
  std::size_t out_size = 1;  ///< bytes of an output: 1, 2, 4 or 8; it receives the low bits
  std::size_t count = 0;
  std::int64_t* moved_outputs = nullptr;  ///< receives how many values such steps have moved; null: not counted
  std::int64_t* moved_stages = nullptr;
  std::int64_t* wrapped = nullptr;
};

using Finish = void (*)(const FinishPlan&, const FinishWork&);

/// Values on their way through the steps at one time.
inline constexpr std::size_t finish_block = 512;

namespace scalar {
inline constexpr std::size_t finish_lanes = 1;
void finish(const FinishPlan& plan, const FinishWork& work);
}  // namespace scalar
namespace sse42 {
inline constexpr std::size_t finish_lanes = 4;
void finish(const FinishPlan& plan, const FinishWork& work);
}  // namespace sse42
namespace avx2 {
inline constexpr std::size_t finish_lanes = 8;
void finish(const FinishPlan& plan, const FinishWork& work);
}  // namespace avx2
namespace avx512 {
inline constexpr std::size_t finish_lanes = 16;
void finish(const FinishPlan& plan, const FinishWork& work);
}  // namespace avx512
namespace neon {
inline constexpr std::size_t finish_lanes = 4;
void finish(const FinishPlan& plan, const FinishWork& work);
}  // namespace neon

}  // namespace lastbit::kernels
