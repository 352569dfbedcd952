// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "toolchains/device_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/op/quantize.hpp"

namespace lastbit {
namespace {

/// How elements map to the entries of a quantisation.
struct ChannelLayout {
  std::size_t inner = 1, channels = 1;
  [[nodiscard]] std::size_t of(std::size_t element) const { return element / inner % channels; }
};

ChannelLayout layout_along(const Shape& shape, std::int64_t axis) {
  ChannelLayout layout{1, static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)])};
  for (auto later = static_cast<std::size_t>(axis) + 1; later < shape.rank(); ++later)
    layout.inner *= static_cast<std::size_t>(shape[later]);
  return layout;
}

std::optional<std::int64_t> axis_of(const Quantization& quantization) {
  return quantization.per_channel() ? std::optional(quantization.axis) : std::nullopt;
}

std::int64_t code_of(double real, const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  const double scaled = real / tensor.quantization.scale();
  return std::clamp(tensor.quantization.zero_point() + round_to_integer(std::clamp(scaled, -0x1p40, 0x1p40), Rounding::half_away),
                    range.min, range.max);
}

}  // namespace

TensorGroups::TensorGroups(std::size_t tensors) : parent_(tensors) { std::iota(parent_.begin(), parent_.end(), 0); }

void TensorGroups::join(std::int32_t a, std::int32_t b) { parent_[static_cast<std::size_t>(root(b))] = root(a); }

std::int32_t TensorGroups::root(std::int32_t tensor) const {
  while (parent_[static_cast<std::size_t>(tensor)] != tensor) tensor = parent_[static_cast<std::size_t>(tensor)];
  return tensor;
}

void TensorGroups::add() { parent_.push_back(static_cast<std::int32_t>(parent_.size())); }

bool keeps_values(OperationKind kind) { return is_movement(kind) || kind == OperationKind::max_pool2d; }

bool has_weights(OperationKind kind) {
  using enum OperationKind;
  return kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected;
}

std::int64_t channel_axis(OperationKind kind) { return kind == OperationKind::depthwise_conv2d ? 3 : 0; }

ClippingRange hull(ClippingRange a, ClippingRange b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

std::vector<double> channel_magnitudes(const Tensor& tensor, std::int64_t axis) {
  const ChannelLayout layout = layout_along(tensor.shape(), axis);
  std::vector<double> largest(layout.channels, 0);
  const auto values = tensor.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& channel = largest[layout.of(i)];
    channel = std::max(channel, std::abs(double{values[i]}));
  }
  return largest;
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (const float value : tensor.values<float>()) largest = std::max(largest, std::abs(double{value}));
  return largest;
}

Tensor coded(const Tensor& real, ElementType type, std::optional<std::int64_t> axis,
             const std::function<std::int64_t(std::size_t, float)>& code) {
  const ChannelLayout layout = axis ? layout_along(real.shape(), *axis) : ChannelLayout{};
  Tensor codes(type, real.shape());
  const auto values = real.values<float>();
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto out = codes.values<T>();
      for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(code(layout.of(i), values[i]));
    }
  });
  return codes;
}

Tensor quantized(const Tensor& real, ElementType type, const Quantization& quantization, const QuantizeArithmetic& rule,
                 IntegerRange limits) {
  return coded(real, type, axis_of(quantization), [&](std::size_t channel, float value) {
    return quantize(rule, value, static_cast<float>(quantization.scale(channel)), quantization.zero_point(channel), limits);
  });
}

void set_quantization(ModelTensor& tensor, ElementType type, Quantization quantization, const QuantizeArithmetic& rule) {
  if (tensor.constant) tensor.constant = quantized(*tensor.constant, type, quantization, rule, range_of(type));
  tensor.type = type;
  tensor.quantization = std::move(quantization);
}

Quantization accumulator_quantization(const Quantization& input, const Quantization& weights, ScaleArithmetic arithmetic) {
  Quantization product{{}, std::vector<std::int64_t>(weights.scales.size(), 0), 0};
  for (const double scale : weights.scales) {
    product.scales.push_back(arithmetic == ScaleArithmetic::f64 ? input.scale() * scale
                                                                : double{static_cast<float>(input.scale()) * static_cast<float>(scale)});
  }
  return product;
}

Tensor quantized_bias(const Tensor& real, ElementType type, const Quantization& quantization, Rounding rounding) {
  const std::int64_t limit = range_of(type).max;
  return coded(real, type, axis_of(quantization), [&](std::size_t channel, float value) {
    return std::clamp(round_to_integer(double{value} / quantization.scale(channel), rounding), -limit, limit);
  });
}

void drop_unused_tensors(Model& model) {
  std::vector<bool> used(model.tensors.size(), false);
  for_each_mention(model, [&](std::int32_t& tensor) { used[static_cast<std::size_t>(tensor)] = true; });
  std::vector<std::int32_t> place(model.tensors.size(), absent_tensor);
  std::vector<ModelTensor> kept;
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    if (!used[i]) continue;
    place[i] = static_cast<std::int32_t>(kept.size());
    kept.push_back(std::move(model.tensors[i]));
  }
  model.tensors = std::move(kept);
  for_each_mention(model, [&](std::int32_t& tensor) { tensor = place[static_cast<std::size_t>(tensor)]; });
}

OutputBounds* fusible_bounds(Operation& operation) {
  if (auto* layer = std::get_if<Conv2dAttributes>(&operation.attributes)) return &layer->bounds;
  if (auto* dense = std::get_if<FullyConnectedAttributes>(&operation.attributes)) return &dense->bounds;
  if (auto* sum = std::get_if<ElementwiseAttributes>(&operation.attributes)) return &sum->bounds;
  if (auto* pool = std::get_if<Pool2dAttributes>(&operation.attributes)) return &pool->bounds;
  return nullptr;
}

std::optional<OutputBounds> stated_bounds(const Operation& activation) {
  using enum OperationKind;
  if (activation.kind == relu) return OutputBounds{.activation = Activation::relu};
  if (activation.kind == relu6) return OutputBounds{.activation = Activation::relu6};
  if (activation.kind == relu_n1_to_1) return OutputBounds{.activation = Activation::relu_n1_to_1};
  if (activation.kind == clip) return std::get<ClipAttributes>(activation.attributes).bounds;
  return std::nullopt;
}

void fuse_activations(Model& model, const BoundsOfActivation& bounds) {
  std::vector<int> mentions(model.tensors.size(), 0);  // one by the writer, one by each reader
  for_each_mention(model, [&](std::int32_t& tensor) { ++mentions[static_cast<std::size_t>(tensor)]; });
  std::vector<Operation*> writers(model.tensors.size(), nullptr);
  std::vector<bool> fused(model.operations.size(), false);
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    Operation& operation = model.operations[i];
    Operation* const layer = operation.inputs[0] == absent_tensor ? nullptr : writers[static_cast<std::size_t>(operation.inputs[0])];
    OutputBounds* const end = layer == nullptr ? nullptr : fusible_bounds(*layer);
    if (end != nullptr && *end == OutputBounds{} && mentions[static_cast<std::size_t>(operation.inputs[0])] == 2) {
      if (const std::optional<OutputBounds> left = bounds(*layer, operation)) {
        *end = *left;
        layer->outputs[0] = operation.outputs[0];
        fused[i] = true;
      }
    }
    for (const std::int32_t output : operation.outputs) writers[static_cast<std::size_t>(output)] = fused[i] ? layer : &operation;
  }
  std::size_t i = 0;
  std::erase_if(model.operations, [&](const Operation&) { return fused[i++]; });
}

void quantize_attributes(Operation& operation, const ModelTensor& output) {
  std::visit(
      [&]<class T>(T& attributes) {
        if constexpr (requires { attributes.bounds; }) {
          const auto real = std::exchange(attributes.bounds.real_clamp, std::nullopt);
          if (real) attributes.bounds.clamp = IntegerRange{code_of(double{(*real)[0]}, output), code_of(double{(*real)[1]}, output)};
        } else if constexpr (std::is_same_v<T, PadAttributes>) {
          const auto real = std::exchange(attributes.real_value, std::nullopt);
          if (real) attributes.value = code_of(*real, output);
        }
      },
      operation.attributes);
}

}  // namespace lastbit
