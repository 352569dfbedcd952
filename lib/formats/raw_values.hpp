// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

namespace lastbit {

/// Whether bytes are real values as networks have them, float32: codes read so are infinite, or far too large or small.
inline bool look_real(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(float));
    constexpr float small = 1e-20F, large = 1e20F;
    if (value != 0 && !(std::abs(value) > small && std::abs(value) < large)) return false;
  }
  return true;
}

}  // namespace lastbit
