// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/ethos_u.hpp"

namespace lastbit {
namespace {

constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto document = EvidenceLevel::document;
constexpr auto thread = EvidenceLevel::thread;
constexpr auto guess = EvidenceLevel::guess;

constexpr const char* vela = "Vela 3.10 (nxp-imx/ethos-u-vela a6f65663), read: scaling.py, weight_compressor.py";
constexpr const char* modes =
    "apache/tvm 9514: rounding mode TFL \"matches that of the behavior of TFLite\", NATURAL rounds to the nearest";
constexpr const char* exactness =
    "Vela's README: operators are compared, bit by bit, with the reference kernels of TensorFlow Lite; which sums it lets overflow was not "
    "read";
constexpr const char* sums = "Vela 3.10, read: advanced_elementwise_add_sub_scale, generate_scaling_for_elementwise";
constexpr const char* operand = "how the chip rounds the operand that is scaled is not public: here once, half up";
constexpr const char* ties = "the names TFL and NATURAL: how the chip rounds a tie is not public";

std::vector<Evidence> evidence() {
  return {
      {"*", document, exactness},
      {"*.*.accumulator", guess, "32 bits, 40 of 16-bit data, by the names of the registers; sums that leave them were not read"},
      {"*.*.output.scale", source, vela},
      {"*.*.output.by", source, vela},
      {"*.*.output.chain", thread, modes},
      {"*.*.output.chain.*.rounding", guess, ties},
      {"add.*.operand", source, sums},
      {"sub.*.operand", source, sums},
      {"add.*.operand.chain", guess, operand},
      {"sub.*.operand.chain", guess, operand},
      {"mul", source, vela},
      {"mul.chain", thread, modes},
      {"mul.chain.*.rounding", guess, ties},
      {"requantize", source, vela},
      {"requantize.chain", thread, modes},
      {"requantize.chain.*.rounding", guess, ties},
      {"*average_pool", source, "Vela 3.10, read: quantise_pooling_scale, zero points left out"},
  };
}

std::vector<Setting> settings() {
  return {{"add.*.operand.chain.1.rounding", {"half_away", "half_even", "floor"}, operand},
          {"sub.*.operand.chain.1.rounding", {"half_away", "half_even", "floor"}, operand}};
}

}  // namespace

std::vector<SpecSheet> ethos_u_sheets() {
  return {{"ethos_u", "Arm Ethos-U55 and Ethos-U65 by Vela; read, not verified on silicon", ethos_u, evidence(), settings()}};
}

}  // namespace lastbit
