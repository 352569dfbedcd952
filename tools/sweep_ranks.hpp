// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A sweep by several processes that an MPI launcher started. sweep_ranks.cpp knows MPI; where it was not built, sweep_alone.cpp refuses.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "lastbit/sweep.hpp"

namespace lastbit::tool {

/// What every process needs to take part.
struct SweepWork {
  std::unique_ptr<Model> model;
  std::unique_ptr<Sweeper> sweeper;
  std::unique_ptr<SampleSource> source;
};

/// How a sweep ended: complete, or why not.
struct SweepEnd {
  std::string error;     ///< empty: complete
  bool stopped = false;  ///< by a signal
};

struct RanksControl {
  std::filesystem::path state;
  std::chrono::milliseconds interval{1000};     ///< between two writes of the state
  std::chrono::milliseconds lost_after{30000};  ///< of silence, a rank counts as lost
  std::function<void(std::int64_t done, std::int64_t all)> progress;
  std::function<bool()> stop;
  /// On rank 0 at the end: what becomes of the statistics. Returns the exit status.
  std::function<int(const SweepWork& work, const SweepState& state, const SweepEnd& end)> finish;
};

/// How many processes the launcher started this one with, as the launcher's environment says; 0: there is no launcher.
[[nodiscard]] int launched_processes();

/// Prepares the work, does this process's share, and returns the exit status. Throws Error on rank 0 alone, where it cannot begin.
[[nodiscard]] int sweep_on_ranks(const std::function<SweepWork()>& prepare, const RanksControl& control);

}  // namespace lastbit::tool
