// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each kind of operation is called, takes and gives: the one table that names, checks and defaults come from.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include "lastbit/model.hpp"

namespace lastbit {

inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

struct OperationSignature {
  OperationKind kind;
  std::string_view name;
  std::size_t required_inputs;
  std::size_t most_inputs;   ///< inputs beyond the required ones may be absent_tensor
  std::size_t most_outputs;  ///< at least one
  Attributes (*default_attributes)();
};

[[nodiscard]] const OperationSignature& signature_of(OperationKind kind);
[[nodiscard]] std::span<const OperationSignature> operation_signatures();

}  // namespace lastbit
