// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer made of the fuzzer's bytes gives the same bits on every path (tests/differential does the same with random numbers).
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "differential/compare_paths.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastbit::test;
  static Comparisons comparisons;
  Choices choose(std::span(data, size));
  const auto layer = random_layer(choose);
  if (!layer) return 0;
  if (const auto difference = difference_between_paths(*layer, comparisons)) {
    std::fprintf(stderr, "%s: %s\n", layer->device.c_str(), difference->c_str());
    std::abort();
  }
  return 0;
}
