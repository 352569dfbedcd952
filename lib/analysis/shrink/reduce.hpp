// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The steps that make a layer smaller once it is cut to one value. Each changes `layer` only to what the oracle accepts.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "analysis/shrink/oracle.hpp"

namespace lastbit {

/// All of the steps below, in their order; `on_step` is told how many are done, of how many.
void reduce(LayerCase& layer, Oracle& oracle, const std::function<void(std::size_t done, std::size_t all)>& on_step = {});

/// The smallest cut that computes both values as they are, for the same cause; and which of the crops it is, or how many there are.
[[nodiscard]] std::pair<LayerCase, std::size_t> cut(const LayerCase& whole, const TwoOutputs& outputs, Oracle& oracle);

/// Fewer taps, elements, channels, rows, inputs.
void drop_parts(LayerCase& layer, Oracle& oracle);

/// Elements at their zero point instead of any other value.
void zero_elements(LayerCase& layer, Oracle& oracle);

/// Of a sum that needs several taps, say to overflow: as large as their types allow, if fewer then do.
void strengthen_taps(LayerCase& layer, Oracle& oracle);

/// A layer of one tap: without a bias if any input and weight do, the smallest ones; else with the smallest bias.
void simplify_tap(LayerCase& layer, Oracle& oracle);

/// No activation, no row multiplier, no bias where they are not needed; scales that are 32-bit floats; values as near to their zero point as
/// they go.
void simplify_values(LayerCase& layer, Oracle& oracle);

}  // namespace lastbit
