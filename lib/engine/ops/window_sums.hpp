// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The windows of a pool, and step 1 of the contract of op/pool.hpp: their sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/counted_parts.hpp"
#include "engine/with_integers.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"
#include "lastbit/op/conv2d.hpp"
#include "lastbit/op/pool.hpp"

namespace lastbit {

/// The part of a window that lies inside the image.
struct Window {
  std::int64_t y0, y1, x0, x1;
  std::int64_t top, left;  ///< of the whole window
  [[nodiscard]] std::int64_t count() const { return (y1 - y0) * (x1 - x0); }
};

inline Window window_at(const ConvShape& w, std::int64_t y, std::int64_t x) {
  const std::int64_t top = y * w.stride_height - w.pad_top, left = x * w.stride_width - w.pad_left;
  return {std::max<std::int64_t>(top, 0),
          std::min(top + w.kernel_height, w.in_height),
          std::max<std::int64_t>(left, 0),
          std::min(left + w.kernel_width, w.in_width),
          top,
          left};
}

/// How many values an average divides by.
inline std::int64_t padded_count(PaddingCount padding, const ConvShape& w, const Window& window) {
  return padding == PaddingCount::excluded ? window.count() : w.kernel_height * w.kernel_width;
}

/// Calls body(values of the channels, how many) for every tap of a window that lies inside the image, in order.
template <class T, class Body>
void each_tap(const ConvShape& w, std::span<const T> input, std::int64_t n, const Window& window, Body&& body) {
  const auto channels = static_cast<std::size_t>(w.in_channels);
  for (std::int64_t y = window.y0; y < window.y1; ++y) {
    const T* pixel = input.data() + ((n * w.in_height + y) * w.in_width + window.x0) * w.in_channels;
    for (std::int64_t x = window.x0; x < window.x1; ++x, pixel += channels) body(pixel, channels);
  }
}

/// For every tap of the whole window; outside the image it is the nearest one inside.
template <class T, class Body>
void each_tap_or_edge(const ConvShape& w, std::span<const T> input, std::int64_t n, const Window& window, Body&& body) {
  for (std::int64_t ky = 0; ky < w.kernel_height; ++ky) {
    const std::int64_t y = std::clamp<std::int64_t>(window.top + ky, 0, w.in_height - 1);
    for (std::int64_t kx = 0; kx < w.kernel_width; ++kx) {
      const std::int64_t x = std::clamp<std::int64_t>(window.left + kx, 0, w.in_width - 1);
      body(input.data() + ((n * w.in_height + y) * w.in_width + x) * w.in_channels, static_cast<std::size_t>(w.in_channels));
    }
  }
}

/// Calls pixel(sample, window, index of its first output, events) for every output pixel, rows shared among threads.
template <class Pixel>
void each_pixel(const ConvShape& w, Events* events, Pixel&& pixel) {
  constexpr std::int64_t taps_per_part = 65536;  // times channels: what a thread does at least
  const std::int64_t work = w.out_width * w.kernel_height * w.kernel_width * w.in_channels;
  for_each_counted_part(events, w.batch * w.out_height, std::max<std::int64_t>(1, taps_per_part / work),
                        [&](std::int64_t first, std::int64_t last, Events* counted) {
                          for (std::int64_t row = first; row < last; ++row) {
                            const std::int64_t n = row / w.out_height, y = row % w.out_height;
                            for (std::int64_t x = 0; x < w.out_width; ++x)
                              pixel(n, window_at(w, y, x), static_cast<std::size_t>((row * w.out_width + x) * w.in_channels), counted);
                          }
                        });
}

/// How a rule's sums are narrowed: not at all where `largest` shows that none leaves the width, else in order, or once.
enum class Settling : std::uint8_t { none, once, at_every_term };
[[nodiscard]] Settling settling_of(const SumArithmetic& sum, Int128 largest);

/// The largest magnitude of a sum of `count` codes, centred or not.
[[nodiscard]] Int128 largest_sum(const ModelTensor& in, std::int64_t count);

/// Adds a code, from which the zero point is already taken, as the term that the operand's chain makes of it.
void add_term(const SumArithmetic& sum, std::int64_t centred, const RescaleOperands& operands, Accumulator& accumulator);

/// Every sum divided by how many values its window holds.
void divide_all(std::span<std::int32_t> sums, std::int32_t count, Rounding rounding);
void divide_all(std::span<std::int64_t> sums, std::int64_t count, Rounding rounding);

/// Step 1 of the contract of op/pool.hpp.
class WindowSums {
 public:
  WindowSums(const AveragePoolArithmetic& rule, const ConvShape& windows, const ModelTensor& in, const ModelTensor& out)
      : rule_(rule),
        windows_(windows),
        in_scale_(in.quantization.scale()),
        out_scale_(out.quantization.scale()),
        zero_(in.quantization.zero_point()),
        settling_(settling_of(rule.sum, largest_sum(in, windows.kernel_height * windows.kernel_width))) {}

  [[nodiscard]] std::int64_t count(const Window& window) const { return padded_count(rule_.padding, windows_, window); }

  /// Calls pixel(sums of the channels, window, index of the first output, events) for every output pixel.
  template <class Sum, class Pixel>
  void each(const Tensor& tensor, Events* events, Pixel&& pixel) const {
    with_integers(tensor, [&]<class T>() {
      const auto input = tensor.values<T>();
      each_pixel(windows_, events, [&](std::int64_t n, const Window& window, std::size_t at, Events* counted) {
        thread_local std::vector<Sum> sums;
        sums.assign(static_cast<std::size_t>(windows_.in_channels), 0);
        if (settling_ == Settling::at_every_term) add_in_order<T, Sum>(input, n, window, sums);
        else add_all<T, Sum>(input, n, window, sums);
        pixel(std::span<Sum>(sums), window, at, counted);
      });
    });
  }

 private:
  [[nodiscard]] bool repeats_edge() const { return rule_.padding == PaddingCount::edge_repeated; }
  /// Taps that are codes of the image, once or repeated.
  [[nodiscard]] std::int64_t values_in(const Window& window) const { return repeats_edge() ? count(window) : window.count(); }

  template <class T, class Body>
  void each_counted_tap(std::span<const T> input, std::int64_t n, const Window& window, Body&& body) const {
    if (repeats_edge()) each_tap_or_edge<T>(windows_, input, n, window, body);
    else each_tap<T>(windows_, input, n, window, body);
  }

  template <class T, class Sum>
  void add_all(std::span<const T> input, std::int64_t n, const Window& window, std::span<Sum> sums) const {
    each_counted_tap(input, n, window, [&](const T* tap, std::size_t channels) {
      Sum* const to = sums.data();
      for (std::size_t c = 0; c < channels; ++c) to[c] = static_cast<Sum>(to[c] + static_cast<Sum>(tap[c]));
    });
    const auto centring = static_cast<Sum>(centring_of(rule_.sum, zero_, values_in(window), count(window)));
    if (centring != 0) {
      for (Sum& sum : sums) sum = static_cast<Sum>(sum + centring);
    }
    if (settling_ == Settling::none) return;
    for (Sum& sum : sums) sum = static_cast<Sum>(narrow(std::int64_t{sum}, rule_.sum.accumulator.bits, rule_.sum.accumulator.overflow));
  }

  template <class T, class Sum>
  void add_in_order(std::span<const T> input, std::int64_t n, const Window& window, std::span<Sum> sums) const {
    const std::int64_t subtracted = centred_by(rule_.sum.centring, zero_);
    const RescaleOperands operands = term_operands(rule_.sum, in_scale_, out_scale_, count(window));
    const auto add = [&](std::int64_t code, Accumulator& accumulator) { add_term(rule_.sum, code - subtracted, operands, accumulator); };
    std::vector<Accumulator> accumulators(sums.size(), Accumulator(rule_.sum.accumulator, 0));
    each_counted_tap(input, n, window, [&](const T* tap, std::size_t channels) {
      for (std::size_t c = 0; c < channels; ++c) add(static_cast<std::int64_t>(tap[c]), accumulators[c]);
    });
    for (std::int64_t outside = count(window) - values_in(window); outside > 0; --outside) {
      for (Accumulator& accumulator : accumulators) add(zero_, accumulator);
    }
    std::transform(accumulators.begin(), accumulators.end(), sums.begin(), [](Accumulator& sum) { return static_cast<Sum>(sum.result()); });
  }

  AveragePoolArithmetic rule_;
  ConvShape windows_;
  double in_scale_, out_scale_;
  std::int64_t zero_;
  Settling settling_;
};

}  // namespace lastbit
