// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "case.hpp"

#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "engine/kernels/kernels.hpp"
#include "lastbit/error.hpp"
#include "other_process.hpp"

namespace lastbit::bench {
namespace {

bool any_difference = false;

std::uint64_t fingerprint(const Tensor& tensor) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::byte byte : tensor.bytes()) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 1099511628211U;
  return hash;
}

std::uint64_t on_scalar_path(const Side& ours) {
  const kernels::ScopedPath scalar(kernels::paths().front());
  return fingerprint(ours.prepare().output());
}

Trial in_other_process(const Side& side, const std::string& name) {
  const auto process = std::make_shared<OtherProcess>(std::vector<std::string>{"/proc/self/exe", "--serve", name}, side.variable);
  return {side.prepare().work, {}, {}, [process](std::int64_t runs) { return process->seconds(runs); }};
}

/// A benchmark: its trial, or why it is not timed, once it was asked for.
class Entry {
 public:
  Entry(const Case& one, const Side& side, std::shared_ptr<std::optional<std::uint64_t>> expected)
      : case_(one), side_(side), expected_(std::move(expected)), name_(one.name + "/" + side.name) {}

  [[nodiscard]] const std::string& name() const { return name_; }

  void run(benchmark::State& state) {
    if (!trial_ && obstacle_.empty()) prepare();
    if (!trial_) return state.SkipWithError(obstacle_.c_str());
    if (side_.uses_other_process()) {
      while (state.KeepRunningBatch(state.max_iterations)) state.SetIterationTime(trial_->seconds(state.max_iterations));
    } else {
      trial_->run();  // the caches are the previous benchmark's
      for (auto _ : state) trial_->run();
    }
    if (case_.counter != nullptr)
      state.counters[case_.counter] = benchmark::Counter(trial_->work, benchmark::Counter::kIsIterationInvariantRate);
    if (case_.roof != nullptr) state.SetLabel(case_.roof);
  }

 private:
  void prepare() try {
    Trial trial = side_.variable.empty() ? side_.prepare() : in_other_process(side_, name_);
    if (trial.output) {
      if (!*expected_) *expected_ = on_scalar_path(case_.sides[0]);
      if (fingerprint(trial.output()) != *expected_) throw std::runtime_error("the output differs from that of the scalar path");
    }
    trial_ = std::move(trial);
  } catch (const Error& error) {
    leave_out(error.what());
  } catch (const std::exception& difference) {
    any_difference = true;
    leave_out(difference.what());
  }

  void leave_out(const char* why) {
    obstacle_ = why;
    std::fprintf(stderr, "%s is not timed: %s\n", name_.c_str(), why);
  }

  const Case& case_;
  const Side& side_;
  std::shared_ptr<std::optional<std::uint64_t>> expected_;  ///< one for all sides of the case
  std::string name_, obstacle_;
  std::optional<Trial> trial_;
};

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

void register_case(const Case& one) {
  const auto expected = std::make_shared<std::optional<std::uint64_t>>();
  for (const Side& side : one.sides) {
    const auto entry = std::make_shared<Entry>(one, side, expected);
    auto* const registered = benchmark::RegisterBenchmark(entry->name().c_str(), [entry](benchmark::State& state) { entry->run(state); });
    registered->Unit(benchmark::kMicrosecond);
    if (side.clock == Clock::wall) registered->UseRealTime();
    if (side.uses_other_process()) registered->UseManualTime();
  }
}

bool found_difference() { return any_difference; }

void serve(const Cases& cases, const std::string& benchmark) {
  for (const Case& one : cases) {
    for (const Side& side : one.sides) {
      if (one.name + "/" + side.name != benchmark) continue;
      const Trial trial = side.prepare();
      for (std::int64_t runs = 0; std::cin >> runs;) {
        trial.run();  // the caches are another process's
        const double start = thread_seconds();
        for (std::int64_t i = 0; i < runs; ++i) trial.run();
        std::cout << thread_seconds() - start << std::endl;
      }
    }
  }
}

}  // namespace lastbit::bench
