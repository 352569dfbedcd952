// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lastbit/explain.hpp"
#include "lastbit/io/model_file.hpp"
#include "story.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool;

namespace {

const StoryFigures& figures() {
  static const StoryFigures all = vipnano_conv_figures(test::source_directory() / "examples");
  return all;
}
/// "74.50 %" as 0.745.
double share(const std::string& text) { return std::stod(text) / 100; }

}  // namespace

TEST_CASE("vipnano-conv: one convolution is one LSB off the CPU that rounds twice, by its first rounding alone") {
  const Rows& pairs = figures().tables.at("pairs");
  REQUIRE(pairs.size() == 8);
  for (const auto& pair : pairs) {
    INFO(pair[0] << " and " << pair[1]);
    CHECK(pair[4].find("unexplained") == std::string::npos);
    if (pair[1] != "vipnano_v8") continue;
    CHECK(pair[2] == (pair[0] == "tflite_double" ? "17" : "0"));
    CHECK(pair[4].starts_with(pair[0] == "tflite_double" ? "17 first rounding" : "equal"));
  }
}

TEST_CASE("vipnano-conv: every value that differs is one off") {
  const Model chain = read_model(test::source_directory() / "examples/vipnano-conv/model.json"), one = extract_operation(chain, 0);
  Tensor image(ElementType::int8, one.tensor(0).shape);
  for (std::size_t i = 0; std::int8_t & value : image.values<std::int8_t>()) value = static_cast<std::int8_t>(i++ * 41 % 255 - 127);
  for (const char* host : {"tflite_double", "tflite_single", "xnnpack", "onnxruntime"}) {
    for (const char* npu : {"vipnano_v8", "vipnano_v7"}) {
      const LayerAttribution found = explain(one, std::vector{image}, find_backend(host), find_backend(npu));
      INFO(host << " and " << npu);
      CHECK(found.unexplained == 0);
      for (const AttributedValue& value : found.differing) REQUIRE(std::abs(value.b - value.a) == 1);
    }
  }
}

TEST_CASE("vipnano-conv: the value shown ends as each side says, and the last rounding of the CPU is a tie that the exact product is not") {
  const Rows &cpu = figures().tables.at("stages on the CPU"), &device = figures().tables.at("stages on the device");
  CHECK(cpu.back()[1] == figures().texts.at("on the CPU"));
  CHECK(device.back()[1] == figures().texts.at("on the device"));
  CHECK(cpu.back()[1] != device.back()[1]);
  CHECK(cpu.at(2)[3] == "a tie");
  for (const auto& step : device) CHECK(step[3].empty());
}

TEST_CASE("vipnano-conv: the differences grow along the chain while each layer adds its own few") {
  const Rows& layers = figures().tables.at("growth");
  REQUIRE(layers.size() == 20);
  for (const auto& layer : layers) CHECK((share(layer[1]) > 0 && share(layer[1]) < 0.002));
  CHECK(layers.front()[2] == layers.front()[1]);
  CHECK(share(layers[4][2]) > 0.1);
  CHECK(share(layers.back()[2]) > 0.7);
  CHECK(std::abs(std::stod(layers.back()[3])) > 4);
}

TEST_CASE("vipnano-conv: about one value in 2^(n+1) differs, n the places that the effective scale shifts away") {
  const double values = 100 * 16 * 16 * 8;
  for (const auto& at : figures().tables.at("scales")) {
    if (std::stoi(at[2]) > -8) continue;  // there the clamp hides some
    const double expected = std::ldexp(1.0, std::stoi(at[2]) - 1) * values;
    INFO("effective scale " << at[1] << ", " << at[3] << " differ, expected about " << expected);
    CHECK(std::abs(share(at[3]) * values - expected) < 6 * std::sqrt(expected));
  }
}

TEST_CASE("vipnano-conv: ten layers on the CPU help in front of the chain, not at its end") {
  const auto differing = [&](const std::string& name) {
    for (const auto& at : figures().tables.at("fallbacks")) {
      if (at[0] == name) return share(at[1]);
    }
    FAIL("no row " << name);
    return 0.0;
  };
  CHECK(differing("all but the last") < 0.002);
  CHECK(differing("the first ten") < 0.55);
  CHECK(differing("the last ten") > 0.7);
}
