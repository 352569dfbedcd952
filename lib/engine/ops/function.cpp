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
#include "lastbit/arith/fixed_softmax.hpp"
#include "lastbit/arith/float32_function.hpp"
#include "lastbit/arith/float_softmax.hpp"
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

/// Whether the method is f in float of every code, and how its value is quantised.
bool is_float_table(FunctionMethod method) {
  return method == FunctionMethod::float_table || method == FunctionMethod::float_table_by_inverse ||
         method == FunctionMethod::float_table_onto_zero_point;
}
QuantizeArithmetic quantizer_of(const FunctionArithmetic& rule) {
  QuantizeArithmetic quantizer = by_division(rule.rounding);
  const bool onto_zero_point = rule.method == FunctionMethod::float_table_onto_zero_point;
  if (onto_zero_point || rule.method == FunctionMethod::float_table_by_inverse) quantizer.division = ScaleDivision::multiply_by_inverse;
  if (onto_zero_point) quantizer.zero_point = ZeroPointAt::before_rounding;
  return quantizer;
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

/// The argument of a fixed-point function. Whatever a chain of the user's own makes of it, it stays in the function's domain.
std::int32_t fixed_argument(const Chain& chain, const EncodedScale& scale, std::int32_t value, std::int32_t largest) {
  const RescaleOperands operands{.scale = scale};
  return static_cast<std::int32_t>(std::min<std::int64_t>(narrow_saturate(finish(chain, value, operands), 32), largest));
}

/// Fixed-point functions give codes of one quantisation, whatever the output says. Scales of 16-bit outputs, which converters write as 1/65535 as
/// well, may be a thousandth off, as in tflite-micro softmax_common.cc.
void require_output(const Operation& operation, const ModelTensor& output, double scale, std::int64_t zero_point) {
  const Quantization& quantization = output.quantization;
  const double tolerance = size_of(output.type) == 1 ? 0 : 0.001;
  if (quantization.present() && std::abs(quantization.scale() - scale) <= tolerance * scale && quantization.zero_point() == zero_point)
    return;
  throw_unsupported(operation, "tensor '" + output.name + "' has scale " + std::to_string(quantization.scale()) + " and zero point " +
                                   std::to_string(quantization.zero_point()) + "; the device gives 1/" +
                                   std::to_string(static_cast<std::int64_t>(1 / scale)) + " and " + std::to_string(zero_point));
}

template <Sigmoid function>
Executor fixed_sigmoid(const FunctionArithmetic& rule, const ModelTensor& input, const ModelTensor& output, const Operation& operation) {
  const double scale = input.quantization.scale();
  if (input.type == ElementType::int16) {
    require_output(operation, output, 1.0 / 32768, 0);
    const SigmoidTableInput table = sigmoid_table_input(function, scale);
    return by_code(input.type, [=](std::int64_t code) { return sigmoid_i16<function>(static_cast<std::int16_t>(code), table); });
  }
  if (input.type != ElementType::int8) throw_type(operation, input);
  if (function == Sigmoid::logistic) require_output(operation, output, 1.0 / 256, -128);
  else require_output(operation, output, 1.0 / 128, 0);
  const SigmoidParameters parameters = sigmoid_parameters(rule.input.scale, scale);
  return by_code(input.type, [=, zero = input.quantization.zero_point()](std::int64_t code) {
    const auto rescale = [&](std::int32_t value) {
      return fixed_argument(rule.input.chain, parameters.scale, value, std::numeric_limits<std::int32_t>::max());
    };
    return sigmoid_i8<function>(static_cast<std::int32_t>(code - zero), parameters.radius, rescale);
  });
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

/// By float(real(x)), by `ratio` where there is one, or by `fixed`.
template <class Fixed>
Executor function_by(const FunctionArithmetic& rule, const Model& model, const Operation& operation, double (*real)(double),
                     float (*ratio)(float), const Fixed& fixed) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  require(rule, operation);
  if (input.type == ElementType::int32) throw_type(operation, input);
  if (is_float_table(rule.method)) {
    return float_function(input, output, rule, [real](float x) { return static_cast<float>(real(double{x})); });
  }
  if (rule.method == FunctionMethod::float_ratio && ratio != nullptr) return float_function(input, output, rule, ratio);
  if (rule.method != FunctionMethod::fixed_point || input.type != output.type) throw_type(operation, output);
  return fixed(input, output);
}

}  // namespace

Executor prepare_hard_swish(const Model& model, const Operation& operation, const Backend& backend) {
  const auto real = [](double x) { return x * std::clamp(x + 3.0, 0.0, 6.0) / 6.0; };
  return function_by(backend.hard_swish, model, operation, real, nullptr, [&](const ModelTensor& input, const ModelTensor& output) {
    return fixed_hard_swish(backend.hard_swish, input, output, operation);
  });
}

namespace {

/// float_table_8bit: of 8-bit data the function in float32, step by step (exp and tanh rounded to float32 as such); nothing of 16-bit data.
Executor table_of_8bit(const FunctionArithmetic& rule, const Model& model, const Operation& operation, float (*function)(float)) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  if (rule.method != FunctionMethod::float_table_8bit || size_of(input.type) != 1) return nullptr;
  return float_function(input, model.tensor(operation.outputs[0]), rule, function);
}

/// What float_table_8bit is of 16-bit data.
FunctionArithmetic wide(FunctionArithmetic rule) {
  if (rule.method == FunctionMethod::float_table_8bit) rule.method = FunctionMethod::fixed_point;
  return rule;
}

/// Nothing where the method is another.
template <Sigmoid function>
Executor table_entry(const FunctionArithmetic& rule, const Model& model, const Operation& operation) {
  if (rule.method != FunctionMethod::table_entry) return nullptr;
  const ModelTensor &input = model.tensor(operation.inputs[0]), &output = model.tensor(operation.outputs[0]);
  if (input.type != ElementType::int32) throw_type(operation, input);
  if (input.quantization.scale() != 0x1p-12 || input.quantization.zero_point() != 0)
    throw_unsupported(operation, "tensor '" + input.name + "' needs scale 2^-12 and zero point 0");
  require_output(operation, output, 0x1p-15, 0);
  return by_code(input.type, [](std::int64_t code) { return sigmoid_entry<function>(code); });
}

float logistic_in_float(float x) { return 1.0F / (1.0F + static_cast<float>(std::exp(-double{x}))); }
float tanh_in_float(float x) { return static_cast<float>(std::tanh(double{x})); }

}  // namespace

Executor prepare_logistic(const Model& model, const Operation& operation, const Backend& backend) {
  const auto real = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  if (Executor entry = table_entry<Sigmoid::logistic>(logistic_of(model, operation, backend), model, operation)) return entry;
  if (Executor table = table_of_8bit(logistic_of(model, operation, backend), model, operation, logistic_in_float)) {
    const ModelTensor& output = model.tensor(operation.outputs[0]);
    if (output.quantization.scale() != 1.0 / 256)  // whatever its zero point
      throw_unsupported(
          operation, "tensor '" + output.name + "' has scale " + std::to_string(output.quantization.scale()) + "; the device gives 1/256");
    return table;
  }
  const FunctionArithmetic rule = wide(logistic_of(model, operation, backend));
  return function_by(rule, model, operation, real, logistic_by_ratio, [&](const ModelTensor& input, const ModelTensor& output) {
    return fixed_sigmoid<Sigmoid::logistic>(rule, input, output, operation);
  });
}

Executor prepare_tanh(const Model& model, const Operation& operation, const Backend& backend) {
  const auto real = [](double x) { return std::tanh(x); };
  if (Executor entry = table_entry<Sigmoid::tanh>(tanh_of(model, operation, backend), model, operation)) return entry;
  if (Executor table = table_of_8bit(tanh_of(model, operation, backend), model, operation, tanh_in_float)) return table;
  const FunctionArithmetic rule = wide(tanh_of(model, operation, backend));
  return function_by(rule, model, operation, real, tanh_by_ratio, [&](const ModelTensor& input, const ModelTensor& output) {
    return fixed_sigmoid<Sigmoid::tanh>(rule, input, output, operation);
  });
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
  return function_by(backend.exp, model, operation, real, nullptr,
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

/// exp of every difference of 8-bit codes that counts, by its magnitude.
std::vector<std::int32_t> softmax_exponentials(const SoftmaxParameters& parameters, const Chain& chain) {
  std::vector<std::int32_t> exponentials(256, 0);
  for (std::int32_t difference = 0; difference >= -255 && difference >= parameters.smallest_difference; --difference) {
    exponentials[static_cast<std::size_t>(-difference)] =
        softmax_exponential(difference, [&](std::int32_t value) { return fixed_argument(chain, parameters.scale, value, 0); });
  }
  return exponentials;
}

Executor fixed_softmax(const FunctionArithmetic& rule, double beta, const ModelTensor& input, const ModelTensor& output,
                       const Operation& operation) {
  const ScaleEncoding& encoding = rule.input.scale;
  const Chain chain = rule.input.chain;
  if (input.type == ElementType::int16 && output.type == ElementType::int16) {
    require_output(operation, output, 1.0 / 32768, 0);
    const bool by_double = rule.method == FunctionMethod::fixed_point_by_double;
    const InterpolationTable& reciprocals = by_double ? one_over_one_plus_table_q0_15_by_double : one_over_one_plus_table_q0_15;
    return [chain, &reciprocals, scale = softmax_scale_i16(encoding, beta, input.quantization.scale())](const Execution& run) {
      const auto rescale = [&](std::int32_t value) { return fixed_argument(chain, scale, value, 0); };
      for_every_row<std::int16_t, std::int16_t>(run, [&](auto in, auto out) { softmax_row_i16(in, out, rescale, reciprocals); });
    };
  }
  const auto rows = [&]<class Input, class Output>() -> Executor {
    require_output(operation, output, std::ldexp(1.0, -8 * static_cast<int>(sizeof(Output))), std::numeric_limits<Output>::min());
    const SoftmaxParameters parameters = softmax_parameters(encoding, beta, input.quantization.scale());
    return [parameters, exponentials = softmax_exponentials(parameters, chain)](const Execution& run) {
      const auto exponential = [&](std::int32_t difference) { return exponentials[static_cast<std::size_t>(-difference)]; };
      for_every_row<Input, Output>(
          run, [&](auto in, auto out) { softmax_row_of<Input, Output>(in, out, parameters.smallest_difference, exponential); });
    };
  };
  if (input.type == ElementType::int8 && output.type == ElementType::int8) return rows.template operator()<std::int8_t, std::int8_t>();
  if (input.type == ElementType::uint8 && output.type == ElementType::uint8) return rows.template operator()<std::uint8_t, std::uint8_t>();
  if (input.type == ElementType::int8 && output.type == ElementType::int16) return rows.template operator()<std::int8_t, std::int16_t>();
  throw_type(operation, input);
}

/// exp(scale * (x - max)) / sum, in double, one rounding to the output. `exponentials` has those of differences of 8-bit codes.
template <class In, class Out, class Quantize>
void softmax_row_in_float(std::span<const In> in, std::span<Out> out, double scale, std::span<const double> exponentials,
                          const Quantize& quantized) {
  thread_local std::vector<double> shares;
  shares.resize(in.size());
  const In top = *std::max_element(in.begin(), in.end());
  double sum = 0;
  for (std::size_t c = 0; c < in.size(); ++c) {
    const std::int64_t difference = static_cast<std::int64_t>(in[c]) - static_cast<std::int64_t>(top);
    shares[c] = sizeof(In) == 1 ? exponentials[static_cast<std::size_t>(-difference)] : std::exp(scale * static_cast<double>(difference));
    sum += shares[c];
  }
  for (std::size_t c = 0; c < in.size(); ++c) out[c] = static_cast<Out>(quantized(static_cast<float>(shares[c] / sum)));
}

Executor float_softmax(Rounding rounding, double beta, const ModelTensor& input, const ModelTensor& output) {
  const QuantizeArithmetic quantizer = by_division(rounding);
  const double scale = beta * input.quantization.scale();
  std::vector<double> exponentials(256);
  for (int difference = 0; difference < 256; ++difference)
    exponentials[static_cast<std::size_t>(difference)] = std::exp(scale * static_cast<double>(-difference));
  return [=, to = output.quantization, range = range_of(output.type)](const Execution& run) {
    const auto columns = static_cast<std::size_t>(run.inputs[0]->shape().rank() == 0 ? 1 : run.inputs[0]->shape().back());
    const std::function<std::int64_t(float)> quantized = [&](float share) {
      return quantize(quantizer, share, static_cast<float>(to.scale()), to.zero_point(), range);
    };
    with_integers(*run.inputs[0], [&]<class In>() {
      with_integers(run.outputs[0], [&]<class Out>() {
        const auto in = run.inputs[0]->values<In>();
        const auto out = run.outputs[0].values<Out>();
        for (std::size_t row = 0; row < in.size(); row += columns)
          softmax_row_in_float<In, Out>(in.subspan(row, columns), out.subspan(row, columns), scale, exponentials, quantized);
      });
    });
  };
}

Executor exponential_softmax(Rounding rounding, double beta, const ModelTensor& input, const ModelTensor& output,
                             const Operation& operation) {
  if (size_of(input.type) != 1 || output.type != input.type) throw_type(operation, input);
  const std::size_t columns = input.shape.rank() == 0 ? 1 : static_cast<std::size_t>(input.shape.back());
  const auto table = softmax_float_exponentials(static_cast<float>(beta * input.quantization.scale()), columns);
  const float steps = std::floor(1.0F / static_cast<float>(output.quantization.scale()));
  return [=, zero_point = output.quantization.zero_point()](const Execution& run) {
    const auto rows = [&]<class T>() {
      const auto in = run.inputs[0]->values<T>();
      const auto out = run.outputs[0].values<T>();
      for (std::size_t row = 0; row < in.size(); row += columns)
        softmax_row_by_exponentials<T>(in.subspan(row, columns), out.subspan(row, columns), table, steps, zero_point, rounding);
    };
    if (run.outputs[0].type() == ElementType::int8) rows.template operator()<std::int8_t>();
    else rows.template operator()<std::uint8_t>();
  };
}

}  // namespace

Executor prepare_softmax(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const FunctionArithmetic& rule = backend.softmax;
  require(rule, operation);
  const double beta = std::get<SoftmaxAttributes>(operation.attributes).beta;
  if (rule.method == FunctionMethod::float_table) return float_softmax(rule.rounding, beta, input, output);
  if (rule.method == FunctionMethod::float_exponentials) return exponential_softmax(rule.rounding, beta, input, output, operation);
  if (rule.method != FunctionMethod::fixed_point && rule.method != FunctionMethod::fixed_point_by_double) throw_type(operation, input);
  return fixed_softmax(rule, beta, input, output, operation);
}

}  // namespace lastbit
