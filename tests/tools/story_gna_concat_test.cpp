// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_gna_concat.hpp"

#include <cmath>

#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool::gna_concat;

TEST_CASE("gna-concat: the sixteen recorded runs, integer by integer, and the figures of the harness") {
  const std::vector<Recording> all = recordings(test::source_directory() / "examples/gna-concat");
  REQUIRE(all.size() == 16);
  for (const char* backend : {"gna2", "gna3_0"}) {
    const SpecSheet sheet = find_backend(backend);
    for (const Recording& recording : all) {
      const Figures figures = run_part(recording.network, recording.input_factor, Part::whole, recording.memory, sheet);
      CHECK(figures.integers == recording.integers);
      CHECK(std::abs(figures.cosine - recording.cosine) < 1e-12);
      CHECK(std::abs(figures.mean_absolute_error - recording.mean_absolute_error) < 1e-12);
      CHECK(figures.saturations == 0);
    }
  }
}

TEST_CASE("gna-concat: the medians over 200 random networks are the recorded ones") {
  const std::vector<Row> rows = table_over(200);
  REQUIRE(rows.size() == 12);
  const auto row = [&](Part part, double factor, Memory memory) {
    for (const Row& found : rows) {
      if (found.part == part && found.input_factor == factor && found.memory == memory) return found;
    }
    FAIL("no such row");
    return Row{};
  };
  const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
  for (const Part part : {Part::convolution, Part::whole}) {
    const Row fine = row(part, 2048, Memory::time_major), coarse = row(part, 1, Memory::time_major);
    CHECK(within(fine.cosine.median, 0.99995, 1));
    CHECK(within(fine.mean_absolute_error.median, 0.5e-4, 1.5e-4));
    CHECK(within(coarse.cosine.median, 0.90, 0.93));
    CHECK(within(coarse.mean_absolute_error.median, 0.12, 0.14));
  }
  const Row fine = row(Part::whole, 2048, Memory::channel_major), coarse = row(Part::whole, 1, Memory::channel_major);
  CHECK(within(fine.cosine.median, 0.70, 0.79));                 // recorded: 0.745
  CHECK(within(fine.cosine.low, 0.25, 0.45));                    // 0.34
  CHECK(within(fine.cosine.high, 0.87, 0.92));                   // 0.89
  CHECK(within(fine.mean_absolute_error.median, 0.18, 0.20));    // 0.19
  CHECK(within(coarse.cosine.median, 0.53, 0.65));               // 0.593
  CHECK(within(coarse.mean_absolute_error.median, 0.24, 0.28));  // 0.26
  for (const Memory memory : {Memory::time_major, Memory::channel_major}) CHECK(row(Part::concat, 2048, memory).cosine.median > 0.999);
}

TEST_CASE("gna-concat: the wrong run is the right arithmetic on permuted memory, and a permutation undoes it") {
  const SpecSheet sheet = find_backend(device);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Network network = random_network(seed);
    const Figures right = run_part(network, 2048, Part::whole, Memory::time_major, sheet);
    const Figures wrong = run_part(network, 2048, Part::whole, Memory::channel_major, sheet);
    CHECK(run_part(network, 2048, Part::whole, Memory::permuted, sheet).integers == right.integers);
    CHECK(wrong.integers != right.integers);
    // The same sums by hand: position p, tap k, channel c read the flat [channel][time] memory at ((2p + k) * 6 + c).
    const Quantized integers = quantized(network, 2048);
    const auto input = integers.input.values<std::int16_t>(), weights = integers.weights.values<std::int16_t>();
    for (std::size_t p = 0; p < 127; ++p) {
      std::int64_t sum = integers.bias.values<std::int32_t>()[0];
      for (std::size_t i = 0; i < 18; ++i) sum += std::int64_t{weights[i]} * input[(p * 12 + i) % 510];
      CHECK(wrong.integers[p * 4] == sum);
    }
  }
}

TEST_CASE("gna-concat: no rule of the convolution cures it") {
  const RuleSearch search = search_rules(random_network(0));
  CHECK(search.settings > 60);
  CHECK(search.changed > 0);  // a narrow accumulator does change integers
  CHECK(search.changed < search.settings);
  CHECK(search.best < search.cosine + 0.05);
  CHECK(search.best < 0.95);
}
