// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The peers of convolutions that are installed here.
#pragma once

#include <functional>
#include <vector>

#include "case.hpp"
#include "lastbit/model.hpp"

namespace lastbit::bench {

/// oneDNN on a list of one-layer models, one after the other: with the instruction set that our paths have, and with all that it knows.
/// `output`: its arithmetic is ours.
enum class Comparison : std::uint8_t { speed, output };
[[nodiscard]] std::vector<Side> onednn_sides(const std::function<std::vector<Model>()>& layers, Comparison comparison);

/// XNNPACK on a list of one-layer models of int8 data, one after the other.
[[nodiscard]] std::vector<Side> xnnpack_sides(const std::function<std::vector<Model>()>& layers, Comparison comparison);

/// gemmlowp on a 1x1 convolution of int8 data under TFLite's double rounding. Its best code is for AVX2.
[[nodiscard]] std::vector<Side> gemmlowp_sides(const std::function<Model()>& layer);

/// The instruction set that oneDNN is held to in this process; a library reads it once, so this comes first.
void hold_peers_to_our_instructions();

}  // namespace lastbit::bench
