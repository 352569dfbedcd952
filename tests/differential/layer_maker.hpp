// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "differential/random_values.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

/// Convolutions, fully connected and matmul.
[[nodiscard]] bool sums_products(OperationKind kind);

/// A model of one operation, of kinds and types that the device may have. Throws Error where the sizes do not fit each other.
[[nodiscard]] Model make_layer(const Backend& backend, Choices& choose);

/// The same of a kind; nothing of those that move data, of svdf and of lstm.
[[nodiscard]] std::optional<Model> make_layer(OperationKind kind, const Backend& backend, Choices& choose);

}  // namespace lastbit::test
