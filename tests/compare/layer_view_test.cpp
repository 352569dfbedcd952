// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which layers a text report shows, in which order and how wide; and how names are cut.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compare/report_layout.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/layer_view.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

using Rows = std::vector<std::size_t>;

std::vector<ViewedLayer> layers() {
  return {{{}, "image", 0, 0, 0}, {0, "conv", 0.5, -1, 0.25},  {1, "add", 0, 0, 0.125},
          {2, "mean", 0.5, 7, 0}, {3, "logits", 0.75, 3, 0.5}, {4, "nan", std::nan(""), 0, 0}};
}

LayerDifference layer(std::size_t number, const std::string& name, std::int64_t differing, std::int64_t largest) {
  LayerDifference one;
  one.number = number;
  one.name = name;
  one.operation = "conv2d";
  one.accumulated.shape = Shape{4};
  one.accumulated.values = 4;
  one.accumulated.differing = differing;
  one.accumulated.largest_lsb = largest;
  if (differing > 0) one.accumulated.first = ValuePair{0, 1, 2};
  return one;
}

}  // namespace

TEST_CASE("a view's order: the largest first, equals as in the network, what is no number before all") {
  CHECK(shown({}, layers()) == Rows{0, 1, 2, 3, 4, 5});
  CHECK(shown({.order = LayerOrder::differing}, layers()) == Rows{5, 4, 1, 3, 0, 2});
  CHECK(shown({.order = LayerOrder::largest}, layers()) == Rows{3, 4, 1, 0, 2, 5});
  CHECK(shown({.order = LayerOrder::own}, layers()) == Rows{4, 1, 2, 0, 3, 5});
}

TEST_CASE("a view shows what differs, by itself or by what it was given, or one layer by number or name") {
  CHECK(shown({.only_differing = true}, layers()) == Rows{1, 2, 3, 4, 5});
  CHECK(shown({.layer = "2"}, layers()) == Rows{3});
  CHECK(shown({.layer = "mean"}, layers()) == Rows{3});
  CHECK(shown({.layer = "image"}, layers()) == Rows{0});
  CHECK(shown({.layer = "image", .only_differing = true}, layers()).empty());
  CHECK_THROWS_WITH(shown({.layer = "maen"}, layers()), "--layer: no layer is called 'maen'; did you mean 'mean'?");
}

TEST_CASE("compare's text: a view changes the tables, and nothing of what is concluded") {
  CompareReport report;
  report.layers = {layer(0, "small", 1, 1), layer(1, "equal", 0, 0), layer(2, "large", 3, -9)};
  const std::string all = to_text(report);
  const std::string some = to_text(report, Detail::everything, {.only_differing = true, .order = LayerOrder::largest});
  CHECK(some.find("  2 large") < some.find("  0 small"));
  CHECK(some.find("  1 equal") == std::string::npos);
  CHECK(some.find("2 of 3 layers are shown.\n") != std::string::npos);
  CHECK(all.find("shown.") == std::string::npos);
  const auto conclusion = [](const std::string& text) { return text.substr(text.find("First difference")); };
  CHECK(conclusion(some) == conclusion(all));
  CHECK(to_text(report, Detail::summary, {.layer = "equal"}).find("1 of 3 layers is shown.\n") != std::string::npos);
}

TEST_CASE("names take what a line has beyond 100 characters, and give what it lacks") {
  CHECK(name_width({}, 20) == 20);
  CHECK(name_width({.width = 160}, 20) == 80);
  CHECK(name_width({.width = 90}, 20) == 10);
  CHECK(name_width({.width = 60}, 20) == 8);
  CompareReport report;
  report.layers = {layer(0, std::string(70, 'n'), 1, 1)};
  CHECK(to_text(report, Detail::summary, {.width = 160}).find(std::string(70, 'n')) != std::string::npos);
  CHECK(to_text(report).find(std::string(70, 'n') + " ") == std::string::npos);
}

TEST_CASE("a name too long is cut within: a third of what is kept from its beginning, the rest from its end") {
  CHECK(shortened("0123456789", 10) == "0123456789");
  CHECK(shortened("0123456789A", 10) == "012~56789A");
  CHECK(shortened("block_1/conv/BiasAdd", 10) == "blo~iasAdd");
  CHECK(shortened("µµµµµµµµµµ", 7) == "µµ~µµµµ");
  CHECK(shortened("long", 1) == "~");
  for (std::size_t width = 1; width < 12; ++width) CHECK(columns_of(shortened("ab/µ-convolution", width)) == width);
}
