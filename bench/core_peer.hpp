// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// lastbit/core.hpp beside what a user would write in its place, all of one file and compiled alike: -O3 -march=native.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lastbit::bench {

/// 56x56x64, 3x3, same padding, int8.
struct CoreLayer {
  static constexpr int height = 56, width = 56, channels = 64, kernel = 3, zero_point = -3, out_zero_point = 4;
  static constexpr double scale = 0.0235, weight_scale = 0.0107, out_scale = 0.35;
  std::vector<std::int8_t> input, weights;
  std::vector<std::int32_t> bias;
};
[[nodiscard]] CoreLayer core_layer();

enum class CoreSums : std::uint8_t { tflite_double, vipnano_v8, saturating_24_bits, saturating_16_bits };
[[nodiscard]] std::vector<std::int8_t> conv2d_by_core(CoreSums sums, const CoreLayer& layer);
/// By a device that is known when the program runs.
[[nodiscard]] std::vector<std::int8_t> conv2d_by_given_device(const CoreLayer& layer);

/// A convolution written in the way of CMSIS-NN's C kernels (arm_convolve_s8 without DSP extensions): two pixels at a time are gathered as int16 with the
/// offset added, a kernel of two pixels and two channels sums them in int32, and each sum is requantised by tflite_double's two roundings. Not its code.
[[nodiscard]] std::vector<std::int8_t> conv2d_like_cmsis_nn(const CoreLayer& layer);

/// tflite_double's chain on accumulators, and the same by gemmlowp's fixedpoint.h where that is installed.
void requantize_by_core(std::span<const std::int32_t> sums, std::span<std::int8_t> codes);
void requantize_by_gemmlowp(std::span<const std::int32_t> sums, std::span<std::int8_t> codes);

}  // namespace lastbit::bench
