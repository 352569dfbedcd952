// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/explain.hpp"

#include <numeric>
#include <random>

#include "lastbit/rules.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

Tensor random_int8(const Shape& shape, std::mt19937& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

ModelTensor int8_tensor(const std::string& name, const Shape& shape, double scale, std::int64_t zero_point) {
  return {name, ElementType::int8, shape, {{scale}, {zero_point}, 0}, {}};
}

/// A convolution whose exact results are ties now and then: its effective scale is 2^-9 plus a little.
struct Layer {
  explicit Layer(unsigned seed, double output_scale = 0.5) : random(seed) {
    model.name = "layer";
    model.tensors = {int8_tensor("x", {1, 12, 12, 8}, 0.0625, -1), int8_tensor("w", {16, 3, 3, 8}, 1.0 / 64, 0),
                     int8_tensor("y", {1, 12, 12, 16}, output_scale, 5)};
    model.tensors[1].constant = random_int8({16, 3, 3, 8}, random);
    Conv2dAttributes attributes;
    attributes.padding.mode = PaddingMode::same;
    model.operations = {{OperationKind::conv2d, "conv", {0, 1}, {2}, attributes}};
    model.inputs = {0};
    model.outputs = {2};
    validate(model, "test");
    inputs = {random_int8({1, 12, 12, 8}, random)};
  }

  std::mt19937 random;
  Model model;
  std::vector<Tensor> inputs;
};

SpecSheet changed(const SpecSheet& sheet, const std::string& rule, const std::string& value) {
  SpecSheet other = sheet;
  set_rule(other.backend, rule, value);
  return other;
}

std::int64_t total(const LayerAttribution& layer) {
  return std::accumulate(layer.causes.begin(), layer.causes.end(), layer.unexplained,
                         [](std::int64_t sum, const Cause& cause) { return sum + cause.values; });
}

}  // namespace

TEST_CASE("explain: of two backends that differ in one rule, that rule is named for every differing value") {
  const SpecSheet vipnano = find_backend("vipnano_v8"), twice = find_backend("tflite_double");
  struct Case {
    const SpecSheet& base;
    std::string rule, value;
  };
  const std::vector<Case> cases{
      {vipnano, "conv.i8.rescale.chain.2.rounding", "half_away"}, {vipnano, "conv.i8.rescale.chain.2.rounding", "floor"},
      {vipnano, "conv.i8.rescale.scale.significant_bits", "8"},   {vipnano, "conv.i8.accumulator.bits", "14"},
      {twice, "conv.i8.rescale.chain.1.rounding", "floor"},       {twice, "conv.i8.rescale.chain.2.rounding", "half_even"},
      {twice, "conv.i8.rescale.scale.rounding", "floor"},
  };
  for (const Case& one : cases) {
    std::size_t differing = 0;
    for (const unsigned seed : {1U, 2U, 3U}) {
      for (const double output_scale : {0.5, 0.47}) {  // with and without ties
        const Layer layer(seed, output_scale);
        INFO("seed " << seed << ", " << one.rule << " = " << one.value);
        const LayerAttribution found = explain(layer.model, layer.inputs, one.base, changed(one.base, one.rule, one.value));
        if (found.differing.empty()) continue;
        differing += found.differing.size();
        REQUIRE(found.changes.size() == 1);
        REQUIRE(found.changes[0].rules == std::vector{one.rule});
        REQUIRE(found.unexplained == 0);
        REQUIRE(total(found) == static_cast<std::int64_t>(found.differing.size()));
      }
    }
    const bool acts = one.rule.find("scale.rounding") == std::string::npos;  // the 31st bit of a multiplier, which no value here shows
    REQUIRE((differing > 0) == acts);
  }
}

TEST_CASE("explain: ways of different form are compared by what they decide") {
  // Effective scale just below 2^-9: the first rounding of two makes ties of values that are none.
  const Layer layer(7, 0.50001);
  const LayerAttribution found = explain(layer.model, layer.inputs, find_backend("tflite_double"), find_backend("vipnano_v8"));
  REQUIRE(found.differing.size() > 2);
  REQUIRE(found.unexplained == 0);
  REQUIRE(total(found) == static_cast<std::int64_t>(found.differing.size()));
  REQUIRE(found.causes.size() == 1);
  REQUIRE(found.changes[found.causes[0].changes[0]].name == "first rounding");
  REQUIRE(found.changes[found.causes[0].changes[0]].what == "half_up -> none");
  for (const AttributedValue& value : found.differing) REQUIRE(std::abs(value.a - value.b) == 1);
}

TEST_CASE("explain: two rules that only act together are named together") {
  const SpecSheet base = find_backend("vipnano_v8");
  SpecSheet other = changed(base, "conv.i8.accumulator.bits", "14");
  set_rule(other.backend, "conv.i8.accumulator.overflow", "saturate");
  const Layer layer(4);
  const LayerAttribution found = explain(layer.model, layer.inputs, base, other);
  REQUIRE_FALSE(found.differing.empty());
  REQUIRE(found.unexplained == 0);
  // 32 bits never overflow here, so that saturating them changes nothing by itself.
  bool together = false;
  for (const Cause& cause : found.causes) together = together || cause.changes.size() == 2;
  REQUIRE(together);
}

TEST_CASE("explain: equal layers have no causes; an operation taken out computes what it did") {
  const Layer layer(5);
  const LayerAttribution found = explain(layer.model, layer.inputs, find_backend("tflite_double"), find_backend("tflite_double"));
  REQUIRE(found.differing.empty());
  REQUIRE(summary(found) == "equal");
  const Model taken = extract_operation(layer.model, 0);
  const Backend backend = find_backend("tflite_double").backend;
  REQUIRE(*run(taken, backend, layer.inputs).tensors[2] == *run(layer.model, backend, layer.inputs).tensors[2]);
}

TEST_CASE("explain: the network's layers are fed with a's tensors, and its own history counted apart") {
  Layer layer(6, 0.50001);
  Model two = layer.model;
  two.tensors.push_back(int8_tensor("w2", {4, 1, 1, 16}, 1.0 / 64, 0));
  two.tensors.push_back(int8_tensor("z", {1, 12, 12, 4}, 0.7, 0));
  two.tensors[3].constant = random_int8({4, 1, 1, 16}, layer.random);
  two.operations.push_back({OperationKind::conv2d, "second", {2, 3}, {4}, Conv2dAttributes{}});
  two.outputs = {4};
  const ExplainReport report = explain_network(two, layer.inputs, find_backend("tflite_double"), find_backend("vipnano_v8"));
  REQUIRE(report.layers.size() == 2);
  REQUIRE(report.layers[0].accumulated_differing == static_cast<std::int64_t>(report.layers[0].differing.size()));
  REQUIRE(report.layers[1].accumulated_differing >= static_cast<std::int64_t>(report.layers[1].differing.size()));
  REQUIRE(to_text(report).find("first rounding: half_up -> none") != std::string::npos);
  const auto only = explain_network(two, layer.inputs, find_backend("tflite_double"), find_backend("vipnano_v8"), "second");
  REQUIRE(only.layers.size() == 1);
  REQUIRE_THROWS_AS(explain_network(two, layer.inputs, find_backend("tflite_double"), find_backend("vipnano_v8"), "nothing"), Error);
}
