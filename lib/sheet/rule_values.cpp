// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "sheet/rule_values.hpp"

#include <algorithm>

namespace lastbit {
namespace {

struct Meanings {
  const std::type_info* type;
  std::vector<std::string_view> texts;
};

/// One text for each name; another number of them does not compile.
template <NamedEnum E, std::size_t count>
Meanings of(const std::string_view (&texts)[count]) {
  static_assert(count == names_of(E{}).size());
  return {&typeid(E), {std::begin(texts), std::end(texts)}};
}

template <NamedEnum E, std::size_t count>
Meanings of(const std::array<std::string_view, count>& texts) {
  static_assert(count == names_of(E{}).size());
  return {&typeid(E), {texts.begin(), texts.end()}};
}

std::vector<Meanings> of_numbers() {
  return {
      of<Rounding>({"down", "up", "toward zero", "to the nearest, ties up", "to the nearest, ties down",
                    "to the nearest, ties away from zero", "to the nearest, ties toward zero", "to the nearest, ties to the even one",
                    "to the odd neighbour unless exact"}),
      of<Overflow>({"modulo 2^bits, as two's complement", "the nearest end of the range", "must not happen"}),
      of<NarrowingPoint>({"after every term", "after every `tile` terms", "after the last term"}),
      of<ScaleArithmetic>({"double", "float", "float, over * float(1 / under): of in*weight/out float(in*weight) * float(1 / out)",
                           "float, float(1 / under) / (float(1 / over1) * float(1 / over2))",
                           "float, float(over1 / under) * over2: of in*weight/out float(in / out) * weight"}),
      of<ProductArithmetic>({"double", "float"}),
      of<RoundingStep>({"up", "away from zero: down, below 0"}),
      of<Normalization>({"M is a fraction in [0.5, 1)", "M is in [1, 2)", "one e for all channels of a layer, or for all operands of a sum",
                         "M = scale / unit, unit = the layer's largest scale / (2^significant_bits - 1)",
                         "two operands: unit = max(smaller / 127, larger / 2^max_exponent), M of the smaller at most 127",
                         "M = scale * 2^significant_bits, at least 1",
                         "M * 2^e, M below 2^significant_bits - 1: the largest e of those with the least error",
                         "M * 2^e, the least e with scale / 2^e below 2^significant_bits - 1"}),
      of<MultiplierCarry>({"it is halved and e raised", "it stays the largest M", "it is kept, one bit longer",
                           "M is half of it at the same e; of a scale from 2^k with an even k: -2^significant_bits"}),
      of<MultiplierAddend>({"nothing", "one, to every M"}),
      of<MultiplierForm>({"every M of its width", "a shift alone", "2^k + 1", "every M, its trailing zeros shifted out"}),
      of<PartialMethod>({"every term is added by itself", "terms side by side in memory form partial sums",
                         "products of codes side by side at one position of the kernel do; what zero points take off is exact"}),
      of<PartialTail>({"added term by term", "one partial sum", "left out"}),
  };
}

std::vector<Meanings> of_stages() {
  return {
      of<StageKind>(for_each_stage([]<class Described>() { return Described::facts.meaning; })),
      of<ShiftAmount>(
          {"what the multiply left over", "max(-e, 0)", "the member of that name", "the fraction bits of M; a later shift does the rest",
           "before the multiply: what the shift to come has beyond `constant` - bits of the output, 0 to `limit`; 0 for data of 16 "
           "bits or less",
           "after it: what `excess` has left, 0 to `limit`", "that of the layer's `converter`"}),
  };
}

std::vector<Meanings> of_operations() {
  return {
      of<Domain>({"quantised arithmetic, as stated", "the golden float path; of the other rules golden_range alone is read"}),
      of<GoldenRange>({"bounded by what the codes of its tensor stand for", "no bound but the network's own activations"}),
      of<Coding>(
          {"any zero point, signed and unsigned codes", "signed codes with zero point 0", "signed and unsigned codes with zero point 0"}),
      of<BiasAt>({"the sum starts with it", "it is added last"}),
      of<PerChannelLowering>({"kept", "weights are quantised again to one 8-bit scale", "accumulators are scaled in float",
                              "kept; no product of scales is rounded to float32 where that of a single scale is", "the layer is refused"}),
      of<CrossTermMethod>({"no such registers", "the sums of a window's data and of its weights are each multiplied and shifted"}),
      of<RowMultiplier>({"the device has none", "every term is multiplied by it, the bias is not"}),
      of<AverageScales>({"the ratio's count is that of the values", "it is the window's width; the converter has the same of its height"}),
      of<PaddingCount>({"only values inside count", "every tap of the window counts",
                        "every tap of the window counts; outside it is the nearest value inside"}),
      of<OutputScale>({"a scale of its own", "the input's quantisation", "the input's scale, a zero point of its own"}),
      of<Extreme>({"no such operations", "codes of one quantisation, compared"}),
      of<L2Normalization>({"no such operation", "the product with the inverse root is rounded half_up, then half_away",
                           "the product with the inverse root is rounded once, half_up"}),
      of<Detection>({"no such operation", "float32, or uint8 codes dequantised by a product in float32"}),
      of<Bitwise>({"no such operations", "the codes' bits, whatever they stand for"}),
      of<MaxPool>({"no such operation", "the largest code of a window"}),
      of<WindowOrder>({"row by row", "column by column"}),
      of<PwlMethod>({"no such operation", "segments with base, slope and a shift of 8, 16, 24 or 32 places"}),
      of<FusedOrder>(
          {"no such operation", "sums are pooled as they are, narrowed, then activated", "each step as the operation of that name"}),
      of<DelegatedData>({"no delegate", "inputs and output of one 8-bit type"}),
      of<DelegatedAxes>({"any", "axes 1 and 2 in any order, or 2 alone, of four, as the file counts them"}),
      of<UpperEnd>({"ratio < 2^most", "ratio <= 2^most"}),
      of<CountIn>({"in the output's ratio", "in the encoded multiplier, which it divides, truncated"}),
      of<Centring>({"its tensor's zero point", "nothing",
                    "the first operand's zero point; what that leaves of the others is rounded as a whole",
                    "the first operand's zero point; what that leaves of the others is a rounded factor times the difference"}),
      of<FloatAverageMethod>({"no such operation", "real values in the order of the window, each step rounded to float32"}),
      of<FloatSumMethod>({"no such operation", "two fused multiply-adds on the codes as they are",
                          "of the dequantised operands, each by a fused multiply-add; then times float(1 / out)"}),
      of<ConcatMethod>({"no such operation", "copied: quantisations must be equal", "round(q * s + b) with float s and b",
                        "through float values", "by the rule of requantize"}),
      of<FunctionMethod>({"no such operation", "by integer rescaling", "integer approximations", "a float function, its value quantised",
                          "softmax of 8-bit codes by a table of float32 exponentials",
                          "logistic or tanh by a ratio of polynomials, its value quantised",
                          "logistic or tanh: of 8-bit data as float_table, of 16-bit data as fixed_point",
                          "as float_table, times float(1 / scale) in place of the division",
                          "as float_table_by_inverse, the zero point added in float before the rounding",
                          "logistic or tanh of int32 in units of 2^-12: an entry of a table, in units of 2^-15"}),
  };
}

std::vector<Meanings> of_conversions() {
  return {
      of<ScaleDivision>({"no such operation", "x / s in float", "x * float(1 / s)", "double(x) / double(s)"}),
      of<ZeroPointAt>({"added to the integer", "added to the float"}),
      of<OutOfRange>({"the nearest int32", "-2^31; the zero point is then added modulo 2^32"}),
      of<DequantizeProduct>({"no such operation", "double", "float"}),
      of<DynamicQuantizeMethod>({"no such operation", "over all x and 0: s = float(float(max - min) / 255), zero point -min / s"}),
      of<DynamicCodes>({"no such layers", "within 127 of zero point 0", "-128 to 127, a zero point from the range of the data",
                        "symmetric, or asymmetric where the layer asks for it"}),
      of<DynamicProduct>({"the two scales", "sum and scale of the data", "sum and scale of the weights"}),
      of<BlockScale>({"no such format", "max|x|, by the largest code: 127, or 7",
                      "x of the largest magnitude, the first of equals, by the least code: -128, or -8"}),
      of<BlockDivision>({"x * float(1 / d)", "x * float(1 / d), d as it is stored",
                         "x * float(n / m): the code and the value that the scale is made from", "x / d"}),
      of<BlockOffset>({"nothing; the zero point joins the integer", "the zero point", "the zero point and 1/2",
                       "the zero point and 1/2, product and sum rounded once"}),
      of<BlockMatmulMethod>({"no such format", "integer sums of blocks, and sums in float32 of these"}),
      of<BlockAddition>({"the last product and the sum are each rounded", "both are rounded once"}),
      of<LaneOrder>({"one after the other", "neighbours, then neighbours of these", "the second half to the first, then likewise"}),
      of<LaneJoin>({"each sum's, then the sums one after the other", "the sums lane by lane, then the lanes"}),
      of<ResizeMethod>({"no such operation", "weights of `fraction_bits` multiplied out, one rounding",
                        "in float32: each code times its row's weight, then times its column's; their sum + 1/2, truncated",
                        "in float32: each code times the product of its weights; their sum + 1/2, truncated"}),
      of<ResizeGrid>({"every coordinate", "the first coordinate and the step to the next", "the step; the first coordinate is half of it"}),
      of<NearestCoordinate>({"in double", "in float32, from the rounded quotient of the sizes"}),
      of<OtherQuantization>({"the layer is refused", "the codes are resized as they are"}),
      of<FusedActivation>({"only the type does", "it does"}),
      of<LstmMethod>({"no such operation", "16-bit tables"}),
      of<ArgmaxMethod>({"no such operation", "the first", "the last"}),
      of<RunningMaximum>({"every position by itself", "from the maximum and index of the position before"}),
      of<SingleChannel>({"its index", "1 for values in the upper half of the type's range, else 0"}),
      of<Float32Operations>(
          {"no such operations", "on the golden path",
           "there, but for what is known step by step: sums of products, averages, exp, hard_swish, logistic, softmax, tanh"}),
      of<Fusion>({"every one", "those that a runtime fuses, if need be by an option", "those that it fuses by default", "none"}),
  };
}

std::vector<Meanings> of_float16() {
  return {
      of<Float16Method>({"no such operations", "every elementary step is rounded at once"}),
      of<Float16Overflow>({"infinity, as IEEE 754 has it", "65504; NaN: +0", "0x7FFF, for infinities and NaN as well",
                           "0x7FFF below 2^17, 65504 from there on"}),
      of<Float16TopExponent>({"infinities and NaN", "numbers like the others, 65536 to 131008"}),
      of<Float16ZeroDivision>({"0/x signed zero, x/0 infinite, 0/0 NaN", "0/x is +0, x/0 and 0/0 the pattern of a signed infinity"}),
      of<StepPrecision>({"float16", "float32"}),
      of<SumOrder>({"one after the other", "neighbours, then sums of neighbours", "blocks one after the other, then their sums likewise",
                    "blocks pairwise, then their sums one after the other", "blocks exactly, rounded once, then one after the other"}),
      of<TermOrder>({"kernel rows, kernel columns, channels", "blocks of 16 channels outermost, each filled up with zeros"}),
      of<MeanScaling>({"every value first", "the sum"}),
      of<LogisticBound>({"no", "x is first raised to -11.089"}),
      of<ScaleFactor>({"x * s", "x * sqrt(s) * sqrt(s)"}),
  };
}

std::vector<Meanings> all_meanings() {
  std::vector<Meanings> all;
  for (auto* const part : {of_numbers, of_stages, of_operations, of_conversions, of_float16}) {
    for (Meanings& one : part()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

const std::vector<std::string_view>& value_meanings(const RuleType& enumeration) {
  static const std::vector<Meanings> all = all_meanings();
  static const std::vector<std::string_view> none;
  const auto found = std::ranges::find_if(all, [&](const Meanings& one) { return *one.type == *enumeration.type; });
  return found == all.end() ? none : found->texts;
}

}  // namespace lastbit
