// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Work shared among threads that may be refused.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>

#include "engine/parallel.hpp"

namespace lastbit {

/// Calls body(i) for every i below `count`, on the threads of the enclosing with_threads(), or, where they are to stay `together`, on the caller's alone. What is
/// thrown for the first of them is passed on, whatever the number of threads.
template <class Body>
void for_each_index(std::size_t count, Body&& body, bool together = false) {
  std::mutex noting;
  std::size_t end = count;
  std::exception_ptr thrown;  // for `end`
  const auto is_behind = [&](std::size_t i) {
    const std::scoped_lock lock(noting);
    return i >= end;
  };
  const auto size = static_cast<std::int64_t>(count);
  for_each_part(size, together ? size : 1, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last) && !is_behind(i); ++i) {
      try {
        body(i);
      } catch (...) {
        const std::scoped_lock lock(noting);
        if (i < end) end = i, thrown = std::current_exception();
      }
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace lastbit
