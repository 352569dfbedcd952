// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// l2_normalization of 8-bit codes, row by row of the last axis. Contract:
//   1. n = sum of (x - zero point)^2 in 32 bits; the multiplier and exponent of 1/sqrt(n) (arith/fixed_root.hpp);
//   2. int8: y = clamp(rescale(x - zero point, exponent + 7)); uint8: y = clamp(128 + rescale(128 (x - zero point), exponent)).
// Outputs have scale 1/128, and the zero point 0 or 128. Source: tensorflow/lite/kernels/internal/reference/l2normalization.h and
// integer_ops/l2normalization.h.
#include <algorithm>

#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "lastbit/arith/fixed_root.hpp"

namespace lastbit {
namespace {

constexpr int output_bits = 7;  // of the fraction

/// A value times the multiplier.
Chain rounding_of(L2Normalization rule) {
  if (rule == L2Normalization::one_rounding)
    return {stage::multiply(), stage::shift_right(Rounding::half_up), stage::narrow_to(32, Overflow::wrap)};
  return {stage::shift_left(32, Overflow::wrap), stage::doubling_high_multiply(32, Rounding::half_up),
          stage::shift_right_by_exponent(Rounding::half_away)};
}

void require_codes(const Operation& operation, const ModelTensor& input, const ModelTensor& output, std::int64_t zero_point) {
  constexpr double scale = 1.0 / (1 << output_bits);
  const Quantization& quantization = output.quantization;
  if (quantization.scale() != scale || quantization.zero_point() != zero_point) {
    throw_unsupported(operation, "tensor '" + output.name + "' has scale " + std::to_string(quantization.scale()) + " and zero point " +
                                     std::to_string(quantization.zero_point()) + "; the device gives 1/128 and " +
                                     std::to_string(zero_point));
  }
  constexpr std::int64_t longest = (std::int64_t{1} << 31) / (255 * 255);  // whose sum of squares stays in 32 bits
  if (input.shape.back() > longest)
    throw_unsupported(operation, "rows of " + std::to_string(input.shape.back()) + " values; at most " + std::to_string(longest));
}

}  // namespace

Executor prepare_l2_normalization(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  if (backend.l2_normalization == L2Normalization::absent) throw_unsupported(operation, "the backend has no such arithmetic");
  const bool is_signed = input.type == ElementType::int8;
  if (size_of(input.type) != 1)
    throw_unsupported(operation, "the backend has no arithmetic for " + std::string(name_of(input.type)) + " data");
  const std::int64_t offset = is_signed ? 0 : 128;
  require_codes(operation, input, output, offset);
  return [=, chain = rounding_of(backend.l2_normalization), zero = input.quantization.zero_point(),
          length = static_cast<std::size_t>(input.shape.back()), range = range_of(output.type)](const Execution& run) {
    std::vector<std::int64_t> values = centred(*run.inputs[0], zero);
    for (std::size_t row = 0; row < values.size(); row += length) {
      const std::span<std::int64_t> in = std::span(values).subspan(row, length);
      std::int64_t sum = 0;
      for (const std::int64_t value : in) sum += value * value;
      RescaleOperands operands{.scale = inverse_root_of(static_cast<std::int32_t>(sum))};  // 1.
      if (is_signed) operands.scale.exponent += output_bits;
      for (std::int64_t& value : in)  // 2.
        value = std::clamp(offset + finish(chain, is_signed ? value : value << output_bits, operands), range.min, range.max);
    }
    store(values, run.outputs[0]);
  };
}

}  // namespace lastbit
