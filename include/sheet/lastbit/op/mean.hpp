// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Mean over axes. Contract, for the n values of one output:
//   1. S = sum of q - zero_in, or of q (`centring` nothing), each through the `operand` chain, by the rule's accumulator;
//   2. CountIn::multiplier: the encoded scale s_in / s_out, multiplier M and exponent e, becomes M' = trunc(M * 2^k / n), exponent e - k,
//      with k = min(floor(log2 n), 32, 31 + e): M' is truncated, so exact averages can land just below a tie;
//      CountIn::ratio: the rule's own ratio, s_in / (n * s_out) for a mean;
//   3. the `output` chain of the rule, zero point and bounds included.
// Shapes: any input; the output without the averaged axes, or with 1 in their place (keep_dims). Units: codes, in and out with scales of their own.
// Errors: bad_attribute for no axes, one twice or one that the input lacks; shape_mismatch; unsupported_operation where the output chain is empty.
// Source: TFLite reference QuantizedMeanOrSum.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "lastbit/arith/multiplier.hpp"

namespace lastbit {

/// Step 2 of CountIn::multiplier.
[[nodiscard]] constexpr EncodedScale fold_count(EncodedScale scale, std::int64_t count) noexcept {
  const int log2 = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))) - 1;
  const int k = std::min({log2, 32, 31 + scale.exponent});
  scale.multiplier = static_cast<std::int64_t>((static_cast<Int128>(scale.multiplier) << std::max(k, 0)) / count);
  scale.exponent -= k;
  return scale;
}

}  // namespace lastbit
