// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// leaky_relu, prelu, hard_swish, logistic, tanh and softmax.
#include <algorithm>
#include <cmath>

#include "emulator/broadcast.hpp"
#include "emulator/finisher.hpp"
#include "emulator/operands.hpp"
#include "emulator/ops/prepare.hpp"
#include "lastbit/arith/fixed_activation.hpp"
#include "lastbit/arith/fixed_softmax.hpp"
#include "lastbit/op/quantize.hpp"

namespace lastbit {
namespace {

const FunctionArithmetic& rule_of(const Backend& backend, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::leaky_relu: return backend.leaky_relu;
    case OperationKind::prelu: return backend.prelu;
    case OperationKind::hard_swish: return backend.hard_swish;
    case OperationKind::logistic: return backend.logistic;
    case OperationKind::tanh: return backend.tanh;
    case OperationKind::exp: return backend.exp;
    default: return backend.softmax;
  }
}

const FunctionArithmetic& required_rule(const Backend& backend, const Operation& operation) {
  const auto& rule = rule_of(backend, operation);
  if (rule.method == FunctionMethod::absent) throw_unsupported(operation, "the backend has no such arithmetic");
  return rule;
}

[[noreturn]] void throw_type(const Operation& operation, const ModelTensor& tensor) {
  throw_unsupported(operation, "the backend has no arithmetic for " + std::string(name_of(tensor.type)) + " data");
}

/// f of the dequantised value, quantised with one rounding by the rule.
Executor float_function(const ModelTensor& input, const ModelTensor& output, Rounding rounding, std::function<float(float)> f) {
  const QuantizeArithmetic quantizer{.rounding = rounding};
  return [=, f = std::move(f), from = input.quantization, to = output.quantization, range = range_of(output.type)](const Execution& run) {
    auto values = centred(*run.inputs[0], from.zero_point());
    for (auto& value : values) {
      const float real = f(static_cast<float>(from.scale()) * static_cast<float>(value));
      value = quantize(quantizer, real, static_cast<float>(to.scale()), to.zero_point(), range);
    }
    store(values, run.outputs[0]);
  };
}

float real_function(OperationKind kind, double x) {
  switch (kind) {
    case OperationKind::hard_swish: return static_cast<float>(x * std::clamp(x + 3.0, 0.0, 6.0) / 6.0);
    case OperationKind::logistic: return static_cast<float>(1.0 / (1.0 + std::exp(-x)));
    case OperationKind::exp: return static_cast<float>(std::exp(x));
    default: return static_cast<float>(std::tanh(x));
  }
}

RescaleOperands encoded(const FunctionArithmetic& rule, double in, double weight, double out) {
  return {.scale = encode(rule.rescale.scale, effective_scale(rule.rescale.scale.arithmetic, in, weight, out))};
}

}  // namespace

// Both: v = x - zero point; v >= 0 keeps the identity scale, v < 0 the scale times alpha (leaky) or times the channel's alpha (prelu).
Executor prepare_leaky(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const FunctionArithmetic& rule = required_rule(backend, operation);
  const bool per_channel = operation.kind == OperationKind::prelu;
  const double alpha = per_channel ? 0.0 : std::get<LeakyReluAttributes>(operation.attributes).alpha;
  if (rule.method == FunctionMethod::float_table && !per_channel) {
    return float_function(input, output, rule.rounding, [a = static_cast<float>(alpha)](float x) { return x >= 0 ? x : a * x; });
  }
  if (rule.method != FunctionMethod::rescaled) throw_type(operation, input);
  const double out = output.quantization.scale();
  const ModelTensor* const alphas = per_channel ? &model.tensor(operation.inputs[1]) : nullptr;
  const double negative_scale = per_channel ? alphas->quantization.scale() : std::abs(alpha);
  const Finisher positive(rule.rescale.chain, {encoded(rule, input.quantization.scale(), 1.0, out)}, 34);
  const Finisher negative(rule.rescale.chain, {encoded(rule, input.quantization.scale(), negative_scale, out)}, 34);
  const Finisher to_output({add_zero_point(), clamp()}, {operands_for({}, output, range_of(output.type))}, 34);
  return [=, zero = input.quantization.zero_point(), alpha_zero = per_channel ? alphas->quantization.zero_point() : 0,
          sign = alpha < 0 ? -1 : 1,
          offsets = per_channel ? broadcast_offsets(alphas->shape, output.shape) : std::vector<std::int64_t>{}](const Execution& run) {
    auto values = centred(*run.inputs[0], zero);
    auto falling = values;
    const auto slopes = per_channel ? centred(*run.inputs[1], alpha_zero) : std::vector<std::int64_t>{};
    for (std::size_t i = 0; i < falling.size(); ++i) falling[i] *= per_channel ? slopes[static_cast<std::size_t>(offsets[i])] : sign;
    const auto signs = values;
    positive(values);
    negative(falling);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = signs[i] >= 0 ? values[i] : falling[i];
    to_output(values, run.events);
    store(values, run.outputs[0]);
  };
}

namespace {

/// Applies f to every value of an integer tensor; 8-bit types go through a table made once.
template <class T>
Executor by_code(std::function<std::int64_t(std::int64_t)> f) {
  if constexpr (sizeof(T) == 1) {
    std::vector<std::int64_t> table(256);
    for (std::size_t code = 0; code < 256; ++code) table[code] = f(static_cast<T>(code));
    f = [table = std::move(table)](std::int64_t code) { return table[static_cast<std::uint8_t>(code)]; };
  }
  return [f = std::move(f)](const Execution& run) {
    auto values = centred(*run.inputs[0], 0);
    std::transform(values.begin(), values.end(), values.begin(), f);
    store(values, run.outputs[0]);
  };
}

/// The argument of a fixed-point function. Whatever a chain of the user's own makes of it, it stays in the function's domain.
std::int32_t fixed_argument(const Chain& chain, const EncodedScale& scale, std::int32_t value, std::int32_t largest) {
  const RescaleOperands operands{.scale = scale};
  return static_cast<std::int32_t>(std::min<std::int64_t>(narrow_saturate(finish(chain, value, operands), 32), largest));
}

template <Sigmoid function>
Executor fixed_sigmoid(const FunctionArithmetic& rule, const ModelTensor& input, const Operation& operation) {
  const double scale = input.quantization.scale();
  if (input.type == ElementType::int16) {
    const SigmoidTableInput table = sigmoid_table_input(function, scale);
    return by_code<std::int16_t>([=](std::int64_t code) { return sigmoid_i16<function>(static_cast<std::int16_t>(code), table); });
  }
  if (input.type != ElementType::int8) throw_type(operation, input);
  const SigmoidParameters parameters = sigmoid_parameters(rule.rescale.scale, scale);
  return by_code<std::int8_t>([=, zero = input.quantization.zero_point()](std::int64_t code) {
    const auto rescale = [&](std::int32_t value) {
      return fixed_argument(rule.rescale.chain, parameters.scale, value, std::numeric_limits<std::int32_t>::max());
    };
    return sigmoid_i8<function>(static_cast<std::int32_t>(code - zero), parameters.radius, rescale);
  });
}

Executor fixed_hard_swish(const FunctionArithmetic& rule, const ModelTensor& input, const ModelTensor& output, const Operation& operation) {
  const HardSwishParameters p = hard_swish_parameters(
      rule.rescale.scale, static_cast<float>(input.quantization.scale()), static_cast<std::int32_t>(input.quantization.zero_point()),
      static_cast<float>(output.quantization.scale()), static_cast<std::int32_t>(output.quantization.zero_point()));
  if (p.output_exponent > 0) throw_unsupported(operation, "the input scale is 128 output scales or more");
  if (input.type == ElementType::int8)
    return by_code<std::int8_t>([=](std::int64_t x) { return hard_swish(p, static_cast<std::int8_t>(x)); });
  if (input.type == ElementType::uint8)
    return by_code<std::uint8_t>([=](std::int64_t x) { return hard_swish(p, static_cast<std::uint8_t>(x)); });
  throw_type(operation, input);
}

}  // namespace

Executor prepare_function(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const FunctionArithmetic& rule = required_rule(backend, operation);
  if (rule.method == FunctionMethod::float_table) {
    return float_function(input, output, rule.rounding, [kind = operation.kind](float x) { return real_function(kind, x); });
  }
  if (rule.method != FunctionMethod::fixed_point || input.type != output.type) throw_type(operation, output);
  switch (operation.kind) {
    case OperationKind::hard_swish: return fixed_hard_swish(rule, input, output, operation);
    case OperationKind::logistic: return fixed_sigmoid<Sigmoid::logistic>(rule, input, operation);
    case OperationKind::exp: throw_type(operation, input);
    default: return fixed_sigmoid<Sigmoid::tanh>(rule, input, operation);
  }
}

namespace {

template <class Input, class Output>
void softmax_rows_fixed(const Execution& run, const SoftmaxParameters& parameters, const Chain& chain) {
  const auto in = run.inputs[0]->values<Input>();
  const auto out = run.outputs[0].values<Output>();
  const auto columns = static_cast<std::size_t>(run.inputs[0]->shape().rank() == 0 ? 1 : run.inputs[0]->shape().back());
  const auto rescale = [&](std::int32_t value) { return fixed_argument(chain, parameters.scale, value, 0); };
  for (std::size_t row = 0; row < in.size(); row += columns) {
    if constexpr (sizeof(Input) == 2) softmax_row_i16(in.subspan(row, columns), out.subspan(row, columns), rescale);
    else softmax_row<Input, Output>(in.subspan(row, columns), out.subspan(row, columns), parameters.smallest_difference, rescale);
  }
}

Executor fixed_softmax(const FunctionArithmetic& rule, double beta, const ModelTensor& input, const ModelTensor& output,
                       const Operation& operation) {
  const ScaleEncoding& encoding = rule.rescale.scale;
  const Chain chain = rule.rescale.chain;
  if (input.type == ElementType::int16 && output.type == ElementType::int16) {
    return [chain, parameters = SoftmaxParameters{softmax_scale_i16(encoding, beta, input.quantization.scale()), 0}](const Execution& run) {
      softmax_rows_fixed<std::int16_t, std::int16_t>(run, parameters, chain);
    };
  }
  const auto rows = [&]<class Input, class Output>() -> Executor {
    return [chain, parameters = softmax_parameters(encoding, beta, input.quantization.scale())](const Execution& run) {
      softmax_rows_fixed<Input, Output>(run, parameters, chain);
    };
  };
  if (input.type == ElementType::int8 && output.type == ElementType::int8) return rows.template operator()<std::int8_t, std::int8_t>();
  if (input.type == ElementType::uint8 && output.type == ElementType::uint8) return rows.template operator()<std::uint8_t, std::uint8_t>();
  if (input.type == ElementType::int8 && output.type == ElementType::int16) return rows.template operator()<std::int8_t, std::int16_t>();
  throw_type(operation, input);
}

/// exp(beta * s * (x - max)) / sum, in double, one rounding to the output.
Executor float_softmax(Rounding rounding, double beta, const ModelTensor& input, const ModelTensor& output) {
  const QuantizeArithmetic quantizer{.rounding = rounding};
  return [=, scale = beta * input.quantization.scale(), to = output.quantization, range = range_of(output.type)](const Execution& run) {
    auto values = centred(*run.inputs[0], 0);
    const auto columns = static_cast<std::size_t>(run.inputs[0]->shape().rank() == 0 ? 1 : run.inputs[0]->shape().back());
    std::vector<double> shares(columns);
    for (std::size_t row = 0; row < values.size(); row += columns) {
      const auto at = values.begin() + static_cast<std::ptrdiff_t>(row);
      const std::int64_t top = *std::max_element(at, at + static_cast<std::ptrdiff_t>(columns));
      double sum = 0;
      for (std::size_t c = 0; c < columns; ++c) sum += shares[c] = std::exp(scale * static_cast<double>(values[row + c] - top));
      for (std::size_t c = 0; c < columns; ++c) {
        values[row + c] = quantize(quantizer, static_cast<float>(shares[c] / sum), static_cast<float>(to.scale()), to.zero_point(), range);
      }
    }
    store(values, run.outputs[0]);
  };
}

}  // namespace

Executor prepare_softmax(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const FunctionArithmetic& rule = required_rule(backend, operation);
  const double beta = std::get<SoftmaxAttributes>(operation.attributes).beta;
  if (rule.method == FunctionMethod::float_table) return float_softmax(rule.rounding, beta, input, output);
  if (rule.method != FunctionMethod::fixed_point) throw_type(operation, input);
  return fixed_softmax(rule, beta, input, output, operation);
}

}  // namespace lastbit
