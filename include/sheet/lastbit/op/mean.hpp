// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Mean over axes. Contract, for the n values of one output:
//   1. S = sum(q) - n * zero_in, modulo 2^32;
//   2. count_in_multiplier: the encoded scale s_in / s_out, multiplier M and exponent e, becomes M' = trunc(M * 2^k / n), exponent e - k,
//      with k = min(floor(log2 n), 32, 31 + e): M' is truncated, so exact averages can land just below a tie;
//      scale_per_count: the effective scale is s_in / (n * s_out);
//   3. the chain of the rule, zero point and bounds included.
// Source: TFLite reference QuantizedMeanOrSum.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "lastbit/arith/multiplier.hpp"

namespace lastbit {

/// Step 2 of count_in_multiplier.
[[nodiscard]] constexpr EncodedScale fold_count(EncodedScale scale, std::int64_t count) noexcept {
  const int log2 = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))) - 1;
  const int k = std::min({log2, 32, 31 + scale.exponent});
  scale.multiplier = static_cast<std::int64_t>((static_cast<Int128>(scale.multiplier) << std::max(k, 0)) / count);
  scale.exponent -= k;
  return scale;
}

}  // namespace lastbit
