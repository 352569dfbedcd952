// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/nvdla.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr const char* model = "nvdla/hw 8e06b1b9, cmod/hls/sdp/sdp_x.cpp and sdp_c.cpp, the golden model of the RTL, compiled and recorded";
constexpr const char* compiler = "nvdla/sw 79538ba1, umd/core/src/compiler/include/priv/LowPrecision.h, scaleAndShiftFromScalarImpl2";
constexpr const char* rescaling = "nvdla/sw 79538ba1, umd/core/src/compiler/engine-ast/BiasOp.cpp, performPerChannelRescaling";

constexpr const char* pools =
    "nvdla/hw 8e06b1b9, cmod/pdp/NV_NVDLA_pdp.cpp, read; the reciprocals: nvdla/sw 79538ba1, kmd/firmware/pdp.c, windows of up to 8 x 8";

std::vector<Evidence> evidence() {
  return {
      {"domain", source, "nvdla/hw 8e06b1b9, cmod: int8 data"},
      {"coding", source, "BiasOp.cpp: the converter's offset is 0; no zero point is programmed"},
      {"*.i8", code, model},
      {"*.i8.accumulator", source, "cmod/cacc/NV_NVDLA_cacc.cpp: 48 bits (its documentation: 34); exact in every recorded case"},
      {"*.i8.bias", code, std::string(model) + ": X's ALU adds it"},
      {"*.i8.output.scale", source, compiler},
      {"*.i8.output.by", source, rescaling},
      {"*.i8.per_channel", source, std::string(rescaling) + ": a factor for each channel, one shift"},
      {"depthwise_conv.i8", assumption, "taken to leave by SDP as the convolution does"},
      {"fully_connected.i8", source, "engine-ast/FullyConnectedOp.cpp: a convolution"},
      {"max_pool", source, "cmod/pdp/NV_NVDLA_pdp.cpp: the largest code"},
      {"average_pool", source, pools},
      {"global_average_pool", source, pools},
      {"requantize.chain", code, model},
      {"extreme", code, std::string(model) + ": X's ALU, max and min of 32 bits"},
      {"requantize.scale", source, compiler},
      {"requantize_to_32bit", code, std::string(model) + ": X alone"},
      {"requantize_to_32bit.scale", source, compiler},
      {"requantize_to_32bit.by", source, std::string(rescaling) + ": without a convolution in / out"},
      {"requantize.by", source, std::string(rescaling) + ": without a convolution in / out"},
  };
}

}  // namespace

std::vector<SpecSheet> nvdla_sheets() { return {{"nvdla", "NVDLA (nv_full), 8-bit, as its C model computes it", nvdla, evidence(), {}}}; }

}  // namespace lastbit
