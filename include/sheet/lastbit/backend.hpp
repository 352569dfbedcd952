// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The types of a spec sheet. A Backend is one device's arithmetic, operation by operation: a constant of enums and integers,
// so it can be printed, compared, written to JSON and enumerated (rules.hpp names every rule).
// An operation whose method is `absent`, or whose chain is empty, does not exist on the device. No rule has a silent default: until a sheet
// states it, it is `unstated`, and require_stated (rules.hpp) refuses a device that reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/arith/accumulator.hpp"
#include "lastbit/arith/float16.hpp"
#include "lastbit/arith/ordered_sum.hpp"
#include "lastbit/arith/ratio.hpp"
#include "lastbit/arith/rescale.hpp"
#include "lastbit/arith/unstated.hpp"
#include "lastbit/placements.hpp"

namespace lastbit {

/// integer: the quantised arithmetic below. real: the golden float path; no rule below is read.
enum class Domain : std::uint8_t { integer, real };
/// Of real numbers in place of codes. representable: each is bounded by the least and the largest that its tensor's codes stand for, which is
/// how a converter that drops a ReLU still means one; unbounded: only activations that the network states bound it.
enum class GoldenRange : std::uint8_t { representable, unbounded };

/// affine: any zero point, signed and unsigned codes. symmetric: signed codes with zero point 0. zero_based: both with zero point 0. Anything else is
/// refused.
enum class Coding : std::uint8_t { affine, symmetric, zero_based };

/// Products of a layer: input scale * weight scale / output scale. Where there are no weights their scale is 1.
inline constexpr Ratio in_weight_per_out{{Quantity::in, Quantity::weight}, {Quantity::out, Quantity::one}};
/// The same, the product of the two scales rounded to float32.
inline constexpr Ratio float_in_weight_per_out{{Quantity::in, Quantity::weight}, {Quantity::out, Quantity::one}, 0, true};
inline constexpr Ratio in_per_out{{Quantity::in, Quantity::one}, {Quantity::out, Quantity::one}};
inline constexpr Ratio in_per_out_and_count{{Quantity::in, Quantity::one}, {Quantity::out, Quantity::count}};

/// A chain, and the ratio of the layer's quantities that its multiplier encodes.
struct RescaleRule {
  ScaleEncoding scale{};
  Chain chain{};
  Ratio by = in_weight_per_out;
  friend constexpr bool operator==(const RescaleRule&, const RescaleRule&) = default;
};

/// The scale that a rule gives a layer: encode() takes it. Of a chain that applies none no arithmetic is stated, and double serves.
[[nodiscard]] constexpr double effective_scale(const RescaleRule& rule, const LayerQuantities& layer) {
  return evaluate(rule.by, applies_scale(rule.chain) ? rule.scale.arithmetic : ScaleArithmetic::f64, layer);
}

/// What is subtracted from a code, or of a product from both. own_zero_point: its tensor's zero point. nothing: the codes are summed as they are.
/// first_zero_point_…, of element-wise sums alone: the first operand's zero point, from every operand; what that gets wrong is made up for by an
/// integer added to the sum, rounded half away from zero as a whole (…product_rounded: difference of the zero points times factor), or as the
/// factor alone.
enum class Centring : std::uint8_t { own_zero_point, nothing, first_zero_point_product_rounded, first_zero_point_factor_rounded };
/// Of a tensor's zero point: what its codes are centred by.
[[nodiscard]] constexpr std::int64_t centred_by(Centring centring, std::int64_t zero_point) noexcept {
  return centring == Centring::nothing ? 0 : zero_point;
}

/// A sum: y = output(accumulator(operand(term) of every term)). A term is a centred code, or the product of two. An empty operand chain adds the
/// terms as they are; where their scales matter they must then share one. An empty output chain: the device has no such sum.
struct SumArithmetic {
  Centring centring = Centring::own_zero_point;
  RescaleRule operand{};
  AccumulatorRule accumulator{};
  RescaleRule output{};
  friend constexpr bool operator==(const SumArithmetic&, const SumArithmetic&) = default;
};
[[nodiscard]] constexpr bool exists(const SumArithmetic& sum) noexcept { return !sum.output.chain.empty(); }
/// Whether any of its chains reads a scale.
[[nodiscard]] constexpr bool applies_scale(const SumArithmetic& sum) noexcept {
  return applies_scale(sum.operand.chain) || applies_scale(sum.output.chain);
}

enum class BiasAt : std::uint8_t { accumulator_start, accumulator_end };

/// What becomes of per-channel weight scales: kept; weights requantised to one 8-bit scale; accumulators scaled in float; or kept, and no
/// product of scales rounded to float32 where a single scale's is; or such a layer is refused.
enum class PerChannelLowering : std::uint8_t { native, requantized_to_tensor, float_scale, native_unrounded, refused };

/// A layer's integer multiplier per output channel: the device has none, or it multiplies every term of the sum, but not the bias.
enum class RowMultiplier : std::uint8_t { absent, of_terms };

/// What joins sums of the codes as they are, where a layer states `cross_terms` in place of zero points (op/conv2d.hpp).
enum class CrossTermMethod : std::uint8_t { absent, each_shifted };
/// Of such sums: what joins them, and how each term is rounded.
struct CrossTermArithmetic {
  CrossTermMethod method = CrossTermMethod::absent;
  Rounding rounding = unstated<Rounding>;
  friend constexpr bool operator==(const CrossTermArithmetic&, const CrossTermArithmetic&) = default;
};

/// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected (op/conv2d.hpp): sums of products, and what joins them.
struct ConvArithmetic {
  SumArithmetic sum{};
  BiasAt bias = unstated<BiasAt>;
  RowMultiplier row_multiplier = RowMultiplier::absent;
  PerChannelLowering per_channel = unstated<PerChannelLowering>;  ///< read where a chain applies a scale
  std::uint8_t bias_bits = 0;                   ///< of the stored bias, which is shifted left where it is added; 0: the bias as it is
  Rounding bias_rounding = unstated<Rounding>;  ///< read where bias_bits are given: what the shift drops
  CrossTermArithmetic cross_terms{};
  friend constexpr bool operator==(const ConvArithmetic&, const ConvArithmetic&) = default;
};

/// 8-bit data; uint8 data where they differ from int8 (an empty chain: they do not); 16-bit data with a 32-bit bias, with a 64-bit bias;
/// 8-bit data with 16-bit weights and 16-bit data with 8-bit weights where these differ from i8 and i16_…; 8-bit data of weights with a scale per
/// channel, 8- and 16-bit data without a bias where these differ.
struct ConvByType {
  ConvArithmetic i8{}, u8{}, i16_bias32{}, i16_bias64{}, i8_weights16{}, i16_weights8{};
  ConvArithmetic i8_per_channel{}, i8_without_bias{}, i16_without_bias{};
  friend constexpr bool operator==(const ConvByType&, const ConvByType&) = default;
};

/// matmul (op/conv2d.hpp): products of codes of two tensors, which no bias joins.
struct MatmulArithmetic {
  SumArithmetic sum{};
  friend constexpr bool operator==(const MatmulArithmetic&, const MatmulArithmetic&) = default;
};
/// 8-bit data; uint8 data where they differ from int8 (an empty chain: they do not); 16-bit data.
struct MatmulByType {
  MatmulArithmetic i8{}, u8{}, i16{};
  friend constexpr bool operator==(const MatmulByType&, const MatmulByType&) = default;
};

/// sum_pool2d (op/sum_pool.hpp): 8-bit data, wider data.
enum class WindowOrder : std::uint8_t { rows_outermost, columns_outermost };
/// Of sum_pool2d.
struct SumPoolArithmetic {
  WindowOrder order = unstated<WindowOrder>;
  SumArithmetic i8{}, wide{};
  friend constexpr bool operator==(const SumPoolArithmetic&, const SumPoolArithmetic&) = default;
};

/// Segments with a base, a slope and a shift of 8, 16, 24 or 32 places (arith/pwl.hpp); then the output's type by `output_overflow`.
enum class PwlMethod : std::uint8_t { absent, shifted_segments };
/// Of pwl.
struct PwlArithmetic {
  PwlMethod method = PwlMethod::absent;
  Overflow output_overflow = unstated<Overflow>;
  friend constexpr bool operator==(const PwlArithmetic&, const PwlArithmetic&) = default;
};

/// A convolution with pooling and a piecewise-linear activation in one layer. pool_then_activation: sums of the width of `sum` are pooled
/// (added one by one, or compared) as they are, then narrowed as the convolution's accumulator is, then activated. activation_then_pool: each step as the
/// operation of that name.
enum class FusedOrder : std::uint8_t { absent, pool_then_activation, activation_then_pool };
/// Of fused_conv2d: what comes first, and the sum.
struct FusedConvArithmetic {
  FusedOrder order = FusedOrder::absent;
  AccumulatorRule sum{};  ///< read by pool_then_activation
  friend constexpr bool operator==(const FusedConvArithmetic&, const FusedConvArithmetic&) = default;
};

/// max_pool2d (op/pool.hpp). largest_code: of a window's values inside the image, within the layer's bounds.
enum class MaxPool : std::uint8_t { absent, largest_code };
enum class PaddingCount : std::uint8_t { excluded, included, edge_repeated };
/// own: the output has a scale of its own. of_input: it must have the input's quantisation, as where the count alone divides the sum.
/// scale_of_input: the input's scale, and a zero point of its own.
enum class OutputScale : std::uint8_t { own, of_input, scale_of_input };
/// in_order: the steps of op/pool.hpp in float32, each rounded, the values in the order of the window. No chain of integers says it: what is summed
/// are rounded real values.
enum class FloatAverageMethod : std::uint8_t { absent, in_order };
/// Of an average pool that is computed in float.
struct FloatAverageArithmetic {
  FloatAverageMethod method = FloatAverageMethod::absent;
  Rounding rounding = unstated<Rounding>;
  /// Of windows that reach beyond counted padding (Pool2dAttributes::counted_padding): whether what lies beyond counts too.
  PaddingCount overhang = unstated<PaddingCount>;
  friend constexpr bool operator==(const FloatAverageArithmetic&, const FloatAverageArithmetic&) = default;
};
/// What an average is scaled by: the ratio's count is that of the window's values; or it is the window's width, and the chain's converter has what
/// the same rule makes of the height.
enum class AverageScales : std::uint8_t { of_count, of_width_then_height };
/// average_pool2d, global_average_pool (op/pool.hpp): sums over windows of one channel.
struct AveragePoolArithmetic {
  PaddingCount padding = unstated<PaddingCount>;
  OutputScale output_scale = unstated<OutputScale>;
  AverageScales scales = AverageScales::of_count;
  SumArithmetic sum{};
  FloatAverageArithmetic in_float{};  ///< in place of the sum of codes
  friend constexpr bool operator==(const AveragePoolArithmetic&, const AveragePoolArithmetic&) = default;
};

/// Where the count of a mean divides. ratio: the output's ratio names it. multiplier: the encoded multiplier is divided by it, truncated:
/// after its rounding, which no ratio says.
enum class CountIn : std::uint8_t { ratio, multiplier };
/// mean (op/mean.hpp).
struct MeanArithmetic {
  CountIn count = unstated<CountIn>;
  SumArithmetic sum{};
  friend constexpr bool operator==(const MeanArithmetic&, const MeanArithmetic&) = default;
};

/// fused: fma(q1, in1/out, fma(q2, in2/out, c)) in float32 on the codes as they are, c = float(out's zero point - fma(in1/out, zero point 1, float(in2/out * zero point 2))),
/// rounded to an integer. No chain of integers says it: the fraction is kept from term to term.
/// dequantized: float(r1 + r2) * float(1 / out), rounded to an integer, plus the output's zero point; ri = fma(ini, qi, float(ini * -zero point i)).
enum class FloatSumMethod : std::uint8_t { absent, fused, dequantized };
/// Of an element-wise sum that is computed in float.
struct FloatSumArithmetic {
  FloatSumMethod method = FloatSumMethod::absent;
  Rounding rounding = unstated<Rounding>;
  friend constexpr bool operator==(const FloatSumArithmetic&, const FloatSumArithmetic&) = default;
};

/// add, sub, add_n (op/add.hpp): 8-bit data; 16-bit data; 16-bit data of a layer that asks for shifts alone (power_of_two_scales); data of either
/// width where in / out is above 1 and the device then computes otherwise; sums in float.
struct AddArithmetic {
  SumArithmetic i8{}, i16{}, i16_power_of_two{}, above_one{};
  FloatSumArithmetic in_float{};
  friend constexpr bool operator==(const AddArithmetic&, const AddArithmetic&) = default;
};

/// copy: quantisations must be equal. scale_and_bias: round(q * s + b) with float s and b. dequantize: through float values.
/// rescaled: every input requantised to the output's scale by the requantize rule.
enum class ConcatMethod : std::uint8_t { absent, copy, scale_and_bias, dequantize, rescaled };
/// Of concat: what becomes of inputs with other quantisations.
struct ConcatArithmetic {
  ConcatMethod method = ConcatMethod::absent;
  ConcatMethod method_uint8 = ConcatMethod::absent;
  friend constexpr bool operator==(const ConcatArithmetic&, const ConcatArithmetic&) = default;
};

/// divide, multiply_by_inverse: in float. divide_in_double: double(x) / double(scale).
enum class ScaleDivision : std::uint8_t { absent, divide, multiply_by_inverse, divide_in_double };
enum class ZeroPointAt : std::uint8_t { after_rounding, before_rounding };
/// What converting a float beyond int32 gives: the nearest int32, or (x86 instructions) always -2^31, the zero point then added modulo 2^32.
enum class OutOfRange : std::uint8_t { saturate, int32_min };
/// Float to integer: round(x / float(scale)) + zero point, clamped.
struct QuantizeArithmetic {
  ScaleDivision division = ScaleDivision::absent;
  Rounding rounding = unstated<Rounding>;
  ZeroPointAt zero_point = unstated<ZeroPointAt>;
  OutOfRange out_of_range = unstated<OutOfRange>;
  friend constexpr bool operator==(const QuantizeArithmetic&, const QuantizeArithmetic&) = default;
};
/// Float to uint8. unsigned_range: over all x and 0, s = float(float(max - min)/255), 1 where x is 0; zero point = rounding(-min/s); codes by `quantize`.
enum class DynamicQuantizeMethod : std::uint8_t { absent, unsigned_range };
/// Of dynamic_quantize.
struct DynamicQuantizeArithmetic {
  DynamicQuantizeMethod method = DynamicQuantizeMethod::absent;
  Rounding rounding = unstated<Rounding>;  ///< of the zero point
  friend constexpr bool operator==(const DynamicQuantizeArithmetic&, const DynamicQuantizeArithmetic&) = default;
};
/// Integer to float: float(scale * (q - zero point)), the product in double or float.
enum class DequantizeProduct : std::uint8_t { absent, f64, f32 };
/// Of dequantize.
struct DequantizeArithmetic {
  DequantizeProduct arithmetic = DequantizeProduct::absent;
  friend constexpr bool operator==(const DequantizeArithmetic&, const DequantizeArithmetic&) = default;
};

/// Of a hybrid layer (is_hybrid; op/dynamic_sum.hpp): which codes its real data become while it runs, row by row or image by image. symmetric: zero point
/// 0. asymmetric: a zero point from the range. by_layer: the one or the other as the layer asks (asymmetric_inputs).
enum class DynamicCodes : std::uint8_t { absent, symmetric, asymmetric, by_layer };
/// What is multiplied first, in float32: sum * (in * weight), (sum * in) * weight, (sum * weight) * in.
enum class DynamicProduct : std::uint8_t { scales_first, input_scale_first, weight_scale_first };
/// Of a hybrid layer (op/dynamic_sum.hpp).
struct DynamicArithmetic {
  DynamicCodes codes = DynamicCodes::absent;
  Rounding rounding = unstated<Rounding>;          ///< of codes and zero points
  ZeroPointAt zero_point = unstated<ZeroPointAt>;  ///< of asymmetric codes
  DynamicProduct product = unstated<DynamicProduct>;
  friend constexpr bool operator==(const DynamicArithmetic&, const DynamicArithmetic&) = default;
};
/// conv: conv2d whose weights have one scale. conv_per_channel: another in some channel. conv_grouped: more than one group, whatever the scales.
struct DynamicByLayer {
  DynamicArithmetic conv{}, conv_per_channel{}, conv_grouped{}, depthwise_conv{}, fully_connected{};
  friend constexpr bool operator==(const DynamicByLayer&, const DynamicByLayer&) = default;
};

/// block_quantize (op/block_quantize.hpp): from which value of a block its scale d is made. largest_magnitude: max|x| is the largest code.
/// signed_largest: the x of largest magnitude, the first of equals, is the least code, whatever its sign.
enum class BlockScale : std::uint8_t { absent, largest_magnitude, signed_largest };
/// How x is counted in units of d, in float32: x * float(1 / d); the same with d as it is stored; x * float(code / x) of the value that the scale is
/// made from; x / d.
enum class BlockDivision : std::uint8_t { by_inverse, by_inverse_of_stored, by_steps, divide };
/// What is added to that in float32 before it is rounded. nothing: the zero point is added to the integer. fused_…: the product and this sum are rounded
/// once.
enum class BlockOffset : std::uint8_t { nothing, zero_point, zero_point_and_half, fused_zero_point_and_half };
/// Of block_quantize.
struct BlockQuantizeArithmetic {
  BlockScale scale = BlockScale::absent;
  Rounding stored = unstated<Rounding>;  ///< of d, to float16
  BlockDivision division = unstated<BlockDivision>;
  BlockOffset offset = unstated<BlockOffset>;
  Rounding rounding = unstated<Rounding>;  ///< of codes
  friend constexpr bool operator==(const BlockQuantizeArithmetic&, const BlockQuantizeArithmetic&) = default;
};
/// By the format of the codes.
struct BlockQuantizeByFormat {
  BlockQuantizeArithmetic q8_0{}, q4_0{};
  friend constexpr bool operator==(const BlockQuantizeByFormat&, const BlockQuantizeByFormat&) = default;
};

/// block_matmul (op/block_matmul.hpp). in_float32: integer sums of blocks, and sums in float32 of these.
enum class BlockMatmulMethod : std::uint8_t { absent, in_float32 };
/// How the product of a block's sum and both scales joins a sum: by two roundings, or by one.
enum class BlockAddition : std::uint8_t { product_rounded, fused };
/// In which order the lanes of a sum are added. pairwise: neighbours, then neighbours of these. halves: the second half to the first, then likewise.
enum class LaneOrder : std::uint8_t { sequential, pairwise, halves };
/// Of several sums of several lanes. within_sums: the lanes of each, then the sums, one after the other. across_sums: the sums lane by lane, then
/// the lanes.
enum class LaneJoin : std::uint8_t { within_sums, across_sums };
/// Of block_matmul.
struct BlockMatmulArithmetic {
  BlockMatmulMethod method = BlockMatmulMethod::absent;
  DynamicProduct product = unstated<DynamicProduct>;
  BlockAddition addition = unstated<BlockAddition>;
  std::uint8_t sums = 0;  ///< blocks go to them in turn
  /// Of the blocks behind the last turn; read where there are several sums.
  DynamicProduct rest_product = unstated<DynamicProduct>;
  BlockAddition rest_addition = unstated<BlockAddition>;
  std::uint8_t lanes = 0;  ///< of each sum
  std::uint8_t terms = 0;  ///< of a block, side by side, go to one lane, the next ones to the next; read where there are several lanes
  LaneOrder lane_order = unstated<LaneOrder>;  ///< read where there are several lanes
  LaneJoin lane_join = unstated<LaneJoin>;     ///< read where there are several of both
  friend constexpr bool operator==(const BlockMatmulArithmetic&, const BlockMatmulArithmetic&) = default;
};
/// By the format of the weights.
struct BlockMatmulByFormat {
  BlockMatmulArithmetic q8_0{}, q4_0{};
  friend constexpr bool operator==(const BlockMatmulByFormat&, const BlockMatmulByFormat&) = default;
};

/// From the input's scale to the units of a function in fixed point; the function knows which. hard_swish reads the scale alone.
struct FixedPointInput {
  ScaleEncoding scale{};
  Chain chain{};
  friend constexpr bool operator==(const FixedPointInput&, const FixedPointInput&) = default;
};
/// rescaled: by integer rescaling. fixed_point: integer approximations (arith/fixed_function.hpp).
/// float_table: float function of the dequantised value, divided by the output scale and rounded. …_by_inverse: multiplied by float(1 / scale)
/// instead. …_onto_zero_point: that, and the output's zero point is added in float before the rounding.
/// float_exponentials: softmax of 8-bit codes by a table of float32 exponentials (arith/float_softmax.hpp); no other function.
/// float_ratio: as float_table, logistic and tanh by ratios of polynomials (arith/float32_function.hpp).
/// float_table_8bit: logistic and tanh of 8-bit data as float_table, of 16-bit data as fixed_point; no other function.
/// fixed_point_by_double: softmax as fixed_point, the table of 1/(1+x) of 16-bit data made in double (arith/fixed_table.hpp); no other function.
/// table_entry: logistic and tanh of int32 data of scale 2^-12, an entry of a table (arith/fixed_activation.hpp) as int32 of scale 2^-15; no other.
enum class FunctionMethod : std::uint8_t {
  absent,
  rescaled,
  fixed_point,
  float_table,
  float_exponentials,
  float_ratio,
  float_table_8bit,
  float_table_by_inverse,
  float_table_onto_zero_point,
  table_entry,
  fixed_point_by_double
};
/// Of one function of a value, such as logistic.
struct FunctionArithmetic {
  FunctionMethod method = FunctionMethod::absent;
  RescaleRule rescale{};                   ///< read by rescaled
  FixedPointInput input{};                 ///< read by fixed_point…, float_table_8bit
  Rounding rounding = unstated<Rounding>;  ///< read by float_…
  friend constexpr bool operator==(const FunctionArithmetic&, const FunctionArithmetic&) = default;
};

/// In which order the cube sees the terms of a convolution's sum: kernel rows, kernel columns, channels, as the weights lie in memory; or
/// blocks of 16 channels outermost (NC1HWC0, C0 = 16), each block filled up with zeros.
enum class TermOrder : std::uint8_t { kernel_then_channel, channel_block_then_kernel };

/// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected, matmul of float16 data: products of two float16 are exact in float32 (under
/// precision float16 they are rounded by `product`), summed in the order of `sum`; one conversion to float16 at the end.
struct CubeArithmetic {
  SumRule sum{};
  TermOrder terms = unstated<TermOrder>;
  BiasAt bias = unstated<BiasAt>;
  friend constexpr bool operator==(const CubeArithmetic&, const CubeArithmetic&) = default;
};

/// before_sum: every value is multiplied by 1/count first. after_sum: the sum is.
enum class MeanScaling : std::uint8_t { before_sum, after_sum };
/// Of mean in float16.
struct Float16Mean {
  SumRule sum{};
  MeanScaling scaling = unstated<MeanScaling>;
  friend constexpr bool operator==(const Float16Mean&, const Float16Mean&) = default;
};

/// log_of_largest: x is first raised to -11.089, so that exp(-x) stays below 65504.
enum class LogisticBound : std::uint8_t { none, log_of_largest };
/// 1 / (1 + exp(-x)), step by step.
struct Float16Logistic {
  StepPrecision steps = unstated<StepPrecision>;
  LogisticBound bound = unstated<LogisticBound>;
  friend constexpr bool operator==(const Float16Logistic&, const Float16Logistic&) = default;
};
/// Of a function in float16.
struct Float16Function {
  StepPrecision steps = unstated<StepPrecision>;
  friend constexpr bool operator==(const Float16Function&, const Float16Function&) = default;
};
/// exp(x - max) / sum; the difference in float16, the division in the sum's precision.
struct Float16Softmax {
  StepPrecision exponential = unstated<StepPrecision>;
  SumRule sum{};
  friend constexpr bool operator==(const Float16Softmax&, const Float16Softmax&) = default;
};

/// once: x * s. square_root_twice: x * sqrt(s) * sqrt(s), for s that float16 cannot hold.
enum class ScaleFactor : std::uint8_t { once, square_root_twice };
/// Float to integer: round(x * s + zero point), s = 1/scale as a constant of the precision of the steps; float32 data take that precision first.
struct Float16Quantize {
  StepPrecision steps = unstated<StepPrecision>;
  ScaleFactor factor = unstated<ScaleFactor>;
  Rounding rounding = unstated<Rounding>;
  friend constexpr bool operator==(const Float16Quantize&, const Float16Quantize&) = default;
};
/// Integer to float16: float32(q - zero point) * scale in float32, then converted. The scale keeps its leading bits, truncated.
struct Float16Dequantize {
  std::uint8_t scale_bits = 0;
  friend constexpr bool operator==(const Float16Dequantize&, const Float16Dequantize&) = default;
};

/// Of div in float16.
struct Float16Quotient {
  Float16Rules rounded{};
  Float16ZeroDivision zero_division = unstated<Float16ZeroDivision>;
  friend constexpr bool operator==(const Float16Quotient&, const Float16Quotient&) = default;
};

/// stepwise: every elementary step on float16 data (a sum, a product, a quotient, an exponential) is rounded at once.
enum class Float16Method : std::uint8_t { absent, stepwise };
/// Operations on float16 tensors.
struct Float16Arithmetic {
  Float16Method method = Float16Method::absent;
  Float16Rules conversion{};  ///< from float32: casts, what the cube delivers, exponentials
  Float16Rules sum{}, product{};
  Float16Quotient quotient{};
  CubeArithmetic cube{};
  SumRule add_n{};
  Float16Mean mean{}, average_pool{};  ///< mean: also global_average_pool
  Float16Logistic logistic{};
  Float16Function tanh{}, hard_swish{};
  Float16Softmax softmax{};
  Float16Quantize quantize{};
  Float16Dequantize dequantize{};
  friend constexpr bool operator==(const Float16Arithmetic&, const Float16Arithmetic&) = default;
};

/// Operations on float32 tensors of a model for a device: it has none; or they run on the golden path; or, ordered, in steps rounded to float32 where
/// these are known: sums of products (arith/float32_sum.hpp), averages, hard_swish, logistic, tanh (arith/float32_function.hpp), exp and
/// softmax (arith/float32_exponential.hpp), and on the golden path else.
enum class Float32Operations : std::uint8_t { absent, golden, ordered };

/// Which operations that a file states on real numbers between dequantize and quantize (Statement, model.hpp) the device computes on codes: every
/// one; those that a runtime fuses, if need be by an option; those that it fuses by default; none. The others are computed as float32 operations,
/// between the device's dequantize and quantize. What fuses by default or by the option makes one pair of two that stand behind each other
/// (ModelTensor::merged).
enum class Fusion : std::uint8_t { every, by_option, by_default, none };

/// Bilinear interpolation (op/resize.hpp). fixed_point: on a grid of `fraction_bits`, weights multiplied out, one rounding. float_by_row, float_by_weight: in
/// float32, the code times its row's weight and that times its column's; or times the product of both weights.
enum class ResizeMethod : std::uint8_t { absent, fixed_point, float_by_row, float_by_weight };
/// What is rounded to the grid: every coordinate; the first one and the step from one to the next; or the step alone, half of which, rounded down,
/// is half a pixel of the output.
enum class ResizeGrid : std::uint8_t { coordinate, start_and_step, step };
/// Where the nearest value is looked for. exact: at the coordinate as it is defined. float_scale: at i, or i + 1/2, times the scale, in float32.
/// float_quotient: at i, or i + 1/2, divided by the inverse scale, in float32.
enum class NearestCoordinate : std::uint8_t { exact, float_scale, float_quotient };
/// Where the quantisations of input and output differ: the layer is refused; or the codes are resized as if they did not.
enum class OtherQuantization : std::uint8_t { refused, ignored };
/// Bilinear interpolation; the nearest value is moved, not computed.
struct ResizeArithmetic {
  ResizeMethod method = ResizeMethod::absent;
  ResizeMethod method_uint8 = ResizeMethod::absent;  ///< of uint8 data where it differs (absent: it does not)
  NearestCoordinate nearest = NearestCoordinate::exact;
  OtherQuantization other_quantization = OtherQuantization::refused;
  Centring centring = Centring::own_zero_point;  ///< of the interpolated codes; read by fixed_point, as all below
  ResizeGrid grid = unstated<ResizeGrid>;
  std::uint8_t fraction_bits = 0;
  Rounding grid_rounding = unstated<Rounding>;
  Rounding rounding = unstated<Rounding>;
  friend constexpr bool operator==(const ResizeArithmetic&, const ResizeArithmetic&) = default;
};

/// Whether a fused activation bounds the output, or only the element type does.
enum class FusedActivation : std::uint8_t { ignored, applied };
/// svdf (op/svdf.hpp): feature sums become the state, time sums of the state the output. Only 8-bit input and output.
struct SvdfArithmetic {
  AccumulatorRule accumulator{};        ///< of every sum
  RescaleRule state_i8{}, state_i16{};  ///< a feature sum becomes an 8- or 16-bit state
  RescaleRule output{};                 ///< time sums and bias become an output
  FusedActivation activation = unstated<FusedActivation>;
  friend constexpr bool operator==(const SvdfArithmetic&, const SvdfArithmetic&) = default;
};

/// A matrix times a vector, plus bias, as a 16-bit value of scale 2^-12.
struct GateArithmetic {
  SumArithmetic sum{};
  BiasAt bias = unstated<BiasAt>;
  friend constexpr bool operator==(const GateArithmetic&, const GateArithmetic&) = default;
};
/// sigmoid_table: logistic and tanh of 16 bits as in arith/fixed_activation.hpp; fixed_point: as in arith/fixed_function_i16.hpp.
enum class LstmMethod : std::uint8_t { absent, sigmoid_table, fixed_point };
/// lstm (op/lstm.hpp): 8- or 16-bit data, a 16-bit cell.
struct LstmArithmetic {
  LstmMethod method = LstmMethod::absent;
  GateArithmetic gate_i8{}, gate_i16{};         ///< of 8-bit and of 16-bit data
  Overflow sum = unstated<Overflow>;            ///< of a gate's two parts, and of the cell's two parts, to 16 bits
  RescaleRule cell{};                           ///< gate times cell, gate times gate, to the cell's scale
  Rounding clip_rounding = unstated<Rounding>;  ///< of the cell's clip in units of its scale
  RescaleRule output{};                         ///< gate times tanh(cell)
  friend constexpr bool operator==(const LstmArithmetic&, const LstmArithmetic&) = default;
};

/// Of several equal values the first, or the last, is the maximum.
enum class ArgmaxMethod : std::uint8_t { absent, first_maximum, last_maximum };
/// per_position: every position looks for its own maximum. carried_over: maximum and index start from the previous position's, so a position
/// whose values all lie below gets the index of an earlier one.
enum class RunningMaximum : std::uint8_t { per_position, carried_over };
/// Of a single channel. zero: its index. upper_half: 1 for values in the upper half of the type's range (signed: above 0; unsigned 8 bits:
/// above 127), else 0.
enum class SingleChannel : std::uint8_t { zero, upper_half };
/// Of argmax.
struct ArgmaxArithmetic {
  ArgmaxMethod method = ArgmaxMethod::absent;
  RunningMaximum running_maximum = unstated<RunningMaximum>;
  SingleChannel single_channel = unstated<SingleChannel>;
  friend constexpr bool operator==(const ArgmaxArithmetic&, const ArgmaxArithmetic&) = default;
};

/// bitwise_or, bitwise_xor. of_codes: the codes' bits, whatever they stand for.
enum class Bitwise : std::uint8_t { absent, of_codes };

/// maximum, minimum, reduce_max, reduce_min. of_codes: of codes that share one quantisation.
enum class Extreme : std::uint8_t { absent, of_codes };
/// l2_normalization of 8-bit codes, as ops/l2_normalization.cpp states it: the product with the multiplier of 1/sqrt(n) is rounded twice, half_up and
/// half_away, or once, half_up.
enum class L2Normalization : std::uint8_t { absent, two_roundings, one_rounding };
/// detection_postprocess. of_reals: of float32, or of uint8 codes dequantised by a product in float32 (engine/detection.hpp).
enum class Detection : std::uint8_t { absent, of_reals };
/// Where a delegate computes some layers and the kernels beneath it the others: of which data it takes layers. one_8bit_type: inputs and output are of
/// one 8-bit type.
enum class DelegatedData : std::uint8_t { absent, one_8bit_type };
/// any; or image: axes 1 and 2 in any order, or 2 alone, of four, as the file counts them.
enum class DelegatedAxes : std::uint8_t { any, image };
/// Whether a range has its upper end.
enum class UpperEnd : std::uint8_t { excluded, included };
/// 2^least <= ratio, and ratio < 2^most or ratio <= 2^most: the ratio of two scales in float32.
struct ScaleRange {
  std::int8_t least = 0, most = 0;
  UpperEnd end = unstated<UpperEnd>;
  friend constexpr bool operator==(const ScaleRange&, const ScaleRange&) = default;
};
/// The layers that a delegate takes, by in / out; of add and sub by that of either operand, of leaky_relu by in / out and in / out * |alpha|, which of a
/// negative alpha stays below the upper end. mul, logistic, tanh and resize go by their data alone.
struct DelegatedLayers {
  DelegatedData data = DelegatedData::absent;
  ScaleRange add{}, mean{}, requantize{}, leaky_relu{};
  DelegatedAxes mean_axes = unstated<DelegatedAxes>;
  friend constexpr bool operator==(const DelegatedLayers&, const DelegatedLayers&) = default;
};
/// What the kernels beneath a delegate compute of these operations: the layers that it does not take. add, sub: of 8-bit data.
struct LeftArithmetic {
  MeanArithmetic mean{};
  SumArithmetic add{}, sub{};
  RescaleRule mul{}, requantize{};
  FunctionArithmetic leaky_relu{}, logistic{}, tanh{};
  ResizeArithmetic resize{};
  friend constexpr bool operator==(const LeftArithmetic&, const LeftArithmetic&) = default;
};

/// One device's arithmetic, operation by operation: the rules of its sheet. An operation that is absent is refused.
struct Backend {
  Domain domain = Domain::integer;
  GoldenRange golden_range = unstated<GoldenRange>;  ///< of the real domain
  Coding coding = Coding::affine;
  Fusion fusion = Fusion::every;
  ConvByType conv{}, depthwise_conv{}, transposed_conv{}, fully_connected{};
  MatmulByType matmul{};
  ConvByType recurrent{};  ///< the sums of a recurrent layer; its activation is `pwl`
  FusedConvArithmetic fused_conv{};
  PwlArithmetic pwl{};
  SumPoolArithmetic sum_pool{};
  MaxPool max_pool = MaxPool::absent;
  AveragePoolArithmetic average_pool{}, global_average_pool{};
  AveragePoolArithmetic planar_average_pool{};  ///< both, of planar images (Pool2dAttributes), where they differ (absent: they do not)
  MeanArithmetic mean{};
  SumArithmetic reduce_sum{};  ///< op/mean.hpp
  AddArithmetic add{}, sub{}, add_n{};
  RescaleRule mul{};  ///< the product of two centred codes, weight the second one's scale
  ConcatArithmetic concat{};
  QuantizeArithmetic quantize{};
  DequantizeArithmetic dequantize{};
  DynamicQuantizeArithmetic dynamic_quantize{};
  DynamicByLayer dynamic{};  ///< hybrid layers
  BlockQuantizeByFormat block_quantize{};
  BlockMatmulByFormat block_matmul{};
  RescaleRule requantize{};           ///< and relu, relu6, relu_n1_to_1, clip as operations of their own
  RescaleRule requantize_to_32bit{};  ///< to 32-bit data, where it differs (an empty chain: it does not)
  RescaleRule requantize_16bit{};     ///< of or to 16-bit data, where it differs (an empty chain: it does not)
  RescaleRule relu{};                 ///< relu, relu6, relu_n1_to_1 where they differ (an empty chain: they do not)
  FunctionArithmetic leaky_relu{}, prelu{}, hard_swish{}, logistic{}, tanh{}, softmax{}, exp{}, abs{};
  ResizeArithmetic resize{};
  Float16Arithmetic float16{};
  Float32Operations float32 = Float32Operations::absent;
  SvdfArithmetic svdf{};
  LstmArithmetic lstm{};
  ArgmaxArithmetic argmax{};
  Bitwise bitwise = Bitwise::absent;
  Extreme extreme = Extreme::absent;
  L2Normalization l2_normalization = L2Normalization::absent;
  Detection detection = Detection::absent;
  DelegatedLayers delegated{};
  LeftArithmetic left{};   ///< read where layers are delegated
  Placements elsewhere{};  ///< no rule: what a board computes beside its NPU is the user's to say
  friend constexpr bool operator==(const Backend&, const Backend&) = default;
};

/// A backend that states no rule: equal to Backend{}, and copied in its place where code runs. A copy is one call, Backend{} a store for each of its
/// thousands of members, over which an optimiser takes seconds.
extern const Backend no_rules;

/// How a rule is known, weakest last.
enum class EvidenceLevel : std::uint8_t { hardware, vendor_code, vendor_source, document, thread, assumption };

/// `rule` is a path or a prefix of paths ("conv.i8.output", "*.i8"); the longest match speaks for a rule.
struct Evidence {
  std::string rule;
  EvidenceLevel level = EvidenceLevel::assumption;
  std::string source;
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

/// A rule (a path, or a pattern as set_rule takes it) that public evidence leaves open: the backend holds the default, the user may set
/// an alternative.
struct Setting {
  std::string rule;
  std::vector<std::string> alternatives;
  std::string why;
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// What a layer has to be like for an open point to concern it: is_met (operation_rules.hpp).
enum class LayerCondition : std::uint8_t {
  always,
  data_u8,
  data_16bit,
  real_bias,                    ///< a bias that is not all zeros: that which the model's integers stand for may have had a fraction
  data_u8_without_bias,         ///< sums of products of uint8 data that no bias joins
  grouped,                      ///< a convolution whose kernel has fewer channels than its input
  channels_beyond_eights,       ///< the output's channels are no multiple of 8
  channels_beyond_thirty_twos,  ///< the output's channels are no multiple of 32
  values_beyond_eights,         ///< the output's values are no multiple of 8
  values_beyond_sixteens,       ///< the output's values are no multiple of 16
  several_rows,                 ///< of data that meet the weights
  products_from_512,            ///< so many, or more, in one sum
  products_from_131073,         ///< so many, or more, in one sum
  image_mean_of_8bit,           ///< a mean of int8 or uint8 codes over height and width
  whole_image,                  ///< an average of all that a channel has
  equal_quantization,           ///< input and output have the same scale and zero point
  stride_beyond_kernel,         ///< in one direction
  input_left_over,              ///< padding `same` of nothing, a kernel of several places, and input behind the last window
  single_column_of_16bit,       ///< the last axis has one value
  up_from_half_pixels,          ///< a nearest resize of half pixels that rounds halves up or everything: what tf_half_pixel_for_nn becomes
  softmax,
  float_products  ///< with a constant that is float32
};

/// What is known, or not known, to differ between a backend and what it stands for: of the layers that read a rule and are as `when` says.
struct OpenPoint {
  std::string rule;  ///< as in Evidence
  LayerCondition when = LayerCondition::always;
  std::string what;  ///< one clause
  std::string
      program;  ///< of which it is said, where the backend is no more than the nearest to it: no verdict rests on it then; empty: its own
  friend bool operator==(const OpenPoint&, const OpenPoint&) = default;
};

/// The file in which a vendor's tool is told the layers that its device does not compute.
enum class LayerList : std::uint8_t {
  none,
  keep_dtype,  ///< one name per line: option --keep_dtype of Huawei's ATC (its documentation, "ATC: --keep_dtype")
  run_on_cpu,  ///< names with semicolons between them: calibration_parameters.run_on_cpu of Horizon's hb_mapper (its documentation of the YAML file)
};

/// A backend with its name, its evidence and what is open about it.
struct SpecSheet {
  std::string name;
  std::string title;
  Backend backend = no_rules;
  std::vector<Evidence> evidence;
  std::vector<Setting> settings;
  std::string quantizer = {};  ///< which of quantizers() (quantizer.hpp) prepares a float network for it; empty: none
  LayerList layer_list = LayerList::none;
  std::vector<OpenPoint> open = {};
  std::string origin = {};  ///< the backend that it was made from by a file, or by rules that were set; empty: none
  friend bool operator==(const SpecSheet&, const SpecSheet&) = default;
};

/// A backend that computes operations in a device's place, as a board's CPU does: those of these layers (layer_name, one_operation.hpp); without
/// any, a fallback, whatever the device lacks. Codes stay codes between two integer backends; the real domain is given what they stand for, and
/// what it delivers becomes codes by the device's own quantize.
struct Placement {
  SpecSheet sheet;
  std::vector<std::string> layers{};
  [[nodiscard]] bool is_fallback() const { return layers.empty(); }
  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace lastbit
