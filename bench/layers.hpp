// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of real networks, the one table from which benchmarks take shapes, and models of one such layer.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit::bench {

enum class LayerKind : std::uint8_t { dense, depthwise };

struct TimedLayer {
  LayerKind kind = LayerKind::dense;
  std::int64_t size = 1, in_channels = 1, out_channels = 1, kernel = 1, stride = 1;  ///< input size x size, padding "same"
  int count = 1;                                                                     ///< how often the network has it
};

/// "3x3_56x56x64_64": kernel, input, output channels.
[[nodiscard]] std::string name_of(const TimedLayer& layer);

/// The two shapes by which convolutions are compared with other libraries.
inline constexpr TimedLayer reference_layers[] = {{LayerKind::dense, 56, 64, 64, 3, 1}, {LayerKind::dense, 28, 256, 256, 1, 1}};

/// Types and zero points of a layer; weights are int8 or int16 with zero point 0.
struct LayerTypes {
  ElementType input = ElementType::int8, weights = ElementType::int8, output = ElementType::int8;
  std::int64_t input_zero_point = -3, output_zero_point = 5;
};

/// Random data and weights, scales per channel under which outputs fill their range. An int32 output is the sums themselves.
[[nodiscard]] Model model_of(const TimedLayer& layer, const LayerTypes& types);

/// One model for every convolution of the network: its own where the folder of recorded networks has it, else by the table.
/// `network` is "ic_resnet8_int8" or "mobilenet_v2_224_int8".
[[nodiscard]] std::vector<Model> convolutions_of(const std::string& network);

/// Random values over the whole range of the type; reals within ±2.
[[nodiscard]] Tensor random_tensor(ElementType type, const Shape& shape, std::uint64_t seed);

template <class T>
Tensor random_values(const Shape& shape, std::int64_t low, std::int64_t high, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor tensor(element_type_of<T>, shape);
  for (T& value : tensor.values<T>())
    value = static_cast<T>(low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1)));
  return tensor;
}

/// Multiply-adds of the convolutions and matrix products of a model, for one sample.
[[nodiscard]] std::int64_t multiply_adds_of(const Model& model);

}  // namespace lastbit::bench
