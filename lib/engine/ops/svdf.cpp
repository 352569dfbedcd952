// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/op/svdf.hpp"

#include <utility>
#include <vector>

#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"

namespace lastbit {
namespace {

using Values = std::vector<std::int64_t>;

struct Svdf {
  SvdfShape shape;
  AccumulatorRule accumulator;
  Finisher to_state, to_output;
  std::int64_t input_zero = 0, state_zero = 0;
};

std::span<const std::int64_t> row_of(const Values& values, std::int64_t row, std::int64_t width) {
  return std::span(values).subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
}

std::int64_t result_of(Accumulator sum, Events* events) {
  const std::int64_t result = sum.result();
  if (events != nullptr) events->accumulator_overflows += sum.overflow_count();
  return result;
}

/// Steps 1 and 2: the codes of the new state of one batch row, laid out [filters, memory].
Values remember(const Svdf& svdf, std::span<const std::int64_t> input, const Values& weights, std::span<const std::int64_t> before,
                Events* events) {
  const auto memory = static_cast<std::size_t>(svdf.shape.memory);
  Values features;
  for (std::int64_t f = 0; f < svdf.shape.filters; ++f)
    features.push_back(result_of(sum_of_products(input, row_of(weights, f, svdf.shape.inputs), svdf.accumulator), events));
  svdf.to_state(features);
  Values state(before.begin(), before.end());
  for (std::size_t f = 0; f < features.size(); ++f) {
    forget_oldest(std::span(state).subspan(f * memory, memory));
    state[(f + 1) * memory - 1] = features[f];
  }
  return state;
}

/// Steps 3 to 5: the codes of the outputs of one batch row.
Values recall(const Svdf& svdf, Values state, const Values& weights, const Values& bias, Events* events) {
  for (auto& value : state) value -= svdf.state_zero;
  const SvdfShape& shape = svdf.shape;
  Values sums, outputs;
  for (std::int64_t f = 0; f < shape.filters; ++f)
    sums.push_back(result_of(sum_of_products(row_of(state, f, shape.memory), row_of(weights, f, shape.memory), svdf.accumulator), events));
  for (std::int64_t u = 0; u < shape.units(); ++u) {
    const std::int64_t start = bias.empty() ? 0 : bias[static_cast<std::size_t>(u)];
    outputs.push_back(result_of(sum_of_filters(start, row_of(sums, u, shape.rank), svdf.accumulator), events));
  }
  svdf.to_output(outputs, events);
  return outputs;
}

void run_svdf(const Svdf& svdf, const Execution& run) {
  const Values input = centred(*run.inputs[0], svdf.input_zero), features = centred(*run.inputs[1], 0), times = centred(*run.inputs[2], 0);
  const Values before = centred(*run.inputs[3], 0);
  const Values bias = run.inputs.size() > 4 && run.inputs[4] != nullptr ? centred(*run.inputs[4], 0) : Values();
  const std::int64_t remembered = svdf.shape.filters * svdf.shape.memory;
  for (std::int64_t b = 0; b < svdf.shape.batch; ++b) {
    const Values state = remember(svdf, row_of(input, b, svdf.shape.inputs), features, row_of(before, b, remembered), run.events);
    store(state, run.outputs[1], static_cast<std::size_t>(b * remembered));
    store(recall(svdf, state, times, bias, run.events), run.outputs[0], static_cast<std::size_t>(b * svdf.shape.units()));
  }
}

EncodedScale scale_of(const RescaleRule& rule, const ModelTensor& in, const ModelTensor& weights, const ModelTensor& out) {
  const double real = effective_scale(rule, one_operand(in.quantization.scale(), weights.quantization.scale(), out.quantization.scale()));
  return encode(rule.scale, real);
}

}  // namespace

Executor prepare_svdf(const Model& model, const Operation& operation, const Backend& backend) {
  const auto tensor = [&](std::size_t position) -> const ModelTensor& { return model.tensor(operation.inputs[position]); };
  const ModelTensor &input = tensor(0), &features = tensor(1), &times = tensor(2), &state = tensor(3);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const auto& attributes = std::get<SvdfAttributes>(operation.attributes);
  const SvdfArithmetic& rule = backend.svdf;
  if (rule.output.chain.empty()) throw_unsupported(operation, "the backend has no such arithmetic");
  for (const ModelTensor* weights : {&features, &times}) require_centred_weights(operation, *weights);
  const RescaleRule& to_state = state.type == ElementType::int8 ? rule.state_i8 : rule.state_i16;
  const IntegerRange bounds =
      rule.activation == FusedActivation::applied ? bounds_of(attributes.activation, output) : range_of(output.type);
  const SvdfShape shape{.batch = input.shape[0],
                        .inputs = features.shape[1],
                        .filters = features.shape[0],
                        .memory = times.shape[1],
                        .rank = attributes.rank};
  const int bits = width_of_sums(rule.accumulator);
  Svdf svdf{shape,
            rule.accumulator,
            Finisher(storage_chain(operation, to_state.chain, state.type),
                     {operands_for(scale_of(to_state, input, features, state), state, range_of(state.type))}, bits),
            Finisher(output_chain(operation, rule.output.chain),
                     {operands_for(scale_of(rule.output, state, times, output), output, bounds)}, bits),
            input.quantization.zero_point(),
            state.quantization.zero_point()};
  return [svdf = std::move(svdf)](const Execution& run) { run_svdf(svdf, run); };
}

}  // namespace lastbit
