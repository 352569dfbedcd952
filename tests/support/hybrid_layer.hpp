// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hybrid layer with random weights, and data for it.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"

namespace lastbit::test {

struct HybridLayer {
  OperationKind kind = OperationKind::conv2d;
  Shape input, weights, output;
  std::size_t scales = 1;
  Activation activation = Activation::none;
  bool has_bias = true, asks_asymmetric = false;
  Extent2d stride{1, 1}, dilation{1, 1};
  std::int64_t pad = 0;  ///< above and on the left; below and on the right one more
};

inline std::int64_t channel_axis(OperationKind kind) { return kind == OperationKind::depthwise_conv2d ? 3 : 0; }

struct MadeHybrid {
  Model model;
  Tensor input;
};

/// Random data, weights and scales that are not round; the first row or image is zeros where there are several.
inline MadeHybrid made(const HybridLayer& layer, unsigned seed) {
  std::mt19937 random(seed);
  const auto real = [&](float spread) { return spread * (static_cast<float>(random() % 20001) / 10000.0F - 0.9F); };
  ModelBuilder builder;
  Tensor x(ElementType::float32, layer.input), w(ElementType::int8, layer.weights);
  for (float& value : x.values<float>()) value = real(3.7F);
  const std::int64_t rows = layer.kind == OperationKind::fully_connected ? layer.input.element_count() / layer.weights[1] : layer.input[0];
  if (rows > 1) std::ranges::fill(x.values<float>().first(static_cast<std::size_t>(layer.input.element_count() / rows)), 0.0F);
  for (std::int8_t& value : w.values<std::int8_t>()) value = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  Quantization of_weights{{}, std::vector<std::int64_t>(layer.scales, 0), channel_axis(layer.kind)};
  for (std::size_t i = 0; i < layer.scales; ++i)
    of_weights.scales.push_back(static_cast<double>(0.001F * static_cast<float>(random() % 700 + 30)));
  std::vector<std::int32_t> inputs{builder.input({"x", ElementType::float32, layer.input}), builder.constant("w", w, of_weights)};
  const std::int64_t channels = layer.output.back();
  Tensor b(ElementType::float32, {channels});
  for (float& value : b.values<float>()) value = real(1.3F);
  inputs.push_back(layer.has_bias ? builder.constant("b", b) : absent_tensor);
  Attributes attributes = Conv2dAttributes{
      layer.stride, layer.dilation, {PaddingMode::explicit_sizes, layer.pad, layer.pad + 1, layer.pad, layer.pad + 1}, {layer.activation}};
  if (layer.pad == 0) std::get<Conv2dAttributes>(attributes).padding = {};
  if (layer.kind == OperationKind::fully_connected) {
    FullyConnectedAttributes dense{{layer.activation}};
    dense.asymmetric_inputs = layer.asks_asymmetric;
    attributes = dense;
  }
  const auto y = builder.operation(layer.kind, inputs, {"y", ElementType::float32, layer.output}, attributes);
  return {builder.finished({y}), x};
}

inline std::vector<float> outputs_of(const MadeHybrid& made, const Backend& backend) {
  const Trace trace = run(made.model, backend, std::vector{made.input});
  const auto values = trace.tensors[static_cast<std::size_t>(made.model.outputs[0])]->values<float>();
  return {values.begin(), values.end()};
}

}  // namespace lastbit::test
