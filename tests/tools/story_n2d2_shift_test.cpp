// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fstream>

#include "story.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool;

namespace {

const StoryFigures& figures() {
  static const StoryFigures all = n2d2_shift_figures(test::source_directory() / "examples");
  return all;
}

}  // namespace

TEST_CASE("n2d2-shift: the published log, row by row") {
  const Rows& rows = figures().tables.at("log");
  REQUIRE(rows.size() == 8);
  std::ifstream log(test::source_directory() / "examples/n2d2-shift/log.txt");
  std::string line;
  std::getline(log, line);
  for (const auto& row : rows) {
    INFO("layer " << row[0]);
    CHECK(std::stod(row[10]) < 6.1e-6);  // global and cell
    CHECK(row[7] == row[8]);
    REQUIRE(std::getline(log, line));
    const double weights = std::stod(line.substr(line.rfind(' ')));
    CHECK(std::abs(std::stod(row[9]) / weights - 1) < 7e-6);
  }
}

TEST_CASE("n2d2-shift: a sound network keeps its answers under every way of scaling with 8 bits, and a factor loses least") {
  const Rows& rows = figures().tables.at("ways");
  REQUIRE(rows.size() == 11);
  const double real = std::stod(rows[0][2]);
  CHECK(real > 95);
  const auto sqnr = [&](std::size_t row) { return std::stod(rows[row][4]); };
  for (std::size_t i = 1; i <= 5; ++i) {
    INFO(rows[i][0]);
    CHECK(rows[i][1] == "8 bits");
    CHECK(std::stod(rows[i][2]) > real - 3);
  }
  CHECK(rows[1][0] == "n2d2_single_shift");
  for (std::size_t i = 3; i <= 5; ++i) CHECK(sqnr(i) > sqnr(1));
  CHECK(std::abs(sqnr(4) - sqnr(3)) < 0.5);  // 16 bits of the factor are enough
}

TEST_CASE("n2d2-shift: with a single shift the sum, and nothing before it, is one step lower in the export than in the simulator") {
  const Rows& rows = figures().tables.at("sums");
  REQUIRE(rows.size() == 4);
  for (const auto& row : rows) {
    INFO(row[0]);
    CHECK(row[1] == "0");
    CHECK(std::stoi(row[3]) == 360 * 8 * 8 * 8);
    if (row[0] == "single_shift") {
      CHECK(std::stoi(row[2]) > std::stoi(row[3]) / 10);
      CHECK(row[4] == "0 to 1");
    } else {
      CHECK(row[2] == "0");
    }
  }
}
