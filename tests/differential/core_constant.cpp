// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/core_layer.hpp"

#include "differential/core_calls.hpp"

namespace lastbit::test {

// Made in core_constants_*.cpp; of an operation without binary16 values no constant has rules, so there is no code.
extern template CoreOutcome by_constant_of<OperationKind::conv2d, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::depthwise_conv2d, Values::codes>(const Model&, std::size_t,
                                                                                           std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::transposed_conv2d, Values::codes>(const Model&, std::size_t,
                                                                                            std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::fully_connected, Values::codes>(const Model&, std::size_t,
                                                                                          std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::matmul, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::max_pool2d, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::average_pool2d, Values::codes>(const Model&, std::size_t,
                                                                                         std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::global_average_pool, Values::codes>(const Model&, std::size_t,
                                                                                              std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::add, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::sub, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::mul, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::concat, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::requantize, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::relu, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::relu6, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::relu_n1_to_1, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::quantize, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::dequantize, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::logistic, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::tanh, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::softmax, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::pwl, Values::codes>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::conv2d, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::depthwise_conv2d, Values::binary16>(const Model&, std::size_t,
                                                                                              std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::transposed_conv2d, Values::binary16>(const Model&, std::size_t,
                                                                                               std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::fully_connected, Values::binary16>(const Model&, std::size_t,
                                                                                             std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::matmul, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::max_pool2d, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::average_pool2d, Values::binary16>(const Model&, std::size_t,
                                                                                            std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::global_average_pool, Values::binary16>(const Model&, std::size_t,
                                                                                                 std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::add, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::sub, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::mul, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::quantize, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::dequantize, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);
extern template CoreOutcome by_constant_of<OperationKind::cast, Values::binary16>(const Model&, std::size_t, std::span<const Tensor>);

CoreOutcome by_constant(const Model& model, std::string_view device, std::span<const Tensor> inputs) {
  const auto found = std::ranges::find(core_devices, device, &CoreDevice::name);
  if (found == core_devices.end()) return {std::nullopt, Unsaid::not_made};
  const auto at = static_cast<std::size_t>(found - core_devices.begin());
  if (found->device->domain == Domain::real) return {std::nullopt, Unsaid::real};
  return with_kind(model, [&]<OperationKind kind, Values values>() { return by_constant_of<kind, values>(model, at, inputs); });
}

}  // namespace lastbit::test
