// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Quantisers to integers with one scale for a tensor of data and one for a tensor or output channel of weights: what they share, and the scheme in
// which they differ.
//
//   fusing    relu, relu6, relu_n1_to_1 and clip become bounds of the convolution, fully connected layer, sum, product or pool that they alone read.
//   ties      pools, data movement, concat and what picks values have one quantisation for all that they read and write; over their common range.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lastbit/op/quantize.hpp"
#include "lastbit/quantizer.hpp"
#include "toolchains/thresholds.hpp"

namespace lastbit {

/// Of data: their type, and whether the device has other zero points than 0.
struct DataCodes {
  ElementType type = ElementType::int8;
  Coding coding = Coding::affine;

  [[nodiscard]] bool symmetric() const { return type == ElementType::int16 || coding != Coding::affine; }
};

/// What a vendor's tool decides.
struct IntegerScheme {
  std::string_view name;  ///< of the quantiser
  DataCodes data;
  Quantization (*data_quantization)(ClippingRange range, const DataCodes& codes);
  /// What an operation's output has whatever its values are; nothing: its range decides.
  std::optional<Quantization> (*fixed_quantization)(OperationKind kind, const DataCodes& codes);
  QuantizeArithmetic data_rounding;  ///< of constants that are data
  bool sums_keep_scale = false;      ///< add and sub join codes of one scale, and give them

  float (*weight_scale)(float magnitude);   ///< of the largest magnitude
  float (*weight_factor)(float magnitude);  ///< a weight times this is its code, before it is rounded
  IntegerRange weight_codes;
  Rounding rounding;  ///< of weights and biases
  ElementType bias_type;
  IntegerRange bias_codes;
  /// Of a bias that joins its sum multiplied by this: the codes are multiples of it, and where they would leave their range the scale of the weights
  /// grows.
  std::int64_t bias_unit = 1;
  /// The scale of a channel's weights grows until its bias is at most half of this; 0: it stays.
  std::int64_t room_for_bias = 0;
};

/// range=max|percentile|mse|kl, percentile, weights=channel|tensor, dense=channel|tensor, with these defaults.
[[nodiscard]] std::vector<QuantizerOption> integer_options(std::string range, std::string percentile, std::string weights,
                                                           std::string dense);

/// Throws Error for options that are no numbers, and for operations that no scheme has rules for.
[[nodiscard]] QuantizedNetwork integer_network(const QuantizationRequest& request, const IntegerScheme& scheme);

}  // namespace lastbit
