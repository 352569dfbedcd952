// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The writer of pages, apart from what commands put into them.
#include <cmath>
#include <limits>
#include <string>

#include "report/drawing.hpp"
#include "report/html.hpp"
#include "support/catch.hpp"

using namespace lastbit;
using namespace lastbit::tool;

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

const std::string hostile = "</title><script>alert(\"1\")</script>'&\x1b[31m";

}  // namespace

TEST_CASE("no character of a text is markup, and none that a terminal or browser would obey stays") {
  CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escaped("\x1b[31m") == "\\u001b[31m");
  CHECK(escaped("\xE2\x80\xAE") == "\\u202e");
  CHECK(escaped("\xff") == "\\xff");
  CHECK(escaped("Größe …") == "Größe …");
}

TEST_CASE("a page holds texts from anywhere as text, wherever they stand") {
  Document page{.title = hostile, .verdict = hostile, .facts = {{hostile, hostile}}, .command = hostile, .version = hostile};
  const Subject subject{hostile, Standing::differs};
  Plot plot{.title = hostile, .x_label = hostile, .y_label = hostile, .x_names = {hostile}};
  plot.series.push_back({.title = hostile, .x = {0}, .y = {1}, .style = SeriesStyle::bars});
  page.add(
      hostile, hostile,
      {Paragraph{hostile}, Heading{subject, hostile}, List{{hostile}}, Table{{{hostile, Alignment::left, hostile}}, {{subject, {hostile}}}},
       Figure{plot, subject}, std::vector<tool::Histogram>{{subject, hostile, {hostile}, {3}}},
       std::vector<Grids>{{subject, hostile, {{hostile, hostile, hostile, 1, 2, {0, 1}}}}},
       Graph{{{subject, hostile, hostile, hostile, 0.5, {}}}}, Square{{hostile}, {{hostile}}},
       AssumptionList{{hostile, hostile, hostile, hostile}}});
  const std::string text = html_of(page);
  CHECK(count_of(text, "<script>") == 1);
  CHECK(count_of(text, "alert(&quot;1&quot;)") > 20);
  CHECK(count_of(text, "alert(\"1\")") == 0);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.starts_with("<!-- lastbit"));
}

TEST_CASE("a section with nothing in it is left out") {
  Document page;
  page.add("nothing", "of it", {Table{{{"a"}}, {}}, List{}, Graph{}, Paragraph{}, std::vector<tool::Histogram>{}});
  CHECK(page.sections.empty());
  page.add("something", "", {List{}, Paragraph{"x"}});
  REQUIRE(page.sections.size() == 1);
  CHECK(page.sections[0].blocks.size() == 1);
}

TEST_CASE("numbers are sorted by what they are, not by how they are written") {
  Document page;
  page.add("t", "", {Table{{{"a"}}, {{{}, {share_cell(0.00012)}}, {{}, {12345}}, {{}, {number_cell(std::nan(""))}}}}});
  const std::string text = html_of(page);
  CHECK(text.find("data-n=\"0.00012\"") != std::string::npos);
  CHECK(text.find(">0.01 %<") != std::string::npos);
  CHECK(text.find("data-n=\"12345\"") != std::string::npos);
  CHECK(text.find("<td class=\"r\"></td>") != std::string::npos);
}

TEST_CASE("a share has the level of its bound: only what is equal has level 0") {
  CHECK(level_of(0) == 0);
  CHECK(level_of(1e-12) == 1);
  CHECK(level_of(0.001) == 1);
  CHECK(level_of(0.00101) == 2);
  CHECK(level_of(0.5) == 4);
  CHECK(level_of(1) == 5);
}

TEST_CASE("a plot draws what is finite, and of bars those that are not zero") {
  const double infinite = std::numeric_limits<double>::infinity();
  Plot plot{.x_names = {"a", "b", "c", "d"}, .bars_from_zero = true};
  plot.series.push_back({.title = "s", .x = {0, 1, 2, 3}, .y = {1, 0, infinite, 2}, .style = SeriesStyle::bars});
  const std::string bars = svg_of(plot);
  CHECK(count_of(bars, "<rect class=\"s1\"") == 2);
  CHECK(bars.find("nan") == std::string::npos);
  CHECK(bars.find("inf") == std::string::npos);
  plot.series[0].style = SeriesStyle::points;
  CHECK(count_of(svg_of(plot), "<circle") == 3);
  CHECK(svg_of(Plot{}).find("nan") == std::string::npos);
  const Plot alone{.series = {{.title = "s", .x = {5}, .y = {7}, .style = SeriesStyle::points}}};
  CHECK(svg_of(alone).find("nan") == std::string::npos);
}

TEST_CASE("a grid draws a run of equal cells as one rectangle, and nothing where all is equal") {
  const Grid grid{"g", "y", "x", 2, 4, {0, 0.2, 0.2, 0.2, 0, 0, 0, 0.9}};
  const std::string picture = svg_of(grid);
  CHECK(count_of(picture, "<path") == 2);
  CHECK(picture.find("class=\"l4\" d=\"M16 0h48v16h-48z\"") != std::string::npos);
  CHECK(count_of(svg_of(Grid{"g", "", "c", 1, 3, {0, 0, 0}}), "<path") == 0);
}

TEST_CASE("in the picture of a network every node has a place of its own, below what it reads") {
  Graph graph;
  const auto add = [&](std::vector<std::size_t> reads) {
    graph.nodes.push_back({{"n", Standing::none}, "n", "", "", {}, std::move(reads)});
  };
  add({});      // 0
  add({0});     // 1
  add({0});     // 2: beside 1
  add({2});     // 3
  add({1, 3});  // 4: two rows below 1, whose edge runs beside 3
  const std::string picture = svg_of(graph);
  std::vector<std::pair<std::string, std::string>> places;
  for (std::size_t at = picture.find("<rect class=\"box"); at != std::string::npos; at = picture.find("<rect class=\"box", at + 1)) {
    const auto value = [&](const std::string& name) {
      const std::size_t begin = picture.find(" " + name + "=\"", at) + name.size() + 3;
      return picture.substr(begin, picture.find('"', begin) - begin);
    };
    places.emplace_back(value("x"), value("y"));
  }
  const std::vector<std::pair<std::string, std::string>> expected{{"4", "4"}, {"4", "46"}, {"328", "46"}, {"328", "88"}, {"328", "130"}};
  CHECK(places == expected);
  CHECK(count_of(picture, "class=\"edge\"") == 5);
}

TEST_CASE("counts are drawn with what is equal in grey, and left out of the small picture") {
  const tool::Histogram histogram{{}, "h", {"-1", "0", "+1"}, {4, 1000000, 1}};
  const std::string picture = svg_of(histogram);
  CHECK(count_of(picture, "class=\"same\"") == 1);
  CHECK(count_of(picture, "class=\"s1\"") == 2);
  CHECK(picture.find(">1.0M<") != std::string::npos);
  const Cell cell = lsb_cell({4, 1000000, 1});
  CHECK(cell.number == 5);
  CHECK(cell.bars == std::vector<std::int64_t>{4, 0, 1});
  CHECK(lsb_cell({0, 7, 0}).bars.empty());
}
