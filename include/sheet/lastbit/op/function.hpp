// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// logistic and tanh of one code, and softmax of a row of codes. Contract, by FunctionMethod (backend.hpp):
//   float_table…         float(f(double(float(in) * float(q - zero point)))), quantised by quantizer_of: one rounding by the rule. softmax, float_table
//                        alone: exp(beta * in * (q - max)) / sum in double, rounded to float, then likewise;
//   float_table_8bit     of 8-bit data f in float32 step by step, exp and tanh rounded as such; logistic gives scale 1/256. Of 16-bit data: fixed_point;
//   float_ratio          arith/float32_function.hpp, quantised likewise;
//   float_exponentials   softmax of one 8-bit type: arith/float_softmax.hpp;
//   fixed_point…         arith/fixed_activation.hpp, arith/fixed_softmax.hpp; the arguments by the rule's chain, within the function's domain;
//   table_entry          arith/fixed_activation.hpp.
// Shapes: of the input; softmax goes along the last axis. Units: codes with a scale each.
// Errors: where a method has no arithmetic for the types, or gives codes of another quantisation than the output's (FunctionRefusal).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "lastbit/arith/fixed_activation.hpp"
#include "lastbit/arith/fixed_softmax.hpp"
#include "lastbit/arith/float32_function.hpp"
#include "lastbit/arith/float_softmax.hpp"
#include "lastbit/arith/rescale.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// A tensor's codes, as a function reads or gives them.
struct FunctionCodes {
  ElementType type = ElementType::int8;
  IntegerRange range{};
  double scale = 1;
  std::int64_t zero_point = 0;
  bool stated = true;  ///< whether it has a quantisation
};

/// Why a device does not compute a layer. input_type, output_type: it has no arithmetic for such data; …_codes: they must have another quantisation,
/// which scale_of, codes_of say; output_scale: the output's zero point alone is free.
enum class FunctionRefusal : std::uint8_t { none, absent, input_type, output_type, input_codes, output_codes, output_scale };

/// The quantisation that a function gives, whatever the output says.
struct GivenCodes {
  double scale = 1;
  std::int64_t zero_point = 0;
};

/// Scales of 16-bit outputs, which converters write as 1/65535 as well, may be a thousandth off, as in tflite-micro softmax_common.cc.
[[nodiscard]] constexpr bool is_given(const FunctionCodes& out, const GivenCodes& given) noexcept {
  const double tolerance = size_of(out.type) == 1 ? 0 : 0.001;
  const double off = out.scale < given.scale ? given.scale - out.scale : out.scale - given.scale;
  return out.stated && off <= tolerance * given.scale && out.zero_point == given.zero_point;
}

/// Whether the method is f in float of every code, and how its value is quantised.
[[nodiscard]] constexpr bool is_float_table(FunctionMethod method) noexcept {
  return method == FunctionMethod::float_table || method == FunctionMethod::float_table_by_inverse ||
         method == FunctionMethod::float_table_onto_zero_point;
}
[[nodiscard]] constexpr QuantizeArithmetic quantizer_of(const FunctionArithmetic& rule) noexcept {
  QuantizeArithmetic quantizer = by_division(rule.rounding);
  const bool onto_zero_point = rule.method == FunctionMethod::float_table_onto_zero_point;
  if (onto_zero_point || rule.method == FunctionMethod::float_table_by_inverse) quantizer.division = ScaleDivision::multiply_by_inverse;
  if (onto_zero_point) quantizer.zero_point = ZeroPointAt::before_rounding;
  return quantizer;
}

/// What a code stands for, as functions in float read it.
[[nodiscard]] constexpr float real_in_float(const FunctionCodes& in, std::int64_t code) noexcept {
  return static_cast<float>(in.scale) * static_cast<float>(code - in.zero_point);
}

/// The argument of a fixed-point function. Whatever a chain of the user's own makes of it, it stays in the function's domain.
[[nodiscard]] constexpr std::int32_t fixed_argument(const Chain& chain, const EncodedScale& scale, std::int32_t value,
                                                    std::int32_t largest) {
  const RescaleOperands operands{.scale = scale};
  return static_cast<std::int32_t>(std::min<std::int64_t>(narrow_saturate(finish(chain, value, operands), 32), largest));
}

/// How a method computes logistic or tanh of codes of a type.
enum class SigmoidWay : std::uint8_t { none, in_double, in_float, by_ratio, fixed_point, table_entry };
[[nodiscard]] constexpr SigmoidWay sigmoid_way(FunctionMethod method, ElementType in) noexcept {
  if (method == FunctionMethod::table_entry) return SigmoidWay::table_entry;
  if (method == FunctionMethod::float_table_8bit) return size_of(in) == 1 ? SigmoidWay::in_float : SigmoidWay::fixed_point;
  if (method == FunctionMethod::float_ratio) return SigmoidWay::by_ratio;
  if (method == FunctionMethod::fixed_point) return SigmoidWay::fixed_point;
  return is_float_table(method) ? SigmoidWay::in_double : SigmoidWay::none;
}

/// What the fixed-point function and the table give of data of a type.
template <Sigmoid function>
[[nodiscard]] constexpr GivenCodes codes_of_sigmoid(ElementType in) noexcept {
  if (size_of(in) != 1) return {1.0 / 32768, 0};
  return function == Sigmoid::logistic ? GivenCodes{1.0 / 256, -128} : GivenCodes{1.0 / 128, 0};
}

/// Why a layer of logistic or tanh is not computed.
template <Sigmoid function>
[[nodiscard]] constexpr FunctionRefusal refusal_of_sigmoid(const FunctionArithmetic& rule, const FunctionCodes& in,
                                                           const FunctionCodes& out) noexcept {
  using enum FunctionRefusal;
  const SigmoidWay way = sigmoid_way(rule.method, in.type);
  const FunctionRefusal of_output = is_given(out, codes_of_sigmoid<function>(in.type)) ? none : output_codes;
  if (way == SigmoidWay::table_entry) {
    if (in.type != ElementType::int32) return input_type;
    return in.scale != 0x1p-12 || in.zero_point != 0 ? input_codes : of_output;
  }
  if (way == SigmoidWay::in_float) return function == Sigmoid::logistic && out.scale != 1.0 / 256 ? output_scale : none;
  if (rule.method == FunctionMethod::absent) return absent;
  if (in.type == ElementType::int32) return input_type;
  if (way == SigmoidWay::in_double || way == SigmoidWay::by_ratio) return none;
  if (way == SigmoidWay::none || in.type != out.type) return output_type;
  return in.type == ElementType::int16 || in.type == ElementType::int8 ? of_output : input_type;
}

/// logistic or tanh of the codes of one layer, which refusal_of_sigmoid does not refuse.
template <Sigmoid function>
class SigmoidOfCodes {
 public:
  constexpr SigmoidOfCodes(const FunctionArithmetic& rule, const FunctionCodes& in, const FunctionCodes& out)
      : way_(sigmoid_way(rule.method, in.type)), in_(in), out_(out), chain_(rule.input.chain), quantizer_(quantizer_of(rule)) {
    if (way_ != SigmoidWay::fixed_point) return;
    if (in.type == ElementType::int16) table_ = sigmoid_table_input(function, in.scale);
    else parameters_ = sigmoid_parameters(rule.input.scale, in.scale);
  }

  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t code) const {
    if (way_ == SigmoidWay::table_entry) return sigmoid_entry<function>(code);
    if (way_ != SigmoidWay::fixed_point)
      return quantize(quantizer_, real(real_in_float(in_, code)), static_cast<float>(out_.scale), out_.zero_point, out_.range);
    if (in_.type == ElementType::int16) return sigmoid_i16<function>(static_cast<std::int16_t>(code), table_);
    return sigmoid_i8<function>(static_cast<std::int32_t>(code - in_.zero_point), parameters_.radius, [this](std::int32_t value) {
      return fixed_argument(chain_, parameters_.scale, value, std::numeric_limits<std::int32_t>::max());
    });
  }

 private:
  [[nodiscard]] float real(float x) const {
    constexpr bool is_logistic = function == Sigmoid::logistic;
    if (way_ == SigmoidWay::by_ratio) return is_logistic ? logistic_by_ratio(x) : tanh_by_ratio(x);
    if (!is_logistic) return static_cast<float>(std::tanh(double{x}));
    if (way_ == SigmoidWay::in_float) return 1.0F / (1.0F + static_cast<float>(std::exp(-double{x})));
    return static_cast<float>(1.0 / (1.0 + std::exp(-double{x})));
  }

  SigmoidWay way_;
  FunctionCodes in_, out_;
  Chain chain_;
  QuantizeArithmetic quantizer_;
  SigmoidParameters parameters_{};
  SigmoidTableInput table_{};
};

/// What softmax in fixed point gives: of 16-bit data scale 2^-15; of 8-bit data the whole range of the output's type.
[[nodiscard]] constexpr GivenCodes codes_of_softmax(ElementType in, const FunctionCodes& out) noexcept {
  if (in == ElementType::int16) return {1.0 / 32768, 0};
  return {size_of(out.type) == 1 ? 1.0 / 256 : 1.0 / 65536, out.range.min};
}

/// Why a softmax is not computed.
[[nodiscard]] constexpr FunctionRefusal refusal_of_softmax(const FunctionArithmetic& rule, const FunctionCodes& in,
                                                           const FunctionCodes& out) noexcept {
  using enum FunctionRefusal;
  const ElementType from = in.type;
  if (rule.method == FunctionMethod::absent) return absent;
  if (rule.method == FunctionMethod::float_table) return none;
  if (rule.method == FunctionMethod::float_exponentials) return size_of(from) == 1 && out.type == from ? none : input_type;
  if (rule.method != FunctionMethod::fixed_point && rule.method != FunctionMethod::fixed_point_by_double) return input_type;
  const bool fits = out.type == from ? from == ElementType::int8 || from == ElementType::uint8 || from == ElementType::int16
                                     : from == ElementType::int8 && out.type == ElementType::int16;
  if (!fits) return input_type;
  return is_given(out, codes_of_softmax(from, out)) ? none : output_codes;
}

/// Softmax of a row of 16-bit codes in fixed point.
struct FixedSoftmaxI16 {
  Chain chain{};
  EncodedScale scale{};
  const InterpolationTable* reciprocals = nullptr;

  constexpr void operator()(std::span<const std::int16_t> in, std::span<std::int16_t> out) const {
    softmax_row_i16(
        in, out, [this](std::int32_t value) { return fixed_argument(chain, scale, value, 0); }, *reciprocals);
  }
};

/// Softmax of a row of 8-bit codes in fixed point: exp of every difference that counts, by its magnitude.
template <class In, class Out>
struct FixedSoftmaxI8 {
  std::int32_t smallest_difference = 0;
  std::array<std::int32_t, 256> exponentials{};

  constexpr FixedSoftmaxI8(const FixedPointInput& rule, double beta, double scale) {
    const SoftmaxParameters parameters = softmax_parameters(rule.scale, beta, scale);
    smallest_difference = parameters.smallest_difference;
    for (std::int32_t difference = 0; difference >= -255 && difference >= smallest_difference; --difference) {
      exponentials[static_cast<std::size_t>(-difference)] =
          softmax_exponential(difference, [&](std::int32_t value) { return fixed_argument(rule.chain, parameters.scale, value, 0); });
    }
  }
  constexpr void operator()(std::span<const In> in, std::span<Out> out) const {
    softmax_row_of<In, Out>(in, out, smallest_difference,
                            [this](std::int32_t difference) { return exponentials[static_cast<std::size_t>(-difference)]; });
  }
};

/// Softmax of a row of 8-bit codes by a table of float32 exponentials.
template <class T>
struct ExponentialSoftmax {
  std::array<float, 256> table{};
  float steps = 0;
  std::int64_t zero_point = 0;
  Rounding rounding = unstated<Rounding>;

  void operator()(std::span<const T> in, std::span<T> out) const {
    softmax_row_by_exponentials<T>(in, out, table, steps, zero_point, rounding);
  }
};

/// Softmax of a row in double, one rounding to the output.
template <class In, class Out>
struct FloatSoftmax {
  QuantizeArithmetic quantizer{};
  double scale = 1;
  FunctionCodes to{};
  std::array<double, 256> exponentials{};  ///< of differences of 8-bit codes

  FloatSoftmax(Rounding rounding, double beta, double in_scale, const FunctionCodes& out)
      : quantizer(by_division(rounding)), scale(beta * in_scale), to(out) {
    for (std::size_t difference = 0; difference < exponentials.size(); ++difference)
      exponentials[difference] = std::exp(scale * -static_cast<double>(difference));
  }
  void operator()(std::span<const In> in, std::span<Out> out) const {
    thread_local std::vector<double> shares;
    shares.resize(in.size());
    const In top = *std::max_element(in.begin(), in.end());
    double sum = 0;
    for (std::size_t c = 0; c < in.size(); ++c) {
      const std::int64_t difference = std::int64_t{in[c]} - top;
      shares[c] = sizeof(In) == 1 ? exponentials[static_cast<std::size_t>(-difference)] : std::exp(scale * static_cast<double>(difference));
      sum += shares[c];
    }
    for (std::size_t c = 0; c < in.size(); ++c) {
      const auto share = static_cast<float>(shares[c] / sum);
      out[c] = static_cast<Out>(quantize(quantizer, share, static_cast<float>(to.scale), to.zero_point, to.range));
    }
  }
};

/// body(row) with the function of a row, of a layer that refusal_of_softmax does not refuse; row(span of codes, span of the output's).
template <class In, class Out, class Body>
constexpr auto with_softmax(const FunctionArithmetic& rule, double beta, std::size_t columns, const FunctionCodes& in,
                            const FunctionCodes& out, Body&& body) {
  if constexpr (sizeof(In) == 1 && std::is_same_v<In, Out>) {
    if (rule.method == FunctionMethod::float_exponentials) {
      const auto table = softmax_float_exponentials(static_cast<float>(beta * in.scale), columns);
      return body(ExponentialSoftmax<In>{table, std::floor(1.0F / static_cast<float>(out.scale)), out.zero_point, rule.rounding});
    }
  }
  if constexpr (std::is_same_v<In, std::int16_t> && std::is_same_v<Out, std::int16_t>) {
    if (rule.method != FunctionMethod::float_table) {
      const bool by_double = rule.method == FunctionMethod::fixed_point_by_double;
      return body(FixedSoftmaxI16{rule.input.chain, softmax_scale_i16(rule.input.scale, beta, in.scale),
                                  by_double ? &one_over_one_plus_table_q0_15_by_double : &one_over_one_plus_table_q0_15});
    }
  } else if constexpr (std::is_same_v<In, Out> || (std::is_same_v<In, std::int8_t> && std::is_same_v<Out, std::int16_t>)) {
    if (rule.method != FunctionMethod::float_table) return body(FixedSoftmaxI8<In, Out>(rule.input, beta, in.scale));
  }
  return body(FloatSoftmax<In, Out>(rule.rounding, beta, in.scale, out));
}

}  // namespace lastbit
