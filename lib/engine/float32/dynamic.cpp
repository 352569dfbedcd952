// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Hybrid layers (op/dynamic_sum.hpp): float32 data become codes while the layer runs, integer sums of these become float32 again.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "engine/float/linear.hpp"
#include "engine/float32/prepare.hpp"
#include "engine/operands.hpp"
#include "engine/ops/conv_layer.hpp"
#include "engine/parallel.hpp"
#include "lastbit/op/dynamic_sum.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

struct DynamicLayer {
  ConvShape shape;  ///< a row of a fully connected layer is an image of one pixel
  bool depthwise;
  DynamicArithmetic rule;     ///< its codes are not `by_layer`
  std::vector<float> scales;  ///< of each output channel's weights
  RealBounds bounds;

  [[nodiscard]] std::int64_t image_size() const { return shape.in_height * shape.in_width * shape.in_channels; }
  [[nodiscard]] std::int64_t pixels() const { return shape.out_height * shape.out_width; }
};

/// Every value's code less the zero point, and the scale of every image.
struct CentredCodes {
  std::vector<std::int16_t> codes;
  std::vector<float> scales;
};

CentredCodes centred_codes(const DynamicLayer& layer, std::span<const float> values) {
  CentredCodes all{std::vector<std::int16_t>(values.size()), std::vector<float>(static_cast<std::size_t>(layer.shape.batch))};
  const auto size = static_cast<std::size_t>(layer.image_size());
  for_each_part(layer.shape.batch, 1, [&](std::int64_t first, std::int64_t last) {
    for (auto n = static_cast<std::size_t>(first); n < static_cast<std::size_t>(last); ++n) {
      const std::span<const float> image = values.subspan(n * size, size);
      const DynamicInput input = dynamic_input(layer.rule.codes, image, layer.rule.rounding);
      all.scales[n] = input.scale;
      std::ranges::transform(image, all.codes.begin() + static_cast<std::ptrdiff_t>(n * size), [&](float value) {
        return static_cast<std::int16_t>(narrow_exact(centred_code(layer.rule, input, value), 16));
      });
    }
  });
  return all;
}

/// Calls visit(tap, first code of the input pixel) for every tap of a window that lies inside the image.
template <class Visit>
void each_tap_inside(const ConvShape& shape, std::int64_t pixel, const std::int16_t* image, Visit&& visit) {
  const std::int64_t top = pixel / shape.out_width * shape.stride_height - shape.pad_top;
  const std::int64_t left = pixel % shape.out_width * shape.stride_width - shape.pad_left;
  for (std::int64_t tap = 0; tap < shape.kernel_height * shape.kernel_width; ++tap) {
    const std::int64_t y = top + tap / shape.kernel_width * shape.dilation_height;
    const std::int64_t x = left + tap % shape.kernel_width * shape.dilation_width;
    if (y < 0 || y >= shape.in_height || x < 0 || x >= shape.in_width) continue;
    visit(tap, image + (y * shape.in_width + x) * shape.in_channels);
  }
}

/// Modulo 2^32: a product of a centred code and a weight has 16 bits.
std::uint32_t dot(const std::int16_t* codes, const std::int8_t* weights, std::int64_t count) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint32_t>(codes[i] * weights[i]);
  return sum;
}

/// The sums of one output pixel, channel by channel.
void sum_pixel(const DynamicLayer& layer, const std::int16_t* image, const std::int8_t* weights, std::int64_t pixel,
               std::span<std::uint32_t> sums) {
  const ConvShape& shape = layer.shape;
  const auto outputs = std::ssize(sums);
  const std::int64_t channels = shape.group_channels(), per_group = outputs / shape.groups;
  std::ranges::fill(sums, 0U);
  each_tap_inside(shape, pixel, image, [&](std::int64_t tap, const std::int16_t* codes) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      const std::int16_t* const group = codes + o / per_group * channels;
      const std::int8_t* const w = layer.depthwise ? weights + tap * outputs + o : weights + o * shape.taps() + tap * channels;
      sums[static_cast<std::size_t>(o)] += dot(group, w, channels);
    }
  });
}

void run_layer(const DynamicLayer& layer, const Execution& run) {
  const CentredCodes input = centred_codes(layer, run.inputs[0]->values<float>());
  const std::int8_t* const weights = run.inputs[1]->values<std::int8_t>().data();
  const std::span<const float> bias = bias_of(run);
  const std::span<float> out = run.outputs[0].values<float>();
  const auto channels = static_cast<std::size_t>(layer.shape.out_channels);
  for_each_part(layer.shape.batch * layer.pixels(), 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<std::uint32_t> sums(channels);
    for (std::int64_t at = first; at < last; ++at) {
      const std::int64_t n = at / layer.pixels(), pixel = at % layer.pixels();
      sum_pixel(layer, input.codes.data() + n * layer.image_size(), weights, pixel, sums);
      const float scale = input.scales[static_cast<std::size_t>(n)];
      for (std::size_t c = 0; c < channels; ++c) {
        const float b = bias.empty() ? 0.0F : bias[(static_cast<std::size_t>(pixel) * channels + c) % bias.size()];
        const float y = dynamic_output(layer.rule.product, std::bit_cast<std::int32_t>(sums[c]), scale, layer.scales[c], b);
        out[static_cast<std::size_t>(at) * channels + c] = layer.bounds(y);
      }
    }
  });
}

/// Rows of a fully connected layer are images of their own.
ConvShape shape_of(const Model& model, const Operation& operation) {
  ConvShape shape = sum_shape_of(model, operation);
  if (operation.kind != OperationKind::fully_connected) return shape;
  shape.batch = shape.in_width;
  shape.in_width = shape.out_width = 1;
  return shape;
}

DynamicCodes codes_of(const Operation& operation, DynamicCodes codes) {
  if (codes != DynamicCodes::by_layer) return codes;
  const auto* const attributes = std::get_if<FullyConnectedAttributes>(&operation.attributes);
  return attributes != nullptr && attributes->asymmetric_inputs ? DynamicCodes::asymmetric : DynamicCodes::symmetric;
}

RealBounds real_bounds_of(const Operation& operation) {
  const auto* const dense = std::get_if<FullyConnectedAttributes>(&operation.attributes);
  return real_bounds(dense != nullptr ? dense->bounds : std::get<Conv2dAttributes>(operation.attributes).bounds);
}

/// What a kernel for scales per channel makes of a single one is not defined.
std::vector<float> channel_scales(const Operation& operation, const ModelTensor& weights, const ConvShape& shape) {
  const Quantization& quantization = weights.quantization;
  const bool by_channel = operation.kind == OperationKind::depthwise_conv2d || shape.groups > 1;
  if (by_channel && shape.out_channels > 1 && quantization.scales.size() == 1)
    throw_unsupported(operation,
                      "weights '" + weights.name + "' have one scale; a grouped or depthwise hybrid layer needs one per channel");
  std::vector<float> scales;
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.out_channels); ++c)
    scales.push_back(static_cast<float>(quantization.scale(c)));
  return scales;
}

}  // namespace

Executor prepare_dynamic(const Model& model, const Operation& operation, const Backend& backend) {
  const DynamicArithmetic* const rule = dynamic_arithmetic_of(model, operation, backend.dynamic).second;
  const ModelTensor& weights = model.tensor(operation.inputs[1]);
  if (rule == nullptr || rule->codes == DynamicCodes::absent)
    throw_unsupported(operation, "a hybrid layer (float32 data, " + std::string(name_of(weights.type)) +
                                     " weights: dynamic range quantisation), which the backend does not have; --fallback "
                                     "tflite_builtin_double computes convolutions and fully connected layers of that kind, --backend "
                                     "float any in real numbers");
  const ConvShape shape = shape_of(model, operation);
  DynamicLayer layer{.shape = shape,
                     .depthwise = operation.kind == OperationKind::depthwise_conv2d,
                     .rule = *rule,
                     .scales = channel_scales(operation, weights, shape),
                     .bounds = real_bounds_of(operation)};
  layer.rule.codes = codes_of(operation, rule->codes);
  return [layer = std::move(layer)](const Execution& run) { run_layer(layer, run); };
}

}  // namespace lastbit
