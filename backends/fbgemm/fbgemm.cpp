// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/fbgemm.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

std::vector<Evidence> evidence(const std::string& form) {
  const std::string run = "pytorch/FBGEMM 71d6f8b2, src/RefImplementations.cc, compiled and recorded: ";
  const std::string rescaled = run + "requantize_u8acc32_ref, " + form;
  return {
      {"domain", code, run + "integer between float scales"},
      {"fusion", assumption, "a library of products: it is asked for codes"},
      {"matmul", code, run + "matmul_u8i8acc16_ref"},
      {"matmul.u8.output", code, rescaled},
      {"fully_connected", code, run + "matmul_u8i8acc16_ref"},
      {"fully_connected.u8.output", code, rescaled},
      {"requantize.chain.*.rounding", source, "requantize_u8acc32_ref: no recorded sum is a tie"},
      {"*.u8.output.chain.*.rounding", source, "requantize_u8acc32_ref: no recorded sum is a tie"},
      {"*.scale.arithmetic", assumption, "the program brings the multiplier"},
      {"fully_connected.u8.bias", source, "requantize_u8acc32_ref adds it to the sums"},
      {"fully_connected.u8.per_channel", code, run + "one multiplier for each group of columns"},
      {"requantize", code, rescaled},
  };
}

std::vector<Setting> settings() {
  return {{"*.u8.accumulator.partial.emptied", {"16", "64", "512"}, "the blocking of the kernel that is chosen for a processor"}};
}

}  // namespace

std::vector<SpecSheet> fbgemm_sheets() {
  return {
      {"fbgemm", "FBGEMM, sums in 16 bits, float multiplier", fbgemm, evidence("float form"), settings()},
      {"fbgemm_integer", "FBGEMM, sums in 16 bits, integer multiplier and shift", fbgemm_integer, evidence("integer form"), settings()}};
}

}  // namespace lastbit
