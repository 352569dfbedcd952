// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Lines by which an operation's outputs are computed: they are looked for once as many outputs were computed without them as looking takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/scoped_wish.hpp"

namespace lastbit {

/// While one lives lines are looked for at once. For tests, whose layers are small.
using ScopedEagerLines = ScopedWish<struct EagerLines>;

/// For any thread; copies share what was found.
template <class Lines>
class SoughtLines {
 public:
  /// `worth`: so many outputs take as long as looking.
  explicit SoughtLines(std::int64_t worth) : worth_(worth) {}

  /// For a run of so many outputs, what find() returned, an std::optional<Lines>. Null where there are none, and until looking is worth it.
  template <class Find>
  [[nodiscard]] const Lines* found(std::int64_t outputs, const Find& find) const {
    Search& search = *search_;
    if (!search.is_done.load(std::memory_order_acquire)) {
      const bool is_worth_it = search.outputs.fetch_add(outputs, std::memory_order_relaxed) + outputs >= worth_;
      if (!is_worth_it && !ScopedEagerLines::any()) return nullptr;
      const std::scoped_lock lock(search.looking);
      if (!search.is_done.load(std::memory_order_relaxed)) {
        search.lines = find();
        search.is_done.store(true, std::memory_order_release);
      }
    }
    return search.lines ? &*search.lines : nullptr;
  }

 private:
  struct Search {
    std::atomic<bool> is_done = false;
    std::atomic<std::int64_t> outputs = 0;
    std::mutex looking;
    std::optional<Lines> lines;
  };

  std::int64_t worth_;
  std::shared_ptr<Search> search_ = std::make_shared<Search>();
};

}  // namespace lastbit
