// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/core_calls.hpp"

namespace lastbit::test {

template CoreOutcome by_constant_of<OperationKind::add, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::sub, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::mul, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::concat, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::requantize, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::relu, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::relu6, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::relu_n1_to_1, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::quantize, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::dequantize, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::logistic, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::tanh, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::softmax, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::pwl, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);

}  // namespace lastbit::test
