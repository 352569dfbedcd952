// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which widths of a chain matter where values come from an interval. Chains that differ in others alone make the same of all of these.
#pragma once

#include <cstdint>
#include <span>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/staircase.hpp"

namespace lastbit {

/// By stage, one bit.
using StageBits = std::uint32_t;

/// The stages that narrow a value of the interval, or may, to their width by their overflow.
[[nodiscard]] StageBits acting_widths(const Chain& chain, const RescaleOperands& operands, const IntegerRange& accumulators);

/// The chain less its widths that do not act: equal to another's where only these tell the two apart. To be compared, not computed with.
[[nodiscard]] Chain without_idle_widths(const Chain& chain, StageBits acting);

/// Whether it multiplies by the scale itself; otherwise only the encoding's whole numbers are read.
[[nodiscard]] bool reads_real_scale(const Chain& chain);

[[nodiscard]] std::uint64_t hash_of(const Chain& chain);

}  // namespace lastbit
