// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a layer's tensors mean to the arithmetic: output bounds, encoded scales, centred values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/arith/accumulator.hpp"
#include "lastbit/arith/rescale.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// Throws Error(unsupported_operation) saying what the backend cannot do with an operation of this kind; the emulator says
/// which one it is.
[[noreturn]] void throw_unsupported(const Operation& operation, const std::string& what);

/// The chain that delivers an operation's output. Throws Error(unsupported_operation) for one that does not end in clamp or clamp_to_type, whose
/// codes could wrap into the element type, and for a table or pwl stage, for which no operation of a model brings the values.
[[nodiscard]] const Chain& output_chain(const Operation& operation, const Chain& chain);
/// The same, where the layer has bounds: its activation and its clip of the accumulators must be ones that the chain's stages carry out.
[[nodiscard]] const Chain& output_chain(const Operation& operation, const Chain& chain, const OutputBounds& bounds);

/// The chain that delivers what is stored between runs: as output_chain, but it may also end in a narrowing to the type's width, so that
/// codes wrap as the device wraps them.
[[nodiscard]] const Chain& storage_chain(const Operation& operation, const Chain& chain, ElementType type);

/// Throws Error(unsupported_operation) for weights with a zero point other than 0, or with one per channel.
void require_centred_weights(const Operation& operation, const ModelTensor& weights);

/// What an operation's attributes state, or its kind: relu, relu6, relu_n1_to_1.
[[nodiscard]] OutputBounds bounds_of(const Operation& operation);

/// Quantised bounds of an output: its type's range, narrowed by the fused activation, or by an explicit clamp.
/// Source: TFLite CalculateActivationRangeQuantized: zero point + round half away(bound / scale), the quotient in float.
[[nodiscard]] IntegerRange bounds_of(const OutputBounds& bounds, const ModelTensor& output);
[[nodiscard]] IntegerRange bounds_of(Activation activation, const ModelTensor& output);

[[nodiscard]] inline Rectifier rectifier_of(Activation activation) {
  if (activation == Activation::absolute) return Rectifier::magnitude;
  return activation == Activation::relu || activation == Activation::relu6 ? Rectifier::at_zero : Rectifier::none;
}

/// Throws Error(unsupported_operation) naming the tensors unless scale and zero point are the same.
void require_equal_quantization(const Operation& operation, const ModelTensor& input, const ModelTensor& output);

/// Chain operands of a layer with one effective scale.
[[nodiscard]] RescaleOperands operands_for(const EncodedScale& scale, const ModelTensor& output, IntegerRange bounds);

/// Chain operands of a layer, one entry per effective scale: scales encoded, bounds, rectifier and clip. Throws
/// Error(unsupported_operation) for a scale that the encoding's form does not hold.
[[nodiscard]] std::vector<RescaleOperands> layer_operands(const Operation& operation, const ScaleEncoding& encoding,
                                                          const std::vector<double>& scales, const ModelTensor& output,
                                                          const OutputBounds& bounds);

/// Throws Error(unsupported_operation) for a scale that the encoding's form does not hold.
void require_held(const Operation& operation, const ScaleEncoding& encoding, const EncodedScale& encoded);

/// What a layer states of its registers. Throws Error(unsupported_operation) for a multiplier that the device's bits do not hold.
[[nodiscard]] EncodedScale held_registers(const Operation& operation, const ScaleEncoding& encoding, const ScaleRegister& given,
                                          double real);
/// The same of an average, which has one for all channels; nothing where it states none.
[[nodiscard]] std::optional<EncodedScale> one_register(const Operation& operation, const ScaleEncoding& encoding,
                                                       const OutputBounds& bounds);

/// Effective scales in / out, one for every scale of the input.
[[nodiscard]] std::vector<double> scales_to(const RescaleRule& rule, const Quantization& input, const ModelTensor& output);

/// Values minus zero point, widened. Integer tensors only.
[[nodiscard]] std::vector<std::int64_t> centred(const Tensor& tensor, std::int64_t zero_point);

/// 8- or 16-bit values minus zero point as int16 or, where uint16 asks for it, int32; `zero_points` has one entry, or one per index of the
/// axis whose inner size is `inner`.
template <class Value>
void centre(const Tensor& tensor, std::span<const std::int64_t> zero_points, std::size_t inner, std::span<Value> out);

/// Width that every accumulator of the rule fits.
[[nodiscard]] inline int width_of_sums(const AccumulatorRule& rule) { return rule.overflow == Overflow::exact ? 64 : rule.bits; }

/// Which of a tensor's scales belongs to an element: by the index along the quantisation's axis; the only one where there is one.
class ChannelIndex {
 public:
  explicit ChannelIndex(const ModelTensor& tensor);
  [[nodiscard]] std::size_t operator()(std::size_t element) const { return element / inner_ % channels_; }

 private:
  std::size_t channels_ = 1, inner_ = 1;
};

/// Widths of the storage: 8, 16, 32 or 64.
[[nodiscard]] inline int bits_of(ElementType type) { return static_cast<int>(size_of(type)) * 8; }

}  // namespace lastbit
