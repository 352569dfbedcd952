// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The steps of finish.hpp over the vectors of one path. Included inside that path's namespace, and inside the region that enables its
// instructions, by finish_<path>.cpp, which has included what this needs and defined I32, I64, F32, F64 and Halves before.

template <class Lane>
using Vector = std::conditional_t<sizeof(Lane) == 4, I32, I64>;

template <class V, class T>
inline V load(const LaneParameter<T>& parameter, std::size_t position) {
  return V::load(parameter.at(position));
}

/// The part of a group of 32-bit lanes that a vector of 64-bit parameters holds.
template <class V, class T>
inline V load_part(const LaneParameter<T>& parameter, std::size_t position, std::size_t part) {
  return V::load(parameter.at(position) + part * V::lanes);
}

template <ShiftForm form, class Word>
inline Word shift_rounded(Word x, Word bias, Word amount, Word extra) {
  if constexpr (form == ShiftForm::sticky) return shift_down(x, amount) | one_unless_zero(x & extra);
  else {
    Word sum = x + bias;
    if constexpr (form == ShiftForm::sign) sum = sum + (sign_of(x) & extra);
    if constexpr (form == ShiftForm::parity) sum = sum + (shift_down_logical(x, amount) & extra);
    return shift_down(sum, amount);
  }
}

template <class Lane>
void add(const FinishStep<Lane>& step, std::size_t at, const Lane* in, Lane* out, std::size_t count) {
  using V = Vector<Lane>;
  for (std::size_t i = 0; i < count; i += V::lanes) (V::load(in + i) + load<V>(step.bias, at + i)).store(out + i);
}

template <bool counted, class Lane>
void clamp(const FinishStep<Lane>& step, std::size_t at, const Lane* in, Lane* out, std::size_t count, std::int64_t* moved) {
  using V = Vector<Lane>;
  for (std::size_t i = 0; i < count; i += V::lanes) {
    const V before = V::load(in + i);
    const V after = smaller(larger(before, load<V>(step.low, at + i)), load<V>(step.high, at + i));
    if constexpr (counted) *moved += different_lanes(before, after, count - i);
    after.store(out + i);
  }
}

template <class Lane>
void wrap(const FinishStep<Lane>& step, std::size_t at, const Lane* in, Lane* out, std::size_t count) {
  using V = Vector<Lane>;
  for (std::size_t i = 0; i < count; i += V::lanes) {
    const V amount = load<V>(step.amount, at + i);
    shift_down(shift_up(V::load(in + i), amount), amount).store(out + i);
  }
}

template <class Lane>
void shift_left(const FinishStep<Lane>& step, std::size_t at, const Lane* in, Lane* out, std::size_t count) {
  using V = Vector<Lane>;
  for (std::size_t i = 0; i < count; i += V::lanes) shift_up(V::load(in + i), load<V>(step.amount, at + i)).store(out + i);
}

template <ShiftForm form, class Lane>
void shift_right(const FinishStep<Lane>& step, std::size_t at, const Lane* in, Lane* out, std::size_t count) {
  using V = Vector<Lane>;
  for (std::size_t i = 0; i < count; i += V::lanes) {
    const std::size_t p = at + i;
    shift_rounded<form>(V::load(in + i), load<V>(step.bias, p), load<V>(step.amount, p), load<V>(step.extra, p)).store(out + i);
  }
}

inline void multiply_lanes(const FinishStep<std::int64_t>& step, std::size_t at, const std::int64_t* in, std::int64_t* out,
                           std::size_t count) {
  for (std::size_t i = 0; i < count; i += I64::lanes) (I64::load(in + i) * load<I64>(step.product.multiplier, at + i)).store(out + i);
}
inline void multiply_lanes(const FinishStep<std::int32_t>&, std::size_t, const std::int32_t*, std::int32_t*, std::size_t) {}

/// Low halves of v, signed, times a multiplier that may be 2^31 or more: 2^32 less was read.
template <bool is_unsigned>
inline I64 product_of(I64 v, I64 multiplier, const LaneParameter<std::int64_t>& carry, std::size_t position, std::size_t part) {
  const I64 product = multiply_low_halves(v, multiplier);
  if constexpr (is_unsigned) return product + (shift_up_32(v) & load_part<I64>(carry, position, part));
  else return product;
}

template <ShiftForm form, bool is_unsigned>
void multiply_shift(const FinishStep<std::int32_t>& step, std::size_t at, const std::int32_t* in, std::int32_t* out, std::size_t count) {
  const ProductParameters& q = step.product;
  for (std::size_t i = 0; i < count; i += I32::lanes) {
    Halves v = halves_of(I32::load(in + i));
    const std::size_t p = at + i;
    for (std::size_t h = 0; h < Halves::count; ++h) {
      const I64 product = product_of<is_unsigned>(v.part[h], load_part<I64>(q.multiplier, p, h), q.carry, p, h);
      v.part[h] = shift_rounded<form>(product, load_part<I64>(q.bias, p, h), load_part<I64>(q.amount, p, h), load_part<I64>(q.extra, p, h));
    }
    merged(v).store(out + i);
  }
}

/// high * 2^32 + low, low in [0, 2^32), shifted down.
inline I64 shift_pair(const ProductParameters& q, std::size_t p, I64 high, I64 low) {
  return shift_up(high, load<I64>(q.up, p)) | shift_down_logical(low, load<I64>(q.amount, p)) |
         (shift_down(high, load<I64>(q.down, p)) & load<I64>(q.keep_down, p));
}

template <ShiftForm form>
inline I64 shift_pair_rounded(const ProductParameters& q, std::size_t p, I64 sign, I64 high, I64 low) {
  const I64 extra = load<I64>(q.extra, p), extra_high = load<I64>(q.extra_high, p);
  if constexpr (form == ShiftForm::sticky) {
    return shift_pair(q, p, high, low) | one_unless_zero((low & extra) | (high & extra_high));
  } else {
    I64 sum = low + load<I64>(q.bias, p), carried = high + load<I64>(q.bias_high, p);
    if constexpr (form == ShiftForm::sign) sum = sum + (sign & extra), carried = carried + (sign & extra_high);
    if constexpr (form == ShiftForm::parity) sum = sum + (shift_pair(q, p, high, low) & extra);
    return shift_pair(q, p, carried + shift_down_32(sum), low_half(sum));
  }
}

/// The product has 96 bits: that of the high half of v, signed, and that of its low half.
template <ShiftForm form, bool>
void multiply_shift(const FinishStep<std::int64_t>& step, std::size_t at, const std::int64_t* in, std::int64_t* out, std::size_t count) {
  const ProductParameters& q = step.product;
  for (std::size_t i = 0; i < count; i += I64::lanes) {
    const std::size_t p = at + i;
    const I64 v = I64::load(in + i), multiplier = load<I64>(q.multiplier, p);
    const I64 low = multiply_low_halves_unsigned(v, multiplier);
    const I64 high = product_of<true>(shift_down_logical_32(v), multiplier, q.carry, p, 0) + shift_down_logical_32(low);
    shift_pair_rounded<form>(q, p, sign_of(v), high, low_half(low)).store(out + i);
  }
}

template <FloatForm form, class F>
inline F rounded(F x, F limit, F up, F down) {
  const F held = smaller(larger(x, -limit), limit);
  if constexpr (form == FloatForm::half_even) return nearest_even(held);
  else {
    const F whole = truncated(held);
    return moved_by_one(whole, held - whole, up, down);
  }
}

template <FloatForm form>
void float_scale_f32(const FinishStep<std::int32_t>& step, std::size_t at, const std::int32_t* in, std::int32_t* out, std::size_t count) {
  const F32 limit = F32::all(static_cast<float>(step.limit));
  const F32 up = F32::all(static_cast<float>(step.rounding.up)), down = F32::all(static_cast<float>(step.rounding.down));
  for (std::size_t i = 0; i < count; i += I32::lanes) {
    F32 x = to_float(I32::load(in + i)) * load<F32>(step.scale_f32, at + i);
    if (step.onto_zero) x = x + load<F32>(step.zero_f32, at + i);
    to_integer(rounded<form>(x, limit, up, down)).store(out + i);
  }
}

/// v * scale (+ zero) of one vector of doubles. A product of floats is exact in double and rounded once to float, and so is the sum.
template <FloatForm form, bool is_float, class Lane>
inline F64 scaled_double(const FinishStep<Lane>& step, std::size_t position, std::size_t part, F64 v) {
  const F64 scale = load_part<F64>(step.scale_f64, position, part);
  F64 x = is_float ? to_single(to_single(v) * scale) : v * scale;
  if (step.onto_zero) {
    x = x + load_part<F64>(step.zero_f64, position, part);
    if constexpr (is_float) x = to_single(x);
  }
  return rounded<form>(x, F64::all(step.limit), F64::all(step.rounding.up), F64::all(step.rounding.down));
}

template <FloatForm form>
void float_scale_f64(const FinishStep<std::int32_t>& step, std::size_t at, const std::int32_t* in, std::int32_t* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += I32::lanes) {
    Doubles v = doubles_of(I32::load(in + i));
    for (std::size_t h = 0; h < Doubles::count; ++h) v.part[h] = scaled_double<form, false>(step, at + i, h, v.part[h]);
    integers_of(v).store(out + i);
  }
}

template <FloatForm form, bool is_float>
void wide_float_scale(const FinishStep<std::int64_t>& step, std::size_t at, const std::int64_t* in, std::int64_t* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += I64::lanes)
    integer_of(scaled_double<form, is_float>(step, at + i, 0, double_of(I64::load(in + i)))).store(out + i);
}

template <FloatForm form>
inline void float_scale(const FinishStep<std::int32_t>& step, std::size_t at, const std::int32_t* in, std::int32_t* out,
                        std::size_t count) {
  if (step.in_double) float_scale_f64<form>(step, at, in, out, count);
  else float_scale_f32<form>(step, at, in, out, count);
}
template <FloatForm form>
inline void float_scale(const FinishStep<std::int64_t>& step, std::size_t at, const std::int64_t* in, std::int64_t* out,
                        std::size_t count) {
  if (step.in_double) wide_float_scale<form, false>(step, at, in, out, count);
  else wide_float_scale<form, true>(step, at, in, out, count);
}

template <ShiftForm form, class Lane>
inline void run_product(const FinishStep<Lane>& step, std::size_t at, const Lane* in, Lane* out, std::size_t count) {
  if (step.unsigned_multiplier) multiply_shift<form, true>(step, at, in, out, count);
  else multiply_shift<form, false>(step, at, in, out, count);
}

/// The steps with a rounding, of the form of the step.
template <ShiftForm form, class Lane>
inline void run_shift(const FinishStep<Lane>& step, std::size_t at, const Lane* in, Lane* out, std::size_t count) {
  if (step.op == FinishOp::shift_right) shift_right<form>(step, at, in, out, count);
  else run_product<form>(step, at, in, out, count);
}

template <class Lane>
void run_step(const FinishStep<Lane>& step, std::size_t at, const Lane* in, Lane* out, std::size_t count, std::int64_t* moved) {
  switch (step.op) {
    case FinishOp::add: return add(step, at, in, out, count);
    case FinishOp::wrap: return wrap(step, at, in, out, count);
    case FinishOp::shift_left: return shift_left(step, at, in, out, count);
    case FinishOp::multiply: return multiply_lanes(step, at, in, out, count);
    case FinishOp::clamp:
      if (moved != nullptr && step.counted) return clamp<true>(step, at, in, out, count, moved);
      return clamp<false>(step, at, in, out, count, nullptr);
    case FinishOp::float_scale:
      if (step.rounding.form == FloatForm::half_even) return float_scale<FloatForm::half_even>(step, at, in, out, count);
      return float_scale<FloatForm::thresholds>(step, at, in, out, count);
    case FinishOp::shift_right:
    case FinishOp::multiply_shift: break;
  }
  switch (step.form) {
    case ShiftForm::plain: return run_shift<ShiftForm::plain>(step, at, in, out, count);
    case ShiftForm::sign: return run_shift<ShiftForm::sign>(step, at, in, out, count);
    case ShiftForm::parity: return run_shift<ShiftForm::parity>(step, at, in, out, count);
    case ShiftForm::sticky: return run_shift<ShiftForm::sticky>(step, at, in, out, count);
  }
}

/// v + bias into [low, high] as T. Whole vectors go to `out` itself, the rest through a buffer.
template <bool counted, class T, class Lane>
void store_last(const FinishStep<Lane>& last, std::size_t at, const Lane* in, T* out, std::size_t count, std::int64_t* moved) {
  using V = Vector<Lane>;
  for (std::size_t i = 0; i < count; i += V::lanes) {
    const V before = V::load(in + i) + load<V>(last.bias, at + i);
    const V after = smaller(larger(before, load<V>(last.low, at + i)), load<V>(last.high, at + i));
    if constexpr (counted) *moved += different_lanes(before, after, count - i);
    if (count - i >= V::lanes) store_as(after, out + i);
    else {
      T rest[V::lanes];
      store_as(after, rest);
      for (std::size_t j = i; j < count; ++j) out[j] = rest[j - i];
    }
  }
}

template <class T, class Lane>
inline void store_counted(const FinishStep<Lane>& last, std::size_t at, const Lane* in, T* out, std::size_t count, std::int64_t* moved) {
  if (moved != nullptr && last.counted) store_last<true>(last, at, in, out, count, moved);
  else store_last<false>(last, at, in, out, count, moved);
}

/// The sums from `start` on as lanes: where they lie if whole vectors can be read there, else in `buffer`.
template <class Lane, class Sum>
inline const Lane* lanes_of(const Sum* sums, std::size_t start, std::size_t count, std::size_t readable, Lane* buffer) {
  const std::size_t rounded_up = (count + Vector<Lane>::lanes - 1) / Vector<Lane>::lanes * Vector<Lane>::lanes;
  if constexpr (std::is_same_v<Lane, Sum>) {
    if (start + rounded_up <= readable) return sums + start;
  }
  for (std::size_t i = 0; i < count; ++i) buffer[i] = static_cast<Lane>(sums[start + i]);
  for (std::size_t i = count; i < rounded_up; ++i) buffer[i] = 0;
  return buffer;
}

template <class Lane>
inline const Lane* lanes_of(const FinishWork& work, std::size_t start, std::size_t count, Lane* buffer) {
  switch (work.sum_type) {
    case ElementType::int8: return lanes_of(static_cast<const std::int8_t*>(work.sums), start, count, work.count, buffer);
    case ElementType::uint8: return lanes_of(static_cast<const std::uint8_t*>(work.sums), start, count, work.count, buffer);
    case ElementType::int16: return lanes_of(static_cast<const std::int16_t*>(work.sums), start, count, work.count, buffer);
    case ElementType::uint16: return lanes_of(static_cast<const std::uint16_t*>(work.sums), start, count, work.count, buffer);
    case ElementType::uint32: return lanes_of(static_cast<const std::uint32_t*>(work.sums), start, count, work.count, buffer);
    case ElementType::int64: return lanes_of(static_cast<const std::int64_t*>(work.sums), start, count, work.count, buffer);
    default: return lanes_of(static_cast<const std::int32_t*>(work.sums), start, count, work.count, buffer);
  }
}

template <class Lane>
void finish_lanes_of(const LanePlan<Lane>& plan, std::size_t period, const FinishWork& work) {
  Lane buffer[finish_block];
  std::size_t count = 0;
  for (std::size_t start = 0; start < work.count; start += count) {
    const std::size_t at = period == 0 ? 0 : start % period;
    count = work.count - start < finish_block ? work.count - start : finish_block;
    if (period != 0 && period - at < count) count = period - at;
    const Lane* in = lanes_of(work, start, count, buffer);
    for (const FinishStep<Lane>& step : plan.steps) {
      run_step(step, at, in, buffer, count, work.moved);
      in = buffer;
    }
    switch (work.out_size) {
      case 1: store_counted(plan.last, at, in, static_cast<std::int8_t*>(work.out) + start, count, work.moved); break;
      case 2: store_counted(plan.last, at, in, static_cast<std::int16_t*>(work.out) + start, count, work.moved); break;
      case 4: store_counted(plan.last, at, in, static_cast<std::int32_t*>(work.out) + start, count, work.moved); break;
      default: store_counted(plan.last, at, in, static_cast<std::int64_t*>(work.out) + start, count, work.moved); break;
    }
  }
}

void run_plan(const FinishPlan& plan, const FinishWork& work) {
  if (plan.in_64_bits) finish_lanes_of(plan.wide, plan.period, work);
  else finish_lanes_of(plan.narrow, plan.period, work);
}
