// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which tensor of a float network is which of its quantised model.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lastbit/model.hpp"
#include "lastbit/replay.hpp"

namespace lastbit {

/// What has to be done to the axes of an image.
enum class AxesMove : std::uint8_t { none, to_channels_last, to_channels_first };

struct Counterpart {
  std::int32_t tensor = 0;         ///< in the float network
  AxesMove move = AxesMove::none;  ///< of its values, to be those of the model's tensor
  MatchedBy match = MatchedBy::nothing;
};

/// By the index of the model's tensor; constants have none, inputs have inputs.
[[nodiscard]] std::vector<std::optional<Counterpart>> match_tensors(const Model& model, const Model& float_network);

/// The values of a tensor of shape `own` in a tensor of shape `wanted`, with samples in front or without.
[[nodiscard]] Tensor moved(const Tensor& values, AxesMove move, const Shape& own, const Shape& wanted);

[[nodiscard]] AxesMove opposite(AxesMove move);

}  // namespace lastbit
