// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations on codes, computed on both sides for every code there is: the operation by itself, on tensors that hold them all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/certify/both_sides.hpp"
#include "analysis/last_chain.hpp"
#include "lastbit/certify.hpp"

namespace lastbit {

/// Cases lie in rows and columns, row by row: of pairs, a row for every code of the first input and a column for every one of the second; of a
/// concatenation a row for every code and a column for every input; else there is one column. Rows go through neighbouring codes or sums.
struct EveryCode {
  std::string open{};  ///< why the codes cannot be gone through; empty: they were
  DecidedBy by = DecidedBy::codes;
  std::vector<std::int64_t> a{}, b{};  ///< what both sides compute of every case
  std::int64_t columns = 1;
  /// What each of them goes through, as a place among the operation's data inputs; -1: a constant. Of rows, then of columns; of a concatenation of every column.
  std::vector<std::int64_t> data_inputs{0};
  /// Of a case: the code of each data input of the operation; of window_sums a row of codes with that sum.
  std::function<std::vector<std::int64_t>(std::size_t)> codes{};
  std::int64_t terms = 1;  ///< of window_sums: how many codes a row has
  /// Of CodeRoute::definition: what every case is before the last chain of each side; nothing where the operation does not end in one.
  std::optional<LastChain> last_a{}, last_b{};
};

/// executors: what runs networks. definition: value by value, by the chain's own definition, where the operation ends in one.
enum class CodeRoute : std::uint8_t { executors, definition };

/// Nothing for an operation whose outputs do not each come from one code of every input, or from one sum of codes.
[[nodiscard]] std::optional<EveryCode> compare_every_code(const LayerOnBoth& layer, CodeRoute route = CodeRoute::executors);

}  // namespace lastbit
