// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

#include <cmath>

#include "lastbit/model_builder.hpp"
#include "lastbit/one_operation.hpp"
#include "networks.hpp"

namespace lastbit::bench {
namespace {

using enum LayerKind;

constexpr TimedLayer resnet8[] = {
    {dense, 32, 3, 16, 3, 1, 1},  {dense, 32, 16, 16, 3, 1, 2}, {dense, 32, 16, 32, 3, 2, 1}, {dense, 16, 32, 32, 3, 1, 1},
    {dense, 32, 16, 32, 1, 2, 1}, {dense, 16, 32, 64, 3, 2, 1}, {dense, 8, 64, 64, 3, 1, 1},  {dense, 16, 32, 64, 1, 2, 1},
};

constexpr TimedLayer mobilenet_v2[] = {
    {dense, 224, 3, 32, 3, 2, 1},       {depthwise, 112, 32, 32, 3, 1, 1},  {dense, 112, 32, 16, 1, 1, 1},
    {dense, 112, 16, 96, 1, 1, 1},      {depthwise, 112, 96, 96, 3, 2, 1},  {dense, 56, 96, 24, 1, 1, 1},
    {dense, 56, 24, 144, 1, 1, 2},      {depthwise, 56, 144, 144, 3, 1, 1}, {dense, 56, 144, 24, 1, 1, 1},
    {depthwise, 56, 144, 144, 3, 2, 1}, {dense, 28, 144, 32, 1, 1, 1},      {dense, 28, 32, 192, 1, 1, 3},
    {depthwise, 28, 192, 192, 3, 1, 2}, {dense, 28, 192, 32, 1, 1, 2},      {depthwise, 28, 192, 192, 3, 2, 1},
    {dense, 14, 192, 64, 1, 1, 1},      {dense, 14, 64, 384, 1, 1, 4},      {depthwise, 14, 384, 384, 3, 1, 4},
    {dense, 14, 384, 64, 1, 1, 3},      {dense, 14, 384, 96, 1, 1, 1},      {dense, 14, 96, 576, 1, 1, 3},
    {depthwise, 14, 576, 576, 3, 1, 2}, {dense, 14, 576, 96, 1, 1, 2},      {depthwise, 14, 576, 576, 3, 2, 1},
    {dense, 7, 576, 160, 1, 1, 1},      {dense, 7, 160, 960, 1, 1, 3},      {depthwise, 7, 960, 960, 3, 1, 3},
    {dense, 7, 960, 160, 1, 1, 2},      {dense, 7, 960, 320, 1, 1, 1},      {dense, 7, 320, 1280, 1, 1, 1},
};

bool is_convolution(OperationKind kind) { return kind == OperationKind::conv2d || kind == OperationKind::depthwise_conv2d; }

/// Output values of random data spread over about twice the range of the type.
double output_scale(const TimedLayer& layer, const LayerTypes& types) {
  const double taps = static_cast<double>(layer.kernel * layer.kernel * (layer.kind == depthwise ? 1 : layer.in_channels));
  const double data = types.input == ElementType::int16 ? 18918 : 74, weight = types.weights == ElementType::int16 ? 18918 : 74;
  return 0.02 * 0.004 * data * weight * std::sqrt(taps) / (types.output == ElementType::int16 ? 16384 : 64);
}

}  // namespace

std::string name_of(const TimedLayer& layer) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  return text(layer.kernel) + "x" + text(layer.kernel) + (layer.kind == depthwise ? "dw" : "") +
         (layer.stride == 1 ? "" : "s" + text(layer.stride)) + "_" + text(layer.size) + "x" + text(layer.size) + "x" +
         text(layer.in_channels) + "_" + text(layer.out_channels);
}

Tensor random_tensor(ElementType type, const Shape& shape, std::uint64_t seed) {
  switch (type) {
    case ElementType::uint8: return random_values<std::uint8_t>(shape, 0, 255, seed);
    case ElementType::int16: return random_values<std::int16_t>(shape, -32768, 32767, seed);
    case ElementType::int32: return random_values<std::int32_t>(shape, -5000, 5000, seed);
    case ElementType::float16: {
      Tensor tensor(type, shape);
      for (std::mt19937_64 random(seed); Float16 & value : tensor.values<Float16>())
        value.bits = static_cast<std::uint16_t>(random() & 0xBBFF);
      return tensor;
    }
    case ElementType::float32: {
      Tensor tensor = random_values<float>(shape, -2000, 2000, seed);
      for (float& value : tensor.values<float>()) value /= 1000;
      return tensor;
    }
    default: return random_values<std::int8_t>(shape, -128, 127, seed);
  }
}

Model model_of(const TimedLayer& layer, const LayerTypes& types) {
  const std::int64_t out_size = (layer.size + layer.stride - 1) / layer.stride;
  const Shape in{1, layer.size, layer.size, layer.in_channels}, out{1, out_size, out_size, layer.out_channels};
  const bool is_depthwise = layer.kind == depthwise;
  const Shape weights = is_depthwise ? Shape{1, layer.kernel, layer.kernel, layer.out_channels}
                                     : Shape{layer.out_channels, layer.kernel, layer.kernel, layer.in_channels};
  Quantization per_channel{{}, {}, is_depthwise ? 3 : 0};
  for (std::int64_t o = 0; o < layer.out_channels; ++o) per_channel.scales.push_back(0.004 + 0.00001 * static_cast<double>(o));
  per_channel.zero_points.assign(static_cast<std::size_t>(layer.out_channels), 0);
  Quantization out_quantization;
  if (types.output != ElementType::int32) out_quantization = {{output_scale(layer, types)}, {types.output_zero_point}, 0};
  ModelBuilder builder(name_of(layer));
  const auto input = builder.input({"input", types.input, in, {{0.02}, {types.input_zero_point}, 0}});
  const auto filter = builder.constant("weights", random_tensor(types.weights, weights, 1), std::move(per_channel));
  const auto bias = builder.constant("bias", random_tensor(ElementType::int32, {layer.out_channels}, 2));
  Conv2dAttributes attributes;
  attributes.stride = {layer.stride, layer.stride};
  attributes.padding.mode = PaddingMode::same;
  const OperationKind kind = is_depthwise ? OperationKind::depthwise_conv2d : OperationKind::conv2d;
  return builder.finished(
      {builder.operation(kind, {input, filter, bias}, {"output", types.output, out, std::move(out_quantization)}, attributes)});
}

std::vector<Model> convolutions_of(const std::string& network) {
  std::vector<Model> models;
  if (const auto recorded = recorded_network(network)) {
    for (std::size_t i = 0; i < recorded->operations.size(); ++i) {
      if (is_convolution(recorded->operations[i].kind)) models.push_back(extract_operation(*recorded, i));
    }
    return models;
  }
  const std::span<const TimedLayer> table = network == "ic_resnet8_int8" ? std::span<const TimedLayer>(resnet8) : mobilenet_v2;
  for (const TimedLayer& layer : table) models.insert(models.end(), static_cast<std::size_t>(layer.count), model_of(layer, {}));
  return models;
}

std::int64_t multiply_adds_of(const Model& model) {
  std::int64_t total = 0;
  for (const Operation& operation : model.operations) {
    const auto shape = [&](const std::vector<std::int32_t>& list, std::size_t i) -> const Shape& { return model.tensor(list[i]).shape; };
    switch (operation.kind) {
      case OperationKind::conv2d:
      case OperationKind::depthwise_conv2d:
      case OperationKind::fully_connected: {
        const Shape& weights = shape(operation.inputs, 1);
        const std::int64_t per_output =
            weights.element_count() / (operation.kind == OperationKind::depthwise_conv2d ? weights.back() : weights[0]);
        total += shape(operation.outputs, 0).element_count() * per_output;
        break;
      }
      case OperationKind::transposed_conv2d: {
        const Shape& weights = shape(operation.inputs, 1);
        total += shape(operation.inputs, 0).element_count() * (weights.element_count() / weights.back());
        break;
      }
      case OperationKind::matmul: total += shape(operation.outputs, 0).element_count() * shape(operation.inputs, 0).back(); break;
      default: break;
    }
  }
  return total;
}

}  // namespace lastbit::bench
