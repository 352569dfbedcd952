// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A float network as GNA sees it: layers with the table and the pool that end them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gna/toolchain/limits.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model.hpp"

namespace lastbit::gna {

/// A layer, the activation behind it and the pool behind that, where nothing else reads what lies between.
struct FusedLayer {
  const Operation* layer = nullptr;  ///< conv2d or fully_connected; absent: a table on data
  const Operation* activation = nullptr;
  const Operation* pool = nullptr;
  [[nodiscard]] const Operation& first() const { return layer != nullptr ? *layer : *activation; }
  [[nodiscard]] const Operation& last() const { return pool != nullptr ? *pool : activation != nullptr ? *activation : *layer; }
  std::vector<std::size_t> members;  ///< positions of all of them
};

[[nodiscard]] constexpr bool is_layer(OperationKind kind) {
  return kind == OperationKind::conv2d || kind == OperationKind::fully_connected;
}
[[nodiscard]] bool is_activation(OperationKind kind);
/// Of a layer.
[[nodiscard]] const OutputBounds& bounds_of(const Operation& layer);

class FloatNetwork {
 public:
  explicit FloatNetwork(const Model& model);
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const Shape& shape(std::int32_t tensor) const { return model_.tensor(tensor).shape; }
  [[nodiscard]] bool is_constant(const Operation& operation, std::size_t position) const {
    return position < operation.inputs.size() && operation.inputs[position] != absent_tensor &&
           model_.tensor(operation.inputs[position]).constant;
  }
  /// Whether the windows of a convolution slide along the width only.
  [[nodiscard]] bool is_line(const Operation& layer) const { return shape(layer.inputs[0])[1] == 1 && shape(layer.inputs[1])[1] == 1; }
  /// Whether a layer reads a concat, with nothing between but moved data.
  [[nodiscard]] bool is_behind_concat(const Operation& layer) const;
  /// The fused layer that begins with a layer, or with an activation that is part of none.
  [[nodiscard]] FusedLayer fused_layer_from(std::size_t operation) const;

 private:
  [[nodiscard]] std::optional<std::size_t> only_reader(const Operation& operation) const;
  const Model& model_;
  std::vector<std::vector<std::size_t>> readers_;  ///< of each tensor; the number of operations stands for the network's output
  std::vector<const Operation*> writers_;          ///< of each tensor; of inputs and constants none
};

/// What a generation cannot do of it: one diagnostic per operation and limit.
[[nodiscard]] std::vector<Diagnostic> beyond_limits(const FloatNetwork& network, const Limits& limits);

}  // namespace lastbit::gna
