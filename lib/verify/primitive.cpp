// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "verify/primitive.hpp"

#include <array>
#include <functional>
#include <vector>

#include "lastbit/arith/fixed_function.hpp"
#include "lastbit/error.hpp"

namespace lastbit {
namespace {

/// One element: the inputs in the order of the primitive's names, to the results in theirs.
using ElementRule = std::function<std::vector<std::int64_t>(const Backend&, const std::vector<std::int64_t>&)>;

struct Primitive {
  std::string_view name;
  std::vector<std::string> inputs;
  std::vector<std::string> results;
  ElementRule rule;
};

/// A chain without its last two stages, zero point and clamp.
std::int64_t rescale(const RescaleRule& rule, const std::vector<std::int64_t>& in) {
  Chain chain = rule.chain;
  while (chain.size > 0 && (chain.stages[chain.size - 1U].kind == StageKind::clamp || chain.stages[chain.size - 1U].kind == StageKind::add_zero_point)) {
    --chain.size;
  }
  return finish(chain, in[0], {.scale = {.multiplier = in[1], .significant_bits = 31, .fraction_bits = 31, .exponent = static_cast<int>(in[2])}});
}

std::int32_t low32(std::int64_t value) { return static_cast<std::int32_t>(value); }

const std::vector<Primitive>& primitives() {
  static const std::vector<Primitive> list{
      {"rescale_i32", {"accumulator", "multiplier", "shift"}, {"value"},
       [](const Backend& b, const auto& in) { return std::vector{rescale(b.conv.i8.rescale, in)}; }},
      {"rescale_i64", {"accumulator", "multiplier", "shift"}, {"value"},
       [](const Backend& b, const auto& in) { return std::vector{rescale(b.conv.i16_bias64.rescale, in)}; }},
      {"doubling_high_multiply_i32", {"a", "b"}, {"value"},
       [](const Backend&, const auto& in) { return std::vector<std::int64_t>{doubling_high_multiply_i32(low32(in[0]), low32(in[1]))}; }},
      {"doubling_high_multiply_i16", {"a", "b"}, {"value"},
       [](const Backend&, const auto& in) {
         return std::vector<std::int64_t>{doubling_high_multiply_i16(static_cast<std::int16_t>(in[0]), static_cast<std::int16_t>(in[1]))};
       }},
      {"rounding_divide_by_power_of_two", {"a", "exponent"}, {"value"},
       [](const Backend&, const auto& in) { return std::vector<std::int64_t>{divide_by_power_of_two_i32(low32(in[0]), static_cast<int>(in[1]))}; }},
      {"exp_on_negative_q5_26", {"a"}, {"value"}, [](const Backend&, const auto& in) { return std::vector<std::int64_t>{fixed_exp<5>(low32(in[0]))}; }},
      {"logistic_q4_27", {"a"}, {"value"}, [](const Backend&, const auto& in) { return std::vector<std::int64_t>{fixed_logistic<4>(low32(in[0]))}; }},
      {"tanh_q4_27", {"a"}, {"value"}, [](const Backend&, const auto& in) { return std::vector<std::int64_t>{fixed_tanh<4>(low32(in[0]))}; }},
  };
  return list;
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
    const EncodedScale scale = encode(backend.conv.i8.rescale.scale, real.values<double>()[i]);
    multiplier.values<std::int64_t>()[i] = scale.multiplier;
    shift.values<std::int64_t>()[i] = scale.exponent;
  }
  NamedTensors results;
  results.emplace("multiplier", std::move(multiplier));
  results.emplace("shift", std::move(shift));
  return results;
}

NamedTensors run_elementwise(const Primitive& primitive, const Backend& backend, const NamedTensors& inputs) {
  std::vector<const Tensor*> operands;
  for (const auto& name : primitive.inputs) {
    operands.push_back(&input_of(inputs, name, primitive.name));
    if (!is_integer(operands.back()->type()) || operands.back()->element_count() != operands.front()->element_count()) {
      throw Error(ErrorCode::bad_input, std::string(primitive.name), "input '" + name + "' must be an integer array as long as the first");
    }
  }
  NamedTensors results;
  for (const auto& name : primitive.results) results.emplace(name, Tensor(ElementType::int64, operands.front()->shape()));
  std::vector<std::int64_t> element(operands.size());
  for (std::int64_t i = 0; i < operands.front()->element_count(); ++i) {
    for (std::size_t o = 0; o < operands.size(); ++o) element[o] = operands[o]->integer_at(i);
    const auto values = primitive.rule(backend, element);
    for (std::size_t r = 0; r < values.size(); ++r) {
      results.find(primitive.results[r])->second.values<std::int64_t>()[static_cast<std::size_t>(i)] = values[r];
    }
  }
  return results;
}

}  // namespace

NamedTensors run_primitive(std::string_view name, const Backend& backend, const NamedTensors& inputs) {
  if (name == "encode_multiplier") return encode_multipliers(backend, inputs);
  for (const Primitive& primitive : primitives()) {
    if (primitive.name == name) return run_elementwise(primitive, backend, inputs);
  }
  throw Error(ErrorCode::bad_input, "primitive", "unknown primitive '" + std::string(name) + "'");
}

}  // namespace lastbit
