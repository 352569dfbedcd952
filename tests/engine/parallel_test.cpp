// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/for_each_index.hpp"
#include "engine/made_by_parts.hpp"
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
  with_threads(3, [&] {
    for_each_part(10, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        with_threads(2,
                     [&] { for_each_part(10, 1, [&](std::int64_t from, std::int64_t until) { met += static_cast<int>(until - from); }); });
    });
  });
  CHECK(met == 200);
  const auto fail = [](std::int64_t first, std::int64_t last) {
    if (first <= 5 && 5 < last) throw std::runtime_error("five");
  };
  CHECK_THROWS_AS(with_threads(3, [&] { for_each_part(10, 1, fail); }), std::runtime_error);
  CHECK(parts_of(10, 1, 3).met == std::vector<int>(10, 1));  // as if nothing had happened
}

namespace {

void share(int threads) {
  std::atomic<std::int64_t> met = 0;
  with_threads(threads, [&] { for_each_part(40, 1, [&](std::int64_t first, std::int64_t last) { met += last - first; }); });
  if (met != 40) throw std::logic_error("not every index was met");
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("numbers of threads that take turns cost no more than each by itself") {
  constexpr int runs = 10'000;
  const double apart = seconds_of([] {
    for (const int threads : {2, 3})
      for (int run = 0; run < runs; ++run) share(threads);
  });
  const double in_turn = seconds_of([] {
    for (int run = 0; run < runs; ++run)
      for (const int threads : {2, 3}) share(threads);
  });
  INFO(in_turn << " s, " << apart << " s");
  CHECK(in_turn < 20 * apart);  // a busy machine; arenas that are thrown away cost two hundred times as much
}

TEST_CASE("what parts make is in their order") {
  std::vector<int> numbers(500);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
  for (const int threads : {1, 2, 5}) {
    std::vector<int> met;
    std::size_t parts = 0;
    with_threads(threads, [&] {
      const auto make = [](std::span<const int> part) { return std::vector<int>(part.begin(), part.end()); };
      for (const std::vector<int>& part : made_by_parts(std::span<const int>(numbers), 7, make)) {
        met.insert(met.end(), part.begin(), part.end());
        ++parts;
      }
    });
    INFO(threads);
    CHECK(met == numbers);
    CHECK((parts == 1) == (threads == 1));
  }
  CHECK(made_by_parts(std::span<const int>(), 1, [](std::span<const int>) { return 0; }).empty());
}

namespace {

/// What is told where some indices are refused.
std::string told(const std::set<std::size_t>& refused, int threads, bool together) {
  try {
    with_threads(threads, [&] {
      const auto body = [&](std::size_t i) {
        if (refused.contains(i)) throw std::runtime_error(std::to_string(i));
      };
      for_each_index(40, body, together);
    });
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("of indices that are refused the first is told, whatever the number of threads") {
  for (const int threads : {1, 2, 4}) {
    for (const bool together : {false, true}) {
      INFO(threads << ' ' << together);
      CHECK(told({}, threads, together) == "nothing");
      CHECK(told({39}, threads, together) == "39");
      for (int i = 0; i < 50; ++i) CHECK(told({7, 8, 20, 21, 38}, threads, together) == "7");
    }
  }
}

TEST_CASE("indices behind one that is refused are left out, those before it are not") {
  std::vector<int> met(100);
  const auto body = [&](std::size_t i) {
    ++met[i];
    if (i == 30) throw std::runtime_error("thirty");
  };
  CHECK_THROWS_AS(for_each_index(met.size(), body), std::runtime_error);
  CHECK(std::vector<int>(met.begin(), met.begin() + 31) == std::vector<int>(31, 1));
  CHECK(std::vector<int>(met.begin() + 31, met.end()) == std::vector<int>(69, 0));
  std::vector<std::atomic<int>> shared(100);
  with_threads(4, [&] {
    CHECK_THROWS_AS(for_each_index(shared.size(),
                                   [&](std::size_t i) {
                                     ++shared[i];
                                     if (i >= 30) throw std::runtime_error("thirty and more");
                                   }),
                    std::runtime_error);
  });
  for (std::size_t i = 0; i <= 30; ++i) CHECK(shared[i] == 1);
}
