// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The same by OpenMP, whose library can be linked into a program: oneTBB's cannot.
#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include "engine/parallel.hpp"

namespace lastbit {
namespace {

constexpr int parts_per_thread = 4;  // so that a thread which is held up leaves its share to the others

/// No exception may leave what OpenMP runs: the first is kept for whoever waits.
class KeptException {
 public:
  template <class Body>
  void keep(const Body& body) noexcept {
    try {
      body();
    } catch (...) {
      const std::scoped_lock lock(keeping_);
      if (!first_) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex keeping_;
  std::exception_ptr first_;
};

}  // namespace

void for_each_part(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const int threads = omp_get_num_threads();
  const std::int64_t parts = std::min<std::int64_t>(parts_per_thread * threads, count / (ScopedFinestParts::any() ? 1 : grain));
  if (threads == 1 || parts <= 1) return body(0, count);
  KeptException thrown;
#pragma omp taskloop grainsize(1) shared(thrown, body)
  for (std::int64_t part = 0; part < parts; ++part) {
    thrown.keep([&] { body(count * part / parts, count * (part + 1) / parts); });
  }
  thrown.rethrow();
}

void with_threads(int threads, const std::function<void()>& body) {
  if (threads <= 1) return body();
  KeptException thrown;
#pragma omp parallel num_threads(threads) shared(thrown, body)
#pragma omp single
  thrown.keep(body);
  thrown.rethrow();
}

}  // namespace lastbit
