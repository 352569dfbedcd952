// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators that remember. The file lists one variable tensor per state, which the operator reads and then overwrites; in a model that
// tensor is what the state becomes, and a new tensor is what it was before.
#include "formats/tflite_operator.hpp"

namespace lastbit::tflite_format {

/// Input, feature weights, time weights, bias, state.
void read_svdf(const OperatorReader& source) {
  source.require_inputs(3, 5);
  if (!source.has_input(4)) source.malformed("the state is missing");
  const auto& options = source.options<SVDFOptions>();
  const std::int32_t before = source.state_before(4);
  source.emit(OperationKind::svdf, {source.input_index(0), source.input_index(1), source.input_index(2), before, source.input_index(3)},
              SvdfAttributes{.rank = options.rank(), .activation = source.activation(options.fused_activation_function())},
              {source.input_index(4)});
}

/// Input, four input weights, four recurrent weights, three peephole weights, four biases, projection weights and bias, hidden state, cell
/// state, four layer norm coefficients; of the optional ones the recorded devices know none.
void read_unidirectional_lstm(const OperatorReader& source) {
  constexpr std::size_t hidden_state = 18, cell_state = 19, most = 24;
  source.require_inputs(1, most);
  std::vector<std::int32_t> inputs{source.input_index(0), absent_tensor, absent_tensor};
  for (std::size_t i = 1; i < most; ++i) {
    const bool optional = (i >= 9 && i < 12) || i == 16 || i == 17 || i >= 20;
    if (optional && source.has_input(i)) source.unsupported("an LSTM with peephole, projection or layer normalisation");
    if (!optional && !source.has_input(i)) source.unsupported("input " + std::to_string(i) + " is missing: an LSTM of another kind");
    if (!optional && i < hidden_state) inputs.push_back(source.input_index(i));
  }
  const auto& options = source.options<UnidirectionalSequenceLSTMOptions>();
  if (options.fused_activation_function() != ActivationFunctionType::TANH) source.unsupported("an LSTM whose activation is not tanh");
  inputs[1] = source.state_before(hidden_state);
  inputs[2] = source.state_before(cell_state);
  source.emit(OperationKind::lstm, std::move(inputs),
              LstmAttributes{.cell_clip = double{options.cell_clip()}, .time_major = options.time_major()},
              {source.input_index(hidden_state), source.input_index(cell_state)});
}

}  // namespace lastbit::tflite_format
