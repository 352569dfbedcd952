// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether x86 processors without VNNI compute a network as those with it do. Without it, products of uint8 codes and int8 weights are added two by two
// in 16 bits, saturating (the instruction PMADDUBSW); the codes are taken as they are, without their zero point. Where no pair can leave 16 bits
// the sums are the same for every input. Depthwise convolutions and other types are computed exactly on both. int8 data of which a runtime makes uint8 by
// default (Statement::fusible_as_uint8) are uint8 here: ONNX Runtime 1.30 on AVX2 was run, 60 random networks of dense layers by default and with
// session.qdqisint8allowed: with int8 kernels none of those of int8 data differed, by default those did whose weights can leave 16 bits.
//
// Which weights are a pair is the library's choice. neighbours: those of channels (0,1), (2,3), … of one kernel position, and for products of
// matrices of terms (0,1), (2,3), …: oneDNN's, recorded (PyTorch on AVX2 and AVX-512 without VNNI). Of others, ONNX Runtime's among them, any two
// weights of one output may be one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit {

/// same: no two weights of an output can leave 16 bits. same_for_neighbours: neighbours cannot, others can. differs: neighbours can, for some input.
enum class PairVerdict : std::uint8_t { same, same_for_neighbours, differs };
[[nodiscard]] std::string_view name_of(PairVerdict verdict);

/// One layer of uint8 data, or of int8 data that a runtime makes uint8, and int8 weights.
struct PairProof {
  std::size_t operation = 0;  ///< position in the model
  std::string name;           ///< of the output
  std::string kind;
  PairVerdict verdict = PairVerdict::same;
  std::int64_t channel = 0;                ///< the output whose pair reaches furthest: of neighbours where these leave, else of any two
  std::int64_t first = 0, second = 0;      ///< its weights
  std::int64_t lowest = 0, highest = 0;    ///< what it can add up to, for codes 0 to 255
  std::int64_t channels = 0, leaving = 0;  ///< outputs, and those with a pair that gives the verdict
};

/// Every such layer in order; none: the network is the same on both. Weights that are computed at run time count as any.
[[nodiscard]] std::vector<PairProof> prove_pairs(const Model& model);

/// One line per layer, and the verdict on the whole.
[[nodiscard]] std::string to_text(const std::vector<PairProof>& layers, const std::string& model);
[[nodiscard]] std::string to_json(const std::vector<PairProof>& layers, const std::string& model);

}  // namespace lastbit
