// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "story.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool;

namespace {

const StoryFigures& figures() {
  static const StoryFigures all = vnni_laptop_figures(test::source_directory() / "examples");
  return all;
}
/// "50.69 %" as 0.5069.
double share(const std::string& text) { return std::stod(text) / 100; }

}  // namespace

TEST_CASE("vnni-laptop: a unit test fails with 8 bits of data, by partial sums alone, and passes with 7") {
  const Rows& rows = figures().tables.at("unit test");
  REQUIRE(rows.size() == 2);
  CHECK(std::stoi(rows[0][2]) > 500);
  CHECK(rows[0][5].find("accumulator.partial.method") != std::string::npos);
  CHECK(rows[0][5].find("unexplained") == std::string::npos);
  CHECK(rows[1][2] == "0");
  CHECK(rows[1][5] == "equal");
}

TEST_CASE("vnni-laptop: the layers that differ are among those that are proven to be able to") {
  const Rows& rows = figures().tables.at("layers");
  REQUIRE(rows.size() == 2);
  for (const auto& layer : rows) {
    INFO(layer[0]);
    CHECK(std::stoi(layer[1]) > 0);
    const std::int64_t lowest = std::stoll(layer[3]), highest = std::stoll(layer[4]);
    CHECK((lowest < -32768 || highest > 32767));
    const std::size_t comma = layer[2].find(',');
    const int first = std::stoi(layer[2]), second = std::stoi(layer[2].substr(comma + 1));
    CHECK(lowest == 255 * (std::min(first, 0) + std::min(second, 0)));
    CHECK(highest == 255 * (std::max(first, 0) + std::max(second, 0)));
  }
}

TEST_CASE("vnni-laptop: the value that is shown has lost what the pairs of its sum lost, and the more of it the further it moved") {
  const auto number = [](const char* name) { return std::stoll(figures().texts.at(name)); };
  CHECK(number("accumulator on the server") != number("accumulator on the laptop"));
  CHECK(std::abs(number("on the server") - number("on the laptop")) == 36);
  CHECK(figures().tables.at("layers")[0][6] == "-36 LSB");
}

TEST_CASE("vnni-laptop: 7 bits of data hold for what was calibrated, 7 bits of weights for every input") {
  const Rows& rows = figures().tables.at("remedies");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0][1] == "no");
  CHECK(rows[1][1] == "these images");
  CHECK(rows[2][1] == "every input");
  CHECK(share(rows[0][2]) > 0.3);
  CHECK(share(rows[1][2]) == 0);
  CHECK(share(rows[1][3]) > 0.3);  // brighter than what was calibrated
  CHECK(share(rows[2][2]) == 0);
  CHECK(share(rows[2][3]) == 0);
  CHECK(rows[1][4] == rows[1][5]);
  CHECK(rows[2][4] == rows[2][5]);
}

TEST_CASE("vnni-laptop: nothing saturates while the codes stay below 128, and with weights of 7 bits never") {
  const std::vector<Series>& series = figures().plot.series;
  REQUIRE(series.size() == 2);
  for (std::size_t i = 0; i < series[0].x.size(); ++i) {
    INFO("codes up to " << series[0].x[i]);
    if (series[0].x[i] <= 127) CHECK(series[0].y[i] == 0);
    if (series[0].x[i] >= 165) CHECK(series[0].y[i] > 1);
    CHECK(series[1].y[i] == 0);
  }
}
