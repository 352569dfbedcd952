// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/nvdla.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view model =
    "nvdla/hw 8e06b1b9, cmod/hls/sdp/sdp_x.cpp and sdp_c.cpp, the golden model of the RTL, compiled and recorded";
constexpr std::string_view compiler = "nvdla/sw 79538ba1, umd/core/src/compiler/include/priv/LowPrecision.h, scaleAndShiftFromScalarImpl2";
constexpr std::string_view rescaling = "nvdla/sw 79538ba1, umd/core/src/compiler/engine-ast/BiasOp.cpp, performPerChannelRescaling";

constexpr std::string_view pools =
    "nvdla/hw 8e06b1b9, cmod/pdp/NV_NVDLA_pdp.cpp, read; the reciprocals: nvdla/sw 79538ba1, kmd/firmware/pdp.c, windows of up to 8 x 8";

constexpr EvidenceRow evidence[]{
    {"domain", source, "nvdla/hw 8e06b1b9, cmod: int8 data"},
    {"coding", source, "BiasOp.cpp: the converter's offset is 0; no zero point is programmed"},
    {"*.i8", code, model},
    {"*.i8.accumulator", source, "cmod/cacc/NV_NVDLA_cacc.cpp: 48 bits (its documentation: 34); exact in every recorded case"},
    {"*.i8.bias", code, model, ": X's ALU adds it"},
    {"*.i8.output.scale", source, compiler},
    {"*.i8.output.by", source, rescaling},
    {"*.i8.per_channel", source, rescaling, ": a factor for each channel, one shift"},
    {"depthwise_conv.i8", assumption, "taken to leave by SDP as the convolution does"},
    {"fully_connected.i8", source, "engine-ast/FullyConnectedOp.cpp: a convolution"},
    {"max_pool", source, "cmod/pdp/NV_NVDLA_pdp.cpp: the largest code"},
    {"average_pool", source, pools},
    {"global_average_pool", source, pools},
    {"requantize.chain", code, model},
    {"extreme", code, model, ": X's ALU, max and min of 32 bits"},
    {"requantize.scale", source, compiler},
    {"requantize_to_32bit", code, model, ": X alone"},
    {"requantize_to_32bit.scale", source, compiler},
    {"requantize_to_32bit.by", source, rescaling, ": without a convolution in / out"},
    {"requantize.by", source, rescaling, ": without a convolution in / out"},
};

constexpr std::string_view saturates = "CACC saturates the sum to 32 bits before X adds the bias, which the sheet does not";
constexpr OpenRow open[]{
    {"conv.i8", LayerCondition::products_from_131073, saturates},
    {"fully_connected.i8", LayerCondition::products_from_131073, saturates},
};

}  // namespace

std::span<const SheetRow> nvdla_sheets() {
  static constexpr SheetRow sheets[]{
      {"nvdla", "NVDLA (nv_full), 8-bit, as its C model computes it", nvdla, evidence, {}, {}, LayerList::none, open}};
  return sheets;
}

}  // namespace lastbit
