// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/k210.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view simulator = "nncase 99431d9d, modules/k210, k210_kernels.h, kpu_conv2d, compiled and recorded";
constexpr std::string_view pools = "nncase 99431d9d, modules/k210, k210_kernels.h, kpu_pool2d, compiled and recorded";
constexpr std::string_view registers =
    "nncase 99431d9d, modules/k210, runtime_types.h: the fields of kpu_batchnorm_argument_t and kpu_activate_table_t";
constexpr std::string_view compiler = "nncase 99431d9d, modules/k210/src/transforms/k210/kpu_conv2d.cpp";

constexpr EvidenceRow evidence[]{
    {"domain", source, simulator, ": uint8 data and weights"},
    {"coding", source, compiler, ": cross terms, padding and constant are made of the zero points, with shifts of 0"},
    {"*.u8", code, simulator},
    {"*.u8.accumulator", source, simulator, ": asserts 36 bits"},
    {"*.u8.output.scale", assumption, "layers state the multiplier; that a scale without registers would be rounded so"},
    {"*.u8.output.scale.significant_bits", source, registers},
    {"*.u8.output.chain.*.bits", source, registers},
    {"*.u8.output.chain.*.limit", source, registers},
    {"*.u8.output.by", assumption, "layers state the multiplier"},
    {"*.u8.per_channel", source, compiler, ", quantize_bn: a multiplier for each channel"},
    {"*.u8.bias", assumption,
     "the compiler makes it part of the registers' offset; one that a model states beside them is taken to join the sum"},
    {"max_pool", code, pools},
    {"average_pool", code, pools},
};

constexpr SettingRow settings[]{
    {"*.u8.output.chain.3.step",
     {"up"},
     "half to even, as the parameter of carry_shift, Banker, says; its code steps away from zero below 0, and the simulator uses it"}};

}  // namespace

std::span<const SheetRow> k210_sheets() {
  static constexpr SheetRow sheets[]{{"k210", "Kendryte K210's KPU, as nncase's simulator computes it", k210, evidence, settings}};
  return sheets;
}

}  // namespace lastbit
