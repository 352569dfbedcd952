// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The real meaning of a quantised model. A bias without a scale of its own counts in input scale * weight scale, as accumulators do;
// accumulators delivered as an output (int32 or int64 without a scale) become their real value by the same scale. The records of a piecewise-linear
// function become real lines; integer multipliers of rows are part of the weights' scales already, and disappear. What a compiler reads as it lies in
// memory is what the network means (as_it_lies.hpp).
#include "lastbit/dequantize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "lastbit/arith/pwl.hpp"
#include "lastbit/as_it_lies.hpp"
#include "lastbit/error.hpp"

namespace lastbit {
namespace {

/// Calls convert(index, value) for every element of an integer tensor, or copies what has no scale.
template <class Convert>
Tensor converted(const TensorView& tensor, Convert&& convert) {
  Tensor real = Tensor::unwritten(ElementType::float32, tensor.shape());
  const std::span<float> out = real.values<float>();
  visit_element_type(tensor.type(), [&]<class T>() {
    const std::span<const T> values = tensor.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) out[i] = convert(i, static_cast<std::int64_t>(values[i]));
      else out[i] = static_cast<float>(values[i]);
    }
  });
  return real;
}

bool takes_bias(OperationKind kind) {
  using enum OperationKind;
  return kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected;
}

/// Dequantises the bias of a layer, in a tensor of its own: layers of different scales may share the integers.
void own_bias(const Model& model, Operation& operation, Model& real) {
  if (!takes_bias(operation.kind) || operation.inputs.size() < 3 || operation.inputs[2] == absent_tensor) return;
  const ModelTensor& bias = model.tensor(operation.inputs[2]);
  if (bias.quantization.present() || !is_integer(bias.type)) return;
  if (!bias.constant) {
    throw Error(ErrorCode::bad_quantization, operation.name,
                "bias '" + bias.name + "' is computed and has no scale: its real value is unknown");
  }
  const double input_scale = model.tensor(operation.inputs[0]).quantization.scale();
  const Quantization& weights = model.tensor(operation.inputs[1]).quantization;
  const auto convert = [&](std::size_t channel, std::int64_t value) { return real_of(value, input_scale * weights.scale(channel), 0); };
  operation.inputs[2] = static_cast<std::int32_t>(real.tensors.size());
  real.tensors.push_back({bias.name + " of " + operation.name, ElementType::float32, bias.shape, {}, converted(*bias.constant, convert)});
}

/// What one step of the sums means that a piecewise-linear function reads: their own scale, or input scale * weight scale of the layer before, with
/// the integer multiplier of a row taken out.
double unit_of_sums(const Model& model, const Operation& operation) {
  const ModelTensor& sums = model.tensor(operation.inputs[0]);
  if (sums.quantization.present()) return sums.quantization.scale();
  const auto writer =
      std::ranges::find_if(model.operations, [&](const Operation& other) { return other.outputs[0] == operation.inputs[0]; });
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::bad_quantization, operation.name, "sums '" + sums.name + "' " + why);
  };
  if (writer == model.operations.end() || !takes_bias(writer->kind)) refuse("have no scale: their real values are unknown");
  const double input_scale = model.tensor(writer->inputs[0]).quantization.scale();
  const Quantization& weights = model.tensor(writer->inputs[1]).quantization;
  const bool multiplies = writer->inputs.size() > multiplier_input && writer->inputs[multiplier_input] != absent_tensor;
  const Constant multipliers = multiplies ? model.tensor(writer->inputs[multiplier_input]).constant : Constant();
  std::optional<double> unit;
  const std::size_t rows = multipliers ? static_cast<std::size_t>(multipliers->element_count()) : 1;
  for (std::size_t c = 0; c < std::max(weights.scales.size(), rows); ++c) {
    const double factor = multipliers ? static_cast<double>(multipliers->integer_at(static_cast<std::int64_t>(c))) : 1;
    if (factor == 0) continue;
    const double own = input_scale * weights.scale(c) / factor;
    if (unit && std::abs(own - *unit) > 1e-9 * *unit) refuse("have a scale per channel, and their function one for all");
    if (!unit) unit = own;
  }
  return unit.value_or(input_scale);
}

/// A table as real lines, one row each: where it begins, its value there, its slope.
void own_table(const Model& model, Operation& operation, Model& real) {
  if (operation.kind != OperationKind::pwl || model.tensor(operation.inputs[1]).type != ElementType::int32) return;
  const ModelTensor& table = model.tensor(operation.inputs[1]);
  const Quantization& output = model.tensor(operation.outputs[0]).quantization;
  const double unit = unit_of_sums(model, operation), step = output.scale();
  const auto records = table.constant.value().values<std::int32_t>();
  Tensor lines(ElementType::float32, table.shape);
  for (std::size_t i = 0; i < records.size(); i += 3) {
    const PwlSegment segment =
        pwl_segment(records[i], static_cast<std::int16_t>(records[i + 1]), static_cast<std::int16_t>(records[i + 2]));
    const auto row = lines.values<float>().subspan(i, 3);
    row[0] = static_cast<float>(unit * segment.x_base);
    row[1] = real_of(segment.y_base, step, output.zero_point());
    row[2] = static_cast<float>(std::ldexp(step / unit * segment.slope, -int{segment.shift}));
  }
  operation.inputs[1] = static_cast<std::int32_t>(real.tensors.size());
  real.tensors.push_back({table.name + " of " + operation.name, ElementType::float32, table.shape, {}, std::move(lines)});
}

/// A cast of a real to an integer leaves off the fraction; every other one changes no number.
void own_cast(const Model& model, Operation& operation) {
  const bool to_integer = operation.kind == OperationKind::cast && is_integer(model.tensor(operation.outputs[0]).type);
  if (to_integer && !is_integer(model.tensor(operation.inputs[0]).type)) operation.kind = OperationKind::truncate;
}

void drop_multiplier(Operation& operation) {
  if (takes_bias(operation.kind) && operation.inputs.size() > multiplier_input) operation.inputs.resize(multiplier_input);
}

/// What the clip of the accumulators means: accumulators count in input scale * weight scale.
std::optional<float> real_clip(const Model& model, const Operation& operation, const OutputBounds& bounds) {
  const auto& clips = bounds.accumulator_clip;
  if (clips.empty()) return std::nullopt;
  const Quantization& input = model.tensor(operation.inputs[0]).quantization;
  const Quantization none, &weights = takes_bias(operation.kind) ? model.tensor(operation.inputs[1]).quantization : none;
  std::optional<float> common;
  for (std::size_t c = 0; c < std::max({clips.size(), input.scales.size(), weights.scales.size()}); ++c) {
    const float clip = real_of(clips[clips.size() == 1 ? 0 : c], input.scale(c) * weights.scale(c), 0);
    if (common && *common != clip) {
      throw Error(ErrorCode::unsupported_operation, operation.name,
                  "accumulator_clip means another real bound in every channel; the golden path has one bound for all");
    }
    common = clip;
  }
  return common;
}

std::array<float, 2> narrowed(const std::optional<std::array<float, 2>>& range, float clip) {
  if (!range) return {0, clip};
  return {std::clamp((*range)[0], 0.0F, clip), std::clamp((*range)[1], 0.0F, clip)};
}

/// Attributes in quantised units become real ones; what codes a hybrid layer makes of its data is said no more.
void make_attributes_real(const Model& model, Operation& operation) {
  const Quantization& output = model.tensor(operation.outputs[0]).quantization;
  const auto real = [&](std::int64_t value) { return real_of(value, output.scale(), output.zero_point()); };
  std::visit(
      [&]<class T>(T& attributes) {
        if constexpr (requires { attributes.asymmetric_inputs; }) attributes.asymmetric_inputs = false;
        if constexpr (requires { attributes.cross_terms; }) attributes.cross_terms.reset();
        if constexpr (requires { attributes.bounds; }) {
          const auto clip = real_clip(model, operation, attributes.bounds);
          attributes.bounds.accumulator_clip.clear();
          attributes.bounds.registers.clear();
          attributes.bounds.below_zero.clear();
          attributes.bounds.converter.clear();
          attributes.bounds.segments = {};
          const auto clamp = std::exchange(attributes.bounds.clamp, std::nullopt);
          if (clamp) attributes.bounds.real_clamp = {real(clamp->min), real(clamp->max)};
          if (clip) attributes.bounds.real_clamp = narrowed(attributes.bounds.real_clamp, *clip);
        } else if constexpr (std::is_same_v<T, PadAttributes>) {
          const auto value = std::exchange(attributes.value, std::nullopt);
          if (value) attributes.real_value = double{real(*value)};
        }
      },
      operation.attributes);
}

}  // namespace

float real_of(std::int64_t code, double scale, std::int64_t zero_point) {
  return static_cast<float>(scale * static_cast<double>(code - zero_point));
}

Tensor dequantized(const TensorView& tensor, const Quantization& quantization) {
  if (tensor.type() == ElementType::float32) return tensor.copy();
  std::size_t channels = 1, inner = 1;
  if (quantization.scales.size() > 1 || quantization.zero_points.size() > 1) {
    const auto axis = static_cast<std::size_t>(quantization.axis);
    channels = static_cast<std::size_t>(tensor.shape()[axis]);
    for (std::size_t later = axis + 1; later < tensor.shape().rank(); ++later) inner *= static_cast<std::size_t>(tensor.shape()[later]);
  }
  if (channels == 1)
    return converted(tensor, [scale = quantization.scale(), zero_point = quantization.zero_point()](std::size_t, std::int64_t value) {
      return real_of(value, scale, zero_point);
    });
  return converted(tensor, [&](std::size_t i, std::int64_t value) {
    const std::size_t channel = i / inner % channels;
    return real_of(value, quantization.scale(channel), quantization.zero_point(channel));
  });
}

Model dequantized(const Model& model) {
  Model real = model;
  for (ModelTensor& tensor : real.tensors) {
    if (tensor.constant) tensor.constant = dequantized(*tensor.constant, tensor.quantization);
    tensor.type = ElementType::float32;
    tensor.quantization = {};
  }
  for (Operation& operation : real.operations) {
    if (const auto meant = meant_by(model, operation)) read_as_meant(operation, *meant);
    own_bias(model, operation, real);
    own_table(model, operation, real);
    own_cast(model, operation);
    drop_multiplier(operation);
    make_attributes_real(model, operation);
  }
  return real;
}

}  // namespace lastbit
