// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every benchmark, and the peers that are installed (docs/performance.md), with the options of Google Benchmark.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "case.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "peers.hpp"

namespace lastbit::bench {
namespace {

Cases all_cases() {
  Cases cases;
  for (const auto add :
       {add_peaks, add_convolutions, add_words, add_steps, add_finishing, add_core, add_float16, add_networks, add_observation})
    add(cases);
  return cases;
}

int run_benchmarks(int argc, char** argv) {
  hold_peers_to_our_instructions();
  const Cases cases = all_cases();
  if (argc == 3 && argv[1] == std::string_view("--serve")) {
    serve(cases, argv[2]);
    return 0;
  }
  for (const Case& one : cases) register_case(one);
  register_memory();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("path", std::string(host_path()));
  benchmark::RunSpecifiedBenchmarks();
  return found_difference() ? 1 : 0;
}

}  // namespace
}  // namespace lastbit::bench

int main(int argc, char** argv) try { return lastbit::bench::run_benchmarks(argc, argv); } catch (const lastbit::Error& error) {
  std::fprintf(stderr, "lastbit_bench: %s\n", error.what());
  return 2;
}
