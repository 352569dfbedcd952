// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Work shared among the threads of a run. What is computed never depends on how it is shared.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/scoped_wish.hpp"

namespace lastbit {

/// Work that is worth a part of its own, in nanoseconds: to wake a thread takes longer than a part of less.
inline constexpr std::int64_t part_nanoseconds = 10'000;

/// How many units of work are a part, by what one takes.
[[nodiscard]] constexpr std::int64_t units_per_part(double nanoseconds) {
  return nanoseconds < part_nanoseconds ? static_cast<std::int64_t>(part_nanoseconds / nanoseconds) : 1;
}

/// While one lives every unit of work may be a part. For tests, whose layers are small.
using ScopedFinestParts = ScopedWish<struct FinestParts>;

/// Calls body(first, last) for parts that together are [0, count), each of at least `grain` unless there is only one, on the threads of the
/// enclosing with_threads(); on the caller's alone where there is none. With ScopedFinestParts `grain` is 1.
void for_each_part(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

/// Calls body() so that every for_each_part() in it has `threads` threads (at least 1). The first exception is passed on.
void with_threads(int threads, const std::function<void()>& body);

}  // namespace lastbit
