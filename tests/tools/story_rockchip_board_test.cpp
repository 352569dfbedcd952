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
  static const StoryFigures all = rockchip_board_figures(test::source_directory() / "examples");
  return all;
}
/// "0.15 %" as 0.0015.
double share(const std::string& text) { return std::stod(text) / 100; }

}  // namespace

TEST_CASE("rockchip-board: every difference of a convolution is explained, nearly all by the multiplier's width") {
  const Rows& pairs = figures().tables.at("pairs");
  REQUIRE(pairs.size() == 4);
  for (const auto& pair : pairs) {
    INFO(pair[0]);
    CHECK(std::stoi(pair[1]) > 0);
    CHECK(pair[3].find("multiplier width") != std::string::npos);
    CHECK(pair[3].find("unexplained") == std::string::npos);
  }
}

TEST_CASE("rockchip-board: the value shown ends as each side says") {
  const Rows &pc = figures().tables.at("stages on the PC"), &board = figures().tables.at("stages on the board");
  CHECK(pc.back()[1] == figures().texts.at("on the PC"));
  CHECK(board.back()[1] == figures().texts.at("on the board"));
  CHECK(pc.back()[1] != board.back()[1]);
  CHECK(std::abs(std::stod(board[0][2])) > std::abs(std::stod(pc[0][2])));  // the gain lies in (scale, scale * (1 + 2^-14)]
}

TEST_CASE("rockchip-board: of requantisations some thousandths differ from each PC") {
  // The gain is too large by 2^-15 on average: a result of 64 is moved by 2^-9, which is the share of results that a half lies in between.
  for (const auto& pc : figures().tables.at("requantisations")) {
    INFO(pc[0]);
    CHECK((share(pc[3]) > 0.001 && share(pc[3]) < 0.01));
  }
}

TEST_CASE("rockchip-board: alone a layer differs in a thousandth, in the chain in most values") {
  const Rows& layers = figures().tables.at("growth");
  REQUIRE(layers.size() == 6);
  for (const auto& layer : layers) CHECK(share(layer[1]) < 0.003);
  CHECK(share(layers.back()[2]) > 0.6);
}

TEST_CASE("rockchip-board: the one that is added moves values by one; no layer of the chain has a tie") {
  const Rows& rules = figures().tables.at("rules");
  REQUIRE(rules.size() == 4);
  CHECK(rules[0][1] == "0");
  for (std::size_t i = 1; i < rules.size(); ++i) {
    CHECK(std::stoi(rules[i][1]) > 100);
    CHECK((rules[i][3] == "+1 LSB" || rules[i][3] == "-1 LSB"));
  }
}

TEST_CASE("rockchip-board: a lost carry halves the scale of an even exponent and turns the sign of an odd one") {
  const Rows& carry = figures().tables.at("carry");
  REQUIRE(carry.size() == 4);
  for (const std::size_t vendor : {0U, 2U}) {
    CHECK(carry[vendor][2] == "16384");
    CHECK(share(carry[vendor][5]) == 0);
    CHECK(std::stoi(carry[vendor + 1][3]) == std::stoi(carry[vendor][3]) + 1);
    CHECK(share(carry[vendor + 1][5]) > 0.8);
  }
  CHECK(carry[1][2] == "16384");
  CHECK(std::stoi(carry[1][4]) < std::stoi(carry[0][4]) * 3 / 5);
  CHECK(carry[3][2] == "-32768");
  CHECK(std::stoi(carry[3][4]) < 0);
}
