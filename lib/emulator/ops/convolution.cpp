// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "emulator/ops/convolution.hpp"

#include <algorithm>
#include <cstdlib>

#include "kernels/kernels.hpp"
#include "lastbit/op/transposed_conv2d.hpp"

namespace lastbit {
namespace {

int bits_for(std::int64_t magnitude) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(magnitude))) + 1; }

}  // namespace

Convolution::Convolution(const ConvShape& shape, Direction direction, const ConvArithmetic& arithmetic, std::vector<std::int16_t> weights,
                         std::vector<std::int64_t> bias, std::int64_t largest_input, std::vector<std::int64_t> multipliers)
    : shape_(shape),
      direction_(direction),
      arithmetic_(arithmetic),
      weights_(std::move(weights)),
      bias_(std::move(bias)),
      multipliers_(std::move(multipliers)) {
  prove(largest_input);
  if (never_overflows_ || !has_partial_sums(arithmetic_.accumulator)) fold_multipliers();
  if (!is_depthwise()) return;
  const auto channels = static_cast<std::size_t>(shape_.out_channels);
  const std::size_t taps = weights_.size() / channels;
  tap_major_weights_.resize(weights_.size());
  for (std::size_t o = 0; o < channels; ++o) {
    for (std::size_t t = 0; t < taps; ++t) tap_major_weights_[t * channels + o] = weights_[o * taps + t];
  }
}

/// Exact terms times the multiplier are exact terms of larger weights: 128 * 255 fits 16 bits.
void Convolution::fold_multipliers() {
  const std::size_t taps = weights_.size() / static_cast<std::size_t>(shape_.out_channels);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    weights_[i] = static_cast<std::int16_t>(narrow_exact(weights_[i] * multiplier(i / taps), 16));
  }
  multipliers_.clear();
}

bool Convolution::drops_no_term() const {
  const PartialSums& partial = arithmetic_.accumulator.partial;
  const bool whole_rows = shape_.pad_left == 0 && (shape_.out_width - 1) * shape_.stride_width + shape_.kernel_width <= shape_.in_width;
  const std::int64_t run = shape_.kernel_width * shape_.group_channels();
  return partial.tail != PartialTail::dropped || partial.vector == 0 || (whole_rows && run % partial.vector == 0);
}

Int128 Convolution::largest_bias(std::size_t channel) const {
  const auto channels = static_cast<std::size_t>(shape_.out_channels);
  Int128 largest = 0;
  for (std::size_t i = channel; i < bias_.size(); i += channels) largest = std::max(largest, bias_[i] < 0 ? -Int128{bias_[i]} : bias_[i]);
  return largest;
}

// Every partial sum of channel o, in any order and with the bias at either end, is at most |bias| + multiplier * max|x| * sum|w|.
// Where that fits the accumulator, no rule of it can act and any order is exact; sums of 32 bits must hold max|x| * sum|w| as well.
void Convolution::prove(std::int64_t largest_input) {
  const std::size_t taps = weights_.size() / static_cast<std::size_t>(shape_.out_channels);
  std::int64_t largest_sum = 0;
  Int128 largest_total = 0;  // a bias may have 64 bits of its own
  bool partial_sums_fit = true;
  for (std::size_t o = 0; o < static_cast<std::size_t>(shape_.out_channels); ++o) {
    std::int64_t weight_sum = 0;
    for (std::size_t t = 0; t < taps; ++t) weight_sum += std::abs(std::int64_t{weights_[o * taps + t]});
    const std::int64_t sum = weight_sum * largest_input * multiplier(o);
    largest_sum = std::max(largest_sum, sum);
    largest_total = std::max(largest_total, sum + largest_bias(o));
    partial_sums_fit = partial_sums_fit && weight_sum * largest_input <= max_of_width(32);
  }
  const AccumulatorRule& rule = arithmetic_.accumulator;
  const bool adds_exactly = !has_partial_sums(rule) || (partial_sums_fit && drops_no_term());
  never_overflows_ = largest_total <= max_of_width(rule.bits) && adds_exactly;
  accumulator_bits_ = never_overflows_                   ? bits_for(static_cast<std::int64_t>(largest_total))
                      : rule.overflow == Overflow::exact ? 64
                                                         : rule.bits;
  const bool modular = rule.overflow == Overflow::wrap && rule.bits <= 32 && !has_partial_sums(rule);
  fits_32_bit_sums_ = modular || (never_overflows_ && bits_for(largest_sum) <= 32);
}

void Convolution::accumulate_row(std::span<const std::int16_t> input, std::int64_t n, std::int64_t y, std::span<std::int64_t> out,
                                 Events* events) const {
  const bool observe_overflow = events != nullptr && !never_overflows_;
  if (direction_ == Direction::forward && fits_32_bit_sums_ && !observe_overflow) return row_32_bit(input, n, y, out);
  step_by_step_row(input, n, y, out, events);
}

void Convolution::accumulate_row(std::span<const std::int32_t> input, std::int64_t n, std::int64_t y, std::span<std::int64_t> out,
                                 Events* events) const {
  step_by_step_row(input, n, y, out, events);
}

template <class Value>
void Convolution::step_by_step_row(std::span<const Value> input, std::int64_t n, std::int64_t y, std::span<std::int64_t> out,
                                   Events* events) const {
  const auto sum = direction_ == Direction::forward ? accumulate_values<Value> : accumulate_transposed_values<Value>;
  std::size_t next = 0;
  for (std::int64_t x = 0; x < shape_.out_width; ++x) {
    for (std::int64_t o = 0; o < shape_.out_channels; ++o) {
      Accumulator accumulator = sum(shape_, {n, y, x, o}, input, weights_, bias_, arithmetic_.accumulator, arithmetic_.bias,
                                    multiplier(static_cast<std::size_t>(o)));
      out[next++] = accumulator.result();
      if (events != nullptr) events->accumulator_overflows += accumulator.overflow_count();
    }
  }
}

void Convolution::row_32_bit(std::span<const std::int16_t> input, std::int64_t n, std::int64_t y, std::span<std::int64_t> out) const {
  thread_local std::vector<std::int32_t> sums;
  sums.assign(out.size(), 0);
  if (is_depthwise()) depthwise_row(input, n, y, sums);
  else dense_row(input, n, y, sums);
  // The 32-bit sums are the true ones, or all that modulo 2^bits needs; only then is the bias added in 64 bits.
  const int bits = never_overflows_ ? 64 : arithmetic_.accumulator.bits;
  const auto channels = static_cast<std::size_t>(shape_.out_channels);
  const bool per_position = bias_.size() > channels;
  const std::int64_t* const first_bias =
      bias_.empty() ? nullptr : bias_.data() + (per_position ? static_cast<std::size_t>(y) * out.size() : 0);
  for (std::size_t i = 0; i < out.size(); i += channels) {
    const std::int64_t* const bias = first_bias == nullptr || !per_position ? first_bias : first_bias + i;
    for (std::size_t o = 0; o < channels; ++o) {
      out[i + o] = narrow_wrap(
          static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[i + o]) + static_cast<std::uint64_t>(bias == nullptr ? 0 : bias[o])),
          bits);
    }
  }
}

void Convolution::depthwise_row(std::span<const std::int16_t> input, std::int64_t n, std::int64_t y, std::span<std::int32_t> sums) const {
  const auto& kernels = kernels::selected_path();
  const auto channels = static_cast<std::size_t>(shape_.out_channels);
  const auto multiplier = static_cast<std::size_t>(shape_.out_channels / shape_.in_channels);
  thread_local std::vector<std::int16_t> spread;
  spread.resize(channels);
  for (std::int64_t x = 0; x < shape_.out_width; ++x) {
    std::int32_t* const at = sums.data() + static_cast<std::size_t>(x) * channels;
    for (std::int64_t ky = 0; ky < shape_.kernel_height; ++ky) {
      const std::int64_t in_y = y * shape_.stride_height + ky * shape_.dilation_height - shape_.pad_top;
      if (in_y < 0 || in_y >= shape_.in_height) continue;
      for (std::int64_t kx = 0; kx < shape_.kernel_width; ++kx) {
        const std::int64_t in_x = x * shape_.stride_width + kx * shape_.dilation_width - shape_.pad_left;
        if (in_x < 0 || in_x >= shape_.in_width) continue;
        const std::int16_t* pixel = input.data() + ((n * shape_.in_height + in_y) * shape_.in_width + in_x) * shape_.in_channels;
        if (multiplier > 1) {
          for (std::size_t o = 0; o < channels; ++o) spread[o] = pixel[o / multiplier];
          pixel = spread.data();
        }
        kernels.multiply_add_i16(pixel, tap_major_weights_.data() + static_cast<std::size_t>(ky * shape_.kernel_width + kx) * channels,
                                 channels, at);
      }
    }
  }
}

void Convolution::dense_row(std::span<const std::int16_t> input, std::int64_t n, std::int64_t y, std::span<std::int32_t> sums) const {
  const auto& kernels = kernels::selected_path();
  const std::int64_t per_tap = shape_.group_channels();
  const auto taps = static_cast<std::size_t>(shape_.taps());
  const auto out_per_group = static_cast<std::size_t>(shape_.out_channels / shape_.groups);
  thread_local std::vector<std::int16_t> patch;
  for (std::int64_t x = 0; x < shape_.out_width; ++x) {
    for (std::int64_t g = 0; g < shape_.groups; ++g) {
      patch.assign(taps, 0);
      for (std::int64_t ky = 0; ky < shape_.kernel_height; ++ky) {
        const std::int64_t in_y = y * shape_.stride_height + ky * shape_.dilation_height - shape_.pad_top;
        if (in_y < 0 || in_y >= shape_.in_height) continue;
        for (std::int64_t kx = 0; kx < shape_.kernel_width; ++kx) {
          const std::int64_t in_x = x * shape_.stride_width + kx * shape_.dilation_width - shape_.pad_left;
          if (in_x < 0 || in_x >= shape_.in_width) continue;
          const auto from = input.begin() + ((n * shape_.in_height + in_y) * shape_.in_width + in_x) * shape_.in_channels + g * per_tap;
          std::copy(from, from + per_tap, patch.begin() + (ky * shape_.kernel_width + kx) * per_tap);
        }
      }
      const std::size_t first = static_cast<std::size_t>(g) * out_per_group;
      kernels.dot_rows_i16(patch.data(), weights_.data() + first * taps, taps, out_per_group,
                           sums.data() + static_cast<std::size_t>(x * shape_.out_channels) + first);
    }
  }
}

}  // namespace lastbit
