// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer as what enters its last chain: sums and products as the device forms them, one by one, and the operands that each of them meets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

struct LastChain {
  Chain chain;
  std::vector<RescaleOperands> operands;  ///< different ones
  std::vector<std::size_t> operands_of;   ///< of each output, its place among them
  std::vector<std::int64_t> sums;         ///< of each output

  [[nodiscard]] const RescaleOperands& at(std::size_t output) const { return operands[operands_of[output]]; }
};

/// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected; add, sub, add_n, mul; average pools; requantize and the activations that
/// read its rule; concat of the method `rescaled`. `inputs` holds the codes of every input that is no constant. Nothing for other operations,
/// for layers that the backend cannot run, and where it computes them without a chain of integers.
[[nodiscard]] std::optional<LastChain> last_chain(const Model& model, std::size_t operation, const Backend& backend,
                                                  std::span<const Tensor* const> inputs);

}  // namespace lastbit
