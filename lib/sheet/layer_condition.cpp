// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The conditions of open points.
#include <algorithm>
#include <array>
#include <variant>

#include "lastbit/operation_rules.hpp"
#include "model/operation_signature.hpp"

namespace lastbit {
namespace {

bool is_convolution(OperationKind kind) {
  using enum OperationKind;
  return kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d;
}
bool has_products(OperationKind kind) {
  return is_convolution(kind) || kind == OperationKind::fully_connected || kind == OperationKind::matmul;
}

/// A layer, and what conditions ask of it.
class ConditionedLayer {
 public:
  ConditionedLayer(const Model& model, const Operation& operation) : model_(model), operation_(operation) {}

  [[nodiscard]] OperationKind kind() const { return operation_.kind; }
  [[nodiscard]] const ModelTensor& input() const { return model_.tensor(operation_.inputs[0]); }
  [[nodiscard]] const ModelTensor& output() const { return model_.tensor(operation_.outputs[0]); }
  [[nodiscard]] const ModelTensor& weights() const { return model_.tensor(operation_.inputs[1]); }
  [[nodiscard]] bool has(ElementType type) const { return input().type == type || output().type == type; }
  [[nodiscard]] std::int64_t channels() const { return output().shape.rank() == 0 ? 1 : output().shape.back(); }

  /// Height and width of a kernel or a window; 1 and 1 of what has none.
  [[nodiscard]] Extent2d kernel() const {
    if (const auto* const pool = std::get_if<Pool2dAttributes>(&operation_.attributes)) return pool->filter;
    const Shape* const shape = is_convolution(kind()) ? &weights().shape : nullptr;
    return shape != nullptr && shape->rank() == 4 ? Extent2d{(*shape)[1], (*shape)[2]} : Extent2d{1, 1};
  }
  [[nodiscard]] const Conv2dAttributes* convolution() const { return std::get_if<Conv2dAttributes>(&operation_.attributes); }

  /// Of one sum.
  [[nodiscard]] std::int64_t products() const {
    if (!has_products(kind())) return 0;
    if (kind() == OperationKind::matmul) return input().shape.rank() == 0 ? 1 : input().shape.back();
    if (kind() == OperationKind::fully_connected) return weights().shape.back();
    return kernel().height * kernel().width * (kind() == OperationKind::depthwise_conv2d ? 1 : weights().shape.back());
  }

  /// Absent: the operation has no place for one.
  [[nodiscard]] bool has_bias() const {
    return has_products(kind()) && operation_.inputs.size() > bias_input && operation_.inputs[bias_input] != absent_tensor;
  }
  [[nodiscard]] bool has_real_bias() const {
    if (!has_bias()) return false;
    const ModelTensor& bias = model_.tensor(operation_.inputs[bias_input]);
    if (!bias.constant) return true;
    const auto bytes = bias.constant->bytes();
    return std::ranges::any_of(bytes, [](auto byte) { return byte != decltype(byte){}; });
  }

  [[nodiscard]] bool is_mean_over_image() const {
    const auto* const attributes = std::get_if<MeanAttributes>(&operation_.attributes);
    if (attributes == nullptr || input().shape.rank() != 4) return false;
    std::array<bool, 4> reduced{};
    for (const std::int64_t axis : attributes->axes) reduced.at(static_cast<std::size_t>(axis < 0 ? axis + 4 : axis)) = true;
    return reduced == std::array{false, true, true, false};
  }

  [[nodiscard]] bool averages_whole_image() const {
    if (kind() == OperationKind::global_average_pool) return true;
    return kind() == OperationKind::average_pool2d && input().shape.rank() == 4 && kernel().height >= input().shape[1] &&
           kernel().width >= input().shape[2];
  }

  /// Of padding `same`: what lies between the ends of the last window and of the input.
  [[nodiscard]] bool leaves_input_over() const {
    const Conv2dAttributes* const layer = convolution();
    if (layer == nullptr || kind() == OperationKind::transposed_conv2d || layer->padding.mode != PaddingMode::same ||
        input().shape.rank() != 4)
      return false;
    const auto is_left = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
      const std::int64_t out = (in + stride - 1) / stride;
      return (out - 1) * stride + (kernel - 1) * dilation + 1 < in;
    };
    const Extent2d size = kernel();
    return (size.height > 1 || size.width > 1) && (is_left(input().shape[1], size.height, layer->stride.height, layer->dilation.height) ||
                                                   is_left(input().shape[2], size.width, layer->stride.width, layer->dilation.width));
  }

 private:
  const Model& model_;
  const Operation& operation_;
};

bool rounds_up_from_half_pixels(const Operation& operation) {
  const auto* const resize = std::get_if<ResizeAttributes>(&operation.attributes);
  return resize != nullptr && resize->mode == ResizeMode::nearest && resize->coordinates == ResizeCoordinates::half_pixel &&
         (resize->nearest == Rounding::half_up || resize->nearest == Rounding::ceil);
}

}  // namespace

bool is_met(LayerCondition condition, const Model& model, const Operation& operation) {
  if (condition == LayerCondition::always) return true;
  if (operation.inputs.empty() || operation.inputs[0] == absent_tensor || operation.outputs.empty()) return false;
  const ConditionedLayer layer(model, operation);
  switch (condition) {
    case LayerCondition::always: return true;
    case LayerCondition::data_u8: return layer.has(ElementType::uint8);
    case LayerCondition::data_16bit: return layer.has(ElementType::int16) || layer.has(ElementType::uint16);
    case LayerCondition::real_bias: return layer.has_real_bias();
    case LayerCondition::data_u8_without_bias:
      return layer.has(ElementType::uint8) && has_products(layer.kind()) && layer.kind() != OperationKind::matmul && !layer.has_bias();
    case LayerCondition::grouped:
      return layer.kind() == OperationKind::conv2d && layer.weights().shape.back() != layer.input().shape.back();
    case LayerCondition::channels_beyond_eights: return layer.channels() % 8 != 0;
    case LayerCondition::channels_beyond_thirty_twos: return layer.channels() % 32 != 0;
    case LayerCondition::values_beyond_eights: return layer.output().shape.element_count() % 8 != 0;
    case LayerCondition::values_beyond_sixteens: return layer.output().shape.element_count() % 16 != 0;
    case LayerCondition::several_rows: return layer.output().shape.element_count() != layer.channels();
    case LayerCondition::products_from_512: return layer.products() >= 512;
    case LayerCondition::products_from_131073: return layer.products() >= 131073;
    case LayerCondition::image_mean_of_8bit:
      return layer.is_mean_over_image() && (layer.input().type == ElementType::int8 || layer.input().type == ElementType::uint8);
    case LayerCondition::whole_image: return layer.averages_whole_image();
    case LayerCondition::equal_quantization: return layer.input().quantization == layer.output().quantization;
    case LayerCondition::stride_beyond_kernel:
      return layer.convolution() != nullptr &&
             (layer.convolution()->stride.height > layer.kernel().height || layer.convolution()->stride.width > layer.kernel().width);
    case LayerCondition::input_left_over: return layer.leaves_input_over();
    case LayerCondition::single_column_of_16bit:
      return layer.has(ElementType::int16) && layer.output().shape.rank() > 0 && layer.output().shape.back() == 1;
    case LayerCondition::up_from_half_pixels: return rounds_up_from_half_pixels(operation);
    case LayerCondition::softmax: return layer.kind() == OperationKind::softmax;
    case LayerCondition::float_products:
      return has_products(layer.kind()) && layer.weights().type == ElementType::float32 && layer.weights().constant;
  }
  return false;
}

}  // namespace lastbit
