// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/core_calls.hpp"

namespace lastbit::test {

template CoreOutcome by_constant_of<OperationKind::fully_connected, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::matmul, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::max_pool2d, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::average_pool2d, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::global_average_pool, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);

template CoreOutcome by_constant_of<OperationKind::conv2d, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::depthwise_conv2d, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::transposed_conv2d, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::fully_connected, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::matmul, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::max_pool2d, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::average_pool2d, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::global_average_pool, Values::binary16>(const Model&, std::size_t,
                                                                                          std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::add, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::sub, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::mul, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::quantize, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::dequantize, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::cast, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);

}  // namespace lastbit::test
