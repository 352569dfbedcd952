// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/gemmini.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr const char* macros = "ucb-bar/gemmini-rocc-tests 180c4684, gemmini_params.h";
constexpr const char* generated = "gemmini_params.h as the default generator writes it: acc_t int32, elem_t int8, no zero points";

std::vector<Evidence> evidence() {
  return {
      {"domain", source, generated},
      {"coding", source, generated},
      {"conv", source, "conv_cpu: acc_t sums, scale_and_sat"},
      {"depthwise_conv", source, "conv_dw_cpu: acc_t sums, scale_and_sat"},
      {"fully_connected", source, "matmul_cpu: acc_t sums, scale_and_sat"},
      {"matmul", source, "matmul_cpu: acc_t sums, scale_and_sat"},
      {"*.rescale", code, std::string(macros) + ", ACC_SCALE or ROUNDING_RIGHT_SHIFT, compiled and recorded"},
      {"*.i8.per_channel", assumption, "one scale for every store command; a program may issue one for each channel"},
      {"max_pool", source, "the pool of a store command: the largest of the codes"},
      {"requantize", code, std::string(macros) + ", ACC_SCALE or ROUNDING_RIGHT_SHIFT, compiled and recorded"},
      {"add", code, std::string(macros) + ", MVIN_SCALE and ACC_SCALE, with the loop of resadd_cpu, compiled and recorded"},
      {"add.i8.operand.by", assumption, "the program brings both scales: here in / out, and 1 for the sum"},
      {"add.i8.output.by", assumption, "the program brings the scale of the sum"},
  };
}

std::vector<Setting> settings() {
  return {{"add.i8.operand.by", {"in"}, "what the program gives MVIN_SCALE"},
          {"add.i8.output.by", {"1/out"}, "what the program gives ACC_SCALE"}};
}

}  // namespace

std::vector<SpecSheet> gemmini_sheets() {
  return {{"gemmini", "Gemmini, default configuration: float32 scales", gemmini_float, evidence(), settings(), "int8"},
          {"gemmini_shift", "Gemmini with shifts in place of float scales", gemmini_shift, evidence(), {}}};
}

}  // namespace lastbit
