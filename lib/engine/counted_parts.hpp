// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Work shared among threads, each counting its own events.
#pragma once

#include <mutex>
#include <utility>

#include "engine/parallel.hpp"
#include "lastbit/emulator.hpp"

namespace lastbit {

/// for_each_part() whose body(first, last, events) counts into events of its own, null where `events` is; they are added to `events`.
template <class Body>
void for_each_counted_part(Events* events, std::int64_t count, std::int64_t grain, Body&& body) {
  std::mutex mutex;
  for_each_part(count, grain, [&](std::int64_t first, std::int64_t last) {
    if (events == nullptr) return body(first, last, static_cast<Events*>(nullptr));
    Events own;
    body(first, last, &own);
    const std::scoped_lock lock(mutex);
    *events += own;
  });
}

}  // namespace lastbit
