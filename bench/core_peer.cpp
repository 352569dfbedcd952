// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "core_peer.hpp"

#include <lastbit/core.hpp>
#include <random>

#if defined(LASTBIT_HAS_GEMMLOWP)
#include <fixedpoint/fixedpoint.h>
#endif

namespace lastbit::bench {
namespace {

constexpr Backend saturating(std::uint8_t bits) {
  Backend device = tflite_double;
  device.conv.i8.sum.accumulator = {.bits = bits, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add};
  return device;
}
constexpr Backend saturating_24_bits = saturating(24), saturating_16_bits = saturating(16);

template <const Backend& device>
std::vector<std::int8_t> by_core(const CoreLayer& l) {
  const View x(l.input, {1, l.height, l.width, l.channels}, l.scale, l.zero_point);
  const View w(l.weights, {l.channels, l.kernel, l.kernel, l.channels}, l.weight_scale);
  return conv2d<device>(x, w, l.bias, {.scale = l.out_scale, .zero_point = l.out_zero_point, .padding = same}).values;
}

constexpr EncodedScale multiplier =
    encode(tflite_double.conv.i8.sum.output.scale, CoreLayer::scale* CoreLayer::weight_scale / CoreLayer::out_scale);

/// CMSIS-NN's arm_nn_requantize.
std::int32_t requantized(std::int32_t sum) {
  const std::int64_t product = std::int64_t{sum} * static_cast<std::int32_t>(multiplier.multiplier) + (std::int64_t{1} << 30);
  const auto high = static_cast<std::int32_t>(product >> 31);
  constexpr int places = -multiplier.exponent;
  constexpr std::int32_t mask = (1 << places) - 1;
  const std::int32_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return (high >> places) + ((high & mask) > threshold ? 1 : 0);
}

std::int8_t code_of(std::int32_t sum) {
  return static_cast<std::int8_t>(std::clamp(requantized(sum) + CoreLayer::out_zero_point, -128, 127));
}

/// Two pixels of `length` values by all channels.
[[gnu::noinline]] void multiply_two(const std::int8_t* weights, const std::int16_t* columns, int channels, int length,
                                    const std::int32_t* bias, std::int8_t* out) {
  for (int o = 0; o < channels; o += 2, weights += 2 * length) {
    const std::int8_t *w0 = weights, *w1 = weights + length;
    const std::int16_t *x0 = columns, *x1 = columns + length;
    std::int32_t sum00 = bias[o], sum01 = bias[o], sum10 = bias[o + 1], sum11 = bias[o + 1];
    for (int t = 0; t < length; ++t) {
      sum00 += w0[t] * x0[t], sum01 += w0[t] * x1[t];
      sum10 += w1[t] * x0[t], sum11 += w1[t] * x1[t];
    }
    out[o] = code_of(sum00), out[o + 1] = code_of(sum10);
    out[channels + o] = code_of(sum01), out[channels + o + 1] = code_of(sum11);
  }
}

}  // namespace

CoreLayer core_layer() {
  std::mt19937 random(1);
  CoreLayer layer;
  layer.input.resize(static_cast<std::size_t>(CoreLayer::height) * CoreLayer::width * CoreLayer::channels);
  layer.weights.resize(static_cast<std::size_t>(CoreLayer::channels) * CoreLayer::kernel * CoreLayer::kernel * CoreLayer::channels);
  for (auto* const values : {&layer.input, &layer.weights}) {
    for (auto& code : *values) code = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
  }
  layer.bias.assign(CoreLayer::channels, 100);
  return layer;
}

std::vector<std::int8_t> conv2d_by_core(CoreSums sums, const CoreLayer& layer) {
  switch (sums) {
    case CoreSums::vipnano_v8: return by_core<vipnano_v8>(layer);
    case CoreSums::saturating_24_bits: return by_core<saturating_24_bits>(layer);
    case CoreSums::saturating_16_bits: return by_core<saturating_16_bits>(layer);
    case CoreSums::tflite_double: break;
  }
  return by_core<tflite_double>(layer);
}

std::vector<std::int8_t> conv2d_by_given_device(const CoreLayer& l) {
  const View x(l.input, {1, l.height, l.width, l.channels}, l.scale, l.zero_point);
  const View w(l.weights, {l.channels, l.kernel, l.kernel, l.channels}, l.weight_scale);
  return conv2d(tflite_double, x, w, l.bias, {.scale = l.out_scale, .zero_point = l.out_zero_point, .padding = same}).values;
}

std::vector<std::int8_t> conv2d_like_cmsis_nn(const CoreLayer& l) {
  constexpr int height = CoreLayer::height, width = CoreLayer::width, channels = CoreLayer::channels, kernel = CoreLayer::kernel;
  constexpr int length = kernel * kernel * channels;
  std::vector<std::int8_t> out(static_cast<std::size_t>(height * width * channels));
  std::vector<std::int16_t> columns(2 * length);
  int filled = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::int16_t* to = columns.data() + filled * length;
      for (int ky = y - 1; ky <= y + 1; ++ky) {
        for (int kx = x - 1; kx <= x + 1; ++kx, to += channels) {
          const bool inside = ky >= 0 && ky < height && kx >= 0 && kx < width;
          const std::int8_t* from = inside ? l.input.data() + (ky * width + kx) * channels : nullptr;
          for (int c = 0; c < channels; ++c) to[c] = static_cast<std::int16_t>(inside ? from[c] - CoreLayer::zero_point : 0);
        }
      }
      if (++filled < 2) continue;
      filled = 0;
      multiply_two(l.weights.data(), columns.data(), channels, length, l.bias.data(), out.data() + (y * width + x - 1) * channels);
    }
  }
  return out;
}

void requantize_by_core(std::span<const std::int32_t> sums, std::span<std::int8_t> codes) {
  requantize<tflite_double.conv.i8>(sums, {CoreLayer::scale, CoreLayer::weight_scale, CoreLayer::out_scale, CoreLayer::out_zero_point},
                                    codes);
}

void requantize_by_gemmlowp([[maybe_unused]] std::span<const std::int32_t> sums, [[maybe_unused]] std::span<std::int8_t> codes) {
#if defined(LASTBIT_HAS_GEMMLOWP)
  const auto factor = static_cast<std::int32_t>(multiplier.multiplier);
  const int places = -multiplier.exponent;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int32_t scaled =
        gemmlowp::RoundingDivideByPOT(gemmlowp::SaturatingRoundingDoublingHighMul(sums[i], factor), places) + CoreLayer::out_zero_point;
    codes[i] = static_cast<std::int8_t>(std::clamp(scaled, -128, 127));
  }
#endif
}

}  // namespace lastbit::bench
