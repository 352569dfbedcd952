// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "case.hpp"

namespace lastbit::bench {

/// What this machine can do at most on one thread, measured: multiply-adds per second of the widest dot product instructions (0 where it has
/// none), bytes per second that a copy of 64 MiB reads and writes.
struct Peaks {
  double byte_dot_product = 0, word_dot_product = 0, memory = 0;

  [[nodiscard]] double of(Roof roof) const {
    switch (roof) {
      case Roof::byte_dot_product: return byte_dot_product;
      case Roof::word_dot_product: return word_dot_product;
      case Roof::memory: return memory;
      default: return 0;
    }
  }
};

[[nodiscard]] Peaks measure_peaks(double budget);

}  // namespace lastbit::bench
