// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/core_calls.hpp"

namespace lastbit::test {

template CoreOutcome by_constant_of<OperationKind::conv2d, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::depthwise_conv2d, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
template CoreOutcome by_constant_of<OperationKind::transposed_conv2d, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);

}  // namespace lastbit::test
