// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/fbgemm.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view run = "pytorch/FBGEMM 71d6f8b2, src/RefImplementations.cc, compiled and recorded: ";

/// `rescaled`: the function that rescales sums.
consteval auto evidence(std::string_view rescaled) {
  return std::to_array<EvidenceRow>({
      {"domain", code, run, "integer between float scales"},
      {"fusion", assumption, "a library of products: it is asked for codes"},
      {"matmul", code, run, "matmul_u8i8acc16_ref"},
      {"matmul.u8.output", code, run, rescaled},
      {"fully_connected", code, run, "matmul_u8i8acc16_ref"},
      {"fully_connected.u8.output", code, run, rescaled},
      {"requantize.chain.*.rounding", source, "requantize_u8acc32_ref: no recorded sum is a tie"},
      {"*.u8.output.chain.*.rounding", source, "requantize_u8acc32_ref: no recorded sum is a tie"},
      {"*.scale.arithmetic", assumption, "the program brings the multiplier"},
      {"fully_connected.u8.bias", source, "requantize_u8acc32_ref adds it to the sums"},
      {"fully_connected.u8.per_channel", code, run, "one multiplier for each group of columns"},
      {"requantize", code, run, rescaled},
  });
}
constexpr auto float_evidence = evidence("requantize_u8acc32_ref, float form");
constexpr auto integer_evidence = evidence("requantize_u8acc32_ref, integer form");

constexpr SettingRow settings[]{
    {"*.u8.accumulator.partial.emptied", {"16", "64", "512"}, "the blocking of the kernel that is chosen for a processor"}};

}  // namespace

std::span<const SheetRow> fbgemm_sheets() {
  static constexpr SheetRow sheets[]{
      {"fbgemm", "FBGEMM, sums in 16 bits, float multiplier", fbgemm, float_evidence, settings},
      {"fbgemm_integer", "FBGEMM, sums in 16 bits, integer multiplier and shift", fbgemm_integer, integer_evidence, settings}};
  return sheets;
}

}  // namespace lastbit
