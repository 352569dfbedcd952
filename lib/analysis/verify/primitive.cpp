// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify/primitive.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "lastbit/arith/fixed_function.hpp"
#include "lastbit/arith/float16.hpp"
#include "lastbit/error.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

/// What a rule may depend on besides its inputs.
struct Context {
  const Backend& backend;
  Float16Quotient float16;  ///< what the other operations on float16 data read as well
};

/// One element: the inputs in the order of the primitive's names (a float32 as its bits), to the results in theirs.
using ElementRule = std::function<std::vector<std::int64_t>(const Context&, const std::vector<std::int64_t>&)>;

/// An input and the values that the arithmetic is defined for.
struct Operand {
  std::string name;
  std::int64_t min = std::numeric_limits<std::int32_t>::min();
  std::int64_t max = std::numeric_limits<std::int32_t>::max();
};

struct Primitive {
  std::string_view name;
  std::vector<Operand> inputs;
  std::vector<std::string> results;
  ElementRule rule;
  std::vector<std::string_view> parameters = {};
  Domain domain = Domain::integer;  ///< of the inputs: integers, or float32
};

[[noreturn]] void refuse(std::string_view primitive, const std::string& input, std::int64_t value, std::int64_t min, std::int64_t max) {
  throw Error(ErrorCode::bad_input, std::string(primitive),
              "input '" + input + "' is " + std::to_string(value) + ", not from " + std::to_string(min) + " to " + std::to_string(max));
}

/// A chain without its last two stages, zero point and clamp. The multiplier and the shift are those that the rule can encode.
std::int64_t rescale(const RescaleRule& rule, const std::vector<std::int64_t>& in) {
  if (in[2] < rule.scale.min_exponent || in[2] > rule.scale.max_exponent)
    refuse("rescale", "shift", in[2], rule.scale.min_exponent, rule.scale.max_exponent);
  Chain chain = rule.chain;
  while (ends_in(chain, StageKind::clamp) || ends_in(chain, StageKind::add_zero_point)) --chain.size;
  RescaleOperands operands;
  operands.scale = {.multiplier = in[1], .significant_bits = 31, .fraction_bits = 31, .exponent = static_cast<int>(in[2])};
  return finish(chain, in[0], operands);
}

/// The rounding of the segments in which a backend's convolutions end.
std::int64_t segment_shift(const Backend& backend, const std::vector<std::int64_t>& in) {
  const ConvByType& conv = backend.conv;
  for (const Stage& stage : exists(conv.u8.sum) ? conv.u8.sum.output.chain : conv.i8.sum.output.chain) {
    if (stage.kind == StageKind::segments)
      return narrow_saturate(shift_right_stepping(Int128{in[0]}, static_cast<int>(in[1]), stage.rounding, stage.step), 64);
  }
  throw Error(ErrorCode::unsupported_operation, "segment_shift", "the backend's convolutions do not end in segments");
}

std::int32_t low32(std::int64_t value) { return static_cast<std::int32_t>(value); }

Float16 half(std::int64_t pattern) { return {static_cast<std::uint16_t>(pattern)}; }

/// The 16 bits of a float16, with a sign or without.
Operand pattern(const std::string& name) {
  return {name, std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::uint16_t>::max()};
}

/// One of the four operations on patterns.
template <class Operation>
Primitive float16_operation(std::string_view name, Operation operation) {
  Primitive primitive{name, {pattern("a"), pattern("b")}, {"value"}, nullptr, {"rounding", "overflow", "top_exponent"}};
  primitive.rule = [operation](const Context& c, const auto& in) {
    return std::vector<std::int64_t>{operation(half(in[0]), half(in[1]), c.float16).bits};
  };
  return primitive;
}
/// One of those that only round.
Primitive rounded_operation(std::string_view name, Float16 (*operation)(Float16, Float16, const Float16Rules&)) {
  return float16_operation(name, [=](Float16 a, Float16 b, const Float16Quotient& rule) { return operation(a, b, rule.rounded); });
}

template <class Integer>
Primitive float16_to_integer(std::string_view name) {
  return {name,
          {pattern("a")},
          {"value"},
          [](const Context& c, const auto& in) {
            return std::vector<std::int64_t>{to_integer<Integer>(half(in[0]), c.float16.rounded.rounding)};
          },
          {"rounding"}};
}

std::vector<Primitive> float16_primitives() {
  std::vector<Primitive> list{
      {"float16_from_f32",
       {{"real"}},
       {"value"},
       [](const Context& c, const auto& in) {
         return std::vector<std::int64_t>{to_float16(std::bit_cast<float>(low32(in[0])), c.float16.rounded).bits};
       },
       {"rounding", "overflow"},
       Domain::real},
      {"float16_from_i32",
       {{"a"}},
       {"value"},
       [](const Context& c, const auto& in) { return std::vector<std::int64_t>{to_float16(low32(in[0]), c.float16.rounded).bits}; },
       {"rounding", "overflow"}},
      float16_to_integer<std::int8_t>("float16_to_i8"),
      float16_to_integer<std::uint8_t>("float16_to_u8"),
      float16_to_integer<std::int16_t>("float16_to_i16"),
      float16_to_integer<std::int32_t>("float16_to_i32"),
      rounded_operation("float16_add", add),
      rounded_operation("float16_sub", subtract),
      rounded_operation("float16_mul", multiply),
      float16_operation("float16_div",
                        [](Float16 a, Float16 b, const Float16Quotient& rule) { return divide(a, b, rule.rounded, rule.zero_division); }),
  };
  list.back().parameters.emplace_back("zero_division");
  return list;
}

std::vector<Primitive> integer_primitives() {
  return {
      {"rescale_i32",
       {{"accumulator"}, {"multiplier"}, {"shift"}},
       {"value"},
       [](const Context& c, const auto& in) { return std::vector{rescale(c.backend.conv.i8.sum.output, in)}; }},
      {"rescale_i64",
       {{"accumulator", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}, {"multiplier"}, {"shift"}},
       {"value"},
       [](const Context& c, const auto& in) { return std::vector{rescale(c.backend.conv.i16_bias64.sum.output, in)}; }},
      {"segment_shift",
       {{"value", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}, {"shift", 0, 62}},
       {"value"},
       [](const Context& c, const auto& in) { return std::vector{segment_shift(c.backend, in)}; }},
      {"doubling_high_multiply_i32",
       {{"a"}, {"b"}},
       {"value"},
       [](const Context&, const auto& in) { return std::vector<std::int64_t>{doubling_high_multiply_i32(low32(in[0]), low32(in[1]))}; }},
      {"doubling_high_multiply_i16",
       {{"a", -32768, 32767}, {"b", -32768, 32767}},
       {"value"},
       [](const Context&, const auto& in) {
         return std::vector<std::int64_t>{doubling_high_multiply_i16(static_cast<std::int16_t>(in[0]), static_cast<std::int16_t>(in[1]))};
       }},
      {"rounding_divide_by_power_of_two",
       {{"a"}, {"exponent", 0, 62}},
       {"value"},
       [](const Context&, const auto& in) {
         return std::vector<std::int64_t>{divide_by_power_of_two_i32(low32(in[0]), static_cast<int>(in[1]))};
       }},
      {"exp_on_negative_q5_26",
       {{"a", std::numeric_limits<std::int32_t>::min(), 0}},
       {"value"},
       [](const Context&, const auto& in) { return std::vector<std::int64_t>{fixed_exp<5>(low32(in[0]))}; }},
      {"logistic_q4_27",
       {{"a"}},
       {"value"},
       [](const Context&, const auto& in) { return std::vector<std::int64_t>{fixed_logistic<4>(low32(in[0]))}; }},
      {"tanh_q4_27",
       {{"a"}},
       {"value"},
       [](const Context&, const auto& in) { return std::vector<std::int64_t>{fixed_tanh<4>(low32(in[0]))}; }},
  };
}

const std::vector<Primitive>& primitives() {
  static const std::vector<Primitive> list = [] {
    std::vector<Primitive> all = integer_primitives();
    const std::vector<Primitive> more = float16_primitives();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return list;
}

Error bad_parameter(const Primitive& primitive, std::string_view name, const std::string& problem) {
  return Error(ErrorCode::bad_input, std::string(primitive.name), "parameter '" + std::string(name) + "' " + problem);
}

/// One rule from its parameter, which the primitive may not have.
template <NamedEnum Rule>
void read_parameter(const Primitive& primitive, const PrimitiveParameters& given, std::string_view name, Rule& rule) {
  const auto found = given.find(name);
  if (found == given.end()) return;
  const auto names = names_of(rule);
  const auto position = std::find(names.begin(), names.end(), found->second);
  if (position == names.end()) throw bad_parameter(primitive, name, "is '" + found->second + "'");
  rule = static_cast<Rule>(position - names.begin());
}

/// Rounding and overflow have no default, the rest is IEEE 754's.
Float16Quotient read_float16_rules(const Primitive& primitive, const PrimitiveParameters& given) {
  const auto takes = [&](std::string_view name) {
    return std::find(primitive.parameters.begin(), primitive.parameters.end(), name) != primitive.parameters.end();
  };
  for (const auto& [name, value] : given) {
    if (!takes(name)) throw bad_parameter(primitive, name, "is unknown");
  }
  for (const std::string_view name : {"rounding", "overflow"}) {
    if (takes(name) && !given.contains(name)) throw bad_parameter(primitive, name, "is missing");
  }
  Float16Quotient rules{.rounded = ieee_float16, .zero_division = Float16ZeroDivision::ieee};
  read_parameter(primitive, given, "rounding", rules.rounded.rounding);
  read_parameter(primitive, given, "overflow", rules.rounded.overflow);
  read_parameter(primitive, given, "top_exponent", rules.rounded.top_exponent);
  read_parameter(primitive, given, "zero_division", rules.zero_division);
  return rules;
}

const Tensor& input_of(const NamedTensors& inputs, std::string_view name, std::string_view primitive) {
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw Error(ErrorCode::bad_input, std::string(primitive), "input '" + std::string(name) + "' is missing");
  return found->second;
}

/// The only primitive whose input is real.
NamedTensors encode_multipliers(const Backend& backend, const NamedTensors& inputs) {
  const Tensor& real = input_of(inputs, "real", "encode_multiplier");
  if (real.type() != ElementType::float64) throw Error(ErrorCode::type_mismatch, "encode_multiplier", "input 'real' must be float64");
  Tensor multiplier(ElementType::int64, real.shape()), shift(ElementType::int64, real.shape());
  for (std::size_t i = 0; i < real.values<double>().size(); ++i) {
    const double value = real.values<double>()[i];
    if (!std::isfinite(value) || value < 0)
      throw Error(ErrorCode::bad_input, "encode_multiplier", "input 'real' holds a scale that is negative or not finite");
    const EncodedScale scale = encode(backend.conv.i8.sum.output.scale, value);
    multiplier.values<std::int64_t>()[i] = scale.multiplier;
    shift.values<std::int64_t>()[i] = scale.exponent;
  }
  NamedTensors results;
  results.emplace("multiplier", std::move(multiplier));
  results.emplace("shift", std::move(shift));
  return results;
}

bool has_domain(const Tensor& tensor, Domain domain) {
  return domain == Domain::real ? tensor.type() == ElementType::float32 : is_integer(tensor.type());
}

std::int64_t element_of(const Tensor& tensor, std::int64_t index) {
  if (tensor.type() != ElementType::float32) return tensor.integer_at(index);
  return std::bit_cast<std::int32_t>(tensor.values<float>()[static_cast<std::size_t>(index)]);
}

NamedTensors run_elementwise(const Primitive& primitive, const Context& context, const NamedTensors& inputs) {
  std::vector<const Tensor*> operands;
  for (const Operand& input : primitive.inputs) {
    operands.push_back(&input_of(inputs, input.name, primitive.name));
    if (!has_domain(*operands.back(), primitive.domain) || operands.back()->element_count() != operands.front()->element_count()) {
      const std::string kind = primitive.domain == Domain::real ? "a float32" : "an integer";
      throw Error(ErrorCode::bad_input, std::string(primitive.name),
                  "input '" + input.name + "' must be " + kind + " array as long as the first");
    }
  }
  NamedTensors results;
  for (const auto& name : primitive.results) results.emplace(name, Tensor(ElementType::int64, operands.front()->shape()));
  std::vector<std::int64_t> element(operands.size());
  for (std::int64_t i = 0; i < operands.front()->element_count(); ++i) {
    for (std::size_t o = 0; o < operands.size(); ++o) {
      const Operand& input = primitive.inputs[o];
      element[o] = element_of(*operands[o], i);
      if (element[o] < input.min || element[o] > input.max) refuse(primitive.name, input.name, element[o], input.min, input.max);
    }
    const auto values = primitive.rule(context, element);
    for (std::size_t r = 0; r < values.size(); ++r) {
      results.find(primitive.results[r])->second.values<std::int64_t>()[static_cast<std::size_t>(i)] = values[r];
    }
  }
  return results;
}

}  // namespace

NamedTensors run_primitive(std::string_view name, const Backend& backend, const NamedTensors& inputs,
                           const PrimitiveParameters& parameters) {
  if (name == "encode_multiplier") {
    if (!parameters.empty()) throw Error(ErrorCode::bad_input, "encode_multiplier", "takes no parameters");
    return encode_multipliers(backend, inputs);
  }
  for (const Primitive& primitive : primitives()) {
    if (primitive.name == name) return run_elementwise(primitive, {backend, read_float16_rules(primitive, parameters)}, inputs);
  }
  throw Error(ErrorCode::bad_input, "primitive", "unknown primitive '" + std::string(name) + "'");
}

}  // namespace lastbit
