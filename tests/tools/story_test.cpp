// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The frame of the demos: pages, tables, plots.
#include "story.hpp"

#include <cmath>
#include <fstream>
#include <set>

#include "lastbit/error.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/scratch.hpp"

using namespace lastbit;
using namespace lastbit::tool;

namespace {

Plot two_curves() {
  return {
      .title = "it's a \"plot\" `date`\nof $PATH",
      .x_label = "layer",
      .y_label = "share",
      .series = {{.title = "a's", .x = {0, 1, 2}, .y = {1, 10, 100}}, {.title = "b", .x = {0, 1}, .y = {2, 3}, .style = SeriesStyle::bars}},
      .y_scale = AxisScale::logarithmic};
}

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("every demo has a name of its own, a title of one line and a function") {
  std::set<std::string> names;
  for (const Story& story : stories()) {
    INFO(story.name);
    CHECK(names.insert(story.name).second);
    CHECK(story.title.find('\n') == std::string::npos);
    CHECK((story.figures != nullptr) != (story.print != nullptr));
  }
  CHECK(names.contains("digits"));
}

TEST_CASE("a page aligns tables by characters and wraps paragraphs at 100 columns") {
  const Page page("name: title\n\n## Heading\n| net | cosine |\n{nets}\n* assumption: a {what}\n    lastbit run\n",
                  {.texts = {{"what", "cause"}}, .tables = {{"nets", {{"µ-conv", "1"}, {"concat", "0.745"}}}}});
  CHECK(page.to_text() ==
        "name: title\n\nHeading\n  net     cosine\n  µ-conv       1\n  concat   0.745\n  assumption     a cause\n    lastbit run\n");
  const Page paragraph("n: t\n" + std::string(60, 'a') + "\n" + std::string(39, 'b') + " c\n", {});
  CHECK(paragraph.to_text() == "n: t\n\n" + std::string(60, 'a') + " " + std::string(39, 'b') + "\nc\n");
  CHECK(page.to_json().find("\"evidence\": \"assumption\"") != std::string::npos);
}

TEST_CASE("a page says what stands on its plot, and every demo's does") {
  const Page page("n: t\nplot | {count} runs | run | share |\nwords\n", {.texts = {{"count", "3"}}, .plot = {.series = {{.title = "a"}}}});
  CHECK(page.to_text() == "n: t\n\nwords\n");
  CHECK(page.plot().title == "3 runs");
  CHECK(page.plot().x_label == "run");
  CHECK(page.plot().y_label == "share");
  CHECK(page.plot().series.size() == 1);
  CHECK_THROWS_WITH(Page("n: t\nplot | title | x |\n", {}, "page.txt"), test::contains_text("page.txt") && test::contains_text("two axes"));
  for (const Story& story : stories()) {
    INFO(story.name);
    if (story.figures != nullptr)
      CHECK(content(test::source_directory() / "examples" / story.name / "page.txt").find("\nplot | ") != std::string::npos);
  }
}

TEST_CASE("a page that names a figure which nobody computed is an error") {
  CHECK_THROWS_WITH(Page("n: t\nso much: {share}\n", {}, "page.txt"), test::contains_text("page.txt") && test::contains_text("'share'"));
  CHECK_THROWS_WITH(Page("n: t\n| a |\n{rows}\n", {}), test::contains_text("'rows'"));
}

TEST_CASE("figures and their spread") {
  CHECK(fixed(0.7454, 3) == "0.745");
  CHECK(scientific(0.000123, 1) == "1.2e-04");
  const Spread spread = spread_of({5, 1, 4, 2, 3});
  CHECK(spread.median == 3);
  CHECK(std::abs(spread.low - 1.2) < 1e-12);
  CHECK(std::abs(spread.high - 4.8) < 1e-12);
}

TEST_CASE("a plot is drawn, the same each time, and its text is never a command") {
  const test::Scratch scratch;
  const std::filesystem::path file = scratch.path() / "it's.svg";
  CHECK(gnuplot_script(two_curves(), file).find("set title 'it''s a \"plot\" `date` of $PATH'") != std::string::npos);
  draw(two_curves(), file);
  const std::string first = content(file);
  CHECK(first.find("<svg") != std::string::npos);
  CHECK(first.find("`date` of $PATH") != std::string::npos);
  draw(two_curves(), file);
  CHECK(content(file) == first);
}

TEST_CASE("a plot that cannot be drawn is an error that names it") {
  const test::Scratch scratch;
  CHECK_THROWS_WITH(draw(two_curves(), scratch.path() / "absent" / "x.svg"), test::contains_text("absent/x.svg: No such file"));
  Plot empty = two_curves();
  empty.series.clear();
  CHECK_THROWS_WITH(draw(empty, scratch.path() / "x.svg"), test::contains_text("gnuplot refused"));
  CHECK_THROWS_WITH(tell({"n", "t", nullptr, [](const StoryOptions&) {}}, {.plot = scratch.path() / "x.svg"}),
                    test::contains_text("the demo n has no plot"));
}
