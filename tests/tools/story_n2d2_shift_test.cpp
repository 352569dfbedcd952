// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_n2d2_shift.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool::n2d2_shift;

namespace {

lastbit::tool::Digits digits() { return lastbit::tool::read_digits(test::source_directory() / "examples/digits"); }

}  // namespace

TEST_CASE("n2d2-shift: the published log, row by row") {
  const auto rows = recomputed_log();
  REQUIRE(rows.size() == 8);
  for (const RecomputedLayer& row : rows) {
    INFO("layer " << row.logged.layer);
    REQUIRE(std::abs(row.figures.global / row.logged.global - 1) < 6e-6);
    REQUIRE(std::abs(row.figures.cell / row.logged.cell - 1) < 6.1e-6);
    REQUIRE(row.single.shift == row.logged.shift);
    REQUIRE(std::abs(row.single.weight_factor / row.logged.weight_factor - 1) < 7e-6);
  }
}

TEST_CASE("n2d2-shift: a sound network keeps its answers under every way of scaling with 8 bits, and a factor loses least") {
  const lastbit::tool::Digits data = digits();
  const WayFigures real = float_figures(data);
  REQUIRE(real.top1 > 0.95);
  const auto all = ways(data);
  REQUIRE(all.size() == 10);
  for (std::size_t i = 0; i < 5; ++i) {
    INFO(all[i].backend);
    REQUIRE(all[i].options == "8 bits");
    REQUIRE(all[i].top1 > real.top1 - 0.03);
  }
  REQUIRE(all[0].backend == "n2d2_single_shift");
  for (std::size_t i = 2; i < 5; ++i) REQUIRE(all[i].sqnr_db > all[0].sqnr_db);
  REQUIRE(std::abs(all[3].sqnr_db - all[2].sqnr_db) < 0.5);  // 16 bits of the factor are enough
}

TEST_CASE("n2d2-shift: with a single shift the sum, and nothing before it, is one step lower in the export than in the simulator") {
  for (const SumMismatch& found : sum_mismatches(digits(), read_branches(test::source_directory() / "examples"))) {
    INFO(found.way);
    REQUIRE(found.before == 0);
    REQUIRE(found.values == 360 * 8 * 8 * 8);
    if (found.way == "single_shift") {
      REQUIRE(found.differing > found.values / 10);
      REQUIRE(found.smallest == 0);
      REQUIRE(found.largest == 1);
    } else {
      REQUIRE(found.differing == 0);
    }
  }
}
