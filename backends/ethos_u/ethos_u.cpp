// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/ethos_u.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto document = EvidenceLevel::document;
constexpr auto thread = EvidenceLevel::thread;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view vela = "Vela 3.10 (nxp-imx/ethos-u-vela a6f65663), read: scaling.py, weight_compressor.py";
constexpr std::string_view modes =
    "apache/tvm 9514: rounding mode TFL \"matches that of the behavior of TFLite\", NATURAL rounds to the nearest";
constexpr std::string_view exactness =
    "Vela's README: operators are compared, bit by bit, with the reference kernels of TensorFlow Lite; which sums it lets overflow was not "
    "read";
constexpr std::string_view sums = "Vela 3.10, read: advanced_elementwise_add_sub_scale, generate_scaling_for_elementwise";
constexpr std::string_view operand = "how the chip rounds the operand that is scaled is not public: here once, half up";
constexpr std::string_view regor = "Vela's regor (hapv3/neural-compiler ba29f2f4, with Arm's files), read: ";
constexpr std::string_view ties = "graphir_optimiser.cpp, Scale, folds constants by these modes; the chip was not run";
constexpr std::string_view sums_of_u85 =
    "tflite_scaling.cpp, ElementwiseAddSubScale; ethos_u85_register_cs_generator.cpp: IFM_SCALE with double round 20, or 15";

constexpr auto common = std::to_array<EvidenceRow>({
    {"*", document, exactness},
    {"*.*.accumulator", assumption, "32 bits, 40 of 16-bit data, by the names of the registers; sums that leave them were not read"},
    {"*.*.output.scale", source, vela},
    {"*.*.output.by", source, vela},
    {"*.*.output.chain", thread, modes},
    {"*.*.output.chain.*.rounding", source, regor, ties},
    {"mul", source, vela},
    {"mul.chain", thread, modes},
    {"mul.chain.*.rounding", source, regor, ties},
    {"requantize", source, vela},
    {"requantize.chain", thread, modes},
    {"requantize.chain.*.rounding", source, regor, ties},
    {"*average_pool", source, "Vela 3.10, read: quantise_pooling_scale, zero points left out"},
});

constexpr auto one_operand_scaled = std::to_array<EvidenceRow>({
    {"add.*.operand", source, sums},
    {"sub.*.operand", source, sums},
    {"add.*.operand.chain", assumption, operand},
    {"sub.*.operand.chain", assumption, operand},
});
constexpr auto both_operands_scaled = std::to_array<EvidenceRow>({
    {"add.*.operand", source, regor, sums_of_u85},
    {"sub.*.operand", source, regor, sums_of_u85},
});
constexpr auto u55_evidence = joined(common, one_operand_scaled);
constexpr auto u85_evidence = joined(common, both_operands_scaled);

constexpr SettingRow settings[]{{"add.*.operand.chain.1.rounding", {"half_away", "half_even", "floor"}, operand},
                                {"sub.*.operand.chain.1.rounding", {"half_away", "half_even", "floor"}, operand}};

constexpr OpenRow open[]{{"*", LayerCondition::always, "as Vela programs it; not verified on silicon", "Arm's silicon"}};

}  // namespace

std::span<const SheetRow> ethos_u_sheets() {
  static constexpr SheetRow sheets[]{
      {"ethos_u",
       "Arm Ethos-U55 and Ethos-U65 by Vela; read, not verified on silicon",
       ethos_u,
       u55_evidence,
       settings,
       {},
       LayerList::none,
       open},
      {"ethos_u85", "Arm Ethos-U85 by Vela; read, not verified on silicon", ethos_u85, u85_evidence, {}, {}, LayerList::none, open}};
  return sheets;
}

}  // namespace lastbit
