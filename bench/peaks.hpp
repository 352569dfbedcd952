// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "case.hpp"

namespace lastbit::bench {

/// What this machine can do at most on one thread, measured: multiply-adds per second of the widest dot product instructions (0 where it has
/// none), bytes per second that a copy within the second-level cache reads and writes.
struct Peaks {
  double byte_dot_product = 0, word_dot_product = 0, cache_copy = 0;

  [[nodiscard]] double of(Roof roof) const {
    switch (roof) {
      case Roof::byte_dot_product: return byte_dot_product;
      case Roof::word_dot_product: return word_dot_product;
      case Roof::cache_copy: return cache_copy;
      default: return 0;
    }
  }
};

[[nodiscard]] Peaks measure_peaks(double budget);

}  // namespace lastbit::bench
