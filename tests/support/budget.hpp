// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A limit to memory for part of a test.
#pragma once

#include "lastbit/memory.hpp"

namespace lastbit::test {

/// While it lives, the process may need no more.
class Budget {
 public:
  explicit Budget(std::size_t bytes) { set_memory_budget(bytes); }
  ~Budget() { set_memory_budget(0); }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
};

}  // namespace lastbit::test
