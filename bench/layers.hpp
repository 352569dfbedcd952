// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers of real networks, the one table from which benchmarks take shapes, and models of one such layer.
#pragma once

#include <random>

#include "lastbit/model.hpp"

namespace lastbit::bench {

enum class LayerKind : std::uint8_t { dense, depthwise };

struct Layer {
  const char* name;
  LayerKind kind;
  std::int64_t size, in_channels, out_channels, kernel, stride;  ///< input size x size, padding "same"
};

inline constexpr Layer real_layers[] = {
    {"mobilenet_v2_first_224x224x3_3x3s2_32", LayerKind::dense, 224, 3, 32, 3, 2},
    {"mobilenet_v2_expand_56x56x24_1x1_144", LayerKind::dense, 56, 24, 144, 1, 1},
    {"mobilenet_v2_depthwise_56x56x144_3x3", LayerKind::depthwise, 56, 144, 144, 3, 1},
    {"mobilenet_v2_project_14x14x384_1x1_96", LayerKind::dense, 14, 384, 96, 1, 1},
    {"mobilenet_v2_last_7x7x320_1x1_1280", LayerKind::dense, 7, 320, 1280, 1, 1},
    {"resnet8_32x32x16_3x3_16", LayerKind::dense, 32, 16, 16, 3, 1},
    {"resnet8_8x8x64_3x3_64", LayerKind::dense, 8, 64, 64, 3, 1},
};

template <class T>
Tensor random_values(const Shape& shape, std::int64_t low, std::int64_t high, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor tensor(element_type_of<T>, shape);
  for (T& value : tensor.values<T>())
    value = static_cast<T>(low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1)));
  return tensor;
}

/// int8 data, weights per channel, scales under which outputs fill their range.
inline Model model_of(const Layer& layer) {
  const bool depthwise = layer.kind == LayerKind::depthwise;
  const std::int64_t out_size = (layer.size + layer.stride - 1) / layer.stride;
  const Shape in{1, layer.size, layer.size, layer.in_channels}, out{1, out_size, out_size, layer.out_channels};
  const Shape weights = depthwise ? Shape{1, layer.kernel, layer.kernel, layer.out_channels}
                                  : Shape{layer.out_channels, layer.kernel, layer.kernel, layer.in_channels};
  Quantization per_channel{{}, {}, depthwise ? 3 : 0};
  for (std::int64_t o = 0; o < layer.out_channels; ++o) per_channel.scales.push_back(0.004 + 0.00001 * static_cast<double>(o));
  per_channel.zero_points.assign(static_cast<std::size_t>(layer.out_channels), 0);
  Model model;
  model.name = layer.name;
  model.tensors = {
      {"input", ElementType::int8, in, {{0.02}, {-3}, 0}, {}},
      {"weights", ElementType::int8, weights, per_channel, random_values<std::int8_t>(weights, -127, 127, 1)},
      {"bias", ElementType::int32, {layer.out_channels}, {}, random_values<std::int32_t>({layer.out_channels}, -5000, 5000, 2)},
      {"output", ElementType::int8, out, {{depthwise ? 0.2 : 0.6}, {5}, 0}, {}}};
  Conv2dAttributes attributes;
  attributes.stride = {layer.stride, layer.stride};
  attributes.padding.mode = PaddingMode::same;
  model.operations = {{depthwise ? OperationKind::depthwise_conv2d : OperationKind::conv2d, layer.name, {0, 1, 2}, {3}, attributes}};
  model.inputs = {0};
  model.outputs = {3};
  validate(model, layer.name);
  return model;
}

}  // namespace lastbit::bench
