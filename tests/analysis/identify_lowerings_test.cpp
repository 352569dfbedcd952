// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ways to lower a layer with one scale per channel. Those that compute the same are one class; those that sum the same and scale otherwise are not.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "lastbit/identify.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/hidden_device.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

/// A layer of two channels, the first one's weights from -128 to 127: one scale for both is the first one's, to the last bit. The second one's
/// weights are so small that they keep their codes in it. So both lowerings have the same sums, and the same outputs only if the scales are equal.
Model two_channels(double second_scale) {
  constexpr double scale = 1.0 / 128;
  std::vector<std::int8_t> weights(32);
  for (int i = 0; i < 16; ++i) {
    weights[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i == 0 ? -128 : i == 1 ? 127 : 7 * i - 60);
    weights[static_cast<std::size_t>(16 + i)] = static_cast<std::int8_t>(i % 2 == 0 ? 20 : 3 - i);
  }
  Model model;
  model.name = "two channels";
  model.tensors = {{"x", ElementType::int8, {1, 8, 8, 16}, {{0.0625}, {-3}, 0}, {}},
                   {"w",
                    ElementType::int8,
                    {2, 1, 1, 16},
                    {{scale, second_scale * scale}, {0, 0}, 0},
                    Tensor::from<std::int8_t>({2, 1, 1, 16}, weights)},
                   {"y", ElementType::int8, {1, 8, 8, 2}, {{0.11}, {5}, 0}, {}}};
  model.operations = {{OperationKind::conv2d, "conv", {0, 1}, {2}, Conv2dAttributes{}}};
  model.inputs = {0};
  model.outputs = {2};
  validate(model, "test");
  return model;
}

OperationIdentification lowerings_told(double second_scale, const std::string& lowering) {
  std::mt19937_64 random(11);
  Backend device = find_backend("vipnano_v8").backend;
  set_rule(device, "conv.i8.per_channel", lowering);
  const IdentifyPair pair = answered({"pair", two_channels(second_scale), {random_int8({1, 8, 8, 16}, random)}, {}}, device);
  const Identification found = identify(std::span(&pair, 1));
  REQUIRE(found.operations.size() == 1);
  return found.operations[0];
}

std::vector<std::string> lowerings_of(const RuleClass& one) {
  const auto found = std::ranges::find(one.rules, "per-channel scales", &RuleValues::rule);
  REQUIRE(found != one.rules.end());
  std::vector<std::string> values = found->values;
  std::ranges::sort(values);
  return values;
}

std::int64_t classes_that_explain(const OperationIdentification& operation) {
  return std::ranges::count(operation.classes, operation.searched, &RuleClass::agreeing);
}

TEST_CASE("identify: lowerings with the same sums and other scales are not merged") {
  for (const std::string lowering : {"native", "requantized_to_tensor"}) {
    INFO(lowering);
    const OperationIdentification found = lowerings_told(1.01, lowering);
    REQUIRE(found.exact());
    CHECK(classes_that_explain(found) == 1);
    CHECK(lowerings_of(found.best()) == std::vector{lowering});
  }
}

TEST_CASE("identify: lowerings that compute the same are one class") {
  for (const std::string lowering : {"native", "requantized_to_tensor"}) {
    INFO(lowering);
    const OperationIdentification found = lowerings_told(1, lowering);
    REQUIRE(found.exact());
    CHECK(classes_that_explain(found) == 1);
    CHECK(lowerings_of(found.best()) == std::vector<std::string>{"native", "requantized_to_tensor"});
  }
}

}  // namespace
}  // namespace lastbit
