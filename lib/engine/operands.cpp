// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/operands.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

bool has_stage(const Chain& chain, StageKind kind) {
  return std::any_of(chain.begin(), chain.end(), [=](const Stage& stage) { return stage.kind == kind; });
}

[[noreturn]] void throw_scale(const Operation& operation, const ScaleEncoding& encoding, double real) {
  std::ostringstream text;
  text << std::setprecision(9) << "the scale in*w/out is " << real << "; the device can only shift: it must be "
       << (encoding.form == MultiplierForm::power_of_two ? "2^e" : "(2^k + 1) * 2^e with k from 0 to ");
  if (encoding.form == MultiplierForm::power_of_two_plus_one) text << encoding.significant_bits - 1;
  text << (encoding.form == MultiplierForm::power_of_two ? " with" : ",") << " e from " << encoding.min_exponent << " to "
       << encoding.max_exponent << " (quantize the network for this backend)";
  throw_unsupported(operation, text.str());
}

EncodedScale held_scale(const Operation& operation, const ScaleEncoding& encoding, double real, double largest) {
  const EncodedScale encoded = encode(encoding, real, largest);
  require_held(operation, encoding, encoded);
  return encoded;
}

std::int64_t quantized_bound(float real, const Quantization& quantization) {
  return quantization.zero_point() + round_to_integer(real / static_cast<float>(quantization.scale()), Rounding::half_away);
}

bool has_offset(const std::vector<ScaleRegister>& registers) {
  return std::any_of(registers.begin(), registers.end(), [](const ScaleRegister& each) { return each.offset != 0; });
}

void require_held(const Operation& operation, const ScaleEncoding& encoding, const ScaleRegister& given) {
  if (!fits_width(given.multiplier, encoding.significant_bits + 1))
    throw_unsupported(operation, "the multiplier " + std::to_string(given.multiplier) + " of its registers does not fit the device's " +
                                     std::to_string(encoding.significant_bits) + " bits");
}

StatedScale stated_scale(const ScaleRegister& stated) { return {stated.offset, stated.multiplier, stated.shift}; }

/// Whether the chain has the stages, and its multiplier the bits, for what a layer states of its converter.
void require_converter(const Operation& operation, const Chain& chain, const std::vector<ScaleRegister>& converter) {
  if (converter.empty()) return;
  const auto multiplies = std::find_if(chain.begin(), chain.end(), [](const Stage& stage) { return reads_converter({stage}); });
  if (multiplies == chain.end()) throw_unsupported(operation, "the backend's chain has no converter");
  if (has_offset(converter) && !has_stage(chain, StageKind::add_converter_offset))
    throw_unsupported(operation, "the backend's chain has no place for the offset of a converter");
  for (const ScaleRegister& each : converter) {
    if (!fits_width(each.multiplier, multiplies->bits))
      throw_unsupported(operation, "the multiplier " + std::to_string(each.multiplier) + " of its converter does not fit the device's " +
                                       std::to_string(multiplies->bits) + " bits");
  }
}

/// A function in segments is stated where the chain has one, with the scale before it, in whose units the segments start; and only there.
void require_segments(const Operation& operation, const Chain& chain, const OutputBounds& bounds) {
  const auto stage = std::find_if(chain.begin(), chain.end(), [](const Stage& each) { return each.kind == StageKind::segments; });
  const bool has = stage != chain.end();
  if (!has && !bounds.segments.empty()) throw_unsupported(operation, "the backend's chain has no function in segments");
  if (has && (bounds.segments.empty() || bounds.registers.empty()))
    throw_unsupported(operation, "the layer states no " + std::string(bounds.segments.empty() ? "segments" : "registers") +
                                     "; the backend's output is a function in segments behind a scale, both in registers");
  const std::span<const ScaleSegment> segments = bounds.segments.segments();
  if (has && segments.size() > stage->limit)
    throw_unsupported(operation,
                      "the layer states " + std::to_string(segments.size()) + " segments; the device has " + std::to_string(stage->limit));
  for (const ScaleSegment& each : segments) {
    if (!fits_width(each.multiplier, stage->bits))
      throw_unsupported(operation, "the multiplier " + std::to_string(each.multiplier) + " of its segments does not fit the device's " +
                                       std::to_string(stage->bits) + " bits");
  }
}

/// Registers for values below 0 are stated where the chain reads them; where it shifts by the sign of a product, both shifts are stated, of one multiplier.
void require_below_zero(const Operation& operation, const Chain& chain, const OutputBounds& bounds) {
  const bool by_sign = has_stage(chain, StageKind::shift_right_by_sign);
  const auto &positive = bounds.registers, &negative = bounds.below_zero;
  if (!negative.empty() && !by_sign && !has_stage(chain, StageKind::scale_below_zero))
    throw_unsupported(operation, "the backend's chain has no registers for values below 0");
  if (!by_sign) return;
  if (positive.empty() || negative.empty())
    throw_unsupported(operation, "the layer states no registers for both signs of a product, by which the backend shifts");
  for (std::size_t c = 0; c < std::max(positive.size(), negative.size()); ++c) {
    const std::int64_t multiplier = positive[positive.size() == 1 ? 0 : c].multiplier;
    if (negative[negative.size() == 1 ? 0 : c].multiplier != multiplier)
      throw_unsupported(operation, "the layer states another multiplier below 0 than " + std::to_string(multiplier) +
                                       "; the backend has one, and a shift for each sign");
  }
}

void refuse_unknown_values(const Operation& operation, const Chain& chain) {
  for (const Stage& stage : chain) {
    if (facts_of(stage).needs_values)
      throw_unsupported(operation,
                        "no model brings the values of the " + std::string(name_of(stage.kind)) + " stage in the backend's chain");
  }
}

}  // namespace

void throw_unsupported(const Operation& operation, const std::string& what) {
  throw Error(ErrorCode::unsupported_operation, std::string(name_of(operation.kind)), what);
}

const Chain& output_chain(const Operation& operation, const Chain& chain) {
  refuse_unknown_values(operation, chain);
  const bool bounded = !chain.empty() && facts_of(chain.stages[chain.size - 1U]).bounds_output;
  if (!bounded) throw_unsupported(operation, "the backend's chain does not end in clamp or clamp_to_type");
  return chain;
}

const Chain& output_chain(const Operation& operation, const Chain& chain, const OutputBounds& bounds) {
  if (!bounds.accumulator_clip.empty() && !has_stage(chain, StageKind::clamp_accumulator))
    throw_unsupported(operation, "the backend's chain has no clamp_accumulator stage for accumulator_clip");
  const auto multiplies = [](const Stage& stage) { return scale_of(stage) == ScaleUse::multiplier; };
  if (!bounds.registers.empty() && std::none_of(chain.begin(), chain.end(), multiplies))
    throw_unsupported(operation, "the backend's chain has no multiplier for registers");
  if (has_offset(bounds.registers) && !has_stage(chain, StageKind::add_offset))
    throw_unsupported(operation, "the backend's chain has no place for the offset of registers");
  require_below_zero(operation, chain, bounds);
  require_converter(operation, chain, bounds.converter);
  require_segments(operation, chain, bounds);
  const bool takes_magnitude = bounds.activation == Activation::absolute;
  if (takes_magnitude && !has_stage(chain, StageKind::absolute)) throw_unsupported(operation, "the backend's chain has no stage absolute");
  const bool rectified = takes_magnitude || (bounds.activation == Activation::relu && has_stage(chain, StageKind::relu));
  if (ends_in(chain, StageKind::clamp_to_type) && bounds.activation != Activation::none && !rectified)
    throw_unsupported(
        operation, "the backend's chain ends in clamp_to_type and has no stage for activation " + std::string(name_of(bounds.activation)));
  return output_chain(operation, chain);
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

OutputBounds bounds_of(const Operation& operation) {
  if (const auto activation = activation_from(name_of(operation.kind))) return {.activation = *activation};
  return std::visit(
      []<class T>(const T& attributes) -> OutputBounds {
        if constexpr (requires { attributes.bounds; }) return attributes.bounds;
        else return {};
      },
      operation.attributes);
}

IntegerRange bounds_of(Activation activation, const ModelTensor& output) {
  IntegerRange range = range_of(output.type);
  const auto raise = [&](float real) { range.min = std::max(range.min, quantized_bound(real, output.quantization)); };
  const auto lower = [&](float real) { range.max = std::min(range.max, quantized_bound(real, output.quantization)); };
  switch (activation) {
    case Activation::none:
    case Activation::absolute: break;  // a stage of its own
    case Activation::relu: raise(0); break;
    case Activation::relu6: raise(0), lower(6); break;
    case Activation::relu_n1_to_1: raise(-1), lower(1); break;
  }
  range.max = std::max(range.min, range.max);  // an activation outside the type's range leaves one value
  return range;
}

IntegerRange bounds_of(const OutputBounds& bounds, const ModelTensor& output) {
  if (!bounds.clamp) return bounds_of(bounds.activation, output);
  const IntegerRange active = bounds_of(bounds.activation, output);  // the whole type without an activation
  return {std::clamp(active.min, bounds.clamp->min, bounds.clamp->max), std::clamp(active.max, bounds.clamp->min, bounds.clamp->max)};
}

void require_equal_quantization(const Operation& operation, const ModelTensor& input, const ModelTensor& output) {
  const bool equal =
      input.quantization.scale() == output.quantization.scale() && input.quantization.zero_point() == output.quantization.zero_point();
  if (!equal) throw_unsupported(operation, "'" + input.name + "' and the output differ in scale or zero point; the backend only copies");
}

void require_held(const Operation& operation, const ScaleEncoding& encoding, const EncodedScale& encoded) {
  if (!holds(encoding, encoded)) throw_scale(operation, encoding, encoded.real_f64);
}

EncodedScale held_registers(const Operation& operation, const ScaleEncoding& encoding, const ScaleRegister& given, double real) {
  require_held(operation, encoding, given);
  return as_registers(encoding, given.multiplier, given.shift, real);
}

std::optional<EncodedScale> one_register(const Operation& operation, const ScaleEncoding& encoding, const OutputBounds& bounds) {
  if (bounds.registers.empty()) return std::nullopt;
  return held_registers(operation, encoding, bounds.registers[0], 1);
}

RescaleOperands operands_for(const EncodedScale& scale, const ModelTensor& output, IntegerRange bounds) {
  const IntegerRange storage = range_of(output.type);
  return {.scale = scale,
          .zero_point = output.quantization.zero_point(),
          .min = bounds.min,
          .max = bounds.max,
          .output_bits = bits_of(output.type),
          .storage_min = storage.min,
          .storage_max = storage.max};
}

std::vector<RescaleOperands> layer_operands(const Operation& operation, const ScaleEncoding& encoding, const std::vector<double>& scales,
                                            const ModelTensor& output, const OutputBounds& bounds) {
  const double largest = *std::max_element(scales.begin(), scales.end());
  const auto& clips = bounds.accumulator_clip;
  const auto& registers = bounds.registers;
  const auto &converter = bounds.converter, &below_zero = bounds.below_zero;
  std::vector<RescaleOperands> list;
  for (std::size_t c = 0; c < std::max({scales.size(), clips.size(), registers.size(), below_zero.size(), converter.size()}); ++c) {
    const double real = scales[scales.size() == 1 ? 0 : c];
    const EncodedScale encoded = registers.empty() ? held_scale(operation, encoding, real, largest)
                                                   : held_registers(operation, encoding, registers[registers.size() == 1 ? 0 : c], real);
    RescaleOperands operands = operands_for(encoded, output, bounds_of(bounds, output));
    operands.rectifier = rectifier_of(bounds.activation);
    if (bounds.clamp) operands.storage_min = bounds.clamp->min, operands.storage_max = bounds.clamp->max;
    if (!clips.empty()) operands.clip = clips[clips.size() == 1 ? 0 : c];
    if (!registers.empty()) operands.offset = registers[registers.size() == 1 ? 0 : c].offset;
    if (!below_zero.empty()) {
      const ScaleRegister& stated = below_zero[below_zero.size() == 1 ? 0 : c];
      require_held(operation, encoding, stated);
      operands.below_zero = stated_scale(stated);
    }
    operands.segments = bounds.segments.segments();
    if (!converter.empty()) operands.converter = stated_scale(converter[converter.size() == 1 ? 0 : c]);
    list.push_back(operands);
  }
  return list;
}

std::vector<double> scales_to(const RescaleRule& rule, const Quantization& input, const ModelTensor& output) {
  std::vector<double> scales;
  for (std::size_t c = 0; c < std::max<std::size_t>(1, input.scales.size()); ++c)
    scales.push_back(effective_scale(rule, one_operand(input.scale(c), 1, output.quantization.scale())));
  return scales;
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

template <class Value>
void centre(const Tensor& tensor, std::span<const std::int64_t> zero_points, std::size_t inner, std::span<Value> out) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 2 && !std::is_same_v<T, bool>) {
      const auto values = tensor.values<T>();
      for (std::size_t i = 0; i < values.size(); i += inner) {
        const auto zero =
            static_cast<std::int32_t>(zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : i / inner % zero_points.size()]);
        for (std::size_t j = i; j < std::min(i + inner, values.size()); ++j) out[j] = static_cast<Value>(values[j] - zero);
      }
    }
  });
}

template void centre(const Tensor&, std::span<const std::int64_t>, std::size_t, std::span<std::int16_t>);
template void centre(const Tensor&, std::span<const std::int64_t>, std::size_t, std::span<std::int32_t>);

ChannelIndex::ChannelIndex(const ModelTensor& tensor) {
  if (!tensor.quantization.per_channel()) return;
  const auto axis = static_cast<std::size_t>(tensor.quantization.axis);
  channels_ = static_cast<std::size_t>(tensor.shape[axis]);
  for (std::size_t later = axis + 1; later < tensor.shape.rank(); ++later) inner_ *= static_cast<std::size_t>(tensor.shape[later]);
}

}  // namespace lastbit
