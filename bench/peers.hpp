// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The peers of convolutions that are installed here.
#pragma once

#include <string_view>
#include <vector>

#include "case.hpp"
#include "lastbit/model.hpp"

namespace lastbit::bench {

/// oneDNN on a list of one-layer models, one after the other: with the instruction set that our paths have, and with all that it knows.
/// `same_arithmetic`: its output is compared with ours.
enum class Comparison : std::uint8_t { speed, output };
[[nodiscard]] std::vector<Peer> onednn_peers(const std::vector<Model>& layers, Comparison comparison);

/// gemmlowp on a 1x1 convolution of int8 data under TFLite's double rounding. Its best code is for AVX2.
[[nodiscard]] std::vector<Peer> gemmlowp_peers(const Model& layer);

/// The instruction set that oneDNN is held to in this process; a library reads it once, so this comes first.
void hold_peers_to_our_instructions();

}  // namespace lastbit::bench
