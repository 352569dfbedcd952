// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// add, sub and mul with broadcasting.
#include <algorithm>
#include <cmath>

#include "emulator/broadcast.hpp"
#include "emulator/finisher.hpp"
#include "emulator/operands.hpp"
#include "emulator/ops/prepare.hpp"
#include "lastbit/op/add.hpp"

namespace lastbit {
namespace {

/// Two operands spread over the output, and what a method makes of them.
struct Pair {
  std::vector<std::int64_t> a_offsets, b_offsets;
  std::int64_t a_zero, b_zero;
};

Pair pair_of(const Model& model, const Operation& operation) {
  const ModelTensor& a = model.tensor(operation.inputs[0]);
  const ModelTensor& b = model.tensor(operation.inputs[1]);
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  return {broadcast_offsets(a.shape, out), broadcast_offsets(b.shape, out), a.quantization.zero_point(), b.quantization.zero_point()};
}

std::vector<std::int64_t> gather(const Tensor& tensor, const std::vector<std::int64_t>& offsets, std::int64_t zero_point) {
  const auto values = centred(tensor, zero_point);
  std::vector<std::int64_t> out(offsets.size());
  std::transform(offsets.begin(), offsets.end(), out.begin(),
                 [&](std::int64_t offset) { return values[static_cast<std::size_t>(offset)]; });
  return out;
}

/// combine(values of a in place, values of b) on centred operands, then the finisher.
template <class Combine>
Executor pairwise(Pair pair, Finisher finisher, Combine combine) {
  return [pair = std::move(pair), finisher = std::move(finisher), combine = std::move(combine)](const Execution& run) {
    auto a = gather(*run.inputs[0], pair.a_offsets, pair.a_zero);
    auto b = gather(*run.inputs[1], pair.b_offsets, pair.b_zero);
    combine(a, b);
    finisher(a, run.events);
    store(a, run.outputs[0]);
  };
}

struct Scales {
  double a, b, out;
};

Scales scales_of(const Model& model, const Operation& operation) {
  return {model.tensor(operation.inputs[0]).quantization.scale(), model.tensor(operation.inputs[1]).quantization.scale(),
          model.tensor(operation.outputs[0]).quantization.scale()};
}

/// Finishes with zero point and bounds only.
Finisher to_output(const ModelTensor& output, IntegerRange range, int bits) {
  return Finisher({add_zero_point(), clamp()}, {operands_for({}, output, range)}, bits);
}

Executor aligned_operands(const AddArithmetic& rule, Pair pair, const Scales& scales, const ModelTensor& output, IntegerRange range,
                          int sign) {
  const int left_shift = size_of(output.type) == 1 ? rule.left_shift_8bit : rule.left_shift_16bit;
  const double twice_larger = 2.0 * std::max(scales.a, scales.b);
  const auto operand = [&](double scale) {
    const auto& encoding = rule.operand.scale;
    return Finisher(rule.operand.chain, {{.scale = encode(encoding, effective_scale(encoding.arithmetic, scale, 1.0, twice_larger))}}, 32);
  };
  const auto& encoding = rule.output.scale;
  const double sum_scale = effective_scale(encoding.arithmetic, twice_larger, 1.0, std::ldexp(scales.out, left_shift));
  Finisher finisher(rule.output.chain, {operands_for(encode(encoding, sum_scale), output, range)}, 32);
  return pairwise(std::move(pair), std::move(finisher), [=, scale_a = operand(scales.a), scale_b = operand(scales.b)](auto& a, auto& b) {
    for (auto& value : a) value = narrow_wrap(value * (std::int64_t{1} << left_shift), 32);
    for (auto& value : b) value = narrow_wrap(value * (std::int64_t{1} << left_shift), 32);
    scale_a(a);
    scale_b(b);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = narrow_wrap(a[i] + sign * b[i], 32);
  });
}

Executor weighted_sum(const AddArithmetic& rule, Pair pair, const Scales& scales, const ModelTensor& output, IntegerRange range, int sign) {
  const SumWeights weights = sum_weights(rule.weight_bits, scales.a, scales.b, scales.out);
  return pairwise(std::move(pair), to_output(output, range, 64), [=, rounding = rule.rounding](auto& a, auto& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = add_weighted(weights, a[i], sign * b[i], rounding);
  });
}

/// Raw integers, not centred: the zero points are part of the float constant.
Executor float_sum(const AddArithmetic& rule, Pair pair, const Scales& scales, const ModelTensor& output, IntegerRange range, float sign) {
  FloatSum sum =
      float_sum_of(static_cast<float>(scales.a), static_cast<float>(scales.b) * sign, static_cast<float>(scales.out),
                   static_cast<float>(pair.a_zero), static_cast<float>(pair.b_zero), static_cast<float>(output.quantization.zero_point()));
  pair.a_zero = pair.b_zero = 0;
  Finisher finisher({clamp()}, {operands_for({}, output, range)}, 64);
  return pairwise(std::move(pair), std::move(finisher), [=, rounding = rule.rounding](auto& a, auto& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const float inner = std::fma(static_cast<float>(b[i]), sum.ratio_b, sum.fixed);
      a[i] = round_to_integer(std::fma(static_cast<float>(a[i]), sum.ratio_a, inner), rounding);
    }
  });
}

/// The device's convolution sees 8-bit codes; with both operands centred only the difference of the zero points is left in the bias.
Executor convolution_8bit(const AddArithmetic& rule, Pair pair, const Scales& scales, const ModelTensor& output, IntegerRange range,
                          Rectifier rectifier, int sign) {
  const ConvolutionAdd add = convolution_add(rule.convolution_bias, scales.a, scales.b, pair.a_zero - pair.b_zero);
  const auto& encoding = rule.output.scale;
  RescaleOperands operands =
      operands_for(encode(encoding, effective_scale(encoding.arithmetic, scales.a, add.scale, scales.out)), output, range);
  operands.rectifier = rectifier;
  pair.b_zero = pair.a_zero;  // the device subtracts the zero point of the first input from both
  return pairwise(std::move(pair), Finisher(rule.output.chain, {operands}, 32), [=](auto& a, auto& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = narrow_wrap(add.weight_a * a[i] + sign * (add.weight_b * b[i] + add.bias), 32);
  });
}

/// Products of at most 16 + 26 bits: their sum is exact before it is narrowed.
Executor common_scale_sum(const AddArithmetic& rule, Pair pair, const Scales& scales, const ModelTensor& output, IntegerRange range,
                          int sign) {
  const auto& encoding = rule.output.scale;
  const CommonScale common = encoding.arithmetic == ScaleArithmetic::f64
                                 ? common_scale(scales.a, scales.b)
                                 : common_scale(static_cast<float>(scales.a), static_cast<float>(scales.b));
  const EncodedScale scale = encode(encoding, effective_scale(encoding.arithmetic, common.scale, 1.0, scales.out));
  return pairwise(std::move(pair), Finisher(rule.output.chain, {operands_for(scale, output, range)}, 44), [=](auto& a, auto& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = narrow(common.multiplier_a * a[i] + sign * common.multiplier_b * b[i], 32, rule.sum_overflow);
  });
}

/// TFLite's int16 addition of power-of-two scales: both operands shifted right half away, then a saturating 16-bit sum.
Executor power_of_two_sum(const Operation& operation, Pair pair, const Scales& scales, const ModelTensor& output, IntegerRange range,
                          int sign) {
  const auto shift_to_output = [&](double scale) {
    int exponent = 0;
    const bool power_of_two = std::frexp(scale / scales.out, &exponent) == 0.5;
    if (!power_of_two || exponent > 1 || exponent < -30) throw_unsupported(operation, "scales must be 2^-31 to 1 times the output's");
    return 1 - exponent;
  };
  return pairwise(std::move(pair), to_output(output, range, 32),
                  [=, shift_a = shift_to_output(scales.a), shift_b = shift_to_output(scales.b)](auto& a, auto& b) {
                    for (std::size_t i = 0; i < a.size(); ++i) {
                      a[i] = narrow_saturate(
                          shift_right<Rounding::half_away>(a[i], shift_a) + sign * shift_right<Rounding::half_away>(b[i], shift_b), 16);
                    }
                  });
}

void require_one_quantization(const Model& model, const Operation& operation) {
  const ModelTensor& first = model.tensor(operation.inputs[0]);
  for (const auto index : operation.inputs) {
    const ModelTensor& other = model.tensor(index);
    if (other.quantization == first.quantization) continue;
    throw_unsupported(operation,
                      "'" + first.name + "' and '" + other.name +
                          "' differ in scale or zero point; the backend adds codes of one quantisation (requantize one of them)");
  }
}

const RescaleRule& sum_rescale(const AddArithmetic& rule, const ModelTensor& input, const ModelTensor& output) {
  const std::vector<double> scales = scales_to(rule.output.scale, input.quantization, output);
  if (!rule.output_above_one.chain.empty() && *std::max_element(scales.begin(), scales.end()) > 1) return rule.output_above_one;
  return size_of(output.type) == 2 && !rule.output_16bit.chain.empty() ? rule.output_16bit : rule.output;
}

/// Codes of 32 bits or less need no width of their own; sums of 64-bit values are modulo 2^64.
Executor equal_scales_sum(const Model& model, const Operation& operation, const AddArithmetic& rule) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const OutputBounds& bounds = std::get<ElementwiseAttributes>(operation.attributes).bounds;
  const RescaleRule& rescale = sum_rescale(rule, input, output);
  require_one_quantization(model, operation);
  std::vector<std::vector<std::int64_t>> offsets;
  for (const auto index : operation.inputs) offsets.push_back(broadcast_offsets(model.tensor(index).shape, output.shape));
  Finisher finisher(output_chain(operation, rescale.chain, bounds),
                    layer_operands(operation, rescale.scale, scales_to(rescale.scale, input.quantization, output), output, bounds), 64);
  return [offsets = std::move(offsets), finisher = std::move(finisher), zero = input.quantization.zero_point()](const Execution& run) {
    std::vector<std::int64_t> sums(offsets[0].size(), 0);
    for (std::size_t input_index = 0; input_index < run.inputs.size(); ++input_index) {
      const auto values = gather(*run.inputs[input_index], offsets[input_index], zero);
      std::transform(sums.begin(), sums.end(), values.begin(), sums.begin(),
                     [](std::int64_t sum, std::int64_t value) { return narrow_wrap(add_modulo(sum, value), 64); });
    }
    finisher(sums, run.events);
    store(sums, run.outputs[0]);
  };
}

}  // namespace

Executor prepare_add(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const auto& attributes = std::get<ElementwiseAttributes>(operation.attributes);
  const AddArithmetic& rule = operation.kind == OperationKind::sub ? backend.sub : backend.add;
  if (rule.method == AddMethod::equal_scales && operation.kind != OperationKind::sub) return equal_scales_sum(model, operation, rule);
  if (operation.kind == OperationKind::add_n) throw_unsupported(operation, "the backend has no sum of any number of inputs");
  const IntegerRange range = bounds_of(attributes.bounds, output);
  const Scales scales = scales_of(model, operation);
  const int sign = operation.kind == OperationKind::sub ? -1 : 1;
  Pair pair = pair_of(model, operation);
  if (attributes.power_of_two_scales) return power_of_two_sum(operation, std::move(pair), scales, output, range, sign);
  if (rule.method == AddMethod::aligned_operands || rule.method == AddMethod::convolution_8bit || rule.method == AddMethod::common_scale)
    (void)output_chain(operation, rule.output.chain);
  switch (rule.method) {
    case AddMethod::aligned_operands: return aligned_operands(rule, std::move(pair), scales, output, range, sign);
    case AddMethod::weighted_sum: return weighted_sum(rule, std::move(pair), scales, output, range, sign);
    case AddMethod::float_sum: return float_sum(rule, std::move(pair), scales, output, range, static_cast<float>(sign));
    case AddMethod::convolution_8bit:
      return convolution_8bit(rule, std::move(pair), scales, output, range, rectifier_of(attributes.bounds.activation), sign);
    case AddMethod::common_scale: return common_scale_sum(rule, std::move(pair), scales, output, range, sign);
    case AddMethod::equal_scales:
    case AddMethod::absent: break;
  }
  throw_unsupported(operation, "the backend has no such arithmetic");
}

Executor prepare_mul(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const MulArithmetic& rule = backend.mul;
  const IntegerRange range = bounds_of(std::get<ElementwiseAttributes>(operation.attributes).bounds, output);
  const Scales scales = scales_of(model, operation);
  const auto product = [](auto& a, auto& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
  };
  switch (rule.method) {
    case MulMethod::rescaled: {
      const auto& encoding = rule.rescale.scale;
      const EncodedScale scale = encode(encoding, effective_scale(encoding.arithmetic, scales.a, scales.b, scales.out));
      return pairwise(pair_of(model, operation),
                      Finisher(output_chain(operation, rule.rescale.chain), {operands_for(scale, output, range)}, 34), product);
    }
    case MulMethod::float_product: {
      const float ratio = static_cast<float>(scales.a) * static_cast<float>(scales.b) / static_cast<float>(scales.out);
      const float zero = static_cast<float>(output.quantization.zero_point());
      Finisher finisher({clamp()}, {operands_for({}, output, range)}, 64);
      return pairwise(pair_of(model, operation), std::move(finisher), [=, rounding = rule.rounding](auto& a, auto& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
          const float scaled = static_cast<float>(a[i] * b[i]) * ratio;
          a[i] = round_to_integer(scaled + zero, rounding);
        }
      });
    }
    case MulMethod::absent: break;
  }
  throw_unsupported(operation, "the backend has no such arithmetic");
}

}  // namespace lastbit
