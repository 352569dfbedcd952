// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/op/lstm.hpp"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "lastbit/op/svdf.hpp"

namespace lastbit {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::size_t gates = 4;
enum Gate : std::size_t { input_gate, forget_gate, candidate, output_gate };
// Where a gate's tensors stand among the inputs of the operation.
constexpr std::size_t hidden_state = 1, cell_state = 2, input_weights = 3, recurrent_weights = 7, biases = 11;

/// What makes one part of a gate of a matrix and a vector.
struct GatePart {
  RescaleOperands terms{};  ///< of the operand chain
  Finisher finish{};
};

struct Lstm {
  LstmShape shape{};
  LstmArithmetic rule{};
  GateArithmetic gate{};
  std::array<GatePart, gates> from_input{}, from_hidden{};
  Finisher forgotten{}, added{}, to_output{};
  std::int64_t input_zero = 0, hidden_zero = 0, clip = 0;  ///< zero points: as far as they are subtracted
  double cell_scale = 0;
  int cell_integer_bits = 0;

  /// Of a value before a gate's function, or of the cell state.
  template <Sigmoid function>
  [[nodiscard]] std::int16_t of_gate(std::int16_t value) const {
    return rule.method == LstmMethod::fixed_point ? lstm_activation_fixed<function>(value, lstm_gate_integer_bits)
                                                  : lstm_activation<function>(value, lstm_gate_scale);
  }
  [[nodiscard]] std::int16_t of_cell(std::int16_t value) const {
    return rule.method == LstmMethod::fixed_point ? lstm_activation_fixed<Sigmoid::tanh>(value, cell_integer_bits)
                                                  : lstm_activation<Sigmoid::tanh>(value, cell_scale);
  }
};

/// One batch row on its way through the sequence.
struct Memory {
  Values hidden;  ///< minus the zero point
  Values cell;
};

/// Weights and biases of one run, widened.
struct Weights {
  std::array<Values, gates> input, recurrent, bias;
};

/// Steps 1 and 2: one part of a gate.
Values gate_part(const Values& matrix, std::span<const std::int64_t> vector, const Values* bias, const GateArithmetic& rule,
                 const GatePart& part, Events* events) {
  Values sums;
  for (std::size_t row = 0; row * vector.size() < matrix.size(); ++row) {
    const std::int64_t offset = bias == nullptr ? 0 : (*bias)[row];
    Accumulator sum(rule.sum.accumulator, rule.bias == BiasAt::accumulator_start ? offset : 0);
    for (std::size_t i = 0; i < vector.size(); ++i)
      sum.add(finish(rule.sum.operand.chain, vector[i] * matrix[row * vector.size() + i], part.terms));
    if (rule.bias == BiasAt::accumulator_end) sum.add(offset);
    sums.push_back(sum.result());
    if (events != nullptr) events->accumulator_overflows += sum.overflow_count();
  }
  part.finish(sums);
  return sums;
}

/// Both parts of a gate, and its activation.
Values gate_values(const Lstm& lstm, std::size_t gate, std::span<const std::int64_t> x, const Values& hidden, const Weights& weights,
                   Events* events) {
  Values from_input = gate_part(weights.input[gate], x, &weights.bias[gate], lstm.gate, lstm.from_input[gate], events);
  const Values from_hidden = gate_part(weights.recurrent[gate], hidden, nullptr, lstm.gate, lstm.from_hidden[gate], events);
  for (std::size_t i = 0; i < from_input.size(); ++i) {
    const std::int16_t sum = add_i16(from_input[i], from_hidden[i], lstm.rule.sum);
    from_input[i] = gate == candidate ? lstm.of_gate<Sigmoid::tanh>(sum) : lstm.of_gate<Sigmoid::logistic>(sum);
  }
  return from_input;
}

Values products(const Values& a, const Values& b) {
  Values out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] * b[i];
  return out;
}

/// Step 3.
void update_cell(const Lstm& lstm, const std::array<Values, gates>& gate, Values& cell) {
  Values kept = products(gate[forget_gate], cell), added = products(gate[input_gate], gate[candidate]);
  lstm.forgotten(kept);
  lstm.added(added);
  for (std::size_t i = 0; i < cell.size(); ++i)
    cell[i] = std::clamp<std::int64_t>(add_i16(kept[i], added[i], lstm.rule.sum), -lstm.clip, lstm.clip);
}

/// One step of one batch row: its outputs, as codes.
Values step(const Lstm& lstm, std::span<const std::int64_t> x, const Weights& weights, Memory& memory, Events* events) {
  std::array<Values, gates> gate;
  for (std::size_t g = 0; g < gates; ++g) gate[g] = gate_values(lstm, g, x, memory.hidden, weights, events);
  update_cell(lstm, gate, memory.cell);
  Values activated(memory.cell.size());
  std::transform(memory.cell.begin(), memory.cell.end(), activated.begin(),
                 [&](std::int64_t c) { return lstm.of_cell(static_cast<std::int16_t>(c)); });
  Values outputs = products(activated, gate[output_gate]);
  lstm.to_output(outputs, events);
  std::transform(outputs.begin(), outputs.end(), memory.hidden.begin(), [&](std::int64_t code) { return code - lstm.hidden_zero; });
  return outputs;
}

Values part(const Values& values, std::int64_t first, std::int64_t count) {
  const auto begin = values.begin() + first;
  return {begin, begin + count};
}

void run_lstm(const Lstm& lstm, const Execution& run) {
  Weights weights;
  for (std::size_t g = 0; g < gates; ++g) {
    weights.input[g] = centred(*run.inputs[input_weights + g], 0);
    weights.recurrent[g] = centred(*run.inputs[recurrent_weights + g], 0);
    weights.bias[g] = centred(*run.inputs[biases + g], 0);
  }
  const LstmShape& shape = lstm.shape;
  const Values input = centred(*run.inputs[0], lstm.input_zero), hidden = centred(*run.inputs[hidden_state], lstm.hidden_zero);
  const Values cell = centred(*run.inputs[cell_state], 0);
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    Memory memory{part(hidden, b * shape.cells, shape.cells), part(cell, b * shape.cells, shape.cells)};
    const auto place = static_cast<std::size_t>(b * shape.cells);
    for (std::int64_t t = 0; t < shape.steps; ++t) {
      const Values x = part(input, shape.row(b, t, shape.inputs), shape.inputs);
      const Values outputs = step(lstm, x, weights, memory, run.events);
      store(outputs, run.outputs[0], static_cast<std::size_t>(shape.row(b, t, shape.cells)));
      store(outputs, run.outputs[1], place);
    }
    store(memory.cell, run.outputs[2], place);
  }
}

RescaleOperands operands_of(const RescaleRule& rule, const LayerQuantities& layer, std::int64_t zero_point, ElementType type) {
  const IntegerRange range = range_of(type);
  return {.scale = encode(rule.scale, effective_scale(rule, layer)), .zero_point = zero_point, .min = range.min, .max = range.max};
}

Finisher finisher(const Operation& operation, const RescaleRule& rule, const LayerQuantities& layer, std::int64_t zero_point,
                  ElementType type, int bits) {
  return Finisher(output_chain(operation, rule.chain), {operands_of(rule, layer, zero_point, type)}, bits);
}

GatePart gate_part_of(const Operation& operation, const SumArithmetic& rule, double in, double weight) {
  const LayerQuantities layer = one_operand(in, weight, lstm_gate_scale);
  return {operands_of(rule.operand, layer, 0, ElementType::int16),
          finisher(operation, rule.output, layer, 0, ElementType::int16, width_of_sums(rule.accumulator))};
}

/// The integer bits of the cell state: its scale is 2^(these - 15).
int require_cell(const Operation& operation, const ModelTensor& cell, LstmMethod method) {
  int exponent = 0;
  const double scale = cell.quantization.scale();
  if (std::frexp(scale, &exponent) != 0.5 || scale > 2 || cell.quantization.zero_point() != 0)
    throw_unsupported(operation, "the cell state '" + cell.name + "' needs zero point 0 and a scale that is a power of two up to 2");
  const int integer_bits = exponent - 1 + lstm_fraction_bits;
  if (method == LstmMethod::fixed_point && (integer_bits < 0 || integer_bits > lstm_most_integer_bits))
    throw_unsupported(operation, "the cell state '" + cell.name + "' needs a scale of 2^-15 to 2^-9 on this backend");
  return integer_bits;
}

}  // namespace

Executor prepare_lstm(const Model& model, const Operation& operation, const Backend& backend) {
  const auto tensor = [&](std::size_t position) -> const ModelTensor& { return model.tensor(operation.inputs[position]); };
  const auto scale = [&](std::size_t position) { return tensor(position).quantization.scale(); };
  const ModelTensor &input = tensor(0), &hidden = tensor(hidden_state);
  const auto& attributes = std::get<LstmAttributes>(operation.attributes);
  const LstmArithmetic& rule = backend.lstm;
  const GateArithmetic& gate = input.type == ElementType::int8 ? rule.gate_i8 : rule.gate_i16;
  if (rule.method == LstmMethod::absent || !exists(gate.sum))
    throw_unsupported(operation, "the backend has no arithmetic for " + std::string(name_of(input.type)) + " data");
  if (rule.sum == Overflow::exact) throw_unsupported(operation, "16-bit sums wrap or saturate; the backend says exact");
  const int cell_integer_bits = require_cell(operation, tensor(cell_state), rule.method);
  for (std::size_t i = input_weights; i < biases; ++i) require_centred_weights(operation, tensor(i));

  const double cell = scale(cell_state);
  Lstm lstm{.rule = rule,
            .gate = gate,
            .input_zero = centred_by(gate.sum.centring, input.quantization.zero_point()),
            .hidden_zero = centred_by(gate.sum.centring, hidden.quantization.zero_point()),
            .clip = cell_clip_code(attributes.cell_clip, cell, rule.clip_rounding),
            .cell_scale = cell,
            .cell_integer_bits = cell_integer_bits};
  const std::size_t time = attributes.time_major ? 0 : 1;
  lstm.shape = {input.shape[1 - time], input.shape[time], input.shape[2], hidden.shape[1], attributes.time_major};
  for (std::size_t g = 0; g < gates; ++g) {
    lstm.from_input[g] = gate_part_of(operation, gate.sum, scale(0), scale(input_weights + g));
    lstm.from_hidden[g] = gate_part_of(operation, gate.sum, scale(hidden_state), scale(recurrent_weights + g));
  }
  constexpr double activation = lstm_activation_scale;
  lstm.forgotten = finisher(operation, rule.cell, one_operand(activation, cell, cell), 0, ElementType::int16, 32);
  lstm.added = finisher(operation, rule.cell, one_operand(activation, activation, cell), 0, ElementType::int16, 32);
  lstm.to_output = finisher(operation, rule.output, one_operand(activation, activation, scale(hidden_state)),
                            hidden.quantization.zero_point(), hidden.type, 32);
  return [lstm = std::move(lstm)](const Execution& run) { run_lstm(lstm, run); };
}

}  // namespace lastbit
