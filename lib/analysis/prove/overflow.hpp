// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Overflows that happen: by an input made for it, and on given data.
#pragma once

#include <optional>
#include <vector>

#include "analysis/prove/sums.hpp"

namespace lastbit {

/// One operation as a model of its own, on the backend that was asked about.
struct Alone {
  Model model;
  Backend backend = no_rules;
};

/// An input for which a sum of the channel leaves its width, run on the device; nothing where none can be made. The sum follows the bound
/// step by step: every term takes the end of its range that the bound took, up to the step at which the bound leaves the width.
[[nodiscard]] std::optional<OverflowExample> overflow_example(const Sums& sums, std::int64_t channel, const Alone& operation);

/// An input for which a sum of the channel comes to the upper end of what it can be, or to the lower one; nothing where none can be made.
[[nodiscard]] std::vector<Tensor> extreme_input(const Sums& sums, std::int64_t channel, bool upper);

/// How often the sums leave their width. `samples`: for each one the operation's inputs, null for constants. Channels that are `safe` are
/// not looked at.
/// Nothing where the device does not count them and they cannot be followed.
[[nodiscard]] std::optional<OverflowCount> count_overflows(const Sums& sums, const std::vector<bool>& safe, const Alone& operation,
                                                           std::span<const std::vector<const Tensor*>> samples);

}  // namespace lastbit
