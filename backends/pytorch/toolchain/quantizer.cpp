// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// "pytorch_qnnpack", "pytorch_x86": what PyTorch's observers and its default configuration of an engine do (torch/ao/quantization, observer.py
// _calculate_qparams and qconfig.py get_default_qconfig, described by its documentation of MinMaxObserver, HistogramObserver and the qconfigs).
//
//   data      uint8: min and max are widened to hold 0; scale = (max - min) / 255, on engine x86 / 127 (reduce_range), zero point = half_even(-min / scale),
//             in float32. reduce_range=no is the default configuration of engine onednn, which is for processors with VNNI
//   weights   int8, zero point 0: scale = max |w| / 127.5, one for a layer (qnnpack) or one per output channel (x86); code = half_even(w * (1 / scale)),
//             within -128 ... 127
//   bias      int32 at scale input * weights, half even
//   fixed     softmax and logistic: scale 1/256, zero point 0; tanh: 1/128, 128
//   range     max is MinMaxObserver; HistogramObserver, PyTorch's default, searches for the least squared error in a way of its own: mse is near it, not it
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/op/quantize.hpp"
#include "toolchains/integer_network.hpp"

namespace lastbit {
namespace {

constexpr float smallest_scale = std::numeric_limits<float>::epsilon();

Quantization affine(ClippingRange range, std::int64_t largest_code) {
  const float min = std::min(static_cast<float>(range.min), 0.0F), max = std::max(static_cast<float>(range.max), 0.0F);
  const float scale = std::max((max - min) / static_cast<float>(largest_code), smallest_scale);
  return {{double{scale}}, {std::clamp<std::int64_t>(round_to_integer(-min / scale, Rounding::half_even), 0, largest_code)}, 0};
}

std::optional<Quantization> fixed_quantization(OperationKind kind, const DataCodes&) {
  using enum OperationKind;
  if (kind == OperationKind::tanh) return Quantization{{1.0 / 128}, {128}, 0};
  if (kind == softmax || kind == logistic) return Quantization{{1.0 / 256}, {0}, 0};
  return std::nullopt;
}

float weight_scale(float magnitude) { return std::max(magnitude / 127.5F, smallest_scale); }

IntegerScheme scheme_of(std::string_view name, Quantization (*data_quantization)(ClippingRange, const DataCodes&)) {
  return {.name = name,
          .data = {ElementType::uint8, Coding::affine},
          .data_quantization = data_quantization,
          .fixed_quantization = fixed_quantization,
          .data_rounding = {.division = ScaleDivision::multiply_by_inverse, .rounding = Rounding::half_even},
          .weight_scale = weight_scale,
          .weight_factor = [](float magnitude) { return 1 / weight_scale(magnitude); },
          .weight_codes = {-128, 127},
          .rounding = Rounding::half_even,
          .bias_type = ElementType::int32,
          .bias_codes = {-max_of_width(32), max_of_width(32)}};
}

}  // namespace

Quantizer pytorch_qnnpack_quantizer() {
  return {.name = "pytorch_qnnpack",
          .title = "PyTorch's observers for engine qnnpack: uint8 data, int8 weights, one scale for each",
          .options = integer_options("max", "99.99", "tensor", "tensor"),
          .quantize = [](const QuantizationRequest& request) {
            const auto data = [](ClippingRange range, const DataCodes&) { return affine(range, 255); };
            return integer_network(request, scheme_of("pytorch_qnnpack", data));
          }};
}

Quantizer pytorch_x86_quantizer() {
  std::vector<QuantizerOption> options = integer_options("max", "99.99", "channel", "channel");
  options.insert(options.begin(),
                 {"reduce_range", "yes", {"yes", "no"}, "data in 7 bits, by the engine's default; in 8 as for engine onednn"});
  return {.name = "pytorch_x86",
          .title = "PyTorch's observers for engine x86: uint8 data in 7 bits, int8 weights per channel",
          .options = std::move(options),
          .quantize = [](const QuantizationRequest& request) {
            const auto narrow = [](ClippingRange range, const DataCodes&) { return affine(range, 127); };
            const auto whole = [](ClippingRange range, const DataCodes&) { return affine(range, 255); };
            const bool reduces = request.option("reduce_range") == "yes";
            return integer_network(request, reduces ? scheme_of("pytorch_x86", narrow) : scheme_of("pytorch_x86", whole));
          }};
}

}  // namespace lastbit
