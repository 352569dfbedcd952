// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation of a network by itself.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit {

/// The model that consists of one operation of `model`: its data tensors become inputs and outputs.
[[nodiscard]] Model extract_operation(const Model& model, std::size_t operation);

/// What that model is fed with, out of the tensors of the whole network by their index (as in Trace); each input once, present in `tensors`.
[[nodiscard]] std::vector<Tensor> inputs_of(const Model& model, std::size_t operation, std::span<const std::optional<Tensor>> tensors);

/// Whether a user's name is meant for the operation: its number, its own name, or that of its output.
[[nodiscard]] bool is_called(const Model& model, std::size_t operation, std::string_view name);

}  // namespace lastbit
