// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/vipnano.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view model = "vendor's C model of the NN cores, run and recorded";
constexpr std::string_view mesa = "Mesa etnaviv_ml_nn.c baafa917, read: ";
constexpr std::string_view evis = "assumed: rescaled as in convolution; shader kernels of the open headers round half to even";
constexpr std::string_view tables = "assumed: float function of the dequantised value, half to even; the units' tables are not public";
constexpr std::string_view pools = "NN cores lack it (string in the C model); pooling unit or shader, neither could be run";

constexpr EvidenceRow evidence[]{
    {"domain", code, "8-bit integers"},
    {"conv.i8", code, model},
    {"depthwise_conv.i8", code, model, " (V7 expands it to a full convolution, same result)"},
    {"fully_connected.i8", source, mesa, "the NN instruction of convolution"},
    {"transposed_conv.i8", assumption, "assumed to be rewritten as convolution by the compiler"},
    {"matmul.i8", assumption, "assumed to be rewritten as convolution by the compiler"},
    {"*.i8.output.scale", source, mesa, "float32 product and quotient; the closed compiler may use double"},
    {"*.i8.per_channel", assumption,
     "feature bit NN_PER_CHANNEL_QUANT is 0 and the lowering is not public; native is what TIM-VX unit tests' "
     "per-channel results satisfy"},
    {"mean", assumption, evis},
    {"mul", assumption, evis},
    {"requantize", assumption, evis},
    {"leaky_relu", assumption, evis},
    {"prelu", assumption, evis},
    {"hard_swish", assumption, tables},
    {"logistic", assumption, tables},
    {"tanh", assumption, tables},
    {"softmax", assumption, tables},
    {"max_pool", source, "codes are compared, read"},
    {"average_pool", assumption, pools},
    {"global_average_pool", assumption, pools},
    {"add", source, mesa, "lowered to a convolution with 8-bit weights, as traced from the vendor's driver"},
    {"add.i8.operand", assumption, "what the closed driver does on these chips is not public"},
    {"sub", assumption, "assumed: lowered as add, the second weight negated"},
    {"concat", assumption, "assumed: inputs of another scale pass through float"},
    {"quantize", source, "ovxlib 19ac74c vsi_nn_dtype_util_prv.h, read (host side)"},
    {"dequantize", source, "ovxlib 19ac74c, read (host side)"},
};

constexpr SettingRow settings[]{
    {"*.i8.per_channel",
     {"requantized_to_tensor", "float_scale"},
     "no native support on these chips: Mesa requantises the weights to one scale, ST runs it on the shader in float"},
    {"*.i8.output.scale.arithmetic", {"f64"}, "Mesa computes the effective scale in float32; the closed compiler may use double"},
    {"*.i8.accumulator.overflow", {"saturate"}, "the C model wraps; silicon was not measured"},
    {"add.i8.operand.scale.significant_bits", {"16", "22"}, "weights of 8 bits as Mesa lowers it, or of more: a sum that is all but exact"},
    {"sub.i8.operand.scale.significant_bits", {"16", "22"}, "as add"},
    {"*average_pool.output", {"reciprocal_16"}, "exact division, or a multiplication by the truncated 16-bit reciprocal"},
    {"*average_pool.padding", {"included"}, "an interface flag; whether padding counts in the divisor depends on the converter"},
};

}  // namespace

std::span<const SheetRow> vipnano_sheets() {
  static constexpr SheetRow sheets[]{
      {"vipnano_v8", "VeriSilicon VIP8000 Nano V8: NXP i.MX 8M Plus", vipnano_v8, evidence, settings, "int8"},
      {"vipnano_v7", "VeriSilicon VIP8000 Nano V7: Amlogic A311D, ST STM32MP2", vipnano_v7, evidence, settings, "int8"}};
  return sheets;
}

}  // namespace lastbit
