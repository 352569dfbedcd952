// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every benchmark, and the peers that are installed, in one run (docs/performance.md).
//
//   lastbit_bench [FILTER…] [--json FILE] [--seconds S] [--list]
//
// A case runs if its name contains one of the filters.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "case.hpp"
#include "lastbit/error.hpp"
#include "measure.hpp"
#include "memory_section.hpp"
#include "peers.hpp"

namespace lastbit::bench {
namespace {

struct Options {
  std::vector<std::string> filters;
  std::string json, alone, peer;
  double seconds = 0.3;
  bool list = false;
};

Cases all_cases() {
  Cases cases;
  for (const auto add : {add_convolutions, add_words, add_steps, add_finishing, add_float16, add_networks, add_observation}) add(cases);
  return cases;
}

bool is_wanted(const std::string& name, const std::vector<std::string>& filters) {
  return filters.empty() ||
         std::any_of(filters.begin(), filters.end(), [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

const Case& find(const Cases& cases, const std::string& name) {
  const auto found = std::find_if(cases.begin(), cases.end(), [&](const Case& one) { return one.name == name; });
  if (found == cases.end()) throw Error(ErrorCode::bad_input, name, "is no benchmark");
  return *found;
}

void run_all(const Cases& cases, const Options& options) {
  const Peaks peaks = measure_peaks(std::min(options.seconds, 0.2));
  print_machine(peaks);
  print_header();
  std::vector<Result> results;
  const auto found = [&](Result result) {
    print(result);
    results.push_back(std::move(result));
  };
  for (const Case& one : cases) try {
      found(measure(one, peaks, options.seconds));
    } catch (const Error& error) {
      std::fprintf(stderr, "%s is left out: %s\n", one.name.c_str(), error.what());
    }
  for (const MemoryCase& one : memory_cases()) {
    if (is_wanted(one.name, options.filters)) found(measure_memory(one));
  }
  if (!options.json.empty()) write_json(options.json, peaks, results);
}

int run(const Options& options) {
  hold_peers_to_our_instructions();
  Cases cases = all_cases();
  if (!options.peer.empty()) {
    std::printf("%.17g\n", seconds_of_peer(find(cases, options.alone), options.peer, options.seconds));
  } else if (!options.alone.empty()) {
    std::printf("%.17g\n", memory_of(options.alone));
  } else {
    std::erase_if(cases, [&](const Case& one) { return !is_wanted(one.name, options.filters); });
    if (options.list) {
      for (const Case& one : cases) std::puts(one.name.c_str());
    } else {
      run_all(cases, options);
    }
  }
  return 0;
}

}  // namespace
}  // namespace lastbit::bench

int main(int argc, char** argv) try {
  lastbit::bench::Options options;
  CLI::App app("Benchmarks of lastbit and its peers");
  app.add_option("filter", options.filters, "parts of names; a case that contains one of them runs");
  app.add_option("--json", options.json, "write the results to this file as well");
  app.add_option("--seconds", options.seconds, "time for each side of each case")->check(CLI::PositiveNumber);
  app.add_flag("--list", options.list, "only print the names");
  app.add_option("--alone", options.alone, "one case in this process")->group("");
  app.add_option("--peer", options.peer, "its peer")->group("");
  CLI11_PARSE(app, argc, argv);
  return lastbit::bench::run(options);
} catch (const std::runtime_error& error) {
  std::fprintf(stderr, "lastbit_bench: %s\n", error.what());
  return 1;
}
