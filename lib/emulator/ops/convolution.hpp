// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sums of conv2d, depthwise_conv2d, transposed_conv2d, fully_connected and matmul, by the route that the proof allows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/op/conv2d.hpp"

namespace lastbit {

enum class Direction : std::uint8_t { forward, transposed };

/// Weights and bias of one layer, centred, with what is proven about their sums.
class Convolution {
 public:
  /// `weights` [out_channels, kernel_height, kernel_width, group channels], zero points subtracted; `bias` empty, one per channel, or one per
  /// output position; `largest_input` bounds the magnitude of every centred input value; `multipliers` empty or one per channel, from 0 to
  /// 255 and with weights of 8 bits.
  Convolution(const ConvShape& shape, Direction direction, const ConvArithmetic& arithmetic, std::vector<std::int16_t> weights,
              std::vector<std::int64_t> bias, std::int64_t largest_input, std::vector<std::int64_t> multipliers = {});

  /// Accumulators of one output row (sample n, row y): out_width x out_channels.
  void accumulate_row(std::span<const std::int16_t> input, std::int64_t n, std::int64_t y, std::span<std::int64_t> out,
                      Events* events) const;
  /// The same for inputs beyond 16 bits, always step by step.
  void accumulate_row(std::span<const std::int32_t> input, std::int64_t n, std::int64_t y, std::span<std::int64_t> out,
                      Events* events) const;

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  /// Width that every accumulator fits.
  [[nodiscard]] int accumulator_bits() const { return accumulator_bits_; }

 private:
  void prove(std::int64_t largest_input);
  void fold_multipliers();
  [[nodiscard]] bool drops_no_term() const;
  [[nodiscard]] Int128 largest_bias(std::size_t channel) const;
  [[nodiscard]] std::int64_t multiplier(std::size_t channel) const { return multipliers_.empty() ? 1 : multipliers_[channel]; }
  void row_32_bit(std::span<const std::int16_t> input, std::int64_t n, std::int64_t y, std::span<std::int64_t> out) const;
  void depthwise_row(std::span<const std::int16_t> input, std::int64_t n, std::int64_t y, std::span<std::int32_t> sums) const;
  void dense_row(std::span<const std::int16_t> input, std::int64_t n, std::int64_t y, std::span<std::int32_t> sums) const;
  template <class Value>
  void step_by_step_row(std::span<const Value> input, std::int64_t n, std::int64_t y, std::span<std::int64_t> out, Events* events) const;
  [[nodiscard]] bool is_depthwise() const { return shape_.groups > 1 && shape_.group_channels() == 1; }

  ConvShape shape_;
  Direction direction_;
  ConvArithmetic arithmetic_;
  std::vector<std::int16_t> weights_;
  std::vector<std::int16_t> tap_major_weights_;  ///< depthwise only: [kernel_height, kernel_width, out_channels]
  std::vector<std::int64_t> bias_;
  std::vector<std::int64_t> multipliers_;
  bool never_overflows_ = false;   ///< proven: no partial sum can leave the accumulator
  bool fits_32_bit_sums_ = false;  ///< 32-bit sums in any order give the same bits
  int accumulator_bits_ = 64;
};

}  // namespace lastbit
