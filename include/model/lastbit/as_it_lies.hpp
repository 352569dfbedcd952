// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory that a vendor's compiler fails to bring into another order: an image whose channels lie outermost, read as if they lay innermost. In a
// model it is two operations that move data, a transposition "x in memory" and a reshape of it, "x as it lies". On a device that is what is
// computed; in real numbers it is what the network means, x itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lastbit/model.hpp"
#include "lastbit/model_builder.hpp"

namespace lastbit {

/// Adds the two operations; returns the tensor that holds x as it lies. x is [1,height,width,channels].
std::int32_t add_as_it_lies(ModelBuilder& builder, std::int32_t x);

/// x, where the operation is such a reshape.
[[nodiscard]] std::optional<std::int32_t> meant_by(const Model& model, const Operation& operation);

/// The operation gives what is meant.
void read_as_meant(Operation& operation, std::int32_t meant);

}  // namespace lastbit
