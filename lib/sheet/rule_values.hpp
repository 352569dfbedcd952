// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the values of enumerations mean, in words: one text for each name, in the order of the names. A type of rules without them, or with
// another number of them, does not compile (structure.hpp).
#pragma once

#include <string_view>

#include "lastbit/rules.hpp"

namespace lastbit {

template <NamedEnum E>
extern const std::string_view meanings[];

// Numbers and sums.

template <>
inline constexpr std::string_view meanings<Rounding>[] = {"down",
                                                          "up",
                                                          "toward zero",
                                                          "to the nearest, ties up",
                                                          "to the nearest, ties down",
                                                          "to the nearest, ties away from zero",
                                                          "to the nearest, ties toward zero",
                                                          "to the nearest, ties to the even one",
                                                          "to the odd neighbour unless exact"};
template <>
inline constexpr std::string_view meanings<Overflow>[] = {"modulo 2^bits, as two's complement", "the nearest end of the range",
                                                          "must not happen"};
template <>
inline constexpr std::string_view meanings<NarrowingPoint>[] = {"after every term", "after every `tile` terms", "after the last term"};
template <>
inline constexpr std::string_view meanings<ScaleArithmetic>[] = {
    "double", "float", "float, over * float(1 / under): of in*weight/out float(in*weight) * float(1 / out)",
    "float, float(1 / under) / (float(1 / over1) * float(1 / over2))",
    "float, float(over1 / under) * over2: of in*weight/out float(in / out) * weight"};
template <>
inline constexpr std::string_view meanings<ProductArithmetic>[] = {"double", "float"};
template <>
inline constexpr std::string_view meanings<RoundingStep>[] = {"up", "away from zero: down, below 0"};
template <>
inline constexpr std::string_view meanings<Normalization>[] = {
    "M is a fraction in [0.5, 1)",
    "M is in [1, 2)",
    "one e for all channels of a layer, or for all operands of a sum",
    "M = scale / unit, unit = the layer's largest scale / (2^significant_bits - 1)",
    "two operands: unit = max(smaller / 127, larger / 2^max_exponent), M of the smaller at most 127",
    "M = scale * 2^significant_bits, at least 1",
    "M * 2^e, M below 2^significant_bits - 1: the largest e of those with the least error",
    "M * 2^e, the least e with scale / 2^e below 2^significant_bits - 1"};
template <>
inline constexpr std::string_view meanings<MultiplierCarry>[] = {
    "it is halved and e raised", "it stays the largest M", "it is kept, one bit longer",
    "M is half of it at the same e; of a scale from 2^k with an even k: -2^significant_bits"};
template <>
inline constexpr std::string_view meanings<MultiplierAddend>[] = {"nothing", "one, to every M"};
template <>
inline constexpr std::string_view meanings<MultiplierForm>[] = {"every M of its width", "a shift alone", "2^k + 1",
                                                                "every M, its trailing zeros shifted out"};
template <>
inline constexpr std::string_view meanings<PartialMethod>[] = {
    "every term is added by itself", "terms side by side in memory form partial sums",
    "products of codes side by side at one position of the kernel do; what zero points take off is exact",
    "the same in the whole kernel, row by row, where padding holds the zero point"};
template <>
inline constexpr std::string_view meanings<PartialTail>[] = {"added term by term", "one partial sum", "left out"};

// Stages.

template <>
inline constexpr auto meanings<StageKind> = for_each_stage([]<class Described>() { return Described::facts.meaning; });
template <>
inline constexpr std::string_view meanings<ShiftAmount>[] = {
    "what the multiply left over",
    "max(-e, 0)",
    "the member of that name",
    "the fraction bits of M; a later shift does the rest",
    "before the multiply: what the shift to come has beyond `constant` - bits of the output, 0 to `limit`; 0 for data of 16 "
    "bits or less",
    "after it: what `excess` has left, 0 to `limit`",
    "that of the layer's `converter`"};

// Operations.

template <>
inline constexpr std::string_view meanings<Domain>[] = {"quantised arithmetic, as stated",
                                                        "the golden float path; of the other rules golden_range alone is read"};
template <>
inline constexpr std::string_view meanings<GoldenRange>[] = {"bounded by what the codes of its tensor stand for",
                                                             "no bound but the network's own activations"};
template <>
inline constexpr std::string_view meanings<Coding>[] = {"any zero point, signed and unsigned codes", "signed codes with zero point 0",
                                                        "signed and unsigned codes with zero point 0"};
template <>
inline constexpr std::string_view meanings<BiasAt>[] = {"the sum starts with it", "it is added last"};
template <>
inline constexpr std::string_view meanings<PerChannelLowering>[] = {
    "kept", "weights are quantised again to one 8-bit scale", "accumulators are scaled in float",
    "kept; no product of scales is rounded to float32 where that of a single scale is", "the layer is refused"};
template <>
inline constexpr std::string_view meanings<CrossTermMethod>[] = {
    "no such registers", "the sums of a window's data and of its weights are each multiplied and shifted"};
template <>
inline constexpr std::string_view meanings<RowMultiplier>[] = {"the device has none", "every term is multiplied by it, the bias is not"};
template <>
inline constexpr std::string_view meanings<AverageScales>[] = {"the ratio's count is that of the values",
                                                               "it is the window's width; the converter has the same of its height"};
template <>
inline constexpr std::string_view meanings<PaddingCount>[] = {"only values inside count", "every tap of the window counts",
                                                              "every tap of the window counts; outside it is the nearest value inside"};
template <>
inline constexpr std::string_view meanings<OutputScale>[] = {"a scale of its own", "the input's quantisation",
                                                             "the input's scale, a zero point of its own"};
template <>
inline constexpr std::string_view meanings<Extreme>[] = {"no such operations", "codes of one quantisation, compared"};
template <>
inline constexpr std::string_view meanings<L2Normalization>[] = {"no such operation",
                                                                 "the product with the inverse root is rounded half_up, then half_away",
                                                                 "the product with the inverse root is rounded once, half_up"};
template <>
inline constexpr std::string_view meanings<Detection>[] = {"no such operation",
                                                           "float32, or uint8 codes dequantised by a product in float32"};
template <>
inline constexpr std::string_view meanings<Bitwise>[] = {"no such operations", "the codes' bits, whatever they stand for"};
template <>
inline constexpr std::string_view meanings<MaxPool>[] = {"no such operation", "the largest code of a window"};
template <>
inline constexpr std::string_view meanings<WindowOrder>[] = {"row by row", "column by column"};
template <>
inline constexpr std::string_view meanings<PwlMethod>[] = {"no such operation",
                                                           "segments with base, slope and a shift of 8, 16, 24 or 32 places"};
template <>
inline constexpr std::string_view meanings<FusedOrder>[] = {"no such operation", "sums are pooled as they are, narrowed, then activated",
                                                            "each step as the operation of that name"};
template <>
inline constexpr std::string_view meanings<DelegatedData>[] = {"no delegate", "inputs and output of one 8-bit type"};
template <>
inline constexpr std::string_view meanings<DelegatedAxes>[] = {"any",
                                                               "axes 1 and 2 in any order, or 2 alone, of four, as the file counts them"};
template <>
inline constexpr std::string_view meanings<UpperEnd>[] = {"ratio < 2^most", "ratio <= 2^most"};
template <>
inline constexpr std::string_view meanings<CountIn>[] = {"in the output's ratio", "in the encoded multiplier, which it divides, truncated"};
template <>
inline constexpr std::string_view meanings<Centring>[] = {
    "its tensor's zero point", "nothing", "the first operand's zero point; what that leaves of the others is rounded as a whole",
    "the first operand's zero point; what that leaves of the others is a rounded factor times the difference"};
template <>
inline constexpr std::string_view meanings<FloatAverageMethod>[] = {"no such operation",
                                                                    "real values in the order of the window, each step rounded to float32"};
template <>
inline constexpr std::string_view meanings<FloatSumMethod>[] = {
    "no such operation", "two fused multiply-adds on the codes as they are",
    "of the dequantised operands, each by a fused multiply-add; then times float(1 / out)"};
template <>
inline constexpr std::string_view meanings<ConcatMethod>[] = {"no such operation", "copied: quantisations must be equal",
                                                              "round(q * s + b) with float s and b", "through float values",
                                                              "by the rule of requantize"};
template <>
inline constexpr std::string_view meanings<FunctionMethod>[] = {
    "no such operation",
    "by integer rescaling",
    "integer approximations",
    "a float function, its value quantised",
    "softmax of 8-bit codes by a table of float32 exponentials",
    "logistic or tanh by a ratio of polynomials, its value quantised",
    "logistic or tanh: of 8-bit data as float_table, of 16-bit data as fixed_point",
    "as float_table, times float(1 / scale) in place of the division",
    "as float_table_by_inverse, the zero point added in float before the rounding",
    "logistic or tanh of int32 in units of 2^-12: an entry of a table, in units of 2^-15",
    "softmax: as fixed_point, a table of 16-bit data made in double"};

// Conversions, functions and the rest.

template <>
inline constexpr std::string_view meanings<ScaleDivision>[] = {"no such operation", "x / s in float", "x * float(1 / s)",
                                                               "double(x) / double(s)"};
template <>
inline constexpr std::string_view meanings<ZeroPointAt>[] = {"added to the integer", "added to the float"};
template <>
inline constexpr std::string_view meanings<OutOfRange>[] = {"the nearest int32", "-2^31; the zero point is then added modulo 2^32"};
template <>
inline constexpr std::string_view meanings<DequantizeProduct>[] = {"no such operation", "double", "float"};
template <>
inline constexpr std::string_view meanings<DynamicQuantizeMethod>[] = {
    "no such operation", "over all x and 0: s = float(float(max - min) / 255), zero point -min / s"};
template <>
inline constexpr std::string_view meanings<DynamicCodes>[] = {"no such layers", "within 127 of zero point 0",
                                                              "-128 to 127, a zero point from the range of the data",
                                                              "symmetric, or asymmetric where the layer asks for it"};
template <>
inline constexpr std::string_view meanings<DynamicProduct>[] = {"the two scales", "sum and scale of the data",
                                                                "sum and scale of the weights"};
template <>
inline constexpr std::string_view meanings<BlockScale>[] = {
    "no such format", "max|x|, by the largest code: 127, or 7",
    "x of the largest magnitude, the first of equals, by the least code: -128, or -8"};
template <>
inline constexpr std::string_view meanings<BlockDivision>[] = {"x * float(1 / d)", "x * float(1 / d), d as it is stored",
                                                               "x * float(n / m): the code and the value that the scale is made from",
                                                               "x / d"};
template <>
inline constexpr std::string_view meanings<BlockOffset>[] = {"nothing; the zero point joins the integer", "the zero point",
                                                             "the zero point and 1/2",
                                                             "the zero point and 1/2, product and sum rounded once"};
template <>
inline constexpr std::string_view meanings<BlockMatmulMethod>[] = {"no such format",
                                                                   "integer sums of blocks, and sums in float32 of these"};
template <>
inline constexpr std::string_view meanings<BlockAddition>[] = {"the last product and the sum are each rounded", "both are rounded once"};
template <>
inline constexpr std::string_view meanings<LaneOrder>[] = {"one after the other", "neighbours, then neighbours of these",
                                                           "the second half to the first, then likewise"};
template <>
inline constexpr std::string_view meanings<LaneJoin>[] = {"each sum's, then the sums one after the other",
                                                          "the sums lane by lane, then the lanes"};
template <>
inline constexpr std::string_view meanings<ResizeMethod>[] = {
    "no such operation", "weights of `fraction_bits` multiplied out, one rounding",
    "in float32: each code times its row's weight, then times its column's; their sum + 1/2, truncated",
    "in float32: each code times the product of its weights; their sum + 1/2, truncated"};
template <>
inline constexpr std::string_view meanings<ResizeGrid>[] = {"every coordinate", "the first coordinate and the step to the next",
                                                            "the step; the first coordinate is half of it"};
template <>
inline constexpr std::string_view meanings<NearestCoordinate>[] = {"in double", "in float32, from the rounded quotient of the sizes",
                                                                   "in float32, divided by the rounded quotient of the sizes, to the half "
                                                                   "where it is within 10^-6 of one; where no size changes, values are "
                                                                   "copied"};
template <>
inline constexpr std::string_view meanings<OtherQuantization>[] = {"the layer is refused", "the codes are resized as they are"};
template <>
inline constexpr std::string_view meanings<FusedActivation>[] = {"only the type does", "it does"};
template <>
inline constexpr std::string_view meanings<LstmMethod>[] = {"no such operation", "16-bit tables", "fixed-point functions of 16 bits"};
template <>
inline constexpr std::string_view meanings<ArgmaxMethod>[] = {"no such operation", "the first", "the last"};
template <>
inline constexpr std::string_view meanings<RunningMaximum>[] = {"every position by itself",
                                                                "from the maximum and index of the position before"};
template <>
inline constexpr std::string_view meanings<SingleChannel>[] = {"its index", "1 for values in the upper half of the type's range, else 0"};
template <>
inline constexpr std::string_view meanings<Float32Operations>[] = {
    "no such operations", "on the golden path",
    "there, but for what is known step by step: sums of products, averages, exp, hard_swish, logistic, softmax, tanh"};
template <>
inline constexpr std::string_view meanings<Fusion>[] = {"every one", "those that a runtime fuses, if need be by an option",
                                                        "those that it fuses by default", "none"};

// Float16.

template <>
inline constexpr std::string_view meanings<Float16Method>[] = {"no such operations", "every elementary step is rounded at once"};
template <>
inline constexpr std::string_view meanings<Float16Overflow>[] = {
    "infinity, as IEEE 754 has it", "65504; NaN: +0", "0x7FFF, for infinities and NaN as well", "0x7FFF below 2^17, 65504 from there on"};
template <>
inline constexpr std::string_view meanings<Float16TopExponent>[] = {"infinities and NaN", "numbers like the others, 65536 to 131008"};
template <>
inline constexpr std::string_view meanings<Float16ZeroDivision>[] = {"0/x signed zero, x/0 infinite, 0/0 NaN",
                                                                     "0/x is +0, x/0 and 0/0 the pattern of a signed infinity"};
template <>
inline constexpr std::string_view meanings<StepPrecision>[] = {"float16", "float32"};
template <>
inline constexpr std::string_view meanings<SumOrder>[] = {
    "one after the other", "neighbours, then sums of neighbours", "blocks one after the other, then their sums likewise",
    "blocks pairwise, then their sums one after the other", "blocks exactly, rounded once, then one after the other"};
template <>
inline constexpr std::string_view meanings<TermOrder>[] = {"kernel rows, kernel columns, channels",
                                                           "blocks of 16 channels outermost, each filled up with zeros"};
template <>
inline constexpr std::string_view meanings<MeanScaling>[] = {"every value first", "the sum"};
template <>
inline constexpr std::string_view meanings<LogisticBound>[] = {"no", "x is first raised to -11.089"};
template <>
inline constexpr std::string_view meanings<ScaleFactor>[] = {"x * s", "x * sqrt(s) * sqrt(s)"};

}  // namespace lastbit
