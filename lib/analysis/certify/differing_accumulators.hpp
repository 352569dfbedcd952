// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How many accumulators differ, in a fraction of the time that their staircases take: the steps of all columns are looked for by the path's vectors
// (engine/output_steps.hpp), not by the definition. For searches, whose findings the definition then confirms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/certify/shared_sums.hpp"

namespace lastbit {

/// Of some of the sums' columns, together. Nothing where a side's outputs are no bytes, its chain has no steps to be found that way, or its biases are its own.
[[nodiscard]] std::optional<std::int64_t> differing_accumulators(const SharedSums& sums, std::span<const SharedSums::Column> columns);

}  // namespace lastbit
