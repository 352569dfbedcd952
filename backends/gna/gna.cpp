// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/gna.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view library = "Intel GNA library 3.0, 38f21f5, ";
constexpr std::string_view generic = "generic kernels, run and recorded; silicon was not measured";
constexpr std::string_view vectors =
    "SSE4 and AVX2 kernels, read; which recorded cases they compute otherwise was recorded by running them";

constexpr auto evidence = std::to_array<EvidenceRow>({
    {"domain", code, "integers of 8, 16 and 32 bits"},
    {"conv", code, library, generic},
    {"depthwise_conv", code, library, generic},
    {"fully_connected", code, library, generic},
    {"recurrent", code, library, generic},
    {"fused_conv", code, library, generic},
    {"pwl", code, library, generic},
    {"sum_pool", code, library, generic},
    {"max_pool", code, library, generic},
    {"*.*.output", code, library, "sums leave the layer as they are; the piecewise-linear function does all rescaling"},
    {"concat", source, "OpenVINO GNA plugin: pieces lie side by side in memory, all of one scale"},
    {"quantize", source, "OpenVINO GNA plugin: trunc(x * factor + 0.5 with the sign of x) in float32 (host side)"},
    {"dequantize", assumption, "assumed: quotient by the scale factor in float32 (host side)"},
});

constexpr auto partial_sums = std::to_array<EvidenceRow>({
    {"*.*.accumulator.partial", source, library, vectors},
    {"fused_conv.sum.partial", source, library, vectors},
});
constexpr auto software_evidence = joined(evidence, partial_sums);

/// What the third generation's settings leave open.
constexpr SettingRow settings[]{
    {"pwl.output_overflow",
     {"wrap"},
     "the OpenVINO plugin adds flat segments where the function is fused into a convolution \"to emulate HW saturation\": the device "
     "may not saturate there"}};

constexpr auto open =
    std::to_array<OpenRow>({{"quantize", LayerCondition::always,
                             "the plugin adds 0.5 in float32 and truncates, which takes 0.49999997 to 1; half_away here takes it to 0"}});
constexpr auto open_3_1 =
    joined(open, std::to_array<OpenRow>(
                     {{"*", LayerCondition::always, "a generation after 3.1, which is neither described nor compared", "Meteor Lake"}}));

}  // namespace

std::span<const SheetRow> gna_sheets() {
  static constexpr SheetRow sheets[]{
      {"gna1", "Intel GNA 0.9 and 1.0: Cannon Lake, Gemini Lake, Ice Lake", gna1, evidence, settings, "gna2", LayerList::none, open},
      {"gna1_embedded", "Intel GNA 1.0 embedded: half the input buffer", gna1_embedded, evidence, settings, "gna2", LayerList::none, open},
      {"gna2", "Intel GNA 2.0: Tiger Lake, Elkhart Lake, Jasper Lake", gna2, evidence, settings, "gna2", LayerList::none, open},
      {"gna3_0", "Intel GNA 3.0: Alder Lake, Raptor Lake; the vendor's software emulation where there is no device", gna3_0, evidence,
       settings, "gna3_0", LayerList::none, open},
      {"gna3_1", "Intel GNA 3.1: the arithmetic of 3.0 with wider limits", gna3_1, evidence, settings, "gna3_1", LayerList::none, open_3_1},
      {"gna_software_sse4",
       "Intel's SSE4 emulation of GNA 3.0: wraps where the generic one does not",
       gna_software_sse4,
       software_evidence,
       {},
       "gna3_0",
       LayerList::none,
       open},
      {"gna_software_avx2",
       "Intel's AVX2 emulation of GNA 3.0: wraps where the generic one does not",
       gna_software_avx2,
       software_evidence,
       {},
       "gna3_0",
       LayerList::none,
       open},
      {"gna2_software_sse4", "Intel's SSE4 emulation of GNA 2.0", gna2_software_sse4, software_evidence, {}, "gna2", LayerList::none, open},
      {"gna2_software_avx2",
       "Intel's AVX2 emulation of GNA 2.0",
       gna2_software_avx2,
       software_evidence,
       {},
       "gna2",
       LayerList::none,
       open}};
  return sheets;
}

}  // namespace lastbit
