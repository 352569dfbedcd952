// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Lite reference kernels, TFLite Micro and CMSIS-NN: rounding twice (the default build) or once (TFLITE_SINGLE_ROUNDING, ruy).
// Evidence: docs/backends/tflite.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace tflite {

/// QuantizeMultiplier: Q0.31 from the double product of the float scales, rounded half away; tiny scales become 0.
inline constexpr ScaleEncoding multiplier_q31{.arithmetic = ScaleArithmetic::f64,
                                              .significant_bits = 31,
                                              .rounding = Rounding::half_away,
                                              .normalization = Normalization::half_to_one,
                                              .min_exponent = -31,
                                              .max_exponent = 127};
/// The single-rounding build also limits the exponent to 30.
inline constexpr ScaleEncoding multiplier_q31_single{.arithmetic = ScaleArithmetic::f64,
                                                     .significant_bits = 31,
                                                     .rounding = Rounding::half_away,
                                                     .normalization = Normalization::half_to_one,
                                                     .min_exponent = -31,
                                                     .max_exponent = 30};

/// MultiplyByQuantizedMultiplier, two roundings: the first half up, the second half away from zero.
inline constexpr RescaleRule twice{multiplier_q31,
                                   {stage::shift_left(32, Overflow::wrap), stage::doubling_high_multiply(32, Rounding::half_up),
                                    stage::shift_right_by_exponent(Rounding::half_away)}};
/// MultiplyByQuantizedMultiplier, one rounding; the 64-bit result is cut to 32 bits.
inline constexpr RescaleRule once{multiplier_q31_single,
                                  {stage::multiply(), stage::shift_right(Rounding::half_up), stage::narrow_to(32, Overflow::wrap)}};

/// The 64-bit accumulator of 16-bit data: the multiplier keeps 15 bits, one rounding, in both builds.
[[nodiscard]] constexpr RescaleRule once_by_15_bits(const ScaleEncoding& scale) {
  return {scale,
          {stage::multiply(MultiplierBits{15}, Rounding::half_up), stage::shift_right(Rounding::half_up),
           stage::narrow_to(32, Overflow::wrap)}};
}

/// The chain continued with output zero point and bounds.
[[nodiscard]] constexpr RescaleRule to_output(const RescaleRule& rule) {
  return {rule.scale, rule.chain + stage::add_zero_point() + stage::clamp()};
}

inline constexpr AccumulatorRule int32_wraps{.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
inline constexpr AccumulatorRule int64_wraps{.bits = 64, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};

[[nodiscard]] constexpr ConvArithmetic with_bias_last(const SumArithmetic& sum) {
  return {.sum = sum, .bias = BiasAt::accumulator_end, .per_channel = PerChannelLowering::native};
}
[[nodiscard]] constexpr ConvArithmetic in_32_bits(const RescaleRule& rescale) {
  return with_bias_last({.accumulator = int32_wraps, .output = to_output(rescale)});
}
[[nodiscard]] constexpr ConvArithmetic in_64_bits(const RescaleRule& rescale) {
  return with_bias_last({.accumulator = int64_wraps, .output = to_output(once_by_15_bits(rescale.scale))});
}

/// GetQuantizedConvolutionMultipler: of layers whose weights have one scale the product of input and weight scale is a float. Scales per channel
/// are multiplied in double.
[[nodiscard]] constexpr ConvArithmetic by_float_product(ConvArithmetic arithmetic) {
  arithmetic.sum.output.by = float_in_weight_per_out;
  arithmetic.per_channel = PerChannelLowering::native_unrounded;
  return arithmetic;
}

/// 8- and 16-bit data have arrays of multipliers, however many scales the weights have; uint8 data one multiplier.
[[nodiscard]] constexpr ConvByType conv(const RescaleRule& rescale) {
  return {.i8 = in_32_bits(rescale),
          .u8 = by_float_product(in_32_bits(rescale)),
          .i16_bias32 = in_32_bits(rescale),
          .i16_bias64 = in_64_bits(rescale)};
}
/// No kernel adds a 32-bit bias to 16-bit data.
[[nodiscard]] constexpr ConvByType conv_without_bias32(const RescaleRule& rescale) {
  ConvByType by_type = conv(rescale);
  by_type.i16_bias32 = {};
  return by_type;
}
[[nodiscard]] constexpr ConvByType dense(const RescaleRule& rescale) {
  return {.i8 = by_float_product(in_32_bits(rescale)),
          .i16_bias32 = by_float_product(in_32_bits(rescale)),
          .i16_bias64 = by_float_product(in_64_bits(rescale))};
}

/// The state is bounded before its zero point is added, so that a code beyond the type wraps when it is stored.
[[nodiscard]] constexpr RescaleRule to_state(const RescaleRule& rule, Width bits) {
  return {rule.scale, rule.chain + stage::clamp() + stage::add_zero_point() + stage::narrow_to(bits, Overflow::wrap)};
}

/// Its effective scales are float, and it ignores the fused activation.
[[nodiscard]] constexpr SvdfArithmetic svdf(RescaleRule rescale) {
  rescale.scale.arithmetic = ScaleArithmetic::f32;
  return {.accumulator = int32_wraps,
          .state_i8 = to_state(rescale, 8),
          .state_i16 = to_state(rescale, 16),
          .output = to_output(rescale),
          .activation = FusedActivation::ignored};
}

/// The effective scales of its gates are float.
[[nodiscard]] constexpr LstmArithmetic lstm(const RescaleRule& rescale) {
  RescaleRule gate = rescale;
  gate.scale.arithmetic = ScaleArithmetic::f32;
  return {
      .method = LstmMethod::sigmoid_table,
      .gate_i8 = {.sum = {.accumulator = int32_wraps, .output = to_output(gate)}, .bias = BiasAt::accumulator_end},
      .gate_i16 = {.sum = {.accumulator = int64_wraps, .output = to_output(once_by_15_bits(gate.scale))}, .bias = BiasAt::accumulator_end},
      .sum = Overflow::saturate,
      .cell = to_output(rescale),
      .clip_rounding = Rounding::toward_zero,
      .output = to_output(rescale)};
}

/// Both operands shifted left, rescaled to twice the larger scale, summed in int32 and rescaled.
[[nodiscard]] constexpr SumArithmetic aligned_sum(const RescaleRule& rescale, ConstantShift left) {
  RescaleRule operand = rescale, output = to_output(rescale);
  operand.chain = Chain{stage::shift_left_by(left, 32, Overflow::wrap)} + operand.chain;
  operand.by = {{Quantity::in, Quantity::one}, {Quantity::larger_in, Quantity::one}, -1};
  output.by = {{Quantity::larger_in, Quantity::one}, {Quantity::out, Quantity::one}, static_cast<std::int8_t>(1 - left.value)};
  return {.operand = operand, .accumulator = int32_wraps, .output = output};
}

/// 16-bit data of power-of-two scales: both operands shifted right, their sum saturated to 16 bits.
inline constexpr SumArithmetic shifted_sum{.operand = {{.arithmetic = ScaleArithmetic::f64,
                                                        .significant_bits = 1,
                                                        .rounding = Rounding::half_away,
                                                        .normalization = Normalization::one_to_two,
                                                        .form = MultiplierForm::power_of_two,
                                                        .min_exponent = -31,
                                                        .max_exponent = 0},
                                                       {stage::shift_right_by_exponent(Rounding::half_away)},
                                                       in_per_out},
                                           .accumulator = {.bits = 16, .overflow = Overflow::saturate, .when = NarrowingPoint::at_end},
                                           .output = {.chain = {stage::add_zero_point(), stage::clamp()}}};

[[nodiscard]] constexpr SumArithmetic mean_of(RescaleRule output) {
  output.by = in_per_out;
  return {.accumulator = int32_wraps, .output = output};
}

/// ResizeBilinearInteger: coordinates in 2^-10 pixels from a step rounded once, the codes as they are; uint8 data alone in float32.
[[nodiscard]] constexpr ResizeArithmetic resize(Rounding rounding) {
  return {.method = ResizeMethod::fixed_point,
          .method_uint8 = ResizeMethod::float_by_row,
          .nearest = NearestCoordinate::float_scale,
          .other_quantization = OtherQuantization::ignored,
          .centring = Centring::nothing,
          .grid = ResizeGrid::step,
          .fraction_bits = 10,
          .grid_rounding = Rounding::half_up,
          .rounding = rounding};
}

/// AbsEvalQuantized: its effective scale is the quotient of floats.
[[nodiscard]] constexpr FunctionArithmetic abs(RescaleRule rescale) {
  rescale.scale.arithmetic = ScaleArithmetic::f32;
  return {.method = FunctionMethod::rescaled, .rescale = rescale};
}

[[nodiscard]] constexpr Backend reference_kernels(const RescaleRule& rescale) {
  const FunctionArithmetic rescaled{.method = FunctionMethod::rescaled, .rescale = rescale};
  // LeakyRelu alone computes its effective scales in float.
  FunctionArithmetic leaky = rescaled;
  leaky.rescale.scale.arithmetic = ScaleArithmetic::f32;
  // So do the operators RELU, RELU6 and RELU_N1_TO_1.
  RescaleRule relu = to_output(rescale);
  relu.scale.arithmetic = ScaleArithmetic::f32;
  // So does Sub, unlike Add. What a file says of power-of-two scales is not read.
  AddArithmetic add{.i8 = aligned_sum(rescale, 20), .i16 = aligned_sum(rescale, 15), .i16_power_of_two = aligned_sum(rescale, 15)};
  AddArithmetic sub = add;
  for (SumArithmetic* sum : {&sub.i8, &sub.i16, &sub.i16_power_of_two})
    sum->operand.scale.arithmetic = sum->output.scale.arithmetic = ScaleArithmetic::f32;
  const FunctionArithmetic fixed_point{.method = FunctionMethod::fixed_point, .input = {rescale.scale, rescale.chain}};
  AveragePoolArithmetic average{.padding = PaddingCount::excluded,
                                .output_scale = OutputScale::of_input,
                                .sum = {.centring = Centring::nothing,
                                        .accumulator = int32_wraps,
                                        .output = {.chain = {stage::divide_by_count(Rounding::half_away), stage::clamp()}}}};
  return {.conv = conv(rescale),
          .depthwise_conv = conv_without_bias32(rescale),
          .transposed_conv = conv_without_bias32(rescale),
          .fully_connected = dense(rescale),
          .matmul = {.i8 = {dense(rescale).i8.sum}, .i16 = {dense(rescale).i16_bias64.sum}},
          .max_pool = MaxPool::largest_code,
          .average_pool = average,
          .global_average_pool = average,
          .mean = {.count = CountIn::multiplier, .sum = mean_of(to_output(rescale))},
          .reduce_sum = mean_of(to_output(rescale)),
          .add = add,
          .sub = sub,
          .mul = to_output(rescale),
          .concat = {.method = ConcatMethod::copy, .method_uint8 = ConcatMethod::scale_and_bias},
          .quantize = {.division = ScaleDivision::divide,
                       .rounding = Rounding::half_away,
                       .zero_point = ZeroPointAt::after_rounding,
                       .out_of_range = OutOfRange::int32_min},
          .dequantize = {.arithmetic = DequantizeProduct::f64},
          .requantize = to_output(rescale),
          .relu = relu,
          .leaky_relu = leaky,
          .prelu = rescaled,
          .hard_swish = {.method = FunctionMethod::fixed_point, .input = {.scale = rescale.scale}},
          .logistic = fixed_point,
          .tanh = fixed_point,
          .softmax = fixed_point,
          .abs = abs(rescale),
          .resize = resize(rescale == once ? Rounding::half_up : Rounding::half_away),
          .svdf = svdf(rescale),
          .lstm = lstm(rescale),
          .argmax = {.method = ArgmaxMethod::first_maximum,
                     .running_maximum = RunningMaximum::per_position,
                     .single_channel = SingleChannel::zero},
          .extreme = Extreme::of_codes,
          .l2_normalization = rescale == once ? L2Normalization::one_rounding : L2Normalization::two_roundings,
          .detection = Detection::of_reals};
}

/// Hybrid layers, as the kernels compute that an interpreter runs by default, without vectors. Only a fully connected layer asks for its codes.
[[nodiscard]] constexpr DynamicByLayer hybrid_kernels() {
  using enum DynamicCodes;
  using enum DynamicProduct;
  const auto kernel = [](DynamicCodes codes, DynamicProduct product) {
    DynamicArithmetic rule{.codes = codes, .rounding = Rounding::half_away, .product = product};
    if (codes != symmetric) rule.zero_point = ZeroPointAt::before_rounding;
    return rule;
  };
  return {.conv = kernel(symmetric, scales_first),
          .conv_per_channel = kernel(asymmetric, scales_first),
          .conv_grouped = kernel(asymmetric, weight_scale_first),
          .depthwise_conv = kernel(asymmetric, input_scale_first),
          .fully_connected = kernel(by_layer, scales_first)};
}

/// The shift of products of two 16-bit values, half away from zero, in both builds (CwiseMul); their scales are powers of two.
inline constexpr RescaleRule shifted_product{
    shifted_sum.operand.scale, {stage::shift_right_by_exponent(Rounding::half_away), stage::add_zero_point(), stage::clamp()}};

/// The kernels of TensorFlow Lite for desktop and phone where they are not those of TFLite Micro: Mul computes its effective scale in float, Sub in double,
/// ResizeBilinear of uint8 data multiplies its weights out first, sums of power-of-two scales, where the file asks for them, are shifts, logistic and
/// tanh of 8 bits are tables of the float functions, softmax of 16 bits makes a table in double, lstm has functions of 16 bits and shifts; and there are
/// hybrid layers.
[[nodiscard]] constexpr Backend builtin_kernels(Backend backend) {
  backend.add.i16_power_of_two = shifted_sum;
  backend.sub = backend.add;
  backend.mul.scale.arithmetic = ScaleArithmetic::f32;
  backend.resize.method_uint8 = ResizeMethod::float_by_weight;
  backend.dynamic = hybrid_kernels();
  backend.softmax.method = FunctionMethod::fixed_point_by_double;
  backend.lstm.method = LstmMethod::fixed_point;
  backend.lstm.cell = shifted_product;
  for (FunctionArithmetic* const function : {&backend.logistic, &backend.tanh}) {
    function->method = FunctionMethod::float_table_8bit;
    function->rounding = Rounding::half_away;
  }
  return backend;
}

/// ruy's kernels for 64-bit Arm: one rounding (sqdmulh, srshl), the multipliers those of a build that rounds twice.
inline constexpr RescaleRule once_by_ruy{multiplier_q31, once.chain};
/// The vectors of the other kernels there: both roundings half up (vqrdmulh, vrshl without gemmlowp's fix-up of negative values).
inline constexpr RescaleRule twice_upward{multiplier_q31,
                                          {stage::shift_left(32, Overflow::wrap), stage::doubling_high_multiply(32, Rounding::half_up),
                                           stage::shift_right_by_exponent(Rounding::half_up)}};

/// Operands shifted left as far as they are to go, at once, and rounded once; the sum rounded twice.
[[nodiscard]] constexpr SumArithmetic operands_rounded_once(SumArithmetic sum, ConstantShift left) {
  sum.operand.chain = Chain{stage::shift_left_by(left, 32, Overflow::wrap)} + once.chain;
  return sum;
}

/// The built-in kernels on 64-bit Arm with NEON, matrix products by ruy, as whole vectors compute; `builtin` is the same build without NEON. Operations whose
/// kernels were not read, or that no rule states, are absent.
[[nodiscard]] constexpr Backend neon_kernels(const Backend& builtin) {
  return {.conv = {.i8 = in_32_bits(once_by_ruy), .u8 = by_float_product(in_32_bits(once_by_ruy))},
          .depthwise_conv = {.i8 = in_32_bits(twice_upward), .u8 = by_float_product(in_32_bits(twice))},
          .transposed_conv = {.i8 = in_32_bits(twice_upward), .u8 = by_float_product(in_32_bits(twice_upward))},
          .fully_connected = {.i8 = by_float_product(in_32_bits(twice_upward))},
          .max_pool = builtin.max_pool,
          .average_pool = builtin.average_pool,
          .add = {.i8 = operands_rounded_once(builtin.add.i8, 20), .i16 = operands_rounded_once(builtin.add.i16, 15)},
          .sub = {.i8 = builtin.sub.i8},
          .mul = builtin.mul,
          .concat = {.method = ConcatMethod::copy, .method_uint8 = ConcatMethod::copy},
          .quantize = {.division = ScaleDivision::multiply_by_inverse,
                       .rounding = Rounding::half_even,
                       .zero_point = ZeroPointAt::after_rounding,
                       .out_of_range = OutOfRange::saturate},
          .requantize = to_output(twice_upward),
          .relu = builtin.relu,
          .leaky_relu = builtin.leaky_relu,
          .prelu = builtin.prelu};
}

}  // namespace tflite

inline constexpr Backend tflite_double = tflite::reference_kernels(tflite::twice);
inline constexpr Backend tflite_single = [] {
  Backend backend = tflite::reference_kernels(tflite::once);
  backend.depthwise_conv.u8 = tflite_double.depthwise_conv.u8;  // the uint8 depthwise kernel alone still rounds twice in this build
  return backend;
}();
inline constexpr Backend tflite_builtin_double = tflite::builtin_kernels(tflite_double);
inline constexpr Backend tflite_builtin_single = tflite::builtin_kernels(tflite_single);
inline constexpr Backend tflite_ruy_neon = tflite::neon_kernels(tflite_builtin_double);

}  // namespace lastbit
