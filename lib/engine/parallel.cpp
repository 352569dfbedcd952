// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace lastbit {
namespace {

constexpr int parts_per_thread = 4;  // so that a thread which is held up leaves its share to the others

thread_local bool inside_arena = false;  // of the calling thread, or of a worker that serves it

class Inside {
 public:
  Inside() = default;
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { inside_arena = before_; }

 private:
  bool before_ = std::exchange(inside_arena, true);
};

}  // namespace

void for_each_part(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const int threads = inside_arena ? tbb::this_task_arena::max_concurrency() : 1;
  if (threads == 1 || count <= grain) return body(0, count);
  const std::int64_t parts = std::min<std::int64_t>(parts_per_thread * threads, count / grain);
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(0, parts, 1),
      [&](const tbb::blocked_range<std::int64_t>& range) {
        for (std::int64_t part = range.begin(); part < range.end(); ++part) {
          const Inside inside;
          body(count * part / parts, count * (part + 1) / parts);
        }
      },
      tbb::simple_partitioner());
}

void with_threads(int threads, const std::function<void()>& body) {
  if (threads <= 1) return body();
  // More than the machine has must be allowed; a limit that is set anew wakes and stops workers, so that it is not touched otherwise.
  std::optional<tbb::global_control> more;
  if (threads > tbb::info::default_concurrency())
    more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  arena.execute([&] {
    const Inside inside;
    body();
  });
}

}  // namespace lastbit
