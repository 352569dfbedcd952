// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/pytorch.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr const char* not_recorded = "PyTorch has the operator, but it was not recorded";

/// What was recorded of every engine.
std::vector<Evidence> evidence(const std::string& run) {
  return {
      {"domain", code, run},
      {"fusion", assumption, "PyTorch states its networks on codes: nothing is left to be fused"},
      {"conv", code, run + ": conv2d_u8s8, scale_ties"},
      {"depthwise_conv", code, run + ": conv2d_u8s8; the scale as that of conv, which scale_ties tells"},
      {"fully_connected", code, run + ": linear_u8s8, scale_ties"},
      {"average_pool", code, run + ": pooling_u8"},
      {"global_average_pool", code, run + ": pooling_u8"},
      {"add", code, run + ": add_mul_u8, with all pairs of codes"},
      {"mul", code, run + ": add_mul_u8, with all pairs of codes; scale_ties"},
      {"leaky_relu", code, run + ": activations_u8, all codes; the last bit of the float product makes no difference there"},
      {"hard_swish", code, run + ": activations_u8, all codes; the last bit of the float product makes no difference there"},
      {"logistic", code, run + ": activations_u8, all codes, outputs of scale 1/256"},
      {"tanh", code, run + ": activations_u8, all codes, outputs of scale 1/128"},
      {"max_pool", assumption, not_recorded},
      {"quantize", assumption, not_recorded},
      {"dequantize", assumption, not_recorded},
  };
}

std::vector<Evidence> without_vnni() {
  const std::string run =
      "PyTorch 1.13.1, engine onednn (oneDNN 2.6.3), x86-64 with ONEDNN_MAX_CPU_ISA=AVX2 and AVX512_CORE, run and recorded";
  const std::string as_with_vnni = "taken to be as with VNNI: not recorded without it";
  std::vector<Evidence> list{
      {"domain", code, run},
      {"conv", code, run + ": conv2d_u8s8"},
      {"depthwise_conv", code, run + ": conv2d_u8s8, sums as they are"},
      {"fully_connected", code, run + ": linear_u8s8"},
      {"conv.u8.output.scale", assumption, as_with_vnni + "; these recordings do not tell the order in which scales are divided"},
      {"depthwise_conv.i8.output.scale", assumption, as_with_vnni + "; these recordings do not tell the order in which scales are divided"},
      {"fully_connected.u8.output.scale", assumption,
       as_with_vnni + "; these recordings do not tell the order in which scales are divided"},
  };
  for (const char* rule : {"fusion", "average_pool", "global_average_pool", "add", "mul", "leaky_relu", "hard_swish", "logistic", "tanh",
                           "max_pool", "quantize", "dequantize"})
    list.push_back({rule, assumption, as_with_vnni});
  return list;
}

}  // namespace

std::vector<SpecSheet> pytorch_sheets() {
  const std::string qnnpack = "PyTorch 1.13.1, engine qnnpack, run on x86-64 and recorded";
  const std::string onednn = "PyTorch 1.13.1, engine onednn (oneDNN 2.6.3), run on x86-64 with AVX-512 VNNI and recorded";
  return {
      {"pytorch_qnnpack", "PyTorch, quantised operators, engine qnnpack", pytorch_qnnpack, evidence(qnnpack), {}, "pytorch_qnnpack"},
      {"pytorch_x86", "PyTorch, quantised operators, engine onednn on x86-64 with VNNI", pytorch_x86, evidence(onednn), {}, "pytorch_x86"},
      {"pytorch_x86_avx2",
       "PyTorch, quantised operators, engine onednn on x86-64 without VNNI",
       pytorch_x86_avx2,
       without_vnni(),
       {},
       "pytorch_x86"}};
}

}  // namespace lastbit
