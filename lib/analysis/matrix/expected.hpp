// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How many outputs of a layer are expected to differ, from where they can and from how what goes in is spread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/certify/certifier.hpp"
#include "analysis/certify/every_code.hpp"

namespace lastbit {

/// Of a layer's columns: a normal distribution with each one's moments.
[[nodiscard]] double expected_by_ranges(const SharedSums& sums, std::span<const ColumnDifference> differences);

/// The accumulators that side a's layer has on data, column by column.
using Accumulators = std::vector<std::vector<std::int64_t>>;
/// Nothing where they cannot be had. `inputs` holds what stands at every input of the operation, one sample each.
[[nodiscard]] std::optional<Accumulators> accumulators_on(const LayerOnBoth& layer, const SharedSums& sums,
                                                          std::span<const std::vector<const Tensor*>> samples);
/// Of the histogram of each column, even within its bins: what is expected of other data like these.
[[nodiscard]] double expected_by_histogram(const Accumulators& accumulators, std::span<const ColumnDifference> differences);

/// Of cases: every code as likely as any other.
[[nodiscard]] double expected_by_ranges(const EveryCode& cases);
/// Every code as likely as it is in the data input it belongs to, whatever the codes beside it.
[[nodiscard]] double expected_by_codes(const EveryCode& cases, const LayerOnBoth& layer,
                                       std::span<const std::vector<const Tensor*>> samples);

}  // namespace lastbit
