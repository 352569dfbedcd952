// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/ascend.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto document = EvidenceLevel::document;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view operators = "Huawei's TBE operators, read: ";

constexpr auto products = std::to_array<EvidenceRow>({
    {"", document, "CANN mmad: int8 times int8 into int32 accumulators"},
    {".i8.accumulator", assumption, "assumed to wrap; overflow is not documented"},
    {".i8.output", assumption, "AscendRequant: one float32 scale; its rounding is not documented"},
});
constexpr auto bias = std::to_array<EvidenceRow>({{".i8.bias", assumption, "assumed: the bias initialises L0C"}});
constexpr auto layer = joined(products, bias);

constexpr auto domain = std::to_array<EvidenceRow>({{"domain", document, "float16 and 8-bit integers"}});
constexpr auto other_integers = std::to_array<EvidenceRow>({
    {"max_pool", assumption, "assumed: codes are compared"},
    {"requantize", assumption, "assumed: as AscendRequant"},
    {"quantize", document, "AscendQuant: y = round(x * scale + offset)"},
    {"quantize.rounding", assumption, "as float16.quantize.rounding"},
    {"quantize.out_of_range", assumption, "assumed to saturate"},
    {"dequantize", document, "Ascend C AscendDequant: int32 to float32, times the float32 deq_scale"},
});

constexpr auto float16 = std::to_array<EvidenceRow>({
    {"float16.method", document, "CANN: the vector unit computes float16 operations at float16 precision"},
    {"float16.cube.sum.precision", document, "CANN mmad: float16 times float16 into float32 partial sums in L0C"},
    {"float16.cube.sum.block", document, "CANN: one step of the cube is 16 x 16 x 16 float16 values"},
    {"float16.cube.sum.order", assumption, "the order of the additions inside a step is not public; assumed: a tree, then the partial sum"},
    {"float16.cube.terms", document, "NC1HWC0 and FRACTAL_Z: C1, kernel rows, kernel columns, then C0 = 16 channels"},
    {"float16.cube.bias", assumption, "assumed: the bias initialises L0C"},
    {"float16.add_n", source, operators, "add_n: one vadd per input in turn, at the precision of the data"},
    {"float16.mean.scaling", source, operators, "reduce_mean_d: vmuls by 1/count, then sum"},
    {"float16.mean.sum.precision", source, operators, "reduce_mean_d: float32 where high precision is on and the chip is not the 310"},
    {"float16.mean.sum", assumption, "the order of a reduction depends on the schedule; assumed: sequential"},
    {"float16.average_pool", assumption, "assumed: float16 sums one after another, then a product with 1/count"},
    {"float16.logistic", source, operators, "sigmoid: vmuls by -1, vexp, vadds 1, reciprocal; in float32 on 310P and 910B"},
    {"float16.tanh", source, operators, "tanh: (x - x*e) / ((|x| + tiny) * (e + 1)), e = exp(-2|x|); in float32 where vexp takes it"},
    {"float16.hard_swish", assumption, "assumed: x + 3, bounded to 0 and 6, times x, times 1/6, each in float16"},
    {"float16.softmax", source, operators, "softmax_v2: max and difference in float16, sum and quotient in float32"},
    {"float16.softmax.sum.order", assumption, "the order of a reduction depends on the schedule; assumed: sequential"},
    {"float16.softmax.sum.block", assumption, "read in blocks only"},
    {"float16.quantize", source, operators, "ascend_quant: float32 data are cast to float16; vmuls by the scale, vadds the offset"},
    {"float16.quantize.rounding", assumption,
     "round_mode Round; assumed: half to even as TBE's round, not half away as AscendC's CAST_ROUND"},
    {"float16.dequantize", document, "Ascend C AscendDequant: int32 to float32, times the float32 deq_scale, cast to the output"},
    {"float32", assumption, "operations kept in float32 are taken as correctly rounded: the golden path"},
});

constexpr auto common = joined(domain, prefixed("conv", layer), prefixed("depthwise_conv", layer), prefixed("transposed_conv", layer),
                               prefixed("fully_connected", layer), prefixed("matmul", products), other_integers, float16);

// How a value is rounded and what stands in place of an overflow; of these alone the sheets differ in evidence.

constexpr auto step = std::to_array<EvidenceRow>({
    {"", document, "CANN: CAST_RINT; the vendor's fp16_t class, run, rounds the same way with subnormals kept"},
    {".overflow", document,
     "CANN, INF_NAN_MODE_ENABLE and aclrtFloatOverflowMode: saturation (Inf to 65504, NaN to 0) is the only mode of 310, 310P and 910A, "
     "Inf/NaN the default of 910B, where saturation can be chosen"},
});
constexpr auto of_device = joined(common, prefixed("float16.conversion", step), prefixed("float16.sum", step),
                                  prefixed("float16.product", step), prefixed("float16.quotient", step));

constexpr std::string_view run = "graphengine 45d6a09b ge/common/fp16_t.cc, run and recorded: fp16_";
constexpr auto steps_of_class = std::to_array<EvidenceRow>({
    {"float16.conversion", code, run, "cast"},
    {"float16.sum", code, run, "add, fp16_sub"},
    {"float16.product", code, run, "mul"},
    {"float16.quotient", code, run, "div"},
});
constexpr auto of_class = joined(common, steps_of_class);

constexpr std::string_view order = "the order of the additions is not public";

/// `other_precision`: of the sums of means.
consteval auto settings(std::string_view other_precision) {
  return std::to_array<SettingRow>({
      {"float16.cube.sum.order",
       {"sequential", "pairwise", "blocks_sequential", "blocks_exact"},
       "the order of the additions is not public inside a step of 16 terms"},
      {"float16.cube.terms", {"kernel_then_channel"}, "the order of a layout with channels last"},
      {"float16.cube.bias", {"accumulator_end"}, "an Add fused behind the convolution instead of a preloaded bias"},
      {"float16.add_n.order", {"pairwise", "blocks_pairwise"}, "with saturating additions 60000 + 60000 - 60000 is 5504 in this order"},
      {"float16.mean.sum.order", {"pairwise", "blocks_pairwise"}, order},
      {"float16.mean.sum.precision", {other_precision}, "high_performance against high_precision"},
      {"float16.average_pool.sum.precision", {"float32"}, "the cube, where the compiler makes a convolution of it"},
      {"float16.softmax.sum.order", {"pairwise", "blocks_pairwise"}, order},
      {"float16.quantize.factor", {"square_root_twice"}, "sqrt_mode of AscendQuant"},
      {"float16.quantize.rounding", {"half_away", "floor", "ceil", "toward_zero"}, "round_mode: Round (its tie), Floor, Ceil, Trunc"},
      {"float16.dequantize.scale_bits", {"11"}, "a register that keeps 19 bits of the float32 scale; no public page was found"},
      {"*.i8.accumulator.overflow", {"saturate"}, "overflow of the int32 accumulators is not documented"},
  });
}

constexpr auto means_in_float16 = settings("float32");
constexpr auto means_in_float32 = settings("float16");
constexpr auto overflow = std::to_array<SettingRow>({{"float16.*.overflow", {"saturate"}, "saturation mode, as on the older chips"}});
constexpr auto of_910b = joined(means_in_float32, overflow);

}  // namespace

std::span<const SheetRow> ascend_sheets() {
  constexpr auto list = LayerList::keep_dtype;
  static constexpr SheetRow sheets[]{
      {"ascend310", "Huawei Ascend 310: float16, saturation mode", ascend310, of_device, means_in_float16, "float16", list},
      {"ascend310p", "Huawei Ascend 310P: float16, saturation mode", ascend310p, of_device, means_in_float32, "float16", list},
      {"ascend910a", "Huawei Ascend 910A: float16, saturation mode", ascend910a, of_device, means_in_float32, "float16", list},
      {"ascend910b", "Huawei Ascend 910B, 910C (A2, A3): float16, Inf/NaN mode", ascend910b, of_device, of_910b, "float16", list},
      {"ascend_ge2021", "Huawei's fp16_t software class of 2021: float16 with its overflow pattern 0x7FFF", ascend_ge2021, of_class,
       means_in_float16, "float16", list}};
  return sheets;
}

}  // namespace lastbit
