// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace {

using namespace lastbit;

/// How often every index was met, and whether a part was shorter than the grain without being the last.
struct Parts {
  std::vector<int> met;
  bool too_short = false;
};

Parts parts_of(std::int64_t count, std::int64_t grain, int threads) {
  Parts parts{std::vector<int>(static_cast<std::size_t>(count)), false};
  std::mutex adding;
  with_threads(threads, [&] {
    for_each_part(count, grain, [&](std::int64_t first, std::int64_t last) {
      const std::scoped_lock lock(adding);
      parts.too_short = parts.too_short || (last - first < grain && last - first < count);
      for (std::int64_t i = first; i < last; ++i) ++parts.met[static_cast<std::size_t>(i)];
    });
  });
  return parts;
}

}  // namespace

TEST_CASE("every index is met once, whatever the count, the grain and the threads, and no part is shorter than the grain") {
  for (const int threads : {1, 2, 3, 8}) {
    for (const std::int64_t grain : {1, 2, 7, 100}) {
      for (std::int64_t count = 0; count <= 60; ++count) {
        INFO(threads << " threads, grain " << grain << ", count " << count);
        const Parts parts = parts_of(count, grain, threads);
        CHECK(parts.met == std::vector<int>(static_cast<std::size_t>(count), 1));
        CHECK_FALSE(parts.too_short);
      }
    }
  }
}

TEST_CASE("outside with_threads the caller does all of it, in one part") {
  std::set<std::thread::id> threads;
  int parts = 0;
  for_each_part(1000, 1, [&](std::int64_t, std::int64_t) {
    threads.insert(std::this_thread::get_id());
    ++parts;
  });
  CHECK(parts == 1);
  CHECK(threads == std::set{std::this_thread::get_id()});
}

TEST_CASE("parts within parts, and an exception of one of them") {
  std::atomic<int> met = 0;
  with_threads(3, [&] {
    for_each_part(10, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        for_each_part(10, 1, [&](std::int64_t from, std::int64_t until) { met += static_cast<int>(until - from); });
    });
  });
  CHECK(met == 100);
  const auto fail = [](std::int64_t first, std::int64_t last) {
    if (first <= 5 && 5 < last) throw std::runtime_error("five");
  };
  CHECK_THROWS_AS(with_threads(3, [&] { for_each_part(10, 1, fail); }), std::runtime_error);
  CHECK(parts_of(10, 1, 3).met == std::vector<int>(10, 1));  // as if nothing had happened
}
