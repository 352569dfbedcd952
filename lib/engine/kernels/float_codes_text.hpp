// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of float_codes.hpp over the vectors of one path. Included by finish_<path>.cpp behind finish_steps.hpp.

template <FloatForm form>
inline I32 code_of(F32 x, const FloatRounding& rounding) {
  return to_integer(
      rounded<form>(x, F32::all(float_code_limit), F32::all(static_cast<float>(rounding.up)), F32::all(static_cast<float>(rounding.down))));
}

template <FloatForm form, bool is_sum>
void combine_floats(const FloatPair& pair, const std::int32_t* a, const std::int32_t* b, std::int32_t* out, std::size_t count) {
  const F32 ratio_a = F32::all(pair.ratio_a), ratio_b = F32::all(pair.ratio_b), fixed = F32::all(pair.fixed);
  for (std::size_t i = 0; i < count; i += I32::lanes) {
    const I32 x = I32::load(a + i), y = I32::load(b + i);
    const F32 result = is_sum ? fused(to_float(x), ratio_a, fused(to_float(y), ratio_b, fixed)) : to_float(times(x, y)) * ratio_a + fixed;
    code_of<form>(result, pair.rounding).store(out + i);
  }
}

void sum_in_float(const FloatPair& pair, const std::int32_t* a, const std::int32_t* b, std::int32_t* out, std::size_t count) {
  if (pair.rounding.form == FloatForm::half_even) combine_floats<FloatForm::half_even, true>(pair, a, b, out, count);
  else combine_floats<FloatForm::thresholds, true>(pair, a, b, out, count);
}
void product_in_float(const FloatPair& pair, const std::int32_t* a, const std::int32_t* b, std::int32_t* out, std::size_t count) {
  if (pair.rounding.form == FloatForm::half_even) combine_floats<FloatForm::half_even, false>(pair, a, b, out, count);
  else combine_floats<FloatForm::thresholds, false>(pair, a, b, out, count);
}

template <FloatForm form>
std::size_t codes_from(const FloatToCode& rule, const float* in, std::int32_t* out, std::size_t count) {
  const F32 scale = F32::all(rule.scale), offset = F32::all(rule.offset);
  std::size_t i = 0;
  for (; i + I32::lanes <= count; i += I32::lanes) {
    const F32 scaled = rule.divides ? F32::load(in + i) / scale : F32::load(in + i) * scale;
    const F32 x = scaled + offset;
    if (!all_within(x, float_code_limit)) return i;
    code_of<form>(x, rule.rounding).store(out + i);
  }
  return i;
}
std::size_t codes_from_float(const FloatToCode& rule, const float* in, std::int32_t* out, std::size_t count) {
  if (rule.rounding.form == FloatForm::half_even) return codes_from<FloatForm::half_even>(rule, in, out, count);
  return codes_from<FloatForm::thresholds>(rule, in, out, count);
}
