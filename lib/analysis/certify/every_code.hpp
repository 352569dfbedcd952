// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations on codes, computed on both sides for every code there is: the operation by itself, on tensors that hold them all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/certify/both_sides.hpp"
#include "lastbit/certify.hpp"

namespace lastbit {

struct EveryCode {
  std::string open;  ///< why the codes cannot be gone through; empty: they were
  DecidedBy by = DecidedBy::codes;
  std::int64_t cases = 0, differing = 0, largest = 0;
  /// Of the first case that differs: the code of each data input of the operation; of window_sums a row of codes with that sum.
  std::vector<std::int64_t> codes{};
};

/// Nothing for an operation whose outputs do not each come from one code of every input, or from one sum of codes.
[[nodiscard]] std::optional<EveryCode> compare_every_code(const LayerOnBoth& layer);

}  // namespace lastbit
