// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/onnxruntime.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view run = "ONNX Runtime 1.30 CPU, run and recorded: ";

constexpr auto evidence = std::to_array<EvidenceRow>({
    {"domain", code, "integer between float scales"},
    {"fusion", code,
     "ONNX Runtime 1.30, x86-64, run and recorded: tests/vectors/cases; its selectors for DequantizeLinear and QuantizeLinear, "
     "and its remover of double pairs"},
    {"float32", code,
     "ONNX Runtime 1.30, x86-64 with AVX-512, run on random layers in float32 and between DequantizeLinear and QuantizeLinear, recorded: "
     "tests/vectors/cases; the sources of MLAS and of its reductions"},
    {"conv", code, run, "qlinearconv (u8s8, s8s8, u8u8; ties, extremes)"},
    {"depthwise_conv", code, run, "qlinearconv with groups"},
    {"transposed_conv", assumption, "no quantised operator; assumed to scale as QLinearConv"},
    {"fully_connected", code, run, "qlinearmatmul"},
    {"matmul", code, run, "qlinearmatmul, integer_ops"},
    {"max_pool", EvidenceLevel::document, "ONNX standard, MaxPool of int8 and uint8 since version 12"},
    {"average_pool", code, "ONNX Runtime 1.30 QLinearAveragePool, run and recorded: tests/vectors/cases; its steps from the source"},
    {"global_average_pool", code, run, "ms_qlinear, QLinearGlobalAveragePool"},
    {"add", code, run, "ms_qlinear, QLinearAdd; order of the float operations from the AVX2 kernel's source"},
    {"sub", assumption, "no quantised operator; assumed to be QLinearAdd with the second input negated"},
    {"mul", code, run, "ms_qlinear, QLinearMul"},
    {"concat", code, run, "ms_qlinear, QLinearConcat"},
    {"quantize", code, run, "quantizelinear"},
    {"dequantize", code, run, "quantizelinear"},
    {"dynamic_quantize", EvidenceLevel::document, "ONNX standard, DynamicQuantizeLinear, and its recorded node tests"},
    {"requantize", assumption, "a dequantise and quantise pair merged into one float scale"},
    {"leaky_relu", code, run, "ms_qlinear, QLinearLeakyRelu"},
    {"logistic", code, run, "ms_qlinear, QLinearSigmoid"},
    {"hard_swish", assumption, "no quantised operator; assumed to be tabulated as QLinearSigmoid"},
    {"tanh", assumption, "no quantised operator; assumed to be tabulated as QLinearSigmoid"},
    {"resize", code, "ONNX Runtime 1.30 Resize, run and recorded: tests/vectors/cases; its steps from the source of its Upsample"},
    {"softmax", code, "ONNX Runtime 1.30 QLinearSoftmax, run and recorded: tests/vectors/cases; its steps from the source"},
});

constexpr std::string_view pairs =
    "ONNX Runtime 1.30, run on an emulated Haswell and recorded: tests/vectors/cases; the instruction from onnxruntime issues 6004, 5849, "
    "14642";
constexpr auto pairs_saturate = std::to_array<EvidenceRow>({
    {"conv.u8.accumulator", code, pairs},
    {"depthwise_conv.u8.accumulator", code, pairs},
    {"fully_connected.u8.accumulator", code, pairs},
    {"matmul.u8.accumulator", code, pairs},
});
constexpr auto evidence_without_vnni =
    joined(replaced(evidence, {{"float32", assumption, "as with AVX-512; the lanes of softmax are others"}}), pairs_saturate);

using enum LayerCondition;

constexpr auto open_unfused = std::to_array<OpenRow>({
    {"resize.coordinates", up_from_half_pixels,
     "tf_half_pixel_for_nn is looked for half a pixel away: within 10^-6 of where the place changes the value may be the neighbour's"},
    {"requantize", always,
     "two pairs of QuantizeLinear and DequantizeLinear with a Pad or a Clip before the first, or a Pad behind the second, are merged by "
     "ONNX Runtime; here both are "
     "computed"},
    {"float32", float_products,
     "a product with a constant that is no dequantised one is packed ahead and added up in other blocks, convolutions of constant float32 "
     "weights in blocks of "
     "channels; a Gemm of 8-bit data whose result stays float32 is computed on codes"},
});
constexpr std::string_view on_arm = "ONNX Runtime on Arm";
constexpr std::string_view scaled_on_arm =
    "64-bit Arm scales in float and rounds half to even as well (vcvtnq); the order in which its products are summed was not read";
constexpr auto open_with_vnni = joined(
    open_unfused,
    std::to_array<OpenRow>({
        {"conv", always, scaled_on_arm, on_arm},
        {"add", always, "in fixed point: (a-za)*Ma + (b-zb)*Mb with multipliers of 22 bits, rounded once, half away from zero", on_arm},
        {"*", always, "not read; float32 sums run in other orders", on_arm},
        {"conv", always,
         "fbgemm scales by float(float(in*w)/out) in its own references; the engines were not run. Its products in 16 bits: fbgemm",
         "PyTorch's engines x86 and fbgemm"},
    }));
constexpr auto open_basic =
    joined(open_unfused, std::to_array<OpenRow>({{"requantize", always,
                                                  "ORT_ENABLE_BASIC merges two pairs of QuantizeLinear and DequantizeLinear in a row, "
                                                  "ORT_DISABLE_ALL does not; nor does this backend"}}));
constexpr auto open_without_vnni =
    joined(open_unfused, std::to_array<OpenRow>({{"float32", softmax, "without AVX-512 the lanes of its sum are others"}}));

constexpr SettingRow settings[]{
    {"fusion",
     {"by_option"},
     "session.qdqisint8allowed = 1: convolutions and products of int8 data between DequantizeLinear and QuantizeLinear are fused"}};

}  // namespace

std::span<const SheetRow> onnxruntime_sheets() {
  static constexpr SheetRow sheets[]{
      {"onnxruntime", "ONNX Runtime, CPU execution provider", onnxruntime_cpu, evidence, settings, "int8", LayerList::none, open_with_vnni},
      {"onnxruntime_unfused",
       "ONNX Runtime, CPU execution provider, no graph optimisation",
       onnxruntime_unfused,
       evidence,
       {},
       "int8",
       LayerList::none,
       open_basic},
      {"onnxruntime_avx2",
       "ONNX Runtime, CPU execution provider, x86-64 without VNNI",
       onnxruntime_avx2,
       evidence_without_vnni,
       {},
       {},
       LayerList::none,
       open_without_vnni}};
  return sheets;
}

}  // namespace lastbit
