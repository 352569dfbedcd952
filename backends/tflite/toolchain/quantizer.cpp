// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// "int8": what the public TFLite quantiser does (tensorflow/lite/tools/optimize, read; TFLite's 8-bit quantisation specification).
//
//   data      asymmetric int8: min and max are widened to hold 0; scale = (max - min) / 255, zero point = half_away(-128 - min / scale), in
//             float32. With data=int16: symmetric, scale = max |x| / 32767. For a device that has zero point 0 alone (its rule `coding`) int8 is
//             symmetric as well, scale = max |x| / 127, nothing is `fixed`.
//   weights   symmetric int8 in [-127, 127]: scale = max |w| / 127 per output channel, code = half_away(w * (127 / max |w|)), in float32.
//             Where a bias would need more than half of its 32 (40) bits, the scale grows until it does not.
//   bias      int32 (int64 with int16 data) at scale input * weights, code = half_away(b * (1 / scale)), in float32.
//   fusing    as toolchains/integer_network.hpp says: the converter fuses before it quantises
//             (tensorflow/compiler/mlir/lite/transforms/optimize_patterns.td).
//   fixed     softmax and logistic: scale 1/256, zero point -128; tanh: 1/128, 0. int16: 1/32768, 0.
#include <algorithm>
#include <cmath>
#include <optional>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/op/quantize.hpp"
#include "toolchains/integer_network.hpp"

namespace lastbit {
namespace {

/// Ranges narrower than this are widened: a scale of zero means nothing.
constexpr float narrowest_range = 1e-6F;

Quantization per_tensor(double scale, std::int64_t zero_point) { return {{scale}, {zero_point}, 0}; }

Quantization data_quantization(ClippingRange range, const DataCodes& codes) {
  const float min = std::min(static_cast<float>(range.min), 0.0F), max = std::max(static_cast<float>(range.max), 0.0F);
  if (codes.symmetric()) {
    const auto largest_code = static_cast<float>(range_of(codes.type).max);
    return per_tensor(double{std::max({-min, max, narrowest_range / 2}) / largest_code}, 0);
  }
  const float scale = std::max(max - min, narrowest_range) / 255.0F;
  const float zero_point = std::clamp(-128.0F - min / scale, -128.0F, 127.0F);
  return per_tensor(double{scale}, round_to_integer(zero_point, Rounding::half_away));
}

/// The quantisation that an operation's output has whatever its values are.
std::optional<Quantization> fixed_quantization(OperationKind kind, const DataCodes& codes) {
  using enum OperationKind;
  if (kind != softmax && kind != logistic && kind != OperationKind::tanh) return std::nullopt;
  if (codes.coding != Coding::affine) return std::nullopt;
  if (codes.type == ElementType::int16) return per_tensor(1.0 / 32768, 0);
  return kind == OperationKind::tanh ? per_tensor(1.0 / 128, 0) : per_tensor(1.0 / 256, -128);
}

/// TFLite multiplies by 127 / magnitude, which is not quite the inverse of the scale that it stores.
IntegerScheme scheme_of(ElementType data, Coding coding) {
  const bool wide = data == ElementType::int16;
  return {.name = "int8",
          .data = {data, coding},
          .data_quantization = data_quantization,
          .fixed_quantization = fixed_quantization,
          .data_rounding = by_division(Rounding::half_away),
          .weight_scale = [](float magnitude) { return magnitude / 127.0F; },
          .weight_factor = [](float magnitude) { return 127.0F / magnitude; },
          .weight_codes = {-127, 127},
          .rounding = Rounding::half_away,
          .bias_type = wide ? ElementType::int64 : ElementType::int32,
          .bias_codes = {-max_of_width(wide ? 64 : 32), max_of_width(wide ? 64 : 32)},
          .room_for_bias = max_of_width(wide ? 40 : 32)};
}

}  // namespace

Quantizer int8_quantizer() {
  std::vector<QuantizerOption> options = integer_options("max", "99.99", "channel", "tensor");
  options.insert(options.begin(), {"data", "int8", {"int8", "int16"}, "type of the data; int16 is symmetric, with a 64-bit bias"});
  return {.name = "int8",
          .title = "TFLite's integer quantisation: symmetric int8 weights per channel, asymmetric int8 data, int32 bias",
          .options = std::move(options),
          .quantize = [](const QuantizationRequest& request) {
            return integer_network(request, scheme_of(*element_type_from(request.option("data")), request.backend.coding));
          }};
}

}  // namespace lastbit
