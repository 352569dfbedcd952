// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/vipnano.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

std::string model(const char* detail = "") { return std::string("vendor's C model of the NN cores, run and recorded") + detail; }
std::string mesa(const char* detail) { return std::string("Mesa etnaviv_ml_nn.c baafa917, read: ") + detail; }

std::vector<Evidence> evidence() {
  std::vector<Evidence> list{
      {"domain", code, "8-bit integers"},
      {"conv.i8", code, model()},
      {"depthwise_conv.i8", code, model(" (V7 expands it to a full convolution, same result)")},
      {"fully_connected.i8", source, mesa("the NN instruction of convolution")},
      {"transposed_conv.i8", assumption, "assumed to be rewritten as convolution by the compiler"},
      {"matmul.i8", assumption, "assumed to be rewritten as convolution by the compiler"},
      {"*.i8.output.scale", source, mesa("float32 product and quotient; the closed compiler may use double")},
      {"*.i8.per_channel", assumption,
       "feature bit NN_PER_CHANNEL_QUANT is 0 and the lowering is not public; native is what TIM-VX unit tests' "
       "per-channel results satisfy"},
  };
  const std::string evis = "assumed: rescaled as in convolution; shader kernels of the open headers round half to even";
  for (const char* operation : {"mean", "mul", "requantize", "leaky_relu", "prelu"}) list.push_back({operation, assumption, evis});
  for (const char* operation : {"hard_swish", "logistic", "tanh", "softmax"}) {
    list.push_back(
        {operation, assumption, "assumed: float function of the dequantised value, half to even; the units' tables are not public"});
  }
  list.push_back({"max_pool", source, "codes are compared, read"});
  for (const char* operation : {"average_pool", "global_average_pool"}) {
    list.push_back({operation, assumption, "NN cores lack it (string in the C model); pooling unit or shader, neither could be run"});
  }
  list.push_back({"add", source, mesa("lowered to a convolution with 8-bit weights, as traced from the vendor's driver")});
  list.push_back({"add.i8.operand", assumption, "what the closed driver does on these chips is not public"});
  list.push_back({"sub", assumption, "assumed: lowered as add, the second weight negated"});
  list.push_back({"concat", assumption, "assumed: inputs of another scale pass through float"});
  list.push_back({"quantize", source, "ovxlib 19ac74c vsi_nn_dtype_util_prv.h, read (host side)"});
  list.push_back({"dequantize", source, "ovxlib 19ac74c, read (host side)"});
  return list;
}

std::vector<Setting> settings() {
  return {
      {"*.i8.per_channel",
       {"requantized_to_tensor", "float_scale"},
       "no native support on these chips: Mesa requantises the weights to one scale, ST runs it on the shader in float"},
      {"*.i8.output.scale.arithmetic", {"f64"}, "Mesa computes the effective scale in float32; the closed compiler may use double"},
      {"*.i8.accumulator.overflow", {"saturate"}, "the C model wraps; silicon was not measured"},
      {"add.i8.operand.scale.significant_bits",
       {"16", "22"},
       "weights of 8 bits as Mesa lowers it, or of more: a sum that is all but exact"},
      {"sub.i8.operand.scale.significant_bits", {"16", "22"}, "as add"},
      {"*average_pool.output", {"reciprocal_16"}, "exact division, or a multiplication by the truncated 16-bit reciprocal"},
      {"*average_pool.padding", {"included"}, "an interface flag; whether padding counts in the divisor depends on the converter"},
  };
}

}  // namespace

std::vector<SpecSheet> vipnano_sheets() {
  return {{"vipnano_v8", "VeriSilicon VIP8000 Nano V8: NXP i.MX 8M Plus", vipnano_v8, evidence(), settings(), "int8"},
          {"vipnano_v7", "VeriSilicon VIP8000 Nano V7: Amlogic A311D, ST STM32MP2", vipnano_v7, evidence(), settings(), "int8"}};
}

}  // namespace lastbit
