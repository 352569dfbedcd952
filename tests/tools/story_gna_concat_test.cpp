// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_gna_concat.hpp"

#include <cmath>

#include "lastbit/registry.hpp"
#include "story.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool::gna_concat;

namespace {

const tool::StoryFigures& figures() {
  static const tool::StoryFigures all = tool::gna_concat_figures(test::source_directory() / "examples");
  return all;
}

}  // namespace

TEST_CASE("gna-concat: the sixteen recorded runs, integer by integer, and the figures of the harness") {
  for (const char* backend : {"gna2", "gna3_0"}) {
    const RecordedRuns all = recorded_runs(test::source_directory() / "examples/gna-concat", find_backend(backend));
    CHECK(all.runs == 16);
    CHECK(all.equal_runs == 16);
    CHECK(all.values == 16 * 127 * 4);
    CHECK(all.equal_values == all.values);
    CHECK(all.largest_distance < 1e-6);  // recorded against sums in double, here in float
  }
  CHECK(figures().texts.at("saturations") == "0");
}

TEST_CASE("gna-concat: the medians over 200 random networks are the recorded ones") {
  const tool::Rows& rows = figures().tables.at("networks");
  REQUIRE(rows.size() == 10);
  const auto row = [&](const std::string& part, const std::string& factor, const std::string& memory) {
    for (const auto& found : rows) {
      if (found[0] == part && found[1] == factor && found[2] == memory) return found;
    }
    FAIL("no such row");
    return rows.front();
  };
  const auto within = [](const std::string& figure, double low, double high) {
    return std::stod(figure) >= low && std::stod(figure) <= high;
  };
  for (const char* part : {"convolution", "concat + convolution"}) {
    const auto fine = row(part, "2048", "[time][channel]"), coarse = row(part, "1", "[time][channel]");
    CHECK(within(fine[3], 0.99995, 1));
    CHECK(within(fine[4], 0.5e-4, 1.5e-4));
    CHECK(within(coarse[3], 0.90, 0.93));
    CHECK(within(coarse[4], 0.12, 0.14));
  }
  const auto fine = row("concat + convolution", "2048", "[channel][time]"), coarse = row("concat + convolution", "1", "[channel][time]");
  const std::size_t low = fine[3].find('(') + 1, high = fine[3].find('-') + 1;
  CHECK(within(fine[3], 0.70, 0.79));               // recorded: 0.745
  CHECK(within(fine[3].substr(low), 0.25, 0.45));   // 0.34
  CHECK(within(fine[3].substr(high), 0.87, 0.92));  // 0.89
  CHECK(within(fine[4], 0.18, 0.20));               // 0.19
  CHECK(within(coarse[3], 0.53, 0.65));             // 0.593
  CHECK(within(coarse[4], 0.24, 0.28));             // 0.26
  CHECK(within(row("concat", "2048", "either")[3], 0.999, 1));
}

TEST_CASE("gna-concat: the wrong run is the right arithmetic on memory that a transposition would have permuted") {
  const SpecSheet sheet = find_backend("gna2");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ConcatNetwork network = random_network(seed), integers = quantized(network, 2048);
    const Figures right = run_part(network, 2048, Part::whole, Memory::time_major, sheet);
    const Figures wrong = run_part(network, 2048, Part::whole, Memory::channel_major, sheet);
    CHECK(right.saturations + wrong.saturations == 0);
    CHECK(wrong.integers != right.integers);
    // The same sums by hand, at position p, tap k, channel c. Right: the value of time 2p + k. Wrong: the flat [channel][time] memory at
    // ((2p + k) * 6 + c).
    const auto input = integers.input.values<std::int16_t>(), weights = integers.weights.values<std::int16_t>();
    for (std::size_t p = 0; p < 127; ++p) {
      std::int64_t permuted = integers.bias.values<std::int32_t>()[0], flat = permuted;
      for (std::size_t i = 0; i < 18; ++i) {
        const std::int64_t weight = weights[i % 6 * 3 + i / 6];
        permuted += weight * input[i % 6 % 2 * 255 + 2 * p + i / 6];
        flat += weight * input[(p * 12 + i) % 510];
      }
      CHECK(right.integers[p * 4] == permuted);
      CHECK(wrong.integers[p * 4] == flat);
    }
  }
}

TEST_CASE("gna-concat: no rule of the convolution cures it") {
  const auto number = [](const char* name) { return std::stod(figures().texts.at(name)); };
  CHECK(number("settings") > 20);
  CHECK(number("unchanged") < number("settings"));  // a narrow accumulator does change integers
  CHECK(number("unchanged") > 0);
  CHECK(number("best") < number("first") + 0.05);
  CHECK(number("best") < 0.95);
}

TEST_CASE("gna-concat: the thread's figures: factor 1 is 2048's where inputs are large, calibration changes nothing, 0.60 and 0.3 occur") {
  const tool::Rows& rows = figures().tables.at("posts");
  REQUIRE(rows.size() == 4);
  const double fine = std::stod(rows[0][3]), coarse = std::stod(rows[1][3]), large = std::stod(rows[2][3]),
               calibrated = std::stod(rows[3][3]);
  CHECK(std::abs(fine - 0.745) < 0.01);
  CHECK(coarse < fine - 0.05);
  CHECK(std::abs(large - fine) < 0.05);
  CHECK(std::abs(calibrated - fine) < 0.001);
  for (const char* text : {"up to 0.60", "up to 0.3"}) {
    const double share = std::stod(figures().texts.at(text));
    CHECK(share > 0);
    CHECK(share < 50);
  }
}
