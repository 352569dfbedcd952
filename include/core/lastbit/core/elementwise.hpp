// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Value by value: add, sub, mul (op/add.hpp), rescale, relu, concat, quantize, dequantize (op/quantize.hpp). Two forms of each, as in core/products.hpp.
#pragma once

#include "lastbit/core/products.hpp"
#include "lastbit/op/add.hpp"
#include "lastbit/op/delegated_layers.hpp"
#include "lastbit/op/float16_quantize.hpp"
#include "lastbit/op/quantize.hpp"

namespace lastbit {
namespace core {

/// Two shapes that meet as numpy's do. Throws Error(shape_mismatch).
[[nodiscard]] constexpr Extents broadcast(std::string_view operation, const Extents& a, const Extents& b) {
  const Extents &longer = a.rank() >= b.rank() ? a : b, &shorter = a.rank() >= b.rank() ? b : a;
  std::array<std::int64_t, Extents::most> sizes{};
  for (std::size_t axis = 0; axis < longer.rank(); ++axis) {
    const std::size_t lead = longer.rank() - shorter.rank();
    const std::int64_t other = axis < lead ? 1 : shorter[axis - lead];
    if (longer[axis] != other && longer[axis] != 1 && other != 1)
      throw Error(ErrorCode::shape_mismatch, std::string(operation), a.text() + " and " + b.text() + " do not broadcast");
    sizes[axis] = longer[axis] == 1 ? other : longer[axis];
  }
  return Extents(std::span<const std::int64_t>(sizes.data(), longer.rank()));
}

/// Of output `index`: which value of an operand meets there.
[[nodiscard]] constexpr std::size_t met_by(std::size_t index, const Extents& out, const Extents& operand) {
  std::size_t at = 0, step = 1;
  for (std::size_t back = 1; back <= out.rank(); ++back) {
    const auto size = static_cast<std::size_t>(out[out.rank() - back]), place = index % size;
    index /= size;
    if (back > operand.rank()) continue;
    const auto own = static_cast<std::size_t>(operand[operand.rank() - back]);
    if (own > 1) at += place * step;
    step *= own;
  }
  return at;
}

template <class Y, class Value>
[[nodiscard]] constexpr Array<Y> each_pair(const Extents& shape, const OutputOptions& out, const Extents& a, const Extents& b,
                                           Value&& value) {
  Array<Y> y{std::vector<Y>(static_cast<std::size_t>(shape.count()), Y{0}), shape, out.scale, out.zero_point};
  for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] = static_cast<Y>(value(met_by(i, shape, a), met_by(i, shape, b)));
  return y;
}

inline constexpr auto rescale_chain_of = [](const RescaleRule& rule) -> const Chain& { return rule.chain; };
inline constexpr auto operand_chain_of = [](const SumArithmetic& rule) -> const Chain& { return rule.operand.chain; };
inline constexpr auto total_chain_of = [](const SumArithmetic& rule) -> const Chain& { return rule.output.chain; };

/// Sums in integers.
template <class Rule, Code X>
[[nodiscard]] constexpr Array<X> integer_sum(std::string_view operation, const Rule& held, const View<X>& a, const View<X>& b,
                                             std::int64_t sign, const OutputOptions& out) {
  const SumArithmetic& rule = held();
  require_output_chain(rule.output.chain, operation, out.activation);
  require(!rule.operand.chain.empty() || (a.scale() == b.scale() && a.zero_point() == b.zero_point()), operation,
          "the device adds codes of one quantisation");
  require(applies_scale(rule.operand.chain) || applies_scale(rule.output.chain) || out.scale == a.scale(), operation,
          "the device rescales nothing: the output must have the operands' scale");
  SumLayer layer{.operands = {}, .out_scale = out.scale};
  layer.operands.push_back({a.scale(), a.zero_point(), 1});
  layer.operands.push_back({b.scale(), b.zero_point(), sign});
  ResolvedSum sum = resolve(rule, layer);
  if (!rule.operand.chain.empty()) {
    for (const ResolvedSum::Term& term : sum.terms)
      require(holds(rule.operand.scale, term.rescale.scale), operation, "the device cannot hold the scale of an operand");
  }
  RescaleOperands operands = output_operands<X>(out);
  operands.scale = held_scale(rule.output.scale, operation, sum.output_scale, sum.output_scale);
  const auto term = [&](std::size_t operand, std::int64_t code) {
    const ResolvedSum::Term& by = sum.terms[operand];
    return narrow_saturate(Int128{by.sign} * finish_by(held, operand_chain_of, code - by.zero_point, by.rescale), 64);
  };
  return each_pair<X>(broadcast(operation, a.shape(), b.shape()), out, a.shape(), b.shape(), [&](std::size_t i, std::size_t j) {
    Accumulator total(rule.accumulator, sum.offset);
    total.add(term(0, a.values()[i]));
    total.add(term(1, b.values()[j]));
    return finish_by(held, total_chain_of, total.result(), operands);
  });
}

/// Sums in float32.
template <Code X>
[[nodiscard]] inline Array<X> float_sum(std::string_view operation, const FloatSumArithmetic& rule, const View<X>& a, const View<X>& b,
                                        float sign, const OutputOptions& out) {
  const IntegerRange bounds = bounds_of<X>(out);
  const Extents shape = broadcast(operation, a.shape(), b.shape());
  const auto scale_a = static_cast<float>(a.scale()), scale_b = static_cast<float>(b.scale()), scale_out = static_cast<float>(out.scale);
  if (rule.method == FloatSumMethod::dequantized) {
    const float fixed_a = scale_a * static_cast<float>(-a.zero_point()), fixed_b = scale_b * static_cast<float>(-b.zero_point());
    const float inverse = 1 / scale_out;
    return each_pair<X>(shape, out, a.shape(), b.shape(), [&](std::size_t i, std::size_t j) {
      const float sum = std::fma(scale_a, static_cast<float>(a.values()[i]), fixed_a) +
                        sign * std::fma(scale_b, static_cast<float>(b.values()[j]), fixed_b);
      return std::clamp(round_to_integer(sum * inverse, rule.rounding) + out.zero_point, bounds.min, bounds.max);
    });
  }
  const FloatSum sum = float_sum_of(scale_a, scale_b * sign, scale_out, static_cast<float>(a.zero_point()),
                                    static_cast<float>(b.zero_point()), static_cast<float>(out.zero_point));
  return each_pair<X>(shape, out, a.shape(), b.shape(), [&](std::size_t i, std::size_t j) {
    const float inner = std::fma(static_cast<float>(b.values()[j]), sum.ratio_b, sum.fixed);
    const float value = std::fma(static_cast<float>(a.values()[i]), sum.ratio_a, inner);
    return std::clamp(round_to_integer(value, rule.rounding), bounds.min, bounds.max);
  });
}

template <class Device, Code X>
[[nodiscard]] constexpr bool is_8bit_left(const Device& device, const View<X>& a, const View<X>& b, double out) {
  const DelegatedLayers& layers = device.backend().delegated;
  if (layers.data == DelegatedData::absent) return false;
  return sizeof(X) != 1 || !holds(layers.add, ratio_in_float(a.scale(), out)) || !holds(layers.add, ratio_in_float(b.scale(), out));
}

enum class SumKind : std::uint8_t { add, sub };

/// The rules of add or sub.
template <SumKind kind>
inline constexpr auto sum_rules =
    [](const Backend& device) -> const AddArithmetic& { return kind == SumKind::sub ? device.sub : device.add; };

template <SumKind kind, class Device, Code X>
[[nodiscard]] constexpr Array<X> sum(const Device& device, const View<X>& a, const View<X>& b, const OutputOptions& out) {
  constexpr std::string_view operation = kind == SumKind::sub ? "sub" : "add";
  constexpr std::int64_t sign = kind == SumKind::sub ? -1 : 1;
  require_coding<X>(device.backend(), operation, a.zero_point());
  require_coding<X>(device.backend(), operation, b.zero_point());
  require_coding<X>(device.backend(), operation, out.zero_point);
  require_scale(out, operation);
  const AddArithmetic& rules = sum_rules<kind>(device.backend());
  if (rules.in_float.method != FloatSumMethod::absent) return float_sum(operation, rules.in_float, a, b, static_cast<float>(sign), out);
  const bool above_one =
      !rules.above_one.output.chain.empty() && effective_scale(rules.above_one.output, one_operand(a.scale(), 1, out.scale)) > 1;
  const auto by = [&](const auto& rule) { return integer_sum(operation, rule, a, b, sign, out); };
  if (above_one) return by(device.rule([](const Backend& d) -> const auto& { return sum_rules<kind>(d).above_one; }));
  if constexpr (sizeof(X) == 2) return by(device.rule([](const Backend& d) -> const auto& { return sum_rules<kind>(d).i16; }));
  else if (!is_8bit_left(device, a, b, out.scale))
    return by(device.rule([](const Backend& d) -> const auto& { return sum_rules<kind>(d).i8; }));
  else return by(device.rule([](const Backend& d) -> const auto& { return kind == SumKind::sub ? d.left.sub : d.left.add; }));
}

template <class Device, Code X>
[[nodiscard]] constexpr Array<X> product(const Device& device, const View<X>& a, const View<X>& b, const OutputOptions& out) {
  constexpr std::string_view operation = "mul";
  require_coding<X>(device.backend(), operation, a.zero_point());
  require_coding<X>(device.backend(), operation, b.zero_point());
  require_coding<X>(device.backend(), operation, out.zero_point);
  require_scale(out, operation);
  const bool left = device.backend().delegated.data != DelegatedData::absent && sizeof(X) != 1;
  const auto by = [&](const auto& held) {
    const RescaleRule& rule = held();
    require_output_chain(rule.chain, operation, out.activation);
    require(applies_scale(rule.chain) || out.scale == a.scale() * b.scale(), operation, "the device rescales nothing");
    const double scale = effective_scale(
        rule, {.in = a.scale(), .first_in = a.scale(), .larger_in = std::max(a.scale(), b.scale()), .weight = b.scale(), .out = out.scale});
    RescaleOperands operands = output_operands<X>(out);
    operands.scale = held_scale(rule.scale, operation, scale, scale);
    return each_pair<X>(broadcast(operation, a.shape(), b.shape()), out, a.shape(), b.shape(), [&](std::size_t i, std::size_t j) {
      return finish_by(held, rescale_chain_of,
                       (std::int64_t{a.values()[i]} - a.zero_point()) * (std::int64_t{b.values()[j]} - b.zero_point()), operands);
    });
  };
  if (left) return by(device.rule([](const Backend& d) -> const auto& { return d.left.mul; }));
  return by(device.rule([](const Backend& d) -> const auto& { return d.mul; }));
}

/// Codes of one quantisation as those of another, by a rule.
template <Code Y, class Rule, Code X>
[[nodiscard]] constexpr Array<Y> rescaled(std::string_view operation, const Rule& held, const View<X>& x, const OutputOptions& out) {
  const RescaleRule& rule = held();
  require_output_chain(rule.chain, operation, out.activation);
  const double real = effective_scale(rule, one_operand(x.scale(), 1, out.scale));
  RescaleOperands operands = output_operands<Y>(out);
  operands.scale = held_scale(rule.scale, operation, real, real);
  operands.data_bits = 8 * static_cast<int>(sizeof(X));
  Array<Y> y{std::vector<Y>(x.values().size(), Y{0}), x.shape(), out.scale, out.zero_point};
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = static_cast<Y>(finish_by(held, rescale_chain_of, std::int64_t{x.values()[i]} - x.zero_point(), operands));
  return y;
}

/// For which layer a change of scale is: a ReLU may have a rule of its own, and what a delegate leaves is looked at where it is a layer by itself.
enum class ScaleChange : std::uint8_t { layer, rectifier, in_concat };

/// By the rule that a device has for a change of scale.
template <Code Y, class Device, Code X>
[[nodiscard]] constexpr Array<Y> requantized(std::string_view operation, const Device& device, const View<X>& x, const OutputOptions& out,
                                             ScaleChange change) {
  const Backend& backend = device.backend();
  const auto by = [&](auto get) { return rescaled<Y>(operation, device.rule(get), x, out); };
  if (change == ScaleChange::rectifier && !backend.relu.chain.empty()) return by([](const Backend& d) -> const auto& { return d.relu; });
  const bool one_8bit_type = std::is_same_v<X, Y> && sizeof(X) == 1;
  const bool taken = one_8bit_type && holds(backend.delegated.requantize, ratio_in_float(x.scale(), out.scale));
  if (change == ScaleChange::layer && backend.delegated.data != DelegatedData::absent && !taken)
    return by([](const Backend& d) -> const auto& { return d.left.requantize; });
  if (sizeof(Y) == 4 && !backend.requantize_to_32bit.chain.empty())
    return by([](const Backend& d) -> const auto& { return d.requantize_to_32bit; });
  if ((sizeof(X) == 2 || sizeof(Y) == 2) && !backend.requantize_16bit.chain.empty())
    return by([](const Backend& d) -> const auto& { return d.requantize_16bit; });
  return by([](const Backend& d) -> const auto& { return d.requantize; });
}

template <Code Y, class Device, Code X>
[[nodiscard]] constexpr Array<Y> change_of_scale(const Device& device, const View<X>& x, const OutputOptions& out) {
  constexpr std::string_view operation = "rescale";
  require_coding<X>(device.backend(), operation, x.zero_point());
  require_coding<Y>(device.backend(), operation, out.zero_point);
  require_scale(out, operation);
  const bool retypes = sizeof(X) == 1 && sizeof(Y) == 1 && x.scale() == out.scale &&
                       x.zero_point() - out.zero_point == least_code<X> - least_code<Y> && out.activation == Activation::none;
  if (!retypes) return requantized<Y>(operation, device, x, out, ScaleChange::layer);
  Array<Y> y{std::vector<Y>(x.values().size(), Y{0}), x.shape(), out.scale, out.zero_point};
  std::transform(x.values().begin(), x.values().end(), y.values.begin(),
                 [&](X code) { return static_cast<Y>(std::int64_t{code} - x.zero_point() + out.zero_point); });
  return y;
}

template <class Device, Code X>
[[nodiscard]] constexpr Array<X> rectified(const Device& device, const View<X>& x, const OutputOptions& out) {
  constexpr std::string_view operation = "relu";
  require_coding<X>(device.backend(), operation, x.zero_point());
  require_coding<X>(device.backend(), operation, out.zero_point);
  require_scale(out, operation);
  return requantized<X>(operation, device, x, out, ScaleChange::rectifier);
}

template <class Device>
constexpr void require_conversions(const Device& device, std::string_view operation) {
  require(device.backend().quantize.division != ScaleDivision::absent, operation, "the device has no quantize");
  require(device.backend().dequantize.arithmetic != DequantizeProduct::absent, operation, "the device has no dequantize");
}

/// One input of a concatenation in the output's codes.
template <class Device, Code X>
[[nodiscard]] constexpr std::vector<X> concat_codes(const Device& device, const View<X>& x, const OutputOptions& out) {
  constexpr std::string_view operation = "concat";
  const Backend& backend = device.backend();
  const ConcatMethod method = std::is_same_v<X, std::uint8_t> ? backend.concat.method_uint8 : backend.concat.method;
  require(method != ConcatMethod::absent, operation, "the device cannot concatenate this type");
  if (method == ConcatMethod::rescaled) return requantized<X>(operation, device, x, out, ScaleChange::in_concat).values;
  if (method == ConcatMethod::dequantize) require_conversions(device, operation);
  const bool alike = x.scale() == out.scale && x.zero_point() == out.zero_point;
  require(alike || method != ConcatMethod::copy, operation, "the device only copies: every input must have the output's quantisation");
  const IntegerRange bounds = bounds_of<X>(out);
  const IntegerRange range{least_code<X>, largest_code<X>};
  const ScaleAndBias line = scale_and_bias(static_cast<float>(x.scale()), x.zero_point(), static_cast<float>(out.scale));
  std::vector<X> codes(x.values().size(), X{0});
  std::transform(x.values().begin(), x.values().end(), codes.begin(), [&](X from) {
    std::int64_t code = from;
    if (!alike && method == ConcatMethod::scale_and_bias) code = std::clamp(apply(line, code) + out.zero_point, range.min, range.max);
    else if (!alike)
      code = quantize(backend.quantize, dequantize(backend.dequantize, code - x.zero_point(), x.scale()), static_cast<float>(out.scale),
                      out.zero_point, range);
    return static_cast<X>(std::clamp(code, bounds.min, bounds.max));
  });
  return codes;
}

template <class Device, Code X>
[[nodiscard]] constexpr Array<X> joined(const Device& device, std::span<const View<X>> inputs, std::size_t axis, const OutputOptions& out) {
  constexpr std::string_view operation = "concat";
  const auto shape_error = [](const char* what) { throw Error(ErrorCode::shape_mismatch, "concat", what); };
  if (inputs.empty()) shape_error("nothing to concatenate");
  require_scale(out, operation);
  require_coding<X>(device.backend(), operation, out.zero_point);
  const Extents& first = inputs[0].shape();
  if (axis >= first.rank()) shape_error("the axis is none of the shape");
  std::array<std::int64_t, Extents::most> sizes{};
  std::copy(first.sizes().begin(), first.sizes().end(), sizes.begin());
  sizes[axis] = 0;
  std::vector<std::vector<X>> parts;
  for (const View<X>& input : inputs) {
    require_coding<X>(device.backend(), operation, input.zero_point());
    if (input.shape().rank() != first.rank()) shape_error("inputs of different ranks");
    for (std::size_t other = 0; other < first.rank(); ++other) {
      if (other != axis && input.shape()[other] != first[other]) shape_error("inputs differ in more than the axis");
    }
    sizes[axis] += input.shape()[axis];
    parts.push_back(concat_codes(device, input, out));
  }
  std::size_t outer = 1;
  for (std::size_t before = 0; before < axis; ++before) outer *= static_cast<std::size_t>(first[before]);
  Array<X> y{{}, Extents(std::span<const std::int64_t>(sizes.data(), first.rank())), out.scale, out.zero_point};
  for (std::size_t row = 0; row < outer; ++row) {
    for (const std::vector<X>& part : parts) {
      const std::size_t length = part.size() / outer;
      for (std::size_t i = row * length; i < (row + 1) * length; ++i) y.values.push_back(part[i]);
    }
  }
  return y;
}

/// Of float32 or Float16 values; a device that quantises in float16 does so by rules of their own.
template <Code Y, class Device, class Real>
[[nodiscard]] constexpr Array<Y> quantized(const Device& device, std::span<const Real> values, const Extents& shape,
                                           const OutputOptions& out) {
  constexpr std::string_view operation = "quantize";
  require_coding<Y>(device.backend(), operation, out.zero_point);
  const Float16Arithmetic& float16 = device.backend().float16;
  const bool in_float16 = float16.method != Float16Method::absent;
  require(in_float16 || device.backend().quantize.division != ScaleDivision::absent, operation, "the device has no quantize");
  require_scale(out, operation);
  if (shape.count() != static_cast<std::int64_t>(values.size()))
    throw Error(ErrorCode::shape_mismatch, "quantize", std::to_string(values.size()) + " values for shape " + shape.text());
  Array<Y> y{std::vector<Y>(values.size(), Y{0}), shape, out.scale, out.zero_point};
  const IntegerRange range{least_code<Y>, largest_code<Y>};
  if (in_float16) {
    Float16Rounder rounder(float16);
    with_steps(float16.quantize.steps, rounder, [&]<class Steps>(const Steps& steps) {
      const Float16Quantizer<Steps> code_of(steps, {float16.quantize, out.scale, out.zero_point, range});
      std::transform(values.begin(), values.end(), y.values.begin(), [&](Real value) { return static_cast<Y>(code_of(value)); });
    });
    return y;
  }
  if constexpr (std::is_same_v<Real, float>) {
    std::transform(values.begin(), values.end(), y.values.begin(), [&](float value) {
      return static_cast<Y>(quantize(device.backend().quantize, value, static_cast<float>(out.scale), out.zero_point, range));
    });
  }
  return y;
}

template <class Device, Code X>
[[nodiscard]] constexpr Array<float> dequantized(const Device& device, const View<X>& x) {
  require(device.backend().dequantize.arithmetic != DequantizeProduct::absent, "dequantize", "the device has no dequantize");
  Array<float> y{std::vector<float>(x.values().size(), 0.0F), x.shape()};
  std::transform(x.values().begin(), x.values().end(), y.values.begin(),
                 [&](X code) { return dequantize(device.backend().dequantize, std::int64_t{code} - x.zero_point(), x.scale()); });
  return y;
}

}  // namespace core

/// a + b, which broadcast as numpy's arrays do.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> add(const View<X>& a, const View<X>& b, const OutputOptions& out) {
  return core::sum<core::SumKind::add>(core::KnownDevice<device>{}, a, b, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> add(const Backend& device, const View<X>& a, const View<X>& b, const OutputOptions& out) {
  return core::sum<core::SumKind::add>(core::GivenDevice{&device}, a, b, out);
}

/// a - b, likewise.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> sub(const View<X>& a, const View<X>& b, const OutputOptions& out) {
  return core::sum<core::SumKind::sub>(core::KnownDevice<device>{}, a, b, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> sub(const Backend& device, const View<X>& a, const View<X>& b, const OutputOptions& out) {
  return core::sum<core::SumKind::sub>(core::GivenDevice{&device}, a, b, out);
}

/// a * b, likewise.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> mul(const View<X>& a, const View<X>& b, const OutputOptions& out) {
  return core::product(core::KnownDevice<device>{}, a, b, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> mul(const Backend& device, const View<X>& a, const View<X>& b, const OutputOptions& out) {
  return core::product(core::GivenDevice{&device}, a, b, out);
}

/// Codes of one scale as codes of another: rescale<std::uint8_t>(device, x, {.scale = …}).
template <Code Y, Code X>
[[nodiscard]] constexpr Array<Y> rescale(const Backend& device, const View<X>& x, const OutputOptions& out) {
  return core::change_of_scale<Y>(core::GivenDevice{&device}, x, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> rescale(const Backend& device, const View<X>& x, const OutputOptions& out) {
  return core::change_of_scale<X>(core::GivenDevice{&device}, x, out);
}
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> rescale(const View<X>& x, const OutputOptions& out) {
  return core::change_of_scale<X>(core::KnownDevice<device>{}, x, out);
}

/// A ReLU as a layer of its own; another activation where `out` names it.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> relu(const View<X>& x, OutputOptions out) {
  if (out.activation == Activation::none) out.activation = Activation::relu;
  return core::rectified(core::KnownDevice<device>{}, x, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> relu(const Backend& device, const View<X>& x, OutputOptions out) {
  if (out.activation == Activation::none) out.activation = Activation::relu;
  return core::rectified(core::GivenDevice{&device}, x, out);
}

/// The inputs side by side along an axis, each in the output's codes.
template <const Backend& device, Code X>
[[nodiscard]] constexpr Array<X> concat(std::initializer_list<View<X>> inputs, std::size_t axis, const OutputOptions& out) {
  return core::joined(core::KnownDevice<device>{}, std::span<const View<X>>(inputs.begin(), inputs.size()), axis, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> concat(const Backend& device, std::initializer_list<View<X>> inputs, std::size_t axis,
                                        const OutputOptions& out) {
  return core::joined(core::GivenDevice{&device}, std::span<const View<X>>(inputs.begin(), inputs.size()), axis, out);
}
template <Code X>
[[nodiscard]] constexpr Array<X> concat(const Backend& device, std::span<const View<X>> inputs, std::size_t axis,
                                        const OutputOptions& out) {
  return core::joined(core::GivenDevice{&device}, inputs, axis, out);
}

/// Real values as codes: quantize<std::int8_t>(device, values, shape, {.scale = …}).
template <Code Y>
[[nodiscard]] constexpr Array<Y> quantize(const Backend& device, std::span<const float> values, const Extents& shape,
                                          const OutputOptions& out) {
  return core::quantized<Y>(core::GivenDevice{&device}, values, shape, out);
}
/// Codes as real values.
template <Code X>
[[nodiscard]] constexpr Array<float> dequantize(const Backend& device, const View<X>& x) {
  return core::dequantized(core::GivenDevice{&device}, x);
}

}  // namespace lastbit
