// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// "espdl_s3", "espdl_p4": what ESP-PPQ does for ESP-DL (espressif/esp-ppq de6381b, esp_ppq/quantization/quantizer/EspdlQuantizer.py,
// observer/range.py, qfunction/linear.py, read).
//
//   scales    powers of two, zero point 0: the smallest that is at least 2 * max |x| / 255, of data and weights; weights of the ESP32-P4 have one per channel.
//   codes     x / scale, half up on the ESP32-S3 and half even on the ESP32-P4, within -128 ... 127
//   bias      at scale input * weights, within 20 bits on the ESP32-S3 and 32 on the ESP32-P4
//   range     the central 99.98 per cent (0.01 per cent at either end); ESP-PPQ takes the mean over batches of that, here it is over all samples
//   ties      the terms of a sum and its result too: ESP-DL adds codes of equal exponents
#include <algorithm>
#include <cmath>

#include "lastbit/op/quantize.hpp"
#include "toolchains/integer_network.hpp"

namespace lastbit {
namespace {

constexpr double smallest_scale = 1e-8;

double scale_of(double magnitude) { return std::exp2(std::ceil(std::log2(std::max(2 * magnitude / 255, smallest_scale)))); }

Quantization data_quantization(ClippingRange range, const DataCodes&) {
  return {{scale_of(std::max(std::abs(range.min), std::abs(range.max)))}, {0}, 0};
}

IntegerScheme scheme_of(std::string_view name, Rounding rounding, int bias_bits) {
  return {.name = name,
          .data = {ElementType::int8, Coding::symmetric},
          .data_quantization = data_quantization,
          .fixed_quantization = [](OperationKind, const DataCodes&) -> std::optional<Quantization> { return std::nullopt; },
          .data_rounding = by_division(rounding),
          .sums_keep_scale = true,
          .weight_scale = [](float magnitude) { return static_cast<float>(scale_of(double{magnitude})); },
          .weight_factor = [](float magnitude) { return static_cast<float>(1 / scale_of(double{magnitude})); },
          .weight_codes = {-128, 127},
          .rounding = rounding,
          .bias_type = ElementType::int32,
          .bias_codes = {-max_of_width(bias_bits), max_of_width(bias_bits)}};
}

}  // namespace

Quantizer espdl_s3_quantizer() {
  return {.name = "espdl_s3",
          .title = "ESP-PPQ's rules for the ESP32-S3: int8, scales that are powers of two, half up",
          .options = integer_options("percentile", "99.98", "tensor", "tensor"),
          .quantize = [](const QuantizationRequest& request) {
            return integer_network(request, scheme_of("espdl_s3", Rounding::half_up, 20));
          }};
}

Quantizer espdl_p4_quantizer() {
  return {.name = "espdl_p4",
          .title = "ESP-PPQ's rules for the ESP32-P4: int8, scales that are powers of two, of weights one per channel, half even",
          .options = integer_options("percentile", "99.98", "channel", "channel"),
          .quantize = [](const QuantizationRequest& request) {
            return integer_network(request, scheme_of("espdl_p4", Rounding::half_even, 32));
          }};
}

}  // namespace lastbit
