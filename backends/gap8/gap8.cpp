// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/gap8.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view kernels =
    "GreenWaves gap_sdk a2302650, tools/autotiler_v3/CNN_Libraries_SQ8 with the SDK's own host emulation, run and recorded";
constexpr std::string_view scales = "nntool scale.py compute_scales, read; fewer bits where a sum needs them are not modelled";

constexpr std::string_view ratios = "the compiler's ratios of scales were not recorded";

constexpr EvidenceRow evidence[]{
    {"domain", code, kernels},
    {"coding", assumption, "zero points are 0 in SQ8; the constants that join behind an activation stand as zero points here"},
    {"conv", source, "CNN_Activation_SQ8.c: as the fully connected layer"},
    {"depthwise_conv", source, "CNN_Activation_SQ8.c: as the fully connected layer"},
    {"fully_connected", code, kernels},
    {"*.i8.output.scale", source, scales},
    {"*.scale", source, scales},
    {"global_average_pool.output.scale", source, scales},
    {"*.i8.output.by", assumption, ratios},
    {"*.by", assumption, ratios},
    {"global_average_pool.output.by", assumption, ratios},
    {"average_pool", code, kernels, "; channels in multiples of four, beyond which the kernel reads the wrong ones"},
    {"global_average_pool", code, kernels},
    {"max_pool", assumption, "a maximum of codes; not recorded"},
    {"add_n", code, kernels},
    {"mul", code, kernels, ": the product in hswish"},
    {"requantize", code, kernels},
    {"logistic", code, kernels},
    {"tanh", code, kernels},
};

constexpr OpenRow open[]{{"average_pool", LayerCondition::channels_beyond_thirty_twos,
                          "where the channels of one core, an eighth of all on the chip, are no multiple of four, its kernel puts the "
                          "first ones together wrongly and leaves the last ones "
                          "unwritten; here every channel is computed"}};

}  // namespace

std::span<const SheetRow> gap8_sheets() {
  static constexpr SheetRow sheets[]{
      {"gap8", "GreenWaves GAP8, GAP9: the autotiler's SQ8 kernels", gap8, evidence, {}, {}, LayerList::none, open}};
  return sheets;
}

}  // namespace lastbit
