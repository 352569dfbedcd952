// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random layers on every path, for a time.
//
//   paths_differential [SECONDS [SEED]]     layers SEED, SEED + 1, …
//   paths_differential layer NUMBER         one of them again
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "differential/compare_paths.hpp"
#include "lastbit/emulator.hpp"

namespace {

using namespace lastbit::test;

constexpr double patience = 300;  // seconds beyond those asked for, until every case has been met: sanitizers are slow

/// Proven and unproven sums, alone and side by side.
bool met_every_case(const Comparisons& found) {
  return std::all_of(found.overflowing.begin(), found.overflowing.end(), [](std::int64_t layers) { return layers > 0; });
}

/// 1 if the layer differs between paths.
int compare_layer(std::uint64_t number, Comparisons& comparisons) {
  Choices choose(number);
  const auto layer = random_layer(choose);
  if (!layer) return 0;
  const auto difference = difference_between_paths(*layer, comparisons);
  if (!difference) return 0;
  std::printf("layer %llu, %s on %s: %s\n", static_cast<unsigned long long>(number),
              std::string(lastbit::name_of(layer->model.operations[0].kind)).c_str(), layer->device.c_str(), difference->c_str());
  return 1;
}

void print(const Comparisons& found, std::uint64_t numbers) {
  std::string paths;
  for (const std::string_view path : lastbit::available_host_paths()) paths += (paths.empty() ? "" : ", ") + std::string(path);
  const auto number = [](std::int64_t value) { return static_cast<long long>(value); };
  std::printf("%llu tries made %lld layers; %lld runs on %s; %lld values compared\n", static_cast<unsigned long long>(numbers),
              number(found.layers), number(found.runs), paths.c_str(), number(found.values));
  std::printf("sums that left their accumulator: in no output of %lld layers, in some of %lld, in all of %lld\n",
              number(found.overflowing[0]), number(found.overflowing[1]), number(found.overflowing[2]));
  for (const auto& [kind, count] : found.kinds) std::printf("%s %lld  ", kind.c_str(), number(count));
  std::puts("");
}

}  // namespace

int main(int argc, char** argv) {
  Comparisons found;
  if (argc == 3 && std::string_view(argv[1]) == "layer") return compare_layer(std::strtoull(argv[2], nullptr, 10), found);
  const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 5;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const auto goes_on = [&] { return passed() < seconds || (!met_every_case(found) && passed() < seconds + patience); };
  std::uint64_t numbers = 0;
  int differences = 0;
  while (goes_on() && differences < 10) differences += compare_layer(seed + numbers++, found);
  print(found, numbers);
  if (!met_every_case(found)) std::puts("too few layers to have met every case");
  return differences > 0 || !met_every_case(found) ? 1 : 0;
}
