// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// lstm: a long short-term memory layer over all time steps of a sequence, in integers. Values are meant minus their zero points; h is the
// hidden state (8 or 16 bits), c the cell state (16 bits, zero point 0, scale a power of two up to 2). Contract, for every batch row and
// every step t:
//   1. of every gate g in (input, forget, cell, output): p = gate chain(sum of x_t[i] * input weights_g[i] + bias_g), with
//      input * weight / 2^-12; r = gate chain(sum of h[j] * recurrent weights_g[j]), with hidden * weight / 2^-12; both 16 bits;
//   2. a_g = p + r, narrowed to 16 bits by `sum`; the gate is logistic(a_g), for g = cell tanh(a_g), of scale 2^-15: by the tables of
//      fixed_activation.hpp (method sigmoid_table), or by fixed_function_i16.hpp (method fixed_point);
//   3. c = cell chain(forget * c), with 2^-15 * cell / cell, plus cell chain(input * candidate), with 2^-15 * 2^-15 / cell scale, narrowed to
//      16 bits by `sum`; then within ± clip: the layer's clip / cell scale by `clip_rounding`, saturated to 16 bits;
//   4. h = output chain(tanh(c) * output gate), with 2^-15 * 2^-15 / hidden scale; it is also the output of the step.
// Sums are taken term by term in the device's accumulator. Weights have zero point 0.
// Shapes: input [batch, steps, inputs], or [steps, batch, inputs] (time_major); h and c [batch, cells]; input weights [cells, inputs],
//   recurrent weights [cells, cells] and bias [cells] of each gate; outputs: h of every step, the last h, the last c.
// Units: data, h and c in scales of their own; a gate 2^-12 before its function and 2^-15 behind it.
// Errors: shape_mismatch, bad_quantization where a state changes its quantisation; unsupported_operation where the device has no gates for the
//   type of the data, or c has a zero point or a scale that is no power of two up to 2; fixed_point: from 2^-15 to 2^-9.
// Source: tflite-micro lstm_eval.h, lstm_eval_common.cc; tensorflow/lite/kernels/internal/reference/portable_tensor_utils.cc, as told by values.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/arith/fixed_activation.hpp"
#include "lastbit/arith/fixed_function_i16.hpp"
#include "lastbit/arith/overflow.hpp"
#include "lastbit/arith/rounding.hpp"

namespace lastbit {

inline constexpr double lstm_gate_scale = 1.0 / 4096.0;         ///< of a gate before its function
inline constexpr double lstm_activation_scale = 1.0 / 32768.0;  ///< of what logistic and tanh deliver

inline constexpr int lstm_gate_integer_bits = 3;  ///< of 16: the same as lstm_gate_scale
inline constexpr int lstm_fraction_bits = 15;     ///< of 16 without integer bits: lstm_activation_scale
inline constexpr int lstm_most_integer_bits = 6;  ///< of the cell state, method fixed_point

/// The sizes of an lstm.
struct LstmShape {
  std::int64_t batch = 1, steps = 1, inputs = 1, cells = 1;
  bool time_major = false;
  /// Where the row of values of a batch row and a step begins, rows of `width` values.
  [[nodiscard]] constexpr std::int64_t row(std::int64_t b, std::int64_t t, std::int64_t width) const {
    return (time_major ? t * batch + b : b * steps + t) * width;
  }
};

/// Steps 2 and 3: the sum of two 16-bit values.
[[nodiscard]] constexpr std::int16_t add_i16(std::int64_t a, std::int64_t b, Overflow overflow) noexcept {
  return static_cast<std::int16_t>(overflow == Overflow::wrap ? narrow_wrap(a + b, 16) : narrow_saturate(a + b, 16));
}

/// Step 3: the clip in units of the cell's scale; the largest code where there is none.
[[nodiscard]] constexpr std::int64_t cell_clip_code(double clip, double cell_scale, Rounding rounding) noexcept {
  if (clip <= 0) return 32768;
  return narrow_saturate(round_to_integer(clip / cell_scale, rounding), 16);
}

/// Step 2, from a_g; and tanh of the cell state in step 4. Method sigmoid_table.
template <Sigmoid function>
[[nodiscard]] constexpr std::int16_t lstm_activation(std::int16_t value, double scale) noexcept {
  return sigmoid_i16<function>(value, sigmoid_table_input(function, scale));
}

/// The same by method fixed_point: the scale is 2^(integer_bits - 15).
template <Sigmoid function>
[[nodiscard]] constexpr std::int16_t lstm_activation_fixed(std::int16_t value, int integer_bits) noexcept {
  return function == Sigmoid::logistic ? fixed_logistic_i16(value, integer_bits) : fixed_tanh_i16(value, integer_bits);
}

}  // namespace lastbit
