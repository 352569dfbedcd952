// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of 16-bit data on GNA, whose accumulators saturate.
#pragma once

#include "layers.hpp"
#include "networks.hpp"

namespace lastbit::bench {

enum class WordLayerKind : std::uint8_t { affine, line, image };

struct WordLayer {
  const char* name;
  const char* backend;
  WordLayerKind kind;
  ElementType weights;
};

inline constexpr WordLayer word_layers[] = {
    {"affine_s16s16/8x1024_1024", "gna2", WordLayerKind::affine, ElementType::int16},
    {"affine_s16s8/8x1024_1024", "gna2", WordLayerKind::affine, ElementType::int8},
    {"conv1d_s16s16/192s8_8192_128", "gna2", WordLayerKind::line, ElementType::int16},
    {"conv2d_s16s16/3x3_56x56x64_64", "gna3_0", WordLayerKind::image, ElementType::int16},
    {"conv2d_s16s8/3x3_56x56x64_64", "gna3_0", WordLayerKind::image, ElementType::int8},
};

/// proven: weights so small that no partial sum can saturate. saturating: sums of both signs that do.
enum class Sums : std::uint8_t { proven, saturating };
[[nodiscard]] std::shared_ptr<Prepared> prepare_word_layer(const WordLayer& layer, Sums sums);

}  // namespace lastbit::bench
