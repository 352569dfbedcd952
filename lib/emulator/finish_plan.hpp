// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a chain and its operands to the steps of kernels/finish.hpp. The values' range is followed through every stage, channel by channel; a
// step is left out where it cannot act, and lanes of a width are chosen only where the ranges prove that the steps give the chain's bits.
#pragma once

#include <optional>
#include <span>

#include "kernels/finish.hpp"
#include "lastbit/arith/rescale.hpp"

namespace lastbit {

/// A plan for accumulators of `accumulator_bits` on a path whose vectors have `lanes` lanes of 32 bits; nothing where no width is proven.
[[nodiscard]] std::optional<kernels::FinishPlan> finish_plan(const Chain& chain, std::span<const RescaleOperands> operands,
                                                             int accumulator_bits, std::size_t lanes);

}  // namespace lastbit
