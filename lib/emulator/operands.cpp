// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "emulator/operands.hpp"

#include <algorithm>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

std::int64_t quantized_bound(float real, const Quantization& quantization) {
  return quantization.zero_point() + round_to_integer(real / static_cast<float>(quantization.scale()), Rounding::half_away);
}

void refuse_unknown_values(const Operation& operation, const Chain& chain) {
  for (const Stage& stage : chain) {
    const bool needs_values = stage.kind == StageKind::table || stage.kind == StageKind::pwl;
    if (needs_values)
      throw_unsupported(operation,
                        "no model brings the values of the " + std::string(name_of(stage.kind)) + " stage in the backend's chain");
  }
}

}  // namespace

std::string place_of(const Operation& operation) { return std::string(name_of(operation.kind)) + " '" + operation.name + "'"; }

void throw_unsupported(const Operation& operation, const std::string& what) {
  throw Error(ErrorCode::unsupported_operation, place_of(operation), what);
}

const Chain& output_chain(const Operation& operation, const Chain& chain) {
  refuse_unknown_values(operation, chain);
  if (chain.empty() || chain.stages[chain.size - 1U].kind != StageKind::clamp)
    throw_unsupported(operation, "the backend's chain does not end in clamp");
  return chain;
}

const Chain& storage_chain(const Operation& operation, const Chain& chain, ElementType type) {
  if (chain.empty()) throw_unsupported(operation, "the backend has no arithmetic for a state of " + std::string(name_of(type)));
  refuse_unknown_values(operation, chain);
  const Stage& last = chain.stages[chain.size - 1U];
  const bool fits = last.kind == StageKind::narrow && last.overflow != Overflow::exact && last.bits <= bits_of(type);
  return fits ? chain : output_chain(operation, chain);
}

void require_centred_weights(const Operation& operation, const ModelTensor& weights) {
  const auto& zeros = weights.quantization.zero_points;
  if (std::any_of(zeros.begin(), zeros.end(), [](std::int64_t zero) { return zero != 0; }))
    throw_unsupported(operation, "the weights '" + weights.name + "' need zero point 0");
}

IntegerRange bounds_of(Activation activation, const ModelTensor& output) {
  IntegerRange range = range_of(output.type);
  const auto raise = [&](float real) { range.min = std::max(range.min, quantized_bound(real, output.quantization)); };
  const auto lower = [&](float real) { range.max = std::min(range.max, quantized_bound(real, output.quantization)); };
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: raise(0); break;
    case Activation::relu6: raise(0), lower(6); break;
    case Activation::relu_n1_to_1: raise(-1), lower(1); break;
  }
  range.max = std::max(range.min, range.max);  // an activation outside the type's range leaves one value
  return range;
}

IntegerRange bounds_of(const OutputBounds& bounds, const ModelTensor& output) {
  return bounds.clamp ? *bounds.clamp : bounds_of(bounds.activation, output);
}

void require_equal_quantization(const Operation& operation, const ModelTensor& input, const ModelTensor& output) {
  const bool equal =
      input.quantization.scale() == output.quantization.scale() && input.quantization.zero_point() == output.quantization.zero_point();
  if (!equal) throw_unsupported(operation, "'" + input.name + "' and the output differ in scale or zero point; the backend only copies");
}

RescaleOperands operands_for(const EncodedScale& scale, const ModelTensor& output, IntegerRange bounds) {
  return {.scale = scale,
          .zero_point = output.quantization.zero_point(),
          .min = bounds.min,
          .max = bounds.max,
          .output_bits = bits_of(output.type)};
}

std::vector<std::int64_t> centred(const Tensor& tensor, std::int64_t zero_point) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(tensor.element_count()));
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      std::transform(tensor.values<T>().begin(), tensor.values<T>().end(), out.begin(),
                     [=](T value) { return static_cast<std::int64_t>(value) - zero_point; });
    }
  });
  return out;
}

void centre(const Tensor& tensor, std::span<const std::int64_t> zero_points, std::size_t inner, std::span<std::int16_t> out) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 2 && !std::is_same_v<T, bool>) {
      const auto values = tensor.values<T>();
      for (std::size_t i = 0; i < values.size(); i += inner) {
        const auto zero =
            static_cast<std::int32_t>(zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : i / inner % zero_points.size()]);
        for (std::size_t j = i; j < std::min(i + inner, values.size()); ++j) out[j] = static_cast<std::int16_t>(values[j] - zero);
      }
    }
  });
}

ChannelIndex::ChannelIndex(const ModelTensor& tensor) {
  if (!tensor.quantization.per_channel()) return;
  const auto axis = static_cast<std::size_t>(tensor.quantization.axis);
  channels_ = static_cast<std::size_t>(tensor.shape[axis]);
  for (std::size_t later = axis + 1; later < tensor.shape.rank(); ++later) inner_ *= static_cast<std::size_t>(tensor.shape[later]);
}

}  // namespace lastbit
