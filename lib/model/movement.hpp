// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pure data movement (pad, reshape, squeeze, transpose, slice, strided_slice, split, gather) of any element type: the same on every device.
#pragma once

#include <functional>
#include <span>

#include "lastbit/model.hpp"

namespace lastbit {

/// From inputs to outputs of the operation's types and shapes; may be called from several threads at once.
struct Movement {
  /// Of all `rows` those from `first` to `last`.
  std::function<void(std::span<const Tensor* const> inputs, std::span<Tensor> outputs, std::int64_t first, std::int64_t last)> move;
  std::int64_t rows = 1;

  void operator()(std::span<const Tensor* const> inputs, std::span<Tensor> outputs) const { move(inputs, outputs, 0, rows); }
};

/// Throws Error naming the operation when it moves no data.
[[nodiscard]] Movement prepare_movement(const Model& model, const Operation& operation);

[[nodiscard]] Movement move_all(const Model& model, const Operation& operation);  ///< reshape, squeeze
[[nodiscard]] Movement move_gather(const Model& model, const Operation& operation);
[[nodiscard]] Movement move_pad(const Model& model, const Operation& operation);
[[nodiscard]] Movement move_slice(const Model& model, const Operation& operation);
[[nodiscard]] Movement move_split(const Model& model, const Operation& operation);
[[nodiscard]] Movement move_transpose(const Model& model, const Operation& operation);

}  // namespace lastbit
