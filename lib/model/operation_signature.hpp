// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each kind of operation is called, takes and gives: the one table that names, checks, defaults and movements come from. Layers above have
// tables of their own, with a row for each kind as well: what an operation reads of a sheet, how the engine computes it, how it is proven.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include "model/movement.hpp"

namespace lastbit {

class InputShapes;
class OperationView;

inline constexpr OperationKind last_operation_kind = OperationKind::block_matmul;

/// Whether rows are one for each kind, in the order of OperationKind.
template <class Row, std::size_t count>
[[nodiscard]] constexpr bool is_row_of_each_kind(const std::array<Row, count>& rows) {
  for (std::size_t i = 0; i < count; ++i) {
    if (static_cast<std::size_t>(rows[i].kind) != i) return false;
  }
  return count == static_cast<std::size_t>(last_operation_kind) + 1;
}

inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

struct OperationSignature {
  OperationKind kind;
  std::string_view name;
  std::size_t required_inputs;
  std::size_t most_inputs;   ///< inputs beyond the required ones may be absent_tensor
  std::size_t most_outputs;  ///< at least one
  Attributes (*default_attributes)();
  void (*check_types)(const OperationView&);                   ///< of elements, with their quantisations
  void (*check_shapes)(const OperationView&);                  ///< and attributes
  Shape (*output_shape)(const InputShapes&);                   ///< of the first output; where it does not follow, the first input's
  Movement (*move)(const Model&, const Operation&) = nullptr;  ///< of an operation that only moves data
};

[[nodiscard]] const OperationSignature& signature_of(OperationKind kind);
[[nodiscard]] std::span<const OperationSignature> operation_signatures();

}  // namespace lastbit
