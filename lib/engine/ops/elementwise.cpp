// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// add, sub and mul with broadcasting.
#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "engine/code_reader.hpp"
#include "engine/counted_parts.hpp"
#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "lastbit/op/add.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t values_per_part = 16384;

/// One operand: its codes spread over the output, and what each becomes before the two meet.
struct Operand {
  CodeReader codes;
  Finisher finisher;
  std::int64_t largest = 0;  ///< magnitude of a centred code
};

/// An operand centred on `zero_point`, then through `chain`.
Operand operand_of(const ModelTensor& tensor, const Shape& to, std::int64_t zero_point, int left_shift = 0, const Chain& chain = {},
                   const EncodedScale& scale = {}) {
  const IntegerRange range = range_of(tensor.type);
  return {CodeReader(tensor.shape, to), Finisher(chain, {{.scale = scale}}, FinisherInput{range.min, range.max, zero_point, left_shift}),
          narrow_saturate(std::max(Int128{range.max} - zero_point, Int128{zero_point} - range.min), 64)};
}

struct Pair {
  Operand a, b;
  bool narrow = true;  ///< both of codes that are 32-bit integers when centred
};

/// Both operands centred.
Pair pair_of(const Model& model, const Operation& operation, std::int64_t a_zero, std::int64_t b_zero) {
  const ModelTensor& a = model.tensor(operation.inputs[0]);
  const ModelTensor& b = model.tensor(operation.inputs[1]);
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  return {operand_of(a, out, a_zero), operand_of(b, out, b_zero), size_of(a.type) <= 2 && size_of(b.type) <= 2};
}
Pair pair_of(const Model& model, const Operation& operation) {
  return pair_of(model, operation, model.tensor(operation.inputs[0]).quantization.zero_point(),
                 model.tensor(operation.inputs[1]).quantization.zero_point());
}

/// Calls body(first value, count) for blocks of a part.
template <class Body>
void each_block(std::int64_t first, std::int64_t last, std::size_t block, Body&& body) {
  for (auto at = static_cast<std::size_t>(first); at < static_cast<std::size_t>(last); at += block)
    body(at, std::min(block, static_cast<std::size_t>(last) - at));
}

/// combine(values of a, values of b, where the sums go, how many), then the finisher. `Value` holds operands and sums.
template <class Value, class Combine>
Executor pairwise_in(Pair pair, Finisher finisher, Combine combine) {
  return [pair = std::move(pair), finisher = std::move(finisher), combine = std::move(combine)](const Execution& run) {
    Tensor& output = run.outputs[0];
    for_each_counted_part(run.events, output.element_count(), values_per_part, [&](std::int64_t first, std::int64_t last, Events* events) {
      Value a[kernels::finish_block]{}, b[kernels::finish_block]{}, gathered[2 * kernels::finish_block];
      each_block(first, last, kernels::finish_block, [&](std::size_t at, std::size_t count) {
        const auto values = [&](const Operand& operand, const Tensor& tensor, Value* to) {
          operand.finisher(operand.codes.read(tensor, at, count, gathered), tensor.type(), count, to, sizeof(Value), nullptr);
        };
        values(pair.a, *run.inputs[0], a);
        values(pair.b, *run.inputs[1], b);
        combine(a, b, a, count);
        finisher(std::span<const Value>(a, count), output, at, events);
      });
    });
  };
}

template <class Combine>
Executor pairwise(Pair pair, Finisher finisher, Combine combine) {
  if (pair.narrow) return pairwise_in<std::int32_t>(std::move(pair), std::move(finisher), std::move(combine));
  return pairwise_in<std::int64_t>(std::move(pair), std::move(finisher), std::move(combine));
}

/// a * weight_a + b * weight_b + bias modulo 2^32; the sum itself where it fits.
struct LinearModulo32 {
  std::int64_t weight_a = 1, weight_b = 1, bias = 0;

  template <class Value>
  void operator()(const Value* a, const Value* b, Value* out, std::size_t count) const {
    const auto wa = static_cast<std::uint32_t>(weight_a), wb = static_cast<std::uint32_t>(weight_b),
               start = static_cast<std::uint32_t>(bias);
    for (std::size_t i = 0; i < count; ++i)
      out[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(a[i]) * wa + static_cast<std::uint32_t>(b[i]) * wb + start);
  }
  /// Whether that is the sum of all operands of the pair.
  [[nodiscard]] bool is_exact(const Pair& pair) const {
    const Int128 largest = Int128{std::abs(weight_a)} * pair.a.largest + Int128{std::abs(weight_b)} * pair.b.largest + std::abs(bias);
    return largest <= max_of_width(32);
  }
};

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

Executor aligned_operands(const Model& model, const Operation& operation, const AddArithmetic& rule, const Scales& scales,
                          IntegerRange range, int sign) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const int left_shift = size_of(output.type) == 1 ? rule.left_shift_8bit : rule.left_shift_16bit;
  const double twice_larger = 2.0 * std::max(scales.a, scales.b);
  const auto operand = [&](std::size_t index, double scale) {
    const auto& encoding = rule.operand.scale;
    const ModelTensor& tensor = model.tensor(operation.inputs[index]);
    return operand_of(tensor, output.shape, tensor.quantization.zero_point(), left_shift, rule.operand.chain,
                      encode(encoding, effective_scale(encoding.arithmetic, scale, 1.0, twice_larger)));
  };
  const auto& encoding = rule.output.scale;
  const double sum_scale = effective_scale(encoding.arithmetic, twice_larger, 1.0, std::ldexp(scales.out, left_shift));
  Finisher finisher(rule.output.chain, {operands_for(encode(encoding, sum_scale), output, range)}, 32);
  return pairwise({operand(0, scales.a), operand(1, scales.b)}, std::move(finisher), LinearModulo32{1, sign});
}

Executor weighted_sum(const AddArithmetic& rule, Pair pair, const Scales& scales, const ModelTensor& output, IntegerRange range, int sign) {
  const SumWeights weights = sum_weights(rule.weight_bits, scales.a, scales.b, scales.out);
  const bool small = weights.shift >= 0 && weights.shift <= 62 && fits_width(weights.a, 32) && fits_width(weights.b, 32);
  if (const LinearModulo32 sum{small ? static_cast<std::int64_t>(weights.a) : 0, small ? sign * static_cast<std::int64_t>(weights.b) : 0};
      small && pair.narrow && sum.is_exact(pair)) {
    const Stage shift{.kind = StageKind::shift_right,
                      .rounding = rule.rounding,
                      .amount = ShiftAmount::constant,
                      .constant = static_cast<std::uint8_t>(weights.shift)};
    return pairwise(std::move(pair), Finisher({shift, add_zero_point(), clamp()}, {operands_for({}, output, range)}, 32), sum);
  }
  return pairwise_in<std::int64_t>(
      std::move(pair), to_output(output, range, 64),
      [=, rounding = rule.rounding](const std::int64_t* a, const std::int64_t* b, std::int64_t* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out[i] = add_weighted(weights, a[i], sign * b[i], rounding);
      });
}

/// Whether the float kernels give the codes: they hold integers from 2^30 on, which no bound of 16 bits tells from others.
bool has_float_codes(const ModelTensor& output, Rounding rounding) { return size_of(output.type) <= 2 && rounding != Rounding::to_odd; }

/// Two operands of 32 bits combined in float32, then bounded.
Executor in_float(Pair pair, kernels::CombineInFloat kernel, const kernels::FloatPair& floats, const ModelTensor& output,
                  IntegerRange range) {
  return pairwise_in<std::int32_t>(
      std::move(pair), Finisher({clamp()}, {operands_for({}, output, range)}, 32),
      [=](const std::int32_t* a, const std::int32_t* b, std::int32_t* out, std::size_t count) { kernel(floats, a, b, out, count); });
}

/// Raw integers, not centred: the zero points are part of the float constant.
Executor float_sum(const Model& model, const Operation& operation, const AddArithmetic& rule, const Scales& scales, IntegerRange range,
                   float sign) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const auto zero = [&](std::int32_t index) { return static_cast<float>(model.tensor(index).quantization.zero_point()); };
  const FloatSum sum = float_sum_of(static_cast<float>(scales.a), static_cast<float>(scales.b) * sign, static_cast<float>(scales.out),
                                    zero(operation.inputs[0]), zero(operation.inputs[1]), zero(operation.outputs[0]));
  Pair pair = pair_of(model, operation, 0, 0);
  if (pair.narrow && has_float_codes(output, rule.rounding)) {
    const kernels::FloatPair floats{sum.ratio_a, sum.ratio_b, sum.fixed, float_rounding(rule.rounding)};
    return in_float(std::move(pair), kernels::selected_path().float_codes->sum, floats, output, range);
  }
  Finisher finisher({clamp()}, {operands_for({}, output, range)}, 64);
  return pairwise_in<std::int64_t>(
      std::move(pair), std::move(finisher),
      [=, rounding = rule.rounding](const std::int64_t* a, const std::int64_t* b, std::int64_t* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          const float inner = std::fma(static_cast<float>(b[i]), sum.ratio_b, sum.fixed);
          out[i] = round_to_integer(std::fma(static_cast<float>(a[i]), sum.ratio_a, inner), rounding);
        }
      });
}

/// The device's convolution sees 8-bit codes; with both operands centred only the difference of the zero points is left in the bias.
Executor convolution_8bit(const Model& model, const Operation& operation, const AddArithmetic& rule, const Scales& scales,
                          IntegerRange range, Rectifier rectifier, int sign) {
  const std::int64_t a_zero = model.tensor(operation.inputs[0]).quantization.zero_point();
  const std::int64_t b_zero = model.tensor(operation.inputs[1]).quantization.zero_point();
  const ConvolutionAdd add = convolution_add(rule.convolution_bias, scales.a, scales.b, a_zero - b_zero);
  const auto& encoding = rule.output.scale;
  RescaleOperands operands = operands_for(encode(encoding, effective_scale(encoding.arithmetic, scales.a, add.scale, scales.out)),
                                          model.tensor(operation.outputs[0]), range);
  operands.rectifier = rectifier;
  // The device subtracts the zero point of the first input from both.
  return pairwise(pair_of(model, operation, a_zero, a_zero), Finisher(rule.output.chain, {operands}, 32),
                  LinearModulo32{add.weight_a, sign * add.weight_b, sign * add.bias});
}

/// Products of at most 16 + 26 bits: their sum is exact before it is narrowed.
Executor common_scale_sum(const AddArithmetic& rule, Pair pair, const Scales& scales, const ModelTensor& output, IntegerRange range,
                          int sign) {
  const auto& encoding = rule.output.scale;
  const CommonScale common = encoding.arithmetic == ScaleArithmetic::f64
                                 ? common_scale(scales.a, scales.b)
                                 : common_scale(static_cast<float>(scales.a), static_cast<float>(scales.b));
  const EncodedScale scale = encode(encoding, effective_scale(encoding.arithmetic, common.scale, 1.0, scales.out));
  const LinearModulo32 sum{common.multiplier_a, sign * common.multiplier_b};
  if (pair.narrow && sum.is_exact(pair))
    return pairwise(std::move(pair), Finisher(rule.output.chain, {operands_for(scale, output, range)}, 32), sum);
  return pairwise_in<std::int64_t>(
      std::move(pair), Finisher(rule.output.chain, {operands_for(scale, output, range)}, 44),
      [=, overflow = rule.sum_overflow](const std::int64_t* a, const std::int64_t* b, std::int64_t* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
          out[i] = narrow(common.multiplier_a * a[i] + sign * common.multiplier_b * b[i], 32, overflow);
      });
}

/// TFLite's int16 addition of power-of-two scales: both operands shifted right half away, then a saturating 16-bit sum.
Executor power_of_two_sum(const Model& model, const Operation& operation, const Scales& scales, IntegerRange range, int sign) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const auto shifted = [&](std::size_t index, double scale) {
    int exponent = 0;
    const bool power_of_two = std::frexp(scale / scales.out, &exponent) == 0.5;
    if (!power_of_two || exponent > 1 || exponent < -30) throw_unsupported(operation, "scales must be 2^-31 to 1 times the output's");
    const Stage shift{.kind = StageKind::shift_right,
                      .rounding = Rounding::half_away,
                      .amount = ShiftAmount::constant,
                      .constant = static_cast<std::uint8_t>(1 - exponent)};
    const ModelTensor& tensor = model.tensor(operation.inputs[index]);
    return operand_of(tensor, output.shape, tensor.quantization.zero_point(), 0, {shift});
  };
  const Finisher finisher({narrow_to(16, Overflow::saturate), add_zero_point(), clamp()}, {operands_for({}, output, range)}, 34);
  return pairwise_in<std::int64_t>({shifted(0, scales.a), shifted(1, scales.b)}, finisher,
                                   [=](const std::int64_t* a, const std::int64_t* b, std::int64_t* out, std::size_t count) {
                                     for (std::size_t i = 0; i < count; ++i) out[i] = a[i] + sign * b[i];
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

/// Any number of operands, in blocks of whole rows of the finisher's channels.
template <class Value>
Executor sum_of(std::vector<Operand> operands, Finisher finisher) {
  return [operands = std::move(operands), finisher = std::move(finisher)](const Execution& run) {
    Tensor& output = run.outputs[0];
    const std::size_t row = finisher.channels();
    const std::size_t block = row * std::max<std::size_t>(1, kernels::finish_block / row);
    const auto blocks = (output.element_count() + static_cast<std::int64_t>(block) - 1) / static_cast<std::int64_t>(block);
    for_each_counted_part(run.events, blocks, values_per_part / kernels::finish_block,
                          [&](std::int64_t first, std::int64_t last, Events* events) {
                            std::vector<Value> sums(block), values(block), gathered(block * sizeof(std::int64_t) / sizeof(Value));
                            for (std::int64_t b = first; b < last; ++b) {
                              const std::size_t at = static_cast<std::size_t>(b) * block;
                              const std::size_t count = std::min(block, static_cast<std::size_t>(output.element_count()) - at);
                              for (std::size_t i = 0; i < operands.size(); ++i) {
                                const Tensor& input = *run.inputs[i];
                                const void* const codes = operands[i].codes.read(input, at, count, gathered.data());
                                operands[i].finisher(codes, input.type(), count, (i == 0 ? sums : values).data(), sizeof(Value), nullptr);
                                if (i == 0) continue;
                                using Unsigned = std::make_unsigned_t<Value>;
                                for (std::size_t j = 0; j < count; ++j)
                                  sums[j] = static_cast<Value>(static_cast<Unsigned>(sums[j]) + static_cast<Unsigned>(values[j]));
                              }
                              finisher(std::span<const Value>(sums.data(), count), output, at, events);
                            }
                          });
  };
}

/// Codes of 16 bits or less need no width of their own; sums of 64-bit values are modulo 2^64.
Executor equal_scales_sum(const Model& model, const Operation& operation, const AddArithmetic& rule) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const OutputBounds& bounds = std::get<ElementwiseAttributes>(operation.attributes).bounds;
  const RescaleRule& rescale = sum_rescale(rule, input, output);
  require_one_quantization(model, operation);
  std::vector<Operand> operands;
  for (const auto index : operation.inputs)
    operands.push_back(operand_of(model.tensor(index), output.shape, input.quantization.zero_point()));
  Finisher finisher(output_chain(operation, rescale.chain, bounds),
                    layer_operands(operation, rescale.scale, scales_to(rescale.scale, input.quantization, output), output, bounds),
                    std::min(64, bits_of(input.type) + 1 + static_cast<int>(std::bit_width(operands.size()))));
  if (size_of(input.type) <= 2 && operands.size() <= 1024) return sum_of<std::int32_t>(std::move(operands), std::move(finisher));
  return sum_of<std::int64_t>(std::move(operands), std::move(finisher));
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
  if (attributes.power_of_two_scales) return power_of_two_sum(model, operation, scales, range, sign);
  if (rule.method == AddMethod::aligned_operands || rule.method == AddMethod::convolution_8bit || rule.method == AddMethod::common_scale)
    (void)output_chain(operation, rule.output.chain);
  switch (rule.method) {
    case AddMethod::aligned_operands: return aligned_operands(model, operation, rule, scales, range, sign);
    case AddMethod::weighted_sum: return weighted_sum(rule, pair_of(model, operation), scales, output, range, sign);
    case AddMethod::float_sum: return float_sum(model, operation, rule, scales, range, static_cast<float>(sign));
    case AddMethod::convolution_8bit:
      return convolution_8bit(model, operation, rule, scales, range, rectifier_of(attributes.bounds.activation), sign);
    case AddMethod::common_scale: return common_scale_sum(rule, pair_of(model, operation), scales, output, range, sign);
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
  const auto product = [](const auto* a, const auto* b, auto* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
  };
  Pair pair = pair_of(model, operation);
  switch (rule.method) {
    case MulMethod::rescaled: {
      const auto& encoding = rule.rescale.scale;
      const EncodedScale scale = encode(encoding, effective_scale(encoding.arithmetic, scales.a, scales.b, scales.out));
      const Int128 largest = Int128{pair.a.largest} * pair.b.largest;
      const bool small = largest <= max_of_width(32);
      pair.narrow = pair.narrow && small;
      return pairwise(std::move(pair),
                      Finisher(output_chain(operation, rule.rescale.chain), {operands_for(scale, output, range)}, small ? 32 : 34),
                      product);
    }
    case MulMethod::float_product: {
      const float ratio = static_cast<float>(scales.a) * static_cast<float>(scales.b) / static_cast<float>(scales.out);
      const float zero = static_cast<float>(output.quantization.zero_point());
      if (pair.narrow && Int128{pair.a.largest} * pair.b.largest <= max_of_width(32) && has_float_codes(output, rule.rounding)) {
        const kernels::FloatPair floats{ratio, 0, zero, float_rounding(rule.rounding)};
        return in_float(std::move(pair), kernels::selected_path().float_codes->product, floats, output, range);
      }
      Finisher finisher({clamp()}, {operands_for({}, output, range)}, 64);
      return pairwise_in<std::int64_t>(
          std::move(pair), std::move(finisher),
          [=, rounding = rule.rounding](const std::int64_t* a, const std::int64_t* b, std::int64_t* out, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) {
              const float scaled = static_cast<float>(a[i] * b[i]) * ratio;
              out[i] = round_to_integer(scaled + zero, rounding);
            }
          });
    }
    case MulMethod::absent: break;
  }
  throw_unsupported(operation, "the backend has no such arithmetic");
}

}  // namespace lastbit
