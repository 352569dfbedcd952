// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// "max78000": what analogdevicesinc/ai8x-synthesis does to a checkpoint (ab4f4c01, quantize.py without --clip-method, read), 8 bits.
//
//   data      1/128 whatever their range: networks for this chip are trained with activations between -1 and 127/128. data=range: the power of two
//             that the range needs instead, which the chip's output_shift makes good; no tool of the vendor's does so
//   weights   one scale for a layer, a power of two: 2^-s / 128, s = floor(log2(1 / max(|weights|, |bias|))), from -15 to 15; codes half up, -128 ... 127
//   bias      8 bits at the weights' scale, which the chip multiplies by 128
//   output    output_shift = -s
//   constants that are data: half up, an assumption
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/op/quantize.hpp"
#include "toolchains/integer_network.hpp"

namespace lastbit {
namespace {

/// The smallest step, a power of two from 2^-22 to 2^8, of which 128 reach the magnitude.
double power_of_two(double magnitude) {
  const double shift = std::clamp(std::floor(std::log2(1 / magnitude)), -15.0, 15.0);
  return std::exp2(-shift) / 128;
}

IntegerScheme scheme_of(Quantization (*data_quantization)(ClippingRange, const DataCodes&)) {
  return {.name = "max78000",
          .data = {ElementType::int8, Coding::symmetric},
          .data_quantization = data_quantization,
          .fixed_quantization = [](OperationKind, const DataCodes&) -> std::optional<Quantization> { return std::nullopt; },
          .data_rounding = by_division(Rounding::half_up),
          .sums_keep_scale = true,
          .weight_scale = [](float magnitude) { return static_cast<float>(power_of_two(double{magnitude})); },
          .weight_factor = [](float magnitude) { return static_cast<float>(1 / power_of_two(double{magnitude})); },
          .weight_codes = {-128, 127},
          .rounding = Rounding::half_up,
          .bias_type = ElementType::int32,
          .bias_codes = {-128, 127},
          .bias_unit = 128};
}

/// What the chip clips of a network that was not trained for it.
void add_beyond_unit(const QuantizationRequest& request, std::vector<std::string>& notes) {
  std::int64_t beyond = 0;
  double largest = 0;
  for (const Operation& operation : request.model.operations) {
    const TensorStatistics& seen = request.statistics(operation.outputs[0]);
    const double magnitude = std::max(std::abs(double{seen.min}), std::abs(double{seen.max}));
    beyond += magnitude > 1 ? 1 : 0;
    largest = std::max(largest, magnitude);
  }
  if (beyond == 0) return;
  char text[160];
  std::snprintf(
      text, sizeof(text),
      "%lld tensors leave -1 ... 1, where the vendor's training keeps them (largest: %.4g): data=range gives each the scale that it needs",
      static_cast<long long>(beyond), largest);
  notes.emplace_back(text);
}

}  // namespace

Quantizer max78000_quantizer() {
  std::vector<QuantizerOption> options = integer_options("max", "99.99", "tensor", "tensor");
  options.insert(options.begin(),
                 {"data", "unit", {"unit", "range"}, "scale of the data: 1/128, or the power of two that their range needs"});
  return {.name = "max78000",
          .title = "Analog Devices' quantize.py: int8, scales that are powers of two, data between -1 and 1",
          .options = std::move(options),
          .quantize = [](const QuantizationRequest& request) {
            const auto unit = [](ClippingRange, const DataCodes&) { return Quantization{{1.0 / 128}, {0}, 0}; };
            const auto by_range = [](ClippingRange range, const DataCodes&) {
              return Quantization{{power_of_two(std::max({std::abs(range.min), std::abs(range.max), 1e-8}))}, {0}, 0};
            };
            if (request.option("data") == "range") return integer_network(request, scheme_of(by_range));
            QuantizedNetwork result = integer_network(request, scheme_of(unit));
            add_beyond_unit(request, result.notes);
            return result;
          }};
}

}  // namespace lastbit
