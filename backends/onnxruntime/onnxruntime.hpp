// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX Runtime, CPU execution provider: float scales, one rounding, half to even. 8-bit data only. Evidence: docs/backends/onnxruntime.md.
#pragma once

#include "lastbit/backend.hpp"

namespace lastbit {

namespace onnxruntime {

/// float(float(in * weight) / out)
inline constexpr ScaleEncoding scale_f32{.arithmetic = ScaleArithmetic::f32};

/// y = clamp(half_even(float(sum) * scale) + zero point)
inline constexpr RescaleRule by_float{scale_f32, {stage::float_scale(Rounding::half_even), stage::add_zero_point(), stage::clamp()}};

inline constexpr ConvByType conv{
    .i8 = {.sum = {.accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add}, .output = by_float},
           .bias = BiasAt::accumulator_start,
           .per_channel = PerChannelLowering::native}};

/// vpmaddubsw: x0*w0 + x1*w1 of uint8 codes and int8 weights, neighbours in the flattened kernel.
inline constexpr AccumulatorRule pairs_saturate{.bits = 32,
                                                .overflow = Overflow::wrap,
                                                .when = NarrowingPoint::at_end,
                                                .partial = {.method = PartialMethod::kernel_codes,
                                                            .terms = 2,
                                                            .vector = 0,
                                                            .tail = PartialTail::exact,
                                                            .bits = 16,
                                                            .overflow = Overflow::saturate,
                                                            .emptied = 0}};

inline constexpr FunctionArithmetic float_ratio{.method = FunctionMethod::float_ratio, .rounding = Rounding::half_even};
inline constexpr FunctionArithmetic float_table{.method = FunctionMethod::float_table, .rounding = Rounding::half_even};
inline constexpr AddArithmetic float_sum{.in_float = {.method = FloatSumMethod::fused, .rounding = Rounding::half_even}};
/// y = clamp(half_even(float(product) * scale + zero point)), product and sum each rounded to float.
inline constexpr RescaleRule onto_zero_point{scale_f32, {stage::float_scale_with_zero_point(Rounding::half_even), stage::clamp()}};
inline constexpr AveragePoolArithmetic windows{
    .padding = PaddingCount::excluded,
    .output_scale = OutputScale::own,
    .in_float = {.method = FloatAverageMethod::in_order, .rounding = Rounding::half_even, .overhang = PaddingCount::included}};
inline constexpr AveragePoolArithmetic whole_image{
    .padding = PaddingCount::excluded,
    .output_scale = OutputScale::own,
    .sum = {.accumulator = {.bits = 64, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add},
            .output = {scale_f32, by_float.chain, in_per_out_and_count}}};

}  // namespace onnxruntime

/// Operators on codes, also in the place of those between DequantizeLinear and QuantizeLinear that graph optimisation fuses on x86-64.
inline constexpr Backend onnxruntime_cpu{
    .fusion = Fusion::by_default,
    .conv = onnxruntime::conv,
    .depthwise_conv = onnxruntime::conv,
    .transposed_conv = onnxruntime::conv,
    .fully_connected = onnxruntime::conv,
    .matmul = {.i8 = {onnxruntime::conv.i8.sum}},
    .max_pool = MaxPool::largest_code,
    .average_pool = onnxruntime::windows,
    .global_average_pool = onnxruntime::whole_image,
    .add = onnxruntime::float_sum,
    .sub = onnxruntime::float_sum,
    .mul = onnxruntime::onto_zero_point,
    .concat = {.method = ConcatMethod::dequantize, .method_uint8 = ConcatMethod::dequantize},
    .quantize = {.division = ScaleDivision::divide,
                 .rounding = Rounding::half_even,
                 .zero_point = ZeroPointAt::after_rounding,
                 .out_of_range = OutOfRange::saturate},
    .dequantize = {.arithmetic = DequantizeProduct::f32},
    .dynamic_quantize = {.method = DynamicQuantizeMethod::unsigned_range, .rounding = Rounding::half_even},
    .requantize = onnxruntime::by_float,
    .leaky_relu = onnxruntime::float_table,
    .hard_swish = onnxruntime::float_table,
    .logistic = onnxruntime::float_ratio,
    .tanh = onnxruntime::float_ratio,
    .softmax = {.method = FunctionMethod::float_exponentials, .rounding = Rounding::half_even},
    .resize = {.nearest = NearestCoordinate::float_quotient},
    .float32 = Float32Operations::ordered};

/// The same without graph optimisation: what stands between DequantizeLinear and QuantizeLinear is computed in float32.
constexpr Backend onnxruntime_without_fusion() {
  Backend backend = onnxruntime_cpu;
  backend.fusion = Fusion::none;
  return backend;
}
inline constexpr Backend onnxruntime_unfused = onnxruntime_without_fusion();

/// Without VNNI: of uint8 data and int8 weights pairs of products saturate at 16 bits.
constexpr Backend onnxruntime_without_vnni() {
  ConvArithmetic pairs = onnxruntime::conv.i8;
  pairs.sum.accumulator = onnxruntime::pairs_saturate;
  Backend backend = onnxruntime_cpu;
  backend.conv.u8 = backend.depthwise_conv.u8 = backend.fully_connected.u8 = pairs;
  backend.matmul.u8 = {pairs.sum};
  return backend;
}
inline constexpr Backend onnxruntime_avx2 = onnxruntime_without_vnni();

}  // namespace lastbit
