// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_vipnano_conv.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool::vipnano_conv;

namespace {

const Networks& networks() {
  static const Networks both = read_networks(test::source_directory() / "examples");
  return both;
}

}  // namespace

TEST_CASE("vipnano-conv: one convolution is one LSB off the CPU that rounds twice, by its first rounding alone") {
  for (const PairFigures& pair : pairs(networks().one)) {
    INFO(pair.cpu << " and " << pair.device);
    const LayerAttribution& found = pair.attribution;
    REQUIRE(found.unexplained == 0);
    for (const AttributedValue& value : found.differing) REQUIRE(std::abs(value.b - value.a) == 1);
    if (pair.device != "vipnano_v8") continue;
    REQUIRE(found.differing.size() == (pair.cpu == "tflite_double" ? 17U : 0U));
    if (found.differing.empty()) continue;
    REQUIRE(found.causes.size() == 1);
    REQUIRE(found.changes[found.causes[0].changes.at(0)].name == "first rounding");
  }
}

TEST_CASE("vipnano-conv: the value shown ends as each side says, and the last rounding of the CPU is a tie that the exact product is not") {
  const ValueOnBoth shown = one_value(networks().one);
  REQUIRE(shown.a.back().value == std::to_string(shown.value.a));
  REQUIRE(shown.b.back().value == std::to_string(shown.value.b));
  REQUIRE(shown.a.at(2).tie);
  for (const StageStep& step : shown.b) REQUIRE_FALSE(step.tie);
}

TEST_CASE("vipnano-conv: the differences grow along the chain while each layer adds its own few") {
  const std::vector<LayerDifference> layers = growth(networks().chain);
  REQUIRE(layers.size() == 20);
  for (const LayerDifference& layer : layers) REQUIRE((layer.same_input->share() > 0 && layer.same_input->share() < 0.002));
  REQUIRE(layers.front().accumulated.share() == layers.front().same_input->share());
  REQUIRE(layers[4].accumulated.share() > 0.1);
  REQUIRE(layers.back().accumulated.share() > 0.7);
  REQUIRE(std::abs(*layers.back().accumulated.largest_lsb) > 4);
}

TEST_CASE("vipnano-conv: about one value in 2^(n+1) differs, n the places that the effective scale shifts away") {
  for (const ScaleFigures& at : scales(networks().one)) {
    if (at.exponent > -8) continue;  // there the clamp hides some
    const double expected = std::ldexp(1.0, at.exponent - 1) * static_cast<double>(at.values);
    INFO("effective scale " << at.effective_scale << ", " << at.differing << " differ, expected about " << expected);
    REQUIRE(std::abs(static_cast<double>(at.differing) - expected) < 6 * std::sqrt(expected));
  }
}

TEST_CASE("vipnano-conv: ten layers on the CPU help in front of the chain, not at its end") {
  const auto found = fallbacks(networks().chain);
  const auto share = [&](const std::string& name) {
    for (const FallbackFigures& at : found) {
      if (at.on_cpu == name) return at.found.share();
    }
    return -1.0;
  };
  REQUIRE(share("all but the last") < 0.002);
  REQUIRE(share("the first ten") < 0.55);
  REQUIRE(share("the last ten") > 0.7);
}
