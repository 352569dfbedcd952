// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/gemmini.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view macros = "ucb-bar/gemmini-rocc-tests 180c4684, gemmini_params.h";
constexpr std::string_view generated = "gemmini_params.h as the default generator writes it: acc_t int32, elem_t int8, no zero points";

constexpr EvidenceRow evidence[]{
    {"domain", source, generated},
    {"coding", source, generated},
    {"conv", source, "conv_cpu: acc_t sums, scale_and_sat"},
    {"depthwise_conv", source, "conv_dw_cpu: acc_t sums, scale_and_sat"},
    {"fully_connected", source, "matmul_cpu: acc_t sums, scale_and_sat"},
    {"matmul", source, "matmul_cpu: acc_t sums, scale_and_sat"},
    {"*.rescale", code, macros, ", ACC_SCALE or ROUNDING_RIGHT_SHIFT, compiled and recorded"},
    {"*.i8.per_channel", assumption, "one scale for every store command; a program may issue one for each channel"},
    {"max_pool", source, "the pool of a store command: the largest of the codes"},
    {"requantize", code, macros, ", ACC_SCALE or ROUNDING_RIGHT_SHIFT, compiled and recorded"},
    {"add", code, macros, ", MVIN_SCALE and ACC_SCALE, with the loop of resadd_cpu, compiled and recorded"},
    {"add.i8.operand.by", assumption, "the program brings both scales: here in / out, and 1 for the sum"},
    {"add.i8.output.by", assumption, "the program brings the scale of the sum"},
};

constexpr SettingRow settings[]{{"add.i8.operand.by", {"in"}, "what the program gives MVIN_SCALE"},
                                {"add.i8.output.by", {"1/out"}, "what the program gives ACC_SCALE"}};

}  // namespace

std::span<const SheetRow> gemmini_sheets() {
  static constexpr SheetRow sheets[]{
      {"gemmini", "Gemmini, default configuration: float32 scales", gemmini_float, evidence, settings, "int8"},
      {"gemmini_shift", "Gemmini with shifts in place of float scales", gemmini_shift, evidence, {}}};
  return sheets;
}

}  // namespace lastbit
