// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/sophgo.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view interpreter =
    "sophgo/tpu-mlir lib/Support/MathUtils.cpp (blob 00058f6d), run and recorded: the host interpreter, which its checks demand the chip's "
    "model to equal";
constexpr std::string_view convolution = "sophgo/tpu-mlir lib/Support/Conv2D.cpp (blob 00b7154c), read";

constexpr EvidenceRow evidence[]{
    {"domain", source, convolution},
    {"coding", source, convolution},
    {"*.i8", source, convolution},
    {"*.i8.output.scale", code, interpreter},
    {"*.i8.output.chain", code, interpreter},
    {"*.i8.output.by", assumption, "the compiler's product of scales was not recorded"},
    {"*.i8.accumulator", source, "float32 sums (oneDNN), exact below 2^24; larger ones are not modelled"},
    {"depthwise_conv.i8", assumption, "taken to leave as the convolution does"},
    {"max_pool", assumption, "a maximum of codes; not read"},
    {"requantize", code, interpreter},
    {"requantize.by", assumption, "the scales of the way alone: in / out"},
};

constexpr SettingRow multipliers[]{
    {"*.scale.significant_bits", {"7", "8"}, "chips and layers with 8-bit multipliers: below 127, or below 255"},
    {"*.scale.normalization", {"largest_below"}, "CV18xx: getRShiftAndMultiplierFromQScale, rounding floor"}};

constexpr std::string_view float_sums = "sums of 2^24 or more round in float32, in the order of oneDNN; here they are exact";
constexpr OpenRow open[]{
    {"conv.i8", LayerCondition::products_from_512, float_sums},
    {"depthwise_conv.i8", LayerCondition::products_from_512, float_sums},
    {"fully_connected.i8", LayerCondition::products_from_512, float_sums},
};

}  // namespace

std::span<const SheetRow> sophgo_sheets() {
  static constexpr SheetRow sheets[]{
      {"sophgo",
       "Sophgo BM168x by TPU-MLIR's interpreter: multiplier and shift",
       sophgo_multiplier_shift,
       evidence,
       multipliers,
       {},
       LayerList::none,
       open},
      {"sophgo_qdm", "Sophgo by TPU-MLIR's interpreter: modes QDM and TFLite", sophgo_qdm, evidence, {}, {}, LayerList::none, open}};
  return sheets;
}

}  // namespace lastbit
