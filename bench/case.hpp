// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is timed: cases, each with the ways to one result. Every way is a benchmark of Google Benchmark, <case>/<side>.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit::bench {

/// One side, prepared to be run any number of times.
struct Trial {
  double work = 0;  ///< of one run, what the case's counter counts
  std::function<void()> run;
  std::function<Tensor()> output = {};               ///< empty: not the case's arithmetic, or no result of its own
  std::function<double(std::int64_t)> seconds = {};  ///< of so many runs, in place of `run`, where another process does them
};

/// thread: processor time of the calling thread, in which nothing else on the machine counts. wall: what passed, for work that several
/// threads share. other_process: what `Trial::seconds` says.
enum class Clock : std::uint8_t { thread, wall, other_process };

/// Prepared when it is first timed, so that what a filter leaves out costs nothing.
struct Side {
  std::string name;
  std::function<Trial()> prepare;
  Clock clock = Clock::thread;
  std::string variable = {};  ///< "NAME=VALUE", which a library reads once: then this program in another process runs it

  [[nodiscard]] bool uses_other_process() const { return clock == Clock::other_process || !variable.empty(); }
};

struct Case {
  std::string name;         ///< <section>/<backend>/<types>/<shape>
  const char* counter;      ///< what a rate counts, per second: "MACs", "values", "operations", "bytes"; nullptr: a time is the result
  const char* roof;         ///< the case of peaks.hpp that bounds the rate, or nullptr
  std::vector<Side> sides;  ///< ours, "lastbit", is the first
};

/// Every section appends its cases.
using Cases = std::vector<Case>;
void add_peaks(Cases& cases);
void add_convolutions(Cases& cases);
void add_words(Cases& cases);
void add_steps(Cases& cases);
void add_finishing(Cases& cases);
void add_core(Cases& cases);
void add_float16(Cases& cases);
void add_networks(Cases& cases);
void add_observation(Cases& cases);

/// Makes its sides benchmarks. Each is prepared when it is first timed; its output, if it has one, is then compared with that of the first
/// side on the scalar path. The case must live as long as they run.
void register_case(const Case& one);

/// The most memory that a run holds: benchmarks with a counter `held_bytes`, whose times say nothing.
void register_memory();

/// Whether an output differed so far: such a side is not timed.
[[nodiscard]] bool found_difference();

/// Runs the side of that benchmark as often as each line of the standard input says, and answers with the seconds of it.
void serve(const Cases& cases, const std::string& benchmark);

/// Without its output: for a side whose arithmetic or data are not the case's.
[[nodiscard]] inline Trial only_timed(Trial trial) {
  trial.output = nullptr;
  return trial;
}

}  // namespace lastbit::bench
