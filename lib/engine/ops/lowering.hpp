// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a compiler does to a per-channel layer on a device without per-channel scales.
#pragma once

#include <cstdint>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// Weights [out_channels, taps] minus their zero points, bias or none, and the weights' scales.
struct LayerValues {
  std::vector<std::int16_t> weights;
  std::vector<std::int64_t> bias;
  Quantization quantization;
};

struct LoweredLayer {
  ConvArithmetic arithmetic;
  LayerValues values;
};

/// native: unchanged. float_scale: multiplier and shift stages become one float scale, half to even.
/// requantized_to_tensor: all weights and biases requantised to one uint8 scale. Source: Mesa etnaviv_ml_nn.c, calc_quantization,
/// requantize_weights and requantize_bias: real weights in float; range from min(0, ·) to max(0, ·); scale = float(range / 255);
/// zero point and weights rounded half away in double and kept modulo 2^8; bias rounded half away in double.
[[nodiscard]] LoweredLayer lower_per_channel(const ConvArithmetic& arithmetic, LayerValues values, double input_scale);

}  // namespace lastbit
