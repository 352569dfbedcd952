// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// leaky_relu, prelu, abs, hard_swish, logistic, tanh and softmax.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/broadcast.hpp"
#include "engine/code_map.hpp"
#include "engine/counted_parts.hpp"
#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/with_integers.hpp"
#include "lastbit/arith/fixed_activation.hpp"
#include "lastbit/op/function.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

void require(const FunctionArithmetic& rule, const Operation& operation) {
  if (rule.method == FunctionMethod::absent) throw_unsupported(operation, "the backend has no such arithmetic");
}

[[noreturn]] void throw_type(const Operation& operation, const ModelTensor& tensor) {
  throw_unsupported(operation, "the backend has no arithmetic for " + std::string(name_of(tensor.type)) + " data");
}

/// f of every code.
Executor by_code(ElementType from, CodeMap::Function f) {
  return [map = CodeMap(from, std::move(f))](const Execution& run) { map(*run.inputs[0], run.outputs[0]); };
}

/// f of the dequantised value, quantised with one rounding by the rule.
Executor float_function(const ModelTensor& input, const ModelTensor& output, const FunctionArithmetic& rule,
                        std::function<float(float)> f) {
  const QuantizeArithmetic quantizer = quantizer_of(rule);
  return by_code(input.type, [=, f = std::move(f), from = input.quantization, to = output.quantization,
                              range = range_of(output.type)](std::int64_t code) {
    const float real = f(static_cast<float>(from.scale()) * static_cast<float>(code - from.zero_point()));
    return quantize(quantizer, real, static_cast<float>(to.scale()), to.zero_point(), range);
  });
}

RescaleOperands encoded(const FunctionArithmetic& rule, double in, double weight, double out) {
  return {.scale = encode(rule.rescale.scale, effective_scale(rule.rescale, one_operand(in, weight, out)))};
}

}  // namespace

// Both: v = x - zero point; v >= 0 keeps the identity scale, v < 0 the scale times alpha (leaky) or times the channel's alpha (prelu).
Executor prepare_leaky(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const bool per_channel = operation.kind == OperationKind::prelu;
  const FunctionArithmetic& rule = per_channel ? backend.prelu : leaky_relu_of(model, operation, backend);
  require(rule, operation);
  const double alpha = per_channel ? 0.0 : std::get<LeakyReluAttributes>(operation.attributes).alpha;
  if (is_float_table(rule.method) && !per_channel) {
    return float_function(input, output, rule, [a = static_cast<float>(alpha)](float x) { return x >= 0 ? x : a * x; });
  }
  if (rule.method != FunctionMethod::rescaled) throw_type(operation, input);
  const double out = output.quantization.scale();
  const ModelTensor* const alphas = per_channel ? &model.tensor(operation.inputs[1]) : nullptr;
  const double negative_scale = per_channel ? alphas->quantization.scale() : std::abs(alpha);
  const Finisher positive(rule.rescale.chain, {encoded(rule, input.quantization.scale(), 1.0, out)}, 34);
  const Finisher negative(rule.rescale.chain, {encoded(rule, input.quantization.scale(), negative_scale, out)}, 34);
  const Finisher to_output({stage::add_zero_point(), stage::clamp()}, {operands_for({}, output, range_of(output.type))}, 34);
  return [=, zero = input.quantization.zero_point(), alpha_zero = per_channel ? alphas->quantization.zero_point() : 0,
          sign = alpha < 0 ? -1 : 1,
          offsets = per_channel ? broadcast_offsets(alphas->shape, output.shape) : std::vector<std::int64_t>{}](const Execution& run) {
    const auto slopes = per_channel ? centred(*run.inputs[1], alpha_zero) : std::vector<std::int64_t>{};
    constexpr std::int64_t values_per_part = units_per_part(5);
    for_each_counted_part(
        run.events, run.outputs[0].element_count(), values_per_part, [&](std::int64_t first, std::int64_t last, Events* events) {
          std::vector<std::int64_t> rising, falling;
          for (std::int64_t i = first; i < last; ++i) {
            const std::int64_t value = run.inputs[0]->integer_at(i) - zero;
            rising.push_back(value);
            falling.push_back(value * (per_channel ? slopes[static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)])] : sign));
          }
          const auto values = rising;
          positive(rising);
          negative(falling);
          for (std::size_t i = 0; i < values.size(); ++i) rising[i] = values[i] >= 0 ? rising[i] : falling[i];
          to_output(std::span<const std::int64_t>(rising), run.outputs[0], static_cast<std::size_t>(first), events);
        });
  };
}

namespace {

/// A tensor's codes as functions see them.
FunctionCodes function_codes(const ModelTensor& tensor) {
  const Quantization& of = tensor.quantization;
  return {tensor.type, range_of(tensor.type), of.scale(), of.zero_point(), of.present()};
}

/// Nothing where the layer is not refused; `given`: what the function gives, whatever the output says.
void require_no_refusal(FunctionRefusal refusal, const Operation& operation, const ModelTensor& input, const ModelTensor& output,
                        const GivenCodes& given) {
  const std::string scale = "tensor '" + output.name + "' has scale " + std::to_string(output.quantization.scale());
  switch (refusal) {
    case FunctionRefusal::none: return;
    case FunctionRefusal::absent: throw_unsupported(operation, "the backend has no such arithmetic");
    case FunctionRefusal::input_type: throw_type(operation, input);
    case FunctionRefusal::output_type: throw_type(operation, output);
    case FunctionRefusal::input_codes: throw_unsupported(operation, "tensor '" + input.name + "' needs scale 2^-12 and zero point 0");
    case FunctionRefusal::output_scale: throw_unsupported(operation, scale + "; the device gives 1/256");
    case FunctionRefusal::output_codes:
      throw_unsupported(operation, scale + " and zero point " + std::to_string(output.quantization.zero_point()) + "; the device gives 1/" +
                                       std::to_string(static_cast<std::int64_t>(1 / given.scale)) + " and " +
                                       std::to_string(given.zero_point));
  }
}

template <Sigmoid function>
Executor prepare_sigmoid(const FunctionArithmetic& rule, const Model& model, const Operation& operation) {
  const ModelTensor &input = model.tensor(operation.inputs[0]), &output = model.tensor(operation.outputs[0]);
  const FunctionCodes in = function_codes(input), out = function_codes(output);
  require_no_refusal(refusal_of_sigmoid<function>(rule, in, out), operation, input, output, codes_of_sigmoid<function>(in.type));
  return by_code(input.type, SigmoidOfCodes<function>(rule, in, out));
}

Executor fixed_hard_swish(const FunctionArithmetic& rule, const ModelTensor& input, const ModelTensor& output, const Operation& operation) {
  const HardSwishParameters p = hard_swish_parameters(
      rule.input.scale, static_cast<float>(input.quantization.scale()), static_cast<std::int32_t>(input.quantization.zero_point()),
      static_cast<float>(output.quantization.scale()), static_cast<std::int32_t>(output.quantization.zero_point()));
  if (p.output_exponent > 0) throw_unsupported(operation, "the input scale is 128 output scales or more");
  if (input.type == ElementType::int8)
    return by_code(input.type, [=](std::int64_t x) { return hard_swish(p, static_cast<std::int8_t>(x)); });
  if (input.type == ElementType::uint8)
    return by_code(input.type, [=](std::int64_t x) { return hard_swish(p, static_cast<std::uint8_t>(x)); });
  throw_type(operation, input);
}

/// By float(real(x)), or by `fixed`.
template <class Fixed>
Executor function_by(const FunctionArithmetic& rule, const Model& model, const Operation& operation, double (*real)(double),
                     const Fixed& fixed) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  require(rule, operation);
  if (input.type == ElementType::int32) throw_type(operation, input);
  if (is_float_table(rule.method)) {
    return float_function(input, output, rule, [real](float x) { return static_cast<float>(real(double{x})); });
  }
  if (rule.method != FunctionMethod::fixed_point || input.type != output.type) throw_type(operation, output);
  return fixed(input, output);
}

}  // namespace

Executor prepare_hard_swish(const Model& model, const Operation& operation, const Backend& backend) {
  const auto real = [](double x) { return x * std::clamp(x + 3.0, 0.0, 6.0) / 6.0; };
  return function_by(backend.hard_swish, model, operation, real, [&](const ModelTensor& input, const ModelTensor& output) {
    return fixed_hard_swish(backend.hard_swish, input, output, operation);
  });
}

Executor prepare_logistic(const Model& model, const Operation& operation, const Backend& backend) {
  return prepare_sigmoid<Sigmoid::logistic>(logistic_of(model, operation, backend), model, operation);
}

Executor prepare_tanh(const Model& model, const Operation& operation, const Backend& backend) {
  return prepare_sigmoid<Sigmoid::tanh>(tanh_of(model, operation, backend), model, operation);
}

Executor prepare_abs(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const FunctionArithmetic& rule = backend.abs;
  require(rule, operation);
  if (is_float_table(rule.method)) return float_function(input, output, rule, [](float x) { return std::abs(x); });
  if (rule.method != FunctionMethod::rescaled) throw_type(operation, input);
  const RescaleOperands rescale = encoded(rule, input.quantization.scale(), 1.0, output.quantization.scale());
  const Chain to_output{stage::add_zero_point(), stage::clamp()};
  return by_code(input.type, [=, chain = rule.rescale.chain, zero = input.quantization.zero_point(),
                              bounds = operands_for({}, output, range_of(output.type))](std::int64_t code) {
    return finish(to_output, finish(chain, std::abs(code - zero), rescale), bounds);
  });
}

Executor prepare_exp(const Model& model, const Operation& operation, const Backend& backend) {
  const auto real = [](double x) { return std::exp(x); };
  return function_by(backend.exp, model, operation, real,
                     [&](const ModelTensor& input, const ModelTensor&) -> Executor { throw_type(operation, input); });
}

namespace {

/// f of the input and the output of every row.
template <class Input, class Output, class F>
void for_every_row(const Execution& run, F&& f) {
  const auto in = run.inputs[0]->values<Input>();
  const auto out = run.outputs[0].values<Output>();
  const auto columns = static_cast<std::size_t>(run.inputs[0]->shape().rank() == 0 ? 1 : run.inputs[0]->shape().back());
  for (std::size_t row = 0; row < in.size(); row += columns) f(in.subspan(row, columns), out.subspan(row, columns));
}

/// Types that softmax has (element_types.cpp): calls body.template operator()<In, Out>().
template <class Body>
Executor with_softmax_types(const ModelTensor& input, const ModelTensor& output, Body&& body) {
  const bool wide = output.type == ElementType::int16;
  if (input.type == ElementType::int16) return body.template operator()<std::int16_t, std::int16_t>();
  if (input.type == ElementType::int8)
    return wide ? body.template operator()<std::int8_t, std::int16_t>() : body.template operator()<std::int8_t, std::int8_t>();
  return wide ? body.template operator()<std::uint8_t, std::int16_t>() : body.template operator()<std::uint8_t, std::uint8_t>();
}

}  // namespace

Executor prepare_softmax(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const FunctionArithmetic& rule = backend.softmax;
  const FunctionCodes in = function_codes(input), out = function_codes(output);
  require_no_refusal(refusal_of_softmax(rule, in, out), operation, input, output, codes_of_softmax(in.type, out));
  const double beta = std::get<SoftmaxAttributes>(operation.attributes).beta;
  const std::size_t columns = input.shape.rank() == 0 ? 1 : static_cast<std::size_t>(input.shape.back());
  return with_softmax_types(input, output, [&]<class In, class Out>() {
    return with_softmax<In, Out>(rule, beta, columns, in, out, [](auto row) -> Executor {
      return [row = std::move(row)](const Execution& run) { for_every_row<In, Out>(run, row); };
    });
  });
}

}  // namespace lastbit
