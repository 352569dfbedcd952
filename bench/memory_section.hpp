// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The most memory that a run holds, in a process of its own.
#pragma once

#include <string>
#include <vector>

#include "report.hpp"

namespace lastbit::bench {

struct MemoryCase {
  std::string name;
  void (*run)();
  double (*least)();  ///< bytes: weights, and what must be alive at one time
};

[[nodiscard]] std::vector<MemoryCase> memory_cases();

/// Runs the case in this process; its peak in bytes.
[[nodiscard]] double memory_of(const std::string& name);

/// The peak of a process of its own, beside the peak of one that does nothing and the least that the run needs.
[[nodiscard]] Result measure_memory(const MemoryCase& one);

}  // namespace lastbit::bench
