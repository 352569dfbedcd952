// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

namespace lastbit {
namespace {

constexpr int parts_per_thread = 4;  // so that a thread which is held up leaves its share to the others

/// Of the calling thread, or of a worker that serves it: what with_threads() allows, and of how many is the arena that runs it; 0: none does.
struct Threads {
  int allowed = 1, arena = 0;
};
thread_local Threads current;

class With {
 public:
  explicit With(Threads threads) : before_(std::exchange(current, threads)) {}
  With(const With&) = delete;
  With& operator=(const With&) = delete;
  ~With() { current = before_; }

 private:
  Threads before_;
};

/// An arena of so many threads, for one caller at a time and kept for the next. One that is made anew has no workers yet; one that is thrown away may still
/// ask for some, and then oneTBB keeps it until a worker comes by, and walks over all of these whenever work comes or goes.
class BorrowedArena {
 public:
  explicit BorrowedArena(int threads) : arena_(taken(threads)) {}
  BorrowedArena(const BorrowedArena&) = delete;
  BorrowedArena& operator=(const BorrowedArena&) = delete;
  ~BorrowedArena() {
    const std::scoped_lock lock(idle().mutex);
    idle().arenas.splice(idle().arenas.begin(), arena_);
  }
  template <class Body>
  void execute(const Body& body) {
    arena_.front().execute(body);
  }

 private:
  using Arenas = std::list<tbb::task_arena>;
  struct Idle {
    std::mutex mutex;
    Arenas arenas;  ///< the last used one first
  };
  static Idle& idle() {
    static Idle all;
    return all;
  }
  static Arenas taken(int threads) {
    Arenas one;
    const std::scoped_lock lock(idle().mutex);
    Arenas& all = idle().arenas;
    const auto found = std::find_if(all.begin(), all.end(), [&](const tbb::task_arena& each) { return each.max_concurrency() == threads; });
    if (found == all.end()) one.emplace_back(threads);
    else one.splice(one.begin(), all, found);
    return one;
  }

  Arenas arena_;  ///< one
};

}  // namespace

void for_each_part(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const Threads threads = current;
  const std::int64_t parts = std::min<std::int64_t>(parts_per_thread * threads.allowed, count / (ScopedFinestParts::any() ? 1 : grain));
  if (threads.allowed == 1 || parts <= 1) return body(0, count);
  const auto run = [&] {
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, parts, 1),
        [&](const tbb::blocked_range<std::int64_t>& range) {
          const With inside({threads.allowed, threads.allowed});
          for (std::int64_t part = range.begin(); part < range.end(); ++part) body(count * part / parts, count * (part + 1) / parts);
        },
        tbb::simple_partitioner());
  };
  if (threads.arena == threads.allowed) run();
  else BorrowedArena(threads.allowed).execute(run);
}

void with_threads(int threads, const std::function<void()>& body) {
  if (threads <= 1) return body();
  // More than the machine has must be allowed; a limit that is set anew wakes and stops workers, so that it is not touched otherwise.
  std::optional<tbb::global_control> more;
  if (threads > tbb::info::default_concurrency())
    more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  const With allowed({threads, current.arena});
  body();
}

}  // namespace lastbit
