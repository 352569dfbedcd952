// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a compiler does to a per-channel layer on a device without per-channel scales.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// Weights [out_channels, taps] minus their zero points, bias or none, and the weights' scales.
struct LayerValues {
  std::vector<std::int16_t> weights;
  std::vector<std::int64_t> bias;
  Quantization quantization;
};

/// A layer as the device then has it.
struct LoweredLayer {
  ConvArithmetic arithmetic;
  LayerValues values;
};

[[nodiscard]] constexpr std::int64_t rounded_half_away(double value) { return round_to_integer(value, Rounding::half_away); }

/// A weight as the 8-bit register holds it: modulo 2^8.
[[nodiscard]] constexpr std::int16_t weight_code(float real, float scale, std::int64_t zero_point) {
  const std::int64_t code = rounded_half_away(static_cast<double>(real) / static_cast<double>(scale)) + zero_point;
  return static_cast<std::int16_t>((code & 0xFF) - zero_point);
}

/// Weights and bias in one 8-bit scale.
constexpr void requantize_to_tensor(LayerValues& values, double input_scale) {
  const std::vector<double>& scales = values.quantization.scales;
  const std::size_t taps = values.weights.size() / scales.size();
  std::vector<float> real(values.weights.size());
  for (std::size_t i = 0; i < real.size(); ++i) real[i] = static_cast<float>(scales[i / taps]) * static_cast<float>(values.weights[i]);
  const double largest = std::max(0.0F, *std::max_element(real.begin(), real.end()));
  const double smallest = std::min(0.0F, *std::min_element(real.begin(), real.end()));
  const float range = static_cast<float>(largest - smallest);
  if (range == 0) return;  // all weights are zero: any scale will do
  const float scale = range / 255.0F;
  const std::int64_t zero_point = rounded_half_away(-static_cast<double>(static_cast<float>(smallest) / scale)) & 0xFF;
  std::transform(real.begin(), real.end(), values.weights.begin(), [&](float w) { return weight_code(w, scale, zero_point); });

  const float bias_scale = scale * static_cast<float>(input_scale);
  for (std::size_t o = 0; o < values.bias.size(); ++o) {
    const float channel_scale = static_cast<float>(scales[o]) * static_cast<float>(input_scale);
    const float bias = channel_scale * static_cast<float>(values.bias[o]);
    values.bias[o] = narrow_wrap(rounded_half_away(static_cast<double>(bias) / static_cast<double>(bias_scale)), 32);
  }
  values.quantization = {{static_cast<double>(scale)}, {zero_point}, 0};
}

/// The chain with everything that applies the multiplier replaced by one float scale.
[[nodiscard]] constexpr Chain with_float_scale(const Chain& chain) {
  const bool onto_zero_point = std::any_of(chain.begin(), chain.end(),
                                           [](const Stage& stage) { return facts_of(stage).zero_point == ZeroPointUse::before_rounding; });
  const Stage in_float =
      onto_zero_point ? stage::float_scale_with_zero_point(Rounding::half_even) : stage::float_scale(Rounding::half_even);
  Chain out;
  bool scaled = false;
  for (const Stage& stage : chain) {
    const bool part_of_scale = scale_of(stage) != ScaleUse::none || facts_of(stage).reads(stage).amount;
    if (part_of_scale && scaled) continue;
    out.append(part_of_scale ? in_float : stage);
    scaled = scaled || part_of_scale;
  }
  return out;
}

/// native: unchanged. float_scale: multiplier and shift stages become one float scale, half to even.
/// requantized_to_tensor: all weights and biases requantised to one uint8 scale. Source: Mesa etnaviv_ml_nn.c, calc_quantization,
/// requantize_weights and requantize_bias: real weights in float; range from min(0, ·) to max(0, ·); scale = float(range / 255);
/// zero point and weights rounded half away in double and kept modulo 2^8; bias rounded half away in double.
[[nodiscard]] constexpr LoweredLayer lower_per_channel(const ConvArithmetic& arithmetic, LayerValues values, double input_scale) {
  LoweredLayer layer{arithmetic, std::move(values)};
  if (!layer.values.quantization.per_channel()) return layer;
  switch (arithmetic.per_channel) {
    case PerChannelLowering::native:
    case PerChannelLowering::refused: break;
    case PerChannelLowering::native_unrounded: layer.arithmetic.sum.output.by.product_in_float = false; break;
    case PerChannelLowering::requantized_to_tensor: requantize_to_tensor(layer.values, input_scale); break;
    case PerChannelLowering::float_scale: layer.arithmetic.sum.output.chain = with_float_scale(arithmetic.sum.output.chain); break;
  }
  return layer;
}

}  // namespace lastbit
