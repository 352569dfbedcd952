// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/k210.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr const char* simulator = "nncase 99431d9d, modules/k210, k210_kernels.h, kpu_conv2d, compiled and recorded";
constexpr const char* pools = "nncase 99431d9d, modules/k210, k210_kernels.h, kpu_pool2d, compiled and recorded";
constexpr const char* registers =
    "nncase 99431d9d, modules/k210, runtime_types.h: the fields of kpu_batchnorm_argument_t and kpu_activate_table_t";
constexpr const char* compiler = "nncase 99431d9d, modules/k210/src/transforms/k210/kpu_conv2d.cpp";

std::vector<Evidence> evidence() {
  return {
      {"domain", source, std::string(simulator) + ": uint8 data and weights"},
      {"coding", source, std::string(compiler) + ": cross terms, padding and constant are made of the zero points, with shifts of 0"},
      {"*.u8", code, simulator},
      {"*.u8.accumulator", source, std::string(simulator) + ": asserts 36 bits"},
      {"*.u8.output.scale", assumption, "layers state the multiplier; that a scale without registers would be rounded so"},
      {"*.u8.output.scale.significant_bits", source, registers},
      {"*.u8.output.chain.*.bits", source, registers},
      {"*.u8.output.chain.*.limit", source, registers},
      {"*.u8.output.by", assumption, "layers state the multiplier"},
      {"*.u8.per_channel", source, std::string(compiler) + ", quantize_bn: a multiplier for each channel"},
      {"*.u8.bias", assumption,
       "the compiler makes it part of the registers' offset; one that a model states beside them is taken to join the sum"},
      {"max_pool", code, pools},
      {"average_pool", code, pools},
  };
}

std::vector<Setting> settings() {
  return {
      {"*.u8.output.chain.3.step",
       {"up"},
       "half to even, as the parameter of carry_shift, Banker, says; its code steps away from zero below 0, and the simulator uses it"}};
}

}  // namespace

std::vector<SpecSheet> k210_sheets() {
  return {{"k210", "Kendryte K210's KPU, as nncase's simulator computes it", k210, evidence(), settings()}};
}

}  // namespace lastbit
