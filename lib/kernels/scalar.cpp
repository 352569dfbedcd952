// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

namespace lastbit::kernels::scalar {

void dot_rows_i16(const std::int16_t* a, const std::int16_t* rows, std::size_t length, std::size_t count, std::int32_t* out) {
  for (std::size_t r = 0; r < count; ++r) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += static_cast<std::uint32_t>(std::int32_t{a[i]} * rows[r * length + i]);
    out[r] = static_cast<std::int32_t>(sum);
  }
}

void multiply_add_i16(const std::int16_t* x, const std::int16_t* w, std::size_t channels, std::int32_t* sums) {
  for (std::size_t c = 0; c < channels; ++c) {
    sums[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[c]) + static_cast<std::uint32_t>(std::int32_t{x[c]} * w[c]));
  }
}

}  // namespace lastbit::kernels::scalar
