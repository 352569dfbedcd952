// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/ethos_u.hpp"

#include <string>

namespace lastbit {
namespace {

constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto document = EvidenceLevel::document;
constexpr auto thread = EvidenceLevel::thread;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr const char* vela = "Vela 3.10 (nxp-imx/ethos-u-vela a6f65663), read: scaling.py, weight_compressor.py";
constexpr const char* modes =
    "apache/tvm 9514: rounding mode TFL \"matches that of the behavior of TFLite\", NATURAL rounds to the nearest";
constexpr const char* exactness =
    "Vela's README: operators are compared, bit by bit, with the reference kernels of TensorFlow Lite; which sums it lets overflow was not "
    "read";
constexpr const char* sums = "Vela 3.10, read: advanced_elementwise_add_sub_scale, generate_scaling_for_elementwise";
constexpr const char* operand = "how the chip rounds the operand that is scaled is not public: here once, half up";
constexpr const char* regor = "Vela's regor (hapv3/neural-compiler ba29f2f4, with Arm's files), read: ";
const std::string ties = std::string(regor) + "graphir_optimiser.cpp, Scale, folds constants by these modes; the chip was not run";
const std::string sums_of_u85 =
    std::string(regor) +
    "tflite_scaling.cpp, ElementwiseAddSubScale; ethos_u85_register_cs_generator.cpp: IFM_SCALE with double round 20, or 15";

std::vector<Evidence> evidence(const std::vector<Evidence>& of_sums) {
  std::vector<Evidence> list{
      {"*", document, exactness},
      {"*.*.accumulator", assumption, "32 bits, 40 of 16-bit data, by the names of the registers; sums that leave them were not read"},
      {"*.*.output.scale", source, vela},
      {"*.*.output.by", source, vela},
      {"*.*.output.chain", thread, modes},
      {"*.*.output.chain.*.rounding", source, ties},
      {"mul", source, vela},
      {"mul.chain", thread, modes},
      {"mul.chain.*.rounding", source, ties},
      {"requantize", source, vela},
      {"requantize.chain", thread, modes},
      {"requantize.chain.*.rounding", source, ties},
      {"*average_pool", source, "Vela 3.10, read: quantise_pooling_scale, zero points left out"},
  };
  list.insert(list.end(), of_sums.begin(), of_sums.end());
  return list;
}

std::vector<Evidence> one_operand_scaled() {
  return {{"add.*.operand", source, sums},
          {"sub.*.operand", source, sums},
          {"add.*.operand.chain", assumption, operand},
          {"sub.*.operand.chain", assumption, operand}};
}

std::vector<Evidence> both_operands_scaled() { return {{"add.*.operand", source, sums_of_u85}, {"sub.*.operand", source, sums_of_u85}}; }

std::vector<Setting> settings() {
  return {{"add.*.operand.chain.1.rounding", {"half_away", "half_even", "floor"}, operand},
          {"sub.*.operand.chain.1.rounding", {"half_away", "half_even", "floor"}, operand}};
}

}  // namespace

std::vector<SpecSheet> ethos_u_sheets() {
  return {{"ethos_u", "Arm Ethos-U55 and Ethos-U65 by Vela; read, not verified on silicon", ethos_u, evidence(one_operand_scaled()),
           settings()},
          {"ethos_u85", "Arm Ethos-U85 by Vela; read, not verified on silicon", ethos_u85, evidence(both_operands_scaled()), {}}};
}

}  // namespace lastbit
