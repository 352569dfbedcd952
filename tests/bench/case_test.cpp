// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// First compared, then timed: a side whose output differs from the scalar path's, or that a backend cannot do, never runs.
#include "case.hpp"

#include <benchmark/benchmark.h>

#include "lastbit/error.hpp"
#include "other_process.hpp"
#include "support/catch.hpp"

namespace lastbit::bench {
namespace {

Tensor value(std::int32_t number) {
  Tensor tensor(ElementType::int32, {1});
  tensor.values<std::int32_t>()[0] = number;
  return tensor;
}

/// Counts its runs.
Trial trial(std::int32_t output, int& runs) {
  return {1, [&runs] { ++runs; }, [output] { return value(output); }};
}

struct Silent : benchmark::BenchmarkReporter {
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

void run_benchmarks(const Case& one) {
  benchmark::ClearRegisteredBenchmarks();
  register_case(one);
  std::string name = "case_test", few = "--benchmark_min_time=0.000001";
  char* arguments[] = {name.data(), few.data(), nullptr};
  int count = 2;
  benchmark::Initialize(&count, arguments);
  Silent silent;
  CHECK(benchmark::RunSpecifiedBenchmarks(&silent) == one.sides.size());
}

TEST_CASE("a side with the scalar path's output, or without one, is timed") {
  int ours = 0, peer = 0, other = 0;
  run_benchmarks({"equal",
                  "values",
                  nullptr,
                  {{"lastbit", [&] { return trial(7, ours); }},
                   {"peer", [&] { return trial(7, peer); }},
                   {"other", [&] { return only_timed(trial(8, other)); }}}});
  CHECK(ours > 0);
  CHECK(peer > 0);
  CHECK(other > 0);
  CHECK_FALSE(found_difference());
}

TEST_CASE("what a backend cannot do is left out, and is no difference") {
  int peer = 0;
  run_benchmarks({"refused",
                  nullptr,
                  nullptr,
                  {{"lastbit", [&]() -> Trial { throw Error(ErrorCode::unsupported_operation, "layer", "is refused"); }},
                   {"peer", [&] { return only_timed(trial(1, peer)); }}}});
  CHECK(peer > 0);
  CHECK_FALSE(found_difference());
}

TEST_CASE("a side whose output differs is not timed, the others are") {
  int ours = 0, peer = 0;
  run_benchmarks({"different", nullptr, nullptr, {{"lastbit", [&] { return trial(7, ours); }}, {"peer", [&] { return trial(8, peer); }}}});
  CHECK(ours > 0);
  CHECK(peer == 0);
  CHECK(found_difference());
}

TEST_CASE("another process answers with the seconds of so many runs, or is left out") {
  OtherProcess counting({"sh", "-c", "while read runs; do echo $runs$suffix; done"}, "suffix=.5");
  CHECK(counting.seconds(3) == 3.5);
  CHECK(counting.seconds(40) == 40.5);
  OtherProcess missing({"/no/such/program"}, "");
  CHECK_THROWS_AS(static_cast<void>(missing.seconds(1)), Error);
}

}  // namespace
}  // namespace lastbit::bench
