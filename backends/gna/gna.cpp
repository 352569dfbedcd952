// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/gna.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

std::string library(const char* detail) { return std::string("Intel GNA library 3.0, 38f21f5, ") + detail; }

std::vector<Evidence> evidence() {
  const std::string generic = library("generic kernels, run and recorded; silicon was not measured");
  std::vector<Evidence> list{{"domain", code, "integers of 8, 16 and 32 bits"}};
  for (const char* operation : {"conv", "depthwise_conv", "fully_connected", "recurrent", "fused_conv", "pwl", "sum_pool", "max_pool"})
    list.push_back({operation, code, generic});
  list.push_back({"*.*.output", code, library("sums leave the layer as they are; the piecewise-linear function does all rescaling")});
  list.push_back({"concat", source, "OpenVINO GNA plugin: pieces lie side by side in memory, all of one scale"});
  list.push_back({"quantize", source, "OpenVINO GNA plugin: trunc(x * factor + 0.5 with the sign of x) in float32 (host side)"});
  list.push_back({"dequantize", assumption, "assumed: quotient by the scale factor in float32 (host side)"});
  return list;
}

/// What the third generation's settings leave open.
std::vector<Setting> settings() {
  return {{"pwl.output_overflow",
           {"wrap"},
           "the OpenVINO plugin adds flat segments where the function is fused into a convolution \"to emulate HW saturation\": the device "
           "may not saturate there"}};
}

std::vector<Evidence> software_evidence() {
  std::vector<Evidence> list = evidence();
  const std::string kernels =
      library("SSE4 and AVX2 kernels, read; which recorded cases they compute otherwise was recorded by running them");
  for (const char* rule : {"*.*.accumulator.partial", "fused_conv.sum.partial"}) list.push_back({rule, source, kernels});
  return list;
}

}  // namespace

std::vector<SpecSheet> gna_sheets() {
  const auto device = [](const char* name, const char* title, const Backend& backend, const char* quantizer) {
    return SpecSheet{name, title, backend, evidence(), settings(), quantizer};
  };
  const auto software = [](const char* name, const char* title, const Backend& backend, const char* quantizer) {
    return SpecSheet{name, title, backend, software_evidence(), {}, quantizer};
  };
  return {
      device("gna1", "Intel GNA 0.9 and 1.0: Cannon Lake, Gemini Lake, Ice Lake", gna1, "gna2"),
      device("gna1_embedded", "Intel GNA 1.0 embedded: half the input buffer", gna1_embedded, "gna2"),
      device("gna2", "Intel GNA 2.0: Tiger Lake, Elkhart Lake, Jasper Lake", gna2, "gna2"),
      device("gna3_0", "Intel GNA 3.0: Alder Lake, Raptor Lake; the vendor's software emulation where there is no device", gna3_0,
             "gna3_0"),
      device("gna3_1", "Intel GNA 3.1: the arithmetic of 3.0 with wider limits", gna3_1, "gna3_1"),
      software("gna_software_sse4", "Intel's SSE4 emulation of GNA 3.0: wraps where the generic one does not", gna_software_sse4, "gna3_0"),
      software("gna_software_avx2", "Intel's AVX2 emulation of GNA 3.0: wraps where the generic one does not", gna_software_avx2, "gna3_0"),
      software("gna2_software_sse4", "Intel's SSE4 emulation of GNA 2.0", gna2_software_sse4, "gna2"),
      software("gna2_software_avx2", "Intel's AVX2 emulation of GNA 2.0", gna2_software_avx2, "gna2")};
}

}  // namespace lastbit
