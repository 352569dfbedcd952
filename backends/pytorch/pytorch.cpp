// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/pytorch.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view not_recorded = "PyTorch has the operator, but it was not recorded";

/// What was recorded of every engine.
consteval auto evidence(std::string_view run) {
  return std::to_array<EvidenceRow>({
      {"domain", code, run},
      {"fusion", assumption, "PyTorch states its networks on codes: nothing is left to be fused"},
      {"conv", code, run, ": conv2d_u8s8, scale_ties"},
      {"depthwise_conv", code, run, ": conv2d_u8s8; the scale as that of conv, which scale_ties tells"},
      {"fully_connected", code, run, ": linear_u8s8, scale_ties"},
      {"average_pool", code, run, ": pooling_u8"},
      {"global_average_pool", code, run, ": pooling_u8"},
      {"add", code, run, ": add_mul_u8, with all pairs of codes"},
      {"mul", code, run, ": add_mul_u8, with all pairs of codes; scale_ties"},
      {"leaky_relu", code, run, ": activations_u8, all codes; the last bit of the float product makes no difference there"},
      {"hard_swish", code, run, ": activations_u8, all codes; the last bit of the float product makes no difference there"},
      {"logistic", code, run, ": activations_u8, all codes, outputs of scale 1/256"},
      {"tanh", code, run, ": activations_u8, all codes, outputs of scale 1/128"},
      {"max_pool", assumption, not_recorded},
      {"quantize", assumption, not_recorded},
      {"dequantize", assumption, not_recorded},
  });
}
constexpr auto qnnpack = evidence("PyTorch 1.13.1, engine qnnpack, run on x86-64 and recorded");
constexpr std::string_view vnni = "PyTorch 1.13.1, engine onednn (oneDNN 2.6.3), run on x86-64 with AVX-512 VNNI and recorded";
constexpr auto onednn =
    joined(evidence(vnni), std::to_array<EvidenceRow>({{"planar_average_pool", code, vnni, ": contiguous tensors, tests/vectors/cases"}}));

constexpr std::string_view avx2 =
    "PyTorch 1.13.1, engine onednn (oneDNN 2.6.3), x86-64 with ONEDNN_MAX_CPU_ISA=AVX2 and AVX512_CORE, run and recorded";
constexpr std::string_view as_with_vnni = "taken to be as with VNNI: not recorded without it";
constexpr std::string_view order = "; these recordings do not tell the order in which scales are divided";

constexpr EvidenceRow without_vnni[]{
    {"domain", code, avx2},
    {"conv", code, avx2, ": conv2d_u8s8"},
    {"depthwise_conv", code, avx2, ": conv2d_u8s8, sums as they are"},
    {"fully_connected", code, avx2, ": linear_u8s8"},
    {"conv.u8.output.scale", assumption, as_with_vnni, order},
    {"depthwise_conv.i8.output.scale", assumption, as_with_vnni, order},
    {"fully_connected.u8.output.scale", assumption, as_with_vnni, order},
    {"fusion", assumption, as_with_vnni},
    {"average_pool", assumption, as_with_vnni},
    {"global_average_pool", assumption, as_with_vnni},
    {"planar_average_pool", assumption, as_with_vnni},
    {"add", assumption, as_with_vnni},
    {"mul", assumption, as_with_vnni},
    {"leaky_relu", assumption, as_with_vnni},
    {"hard_swish", assumption, as_with_vnni},
    {"logistic", assumption, as_with_vnni},
    {"tanh", assumption, as_with_vnni},
    {"max_pool", assumption, as_with_vnni},
    {"quantize", assumption, as_with_vnni},
    {"dequantize", assumption, as_with_vnni},
};

using enum LayerCondition;

constexpr std::string_view last_bit =
    "the last bit of the float product makes no difference for any recorded code: that it is f*float(1/out), not f/out, is not told";
constexpr std::string_view real_sum =
    "a bias is added as a real number to the float of the sum, the model's is rounded to an integer: 10 of 12,288 values differ";
constexpr std::string_view squeezed = "adaptive_avg_pool2d to 1 x 1 of a contiguous image is off by one in 3 of 3,800 averages";

constexpr auto of_activations = std::to_array<OpenRow>({
    {"leaky_relu", always, last_bit},
    {"hard_swish", always, last_bit},
});
constexpr auto open_qnnpack =
    joined(of_activations,
           std::to_array<OpenRow>({
               {"conv", always, "one recorded sum is a tie: half_even is known from mul, the pools and the activations"},
               {"depthwise_conv", always, "one recorded sum is a tie: half_even is known from mul, the pools and the activations"},
               {"fully_connected", always, "one recorded sum is a tie: half_even is known from mul, the pools and the activations"},
               {"add", always, "the last of the 22 bits of its multipliers is not told by the recordings"},
               {"leaky_relu", always, "that it scales before it multiplies by alpha is not told by the recordings"},
           }));
constexpr auto real_biases = std::to_array<OpenRow>({
    {"conv", real_bias, real_sum},
    {"depthwise_conv", real_bias, real_sum},
    {"fully_connected", real_bias, real_sum},
    {"planar_average_pool", whole_image, squeezed},
});
constexpr auto open_without_vnni = joined(of_activations, real_biases);
constexpr auto open_onednn = joined(
    open_without_vnni,
    std::to_array<OpenRow>({{"*", always, "native kernels, read to be those of engine onednn", "PyTorch's engines x86 and fbgemm"}}));

}  // namespace

std::span<const SheetRow> pytorch_sheets() {
  static constexpr SheetRow sheets[]{{"pytorch_qnnpack",
                                      "PyTorch, quantised operators, engine qnnpack",
                                      pytorch_qnnpack,
                                      qnnpack,
                                      {},
                                      "pytorch_qnnpack",
                                      LayerList::none,
                                      open_qnnpack},
                                     {"pytorch_x86",
                                      "PyTorch, quantised operators, engine onednn on x86-64 with VNNI",
                                      pytorch_x86,
                                      onednn,
                                      {},
                                      "pytorch_x86",
                                      LayerList::none,
                                      open_onednn},
                                     {"pytorch_x86_avx2",
                                      "PyTorch, quantised operators, engine onednn on x86-64 without VNNI",
                                      pytorch_x86_avx2,
                                      without_vnni,
                                      {},
                                      "pytorch_x86",
                                      LayerList::none,
                                      open_without_vnni}};
  return sheets;
}

}  // namespace lastbit
