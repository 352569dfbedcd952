// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// lib/engine/parallel.hpp on one thread, for a processor without oneTBB.
#include "engine/parallel.hpp"

namespace lastbit {

void for_each_part(std::int64_t count, std::int64_t, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count > 0) body(0, count);
}

void with_threads(int, const std::function<void()>& body) { body(); }

}  // namespace lastbit
