// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/bernoulli2.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto document = EvidenceLevel::document;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view formula =
    "formula in comments of Horizon's PyTorch plugin, and hbir.hpp SConvolutionLayer, read; kernels are compiled";
constexpr std::string_view rescale_source = "gen_rescale_param of Horizon's compiler front end, read";
constexpr std::string_view as_rescale =
    "derived inside the compiled convert_conv_params; assumed to be split as the documented rescaling is";

constexpr std::string_view beyond = "int32 sums in the source; what happens beyond is not said";
constexpr std::string_view not_enabled = "enable_rounding is false for bernoulli2 in the source; floor is assumed";
constexpr std::string_view entries = "how entries are rounded is not documented; as quantisation";

/// Of an operation that sums products with weights.
constexpr auto convolution = std::to_array<EvidenceRow>({
    {"", source, formula},
    {".i8.accumulator.overflow", assumption, beyond},
    {".i8.bias_bits", assumption, "b << bl in the formula; the width of b is not said"},
    {".i8.bias_rounding", assumption, "b << bl in the formula; how b is rounded is not said"},
    {".i8.output.scale", assumption, as_rescale},
    {".i8.output.chain.0", assumption, as_rescale},
    {".i8.output.chain.0.kind", source, formula},
    {".i8.output.chain.0.rounding", assumption, not_enabled},
    {".i8.output.chain.3", assumption, as_rescale},
    {".i8.output.chain.3.kind", source, formula},
    {".i8.output.chain.3.rounding", assumption, not_enabled},
});

/// Of a rescaling.
constexpr auto rescaling = std::to_array<EvidenceRow>({
    {".scale", source, rescale_source},
    {".scale.arithmetic", assumption, "scales are float32 tensors there; the division is assumed to be in double"},
    {".chain", source, rescale_source},
    {".chain.0.rounding", source, "pre shift without rounding for bernoulli2, read"},
    {".chain.1", assumption, "a 16-bit factor; with calibrated scales nothing reaches the limit"},
    {".chain.3.rounding", assumption, "enable_rounding is true in the source; half up is assumed"},
});

constexpr auto operations = std::to_array<EvidenceRow>({
    {"domain", source, "integer kernels; the plugin's names and types"},
    {"coding", document, "quantisation is symmetric int8 on bernoulli2"},
    {"matmul", source, "int32 sum, then rescaled, read"},
    {"matmul.i8.accumulator.overflow", assumption, beyond},
    {"max_pool", source, "int8 maximum, read"},
    {"average_pool", source, "int32 sum, then rescaled from s / (kh * kw); padding always counts, read"},
    {"average_pool.output_scale", assumption, "an own scale in the plugin; the operator list says 'same as input'"},
    {"global_average_pool", source, "int32 sum, then rescaled from s / (h * w), read"},
    {"global_average_pool.output_scale", assumption, "the interface has an optional output scale: both forms exist"},
    {"mean", source, "int32 sum, then rescaled from s to out * n, read"},
    {"add", source, "derivation of the common scale in the compiler front end, read"},
    {"add.i8.accumulator.overflow", assumption, "int32 in the source; what happens beyond is not said"},
    {"sub", assumption, "assumed: add with the second operand negated"},
    {"mul", source, "int32 product, then rescaled, read"},
    {"concat", source, "every input rescaled to the output's scale, then copied, read"},
    {"concat.method_uint8", document, "no unsigned codes"},
    {"quantize", document, "ptq_process: clamp(std::round(x / double(scale)))"},
    {"quantize.out_of_range", assumption, "not documented; saturation is assumed"},
    {"dequantize", assumption, "assumed: float(q) * scale"},
    {"requantize", source, rescale_source},
    {"leaky_relu", assumption, "assumed to be an int8 table as exp is"},
    {"hard_swish", assumption, "assumed to be an int8 table as exp is"},
    {"logistic", document, "int8 to int8 by table"},
    {"tanh", document, "int8 to int8 by table"},
    {"exp", document, "note.md: by look-up table on bernoulli2, with a risk for accuracy; the table itself is from the plugin's source"},
    {"softmax", document, "not on the BPU: the CPU computes it in float"},
    {"resize", document, "8 fraction bits on bernoulli and bernoulli2"},
    {"float32", document, "what the BPU does not do runs on the CPU in float"},
    {"resize.grid", assumption, "not documented"},
    {"resize.grid_rounding", assumption, "not documented"},
    {"resize.rounding", assumption, "not documented"},
    {"leaky_relu.rounding", assumption, entries},
    {"hard_swish.rounding", assumption, entries},
    {"logistic.rounding", assumption, entries},
    {"tanh.rounding", assumption, entries},
    {"exp.rounding", assumption, entries},
    {"softmax.rounding", assumption, entries},
});

constexpr auto evidence =
    joined(operations, prefixed("matmul.i8.output", rescaling), prefixed("average_pool.output", rescaling),
           prefixed("global_average_pool.output", rescaling), prefixed("mean.output", rescaling), prefixed("add.i8.output", rescaling),
           prefixed("mul", rescaling), prefixed("requantize", rescaling), prefixed("conv", convolution),
           prefixed("depthwise_conv", convolution), prefixed("transposed_conv", convolution), prefixed("fully_connected", convolution));

constexpr Alternatives roundings{"half_up", "half_away", "half_even"};

constexpr SettingRow settings[]{
    {"*.i8.accumulator.overflow", {"saturate"}, "32-bit sums; what happens beyond is not public"},
    {"*.i8.bias_bits", {"16", "8"}, "the bias is stored narrow and shifted left; its width is not public"},
    {"*conv.i8.output.chain.0.rounding", roundings, "first shift of a convolution; bayes rounds"},
    {"fully_connected.i8.output.chain.0.rounding", roundings, "as conv"},
    {"*conv.i8.output.chain.3.rounding", roundings, "second shift of a convolution; bayes rounds"},
    {"fully_connected.i8.output.chain.3.rounding", roundings, "as conv"},
    {"*.i8.output.chain.0.constant", {"29", "31"}, "how the shift is split around the multiplier is derived in compiled code"},
    {"*.i8.output.scale.carry", {"renormalize"}, "a multiplier that rounds up to 2^15: clipped as in the documented rescaling"},
    {"*.i8.output.scale.arithmetic", {"f32"}, "scales are float32 in the plugin; the compiled code may use either"},
    {"requantize.chain.0.rounding", {"half_up"}, "shift before the multiplier; bayes rounds"},
    {"requantize.chain.1.overflow", {"wrap", "exact"}, "the 16 bits before the multiplier; no calibrated value reaches them"},
    {"requantize.chain.3.rounding", {"half_away", "half_even", "floor"}, "'rounding' in the source: which is not said"},
    {"*average_pool.output.chain.0.rounding", {"half_up"}, "shift before the multiplier; bayes rounds"},
    {"*average_pool.output.chain.3.rounding", {"half_away", "half_even", "floor"}, "'rounding' in the source: which is not said"},
    {"*average_pool.output_scale", {"of_input"}, "an own scale, or the input's as the operator list says"},
    {"average_pool", {"fixed_reciprocal"}, "the older form: sum * k >> 9 on the input's scale"},
    {"global_average_pool", {"fixed_reciprocal_4"}, "the older form: (sum >> 4) * k >> 9 on the input's scale"},
    {"add.i8.output.chain.3.rounding", {"half_away", "half_even", "floor"}, "'rounding' in the source: which is not said"},
    {"add.i8.accumulator.overflow", {"saturate"}, "32-bit sums; what happens beyond is not public"},
    {"exp.rounding", {"half_even", "half_up", "floor"}, "how table entries are rounded is not public"},
    {"logistic.rounding", {"half_even", "half_up", "floor"}, "as exp"},
    {"tanh.rounding", {"half_even", "half_up", "floor"}, "as exp"},
    {"resize.grid", {"coordinate"}, "a first coordinate and a step, or every coordinate, in 8 fraction bits"},
    {"resize.grid_rounding", {"half_up"}, "not documented"},
    {"resize.rounding", {"floor", "half_even"}, "not documented"},
};

constexpr OpenRow open[]{
    {"*", LayerCondition::always, "another march than bernoulli2, which is neither described nor compared", "other marches"}};

}  // namespace

std::span<const SheetRow> bernoulli2_sheets() {
  static constexpr SheetRow sheets[]{{"bernoulli2", "Horizon BPU bernoulli2: X3, J3; a documented model, not verified on silicon",
                                      bernoulli2, evidence, settings, "bernoulli2", LayerList::run_on_cpu, open}};
  return sheets;
}

}  // namespace lastbit
