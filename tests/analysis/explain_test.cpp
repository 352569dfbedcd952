// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/explain.hpp"

#include <atomic>
#include <numeric>
#include <random>

#include "engine/parallel.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/two_convolutions.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// A convolution whose exact results are ties now and then: its effective scale is 2^-9 plus a little.
struct LayerWithTies {
  explicit LayerWithTies(unsigned seed, double output_scale = 0.5) : random(seed) {
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
      {vipnano, "conv.i8.output.chain.2.rounding", "half_away"}, {vipnano, "conv.i8.output.chain.2.rounding", "floor"},
      {vipnano, "conv.i8.output.scale.significant_bits", "8"},   {vipnano, "conv.i8.accumulator.bits", "14"},
      {twice, "conv.i8.output.chain.1.rounding", "floor"},       {twice, "conv.i8.output.chain.2.rounding", "half_even"},
      {twice, "conv.i8.output.scale.rounding", "floor"},
  };
  for (const Case& one : cases) {
    std::size_t differing = 0;
    for (const unsigned seed : {1U, 2U, 3U}) {
      for (const double output_scale : {0.5, 0.47}) {  // with and without ties
        const LayerWithTies layer(seed, output_scale);
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
  const LayerWithTies layer(7, 0.50001);
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
  const LayerWithTies layer(4);
  const LayerAttribution found = explain(layer.model, layer.inputs, base, other);
  REQUIRE_FALSE(found.differing.empty());
  REQUIRE(found.unexplained == 0);
  // 32 bits never overflow here, so that saturating them changes nothing by itself.
  bool together = false;
  for (const Cause& cause : found.causes) together = together || cause.changes.size() == 2;
  REQUIRE(together);
}

TEST_CASE("explain: what is said of a cause is what its values are, by their numbers") {
  const SpecSheet base = find_backend("tflite_double");
  const std::vector<std::pair<std::string, std::string>> rules{{"conv.i8.output.chain.1.rounding", "floor"},
                                                               {"conv.i8.output.chain.2.rounding", "half_even"},
                                                               {"conv.i8.output.scale.significant_bits", "9"},
                                                               {"conv.i8.accumulator.bits", "15"}};
  std::size_t several = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (std::size_t k = 0; k < rules.size(); ++k) {
      if (i == k) continue;
      const LayerWithTies layer(static_cast<unsigned>(9 + i));
      const SpecSheet other = changed(changed(base, rules[i].first, rules[i].second), rules[k].first, rules[k].second);
      INFO(rules[i].first << " and " << rules[k].first);
      const LayerAttribution found = explain(layer.model, layer.inputs, base, other);
      several += found.causes.size() > 1 ? 1U : 0U;
      std::vector<Cause> seen(found.causes.size());
      std::int64_t unexplained = 0;
      for (const AttributedValue& value : found.differing) {
        if (!value.cause) {
          ++unexplained;
          continue;
        }
        Cause& cause = seen.at(*value.cause);
        ++cause.values;
        cause.negative += std::min(value.a, value.b) < 5 ? 1 : 0;
        cause.histogram.add(value.b - value.a);
      }
      CHECK(unexplained == found.unexplained);
      for (std::size_t c = 0; c < seen.size(); ++c) {
        CHECK(seen[c].values == found.causes[c].values);
        CHECK(seen[c].negative == found.causes[c].negative);
        CHECK(seen[c].histogram == found.causes[c].histogram);
        CHECK((c == 0 || found.causes[c - 1].values >= found.causes[c].values));
        CHECK(found.causes[c].ties <= found.causes[c].values);
        // A sum that leaves its accumulator rounds as it may; of two roundings that differ in nothing else only ties differ.
        const auto& names = found.changes[found.causes[c].changes[0]].rules;
        if (found.causes[c].changes.size() == 1 && names == std::vector<std::string>{"conv.i8.output.chain.2.rounding"})
          CHECK(found.causes[c].ties == found.causes[c].values);
      }
    }
  }
  CHECK(several >= 4);
}

TEST_CASE("explain: equal layers have no causes; an operation taken out computes what it did") {
  const LayerWithTies layer(5);
  const LayerAttribution found = explain(layer.model, layer.inputs, find_backend("tflite_double"), find_backend("tflite_double"));
  REQUIRE(found.differing.empty());
  REQUIRE(summary(found) == "equal");
  const Model taken = extract_operation(layer.model, 0);
  const Backend backend = find_backend("tflite_double").backend;
  REQUIRE(*run(taken, backend, layer.inputs).tensors[2] == *run(layer.model, backend, layer.inputs).tensors[2]);
}

TEST_CASE("explain: the network's layers are fed with a's tensors, and its own history counted apart") {
  LayerWithTies layer(6, 0.50001);
  Model two = layer.model;
  two.tensors.push_back(int8_tensor("w2", {4, 1, 1, 16}, 1.0 / 64, 0));
  two.tensors.push_back(int8_tensor("z", {1, 12, 12, 4}, 0.7, 0));
  two.tensors[3].constant = random_int8({4, 1, 1, 16}, layer.random);
  two.operations.push_back({OperationKind::conv2d, "second", {2, 3}, {4}, Conv2dAttributes{}});
  two.outputs = {4};
  const ExplainReport report = explain_network(two, layer.inputs, find_backend("tflite_double"), find_backend("vipnano_v8"));
  REQUIRE(report.layers.size() == 2);
  REQUIRE(report.layers[0].in_network.total() == static_cast<std::int64_t>(report.layers[0].differing.size()));
  REQUIRE(report.layers[1].in_network.total() >= static_cast<std::int64_t>(report.layers[1].differing.size()));
  REQUIRE(to_text(report).find("first rounding on ties\n            half_up -> none") != std::string::npos);
  const auto only = explain_network(two, layer.inputs, find_backend("tflite_double"), find_backend("vipnano_v8"), {.layer = "second"});
  REQUIRE(only.layers.size() == 1);
  const ScopedFinestParts finest;
  std::atomic<std::size_t> told = 0;
  const auto threaded = explain_network(two, layer.inputs, find_backend("tflite_double"), find_backend("vipnano_v8"),
                                        {.threads = 3, .on_progress = [&](std::size_t, std::size_t) { ++told; }});
  REQUIRE(to_json(threaded) == to_json(report));
  REQUIRE(told == 2);
  REQUIRE_THROWS_AS(explain_network(two, layer.inputs, find_backend("tflite_double"), find_backend("vipnano_v8"), {.layer = "nothing"}),
                    Error);
}

TEST_CASE("explain: one value on both sides, stage by stage") {
  const LayerWithTies layer(7, 0.50001);
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  const LayerAttribution found = explain(layer.model, layer.inputs, a, b);
  REQUIRE_FALSE(found.differing.empty());
  for (const AttributedValue& value : found.differing) {
    const auto both = side_by_side(layer.model, layer.inputs, value.index, a, b);
    REQUIRE(both);
    REQUIRE(both->a.output == value.a);
    REQUIRE(both->b.output == value.b);
    REQUIRE(both->a.accumulator == both->b.accumulator);
    REQUIRE_FALSE(both->a.left_width);
    REQUIRE(both->parts_at == "doubling_high_multiply 32 bits half_up");
    REQUIRE(std::to_string(value.a) == both->a.steps.back().value);
    REQUIRE(std::to_string(value.b) == both->b.steps.back().value);
    REQUIRE(both->stairs_a);
    REQUIRE(both->stairs_b);
    REQUIRE(both->stairs_a->accumulators == both->stairs_b->accumulators);
    REQUIRE(both->stairs_a->output(both->a.accumulator) == value.a);
    REQUIRE(both->stairs_b->output(both->b.accumulator) == value.b);
    REQUIRE(std::max(both->stairs_a->steps.size(), both->stairs_b->steps.size()) >= 5);
  }
  // Every one of them is a tie that the first rounding made.
  REQUIRE(found.causes[0].ties == found.causes[0].values);
  REQUIRE(summary(found).find("first rounding on ties") != std::string::npos);
}

TEST_CASE("explain: the term at which a sum leaves its accumulator") {
  const LayerWithTies layer(4);
  const SpecSheet base = find_backend("vipnano_v8"), narrow = changed(base, "conv.i8.accumulator.bits", "14");
  const LayerAttribution found = explain(layer.model, layer.inputs, base, narrow);
  REQUIRE_FALSE(found.differing.empty());
  const Tensor& x = layer.inputs[0];
  const Tensor& w = *layer.model.tensors[1].constant;
  for (const AttributedValue& value : found.differing) {
    const auto both = side_by_side(layer.model, layer.inputs, value.index, base, narrow);
    REQUIRE(both->parts_at == "accumulator");
    REQUIRE(both->b.left_width);
    REQUIRE(both->b.left_width->rule == "14 bits, wrap");
    // By hand: the 3x3 window over 12x12x8, zero point -1, in the order rows, columns, channels.
    const std::int64_t o = value.index % 16, column = value.index / 16 % 12, row = value.index / 16 / 12;
    std::int64_t sum = 0, terms = 0, first = 0;
    for (std::int64_t ky = 0; ky < 3; ++ky) {
      for (std::int64_t kx = 0; kx < 3; ++kx) {
        const std::int64_t iy = row + ky - 1, ix = column + kx - 1;
        if (iy < 0 || iy >= 12 || ix < 0 || ix >= 12) continue;
        for (std::int64_t c = 0; c < 8; ++c) {
          sum += (x.integer_at((iy * 12 + ix) * 8 + c) + 1) * w.integer_at(((o * 3 + ky) * 3 + kx) * 8 + c);
          ++terms;
          if (first == 0 && (sum < -8192 || sum > 8191)) first = terms;
        }
      }
    }
    REQUIRE(both->a.accumulator == sum);
    REQUIRE(both->b.left_width->term == first);
    REQUIRE(both->b.left_width->terms == terms);
  }
}

TEST_CASE("explain: own and inherited differences add up to those in the network") {
  LayerWithTies layer(6, 0.50001);
  Model two = layer.model;
  two.tensors.push_back(int8_tensor("w2", {16, 1, 1, 16}, 1.0 / 64, 0));
  two.tensors.push_back(int8_tensor("z", {1, 12, 12, 16}, 0.50001, 0));
  two.tensors[3].constant = random_int8({16, 1, 1, 16}, layer.random);
  two.operations.push_back({OperationKind::conv2d, "second", {2, 3}, {4}, Conv2dAttributes{}});
  two.outputs = {4};
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  const ExplainReport report = explain_network(two, layer.inputs, a, b, {.layer = {}, .top = 1});
  const Tensor of_a = *run(two, a.backend, layer.inputs).tensors[4], of_b = *run(two, b.backend, layer.inputs).tensors[4];
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < of_a.element_count(); ++i) differing += of_a.integer_at(i) != of_b.integer_at(i) ? 1 : 0;
  REQUIRE(report.layers[0].in_network.inherited + report.layers[0].in_network.both == 0);
  REQUIRE(report.layers[1].in_network.total() == differing);
  REQUIRE(report.layers[1].in_network.inherited > 0);
  REQUIRE(report.layers[0].shown.size() == 1);
  REQUIRE(to_text(report).find("<- parts here") != std::string::npos);
  REQUIRE_FALSE(report.evidence.empty());
}

TEST_CASE("explain: a rule that b reads in another place is named there, with the evidence it has there") {
  LayerWithTies layer(3);
  for (const std::size_t of_data : {0U, 2U}) layer.model.tensors[of_data].type = ElementType::uint8;
  layer.model.tensors[0].quantization.zero_points = {0};
  std::vector<Tensor> inputs{Tensor(ElementType::uint8, {1, 12, 12, 8})};
  std::ranges::fill(inputs[0].values<std::uint8_t>(), std::uint8_t{255});
  const SpecSheet a = find_backend("onnxruntime"), b = find_backend("onnxruntime_avx2");
  const ExplainReport report = explain_network(layer.model, inputs, a, b);
  INFO(to_text(report));
  REQUIRE(report.layers[0].unexplained == 0);
  REQUIRE(report.layers[0].causes.size() == 1);
  // Sums of pairs, and when they are narrowed: two rules, each read in another place by b.
  const std::vector<std::string> rules{"accumulator.when", "accumulator.partial.method"};
  REQUIRE(report.layers[0].causes[0].changes.size() == rules.size());
  REQUIRE(report.evidence.size() == 2 * rules.size());
  for (const std::string& rule : rules) {
    const std::string of_a = "conv.i8." + rule, of_b = "conv.u8." + rule;
    INFO(rule);
    CHECK(std::ranges::any_of(report.layers[0].causes[0].changes, [&](std::size_t index) {
      const RuleChange& change = report.layers[0].changes[index];
      return change.name == "conv.i8->u8." + rule && change.rules == std::vector{of_a} && change.rules_of_b == std::vector{of_b};
    }));
    const auto has = [&](const std::string& place, const std::string& backend, const std::string& source) {
      return std::ranges::any_of(report.evidence, [&](const RuleEvidence& one) {
        return one.rule == place && one.backend == backend && one.source.find(source) != std::string::npos;
      });
    };
    CHECK(has(of_a, "onnxruntime", "qlinearconv"));
    CHECK(has(of_b, "onnxruntime_avx2", "run on an emulated Haswell"));
  }
  CHECK(to_text(report).find("onnxruntime_avx2, conv.u8.accumulator.when, conv.u8.accumulator.partial.") != std::string::npos);
}

TEST_CASE("explain: of rules below a path each has its own evidence, and one without is an assumption") {
  const LayerWithTies layer(1);
  SpecSheet a = find_backend("vipnano_v8"), b = find_backend("tflite_double");
  a.evidence = {{"conv.i8", EvidenceLevel::vendor_code, "all"}, {"conv.*.output.chain.2.rounding", EvidenceLevel::assumption, "a guess"}};
  b.evidence = {{"depthwise_conv", EvidenceLevel::vendor_code, "of another"}};
  const ExplainReport report = explain_network(layer.model, layer.inputs, a, b);
  const auto has = [&](const RuleEvidence& entry) { return std::ranges::count(report.evidence, entry) == 1; };
  CHECK(has({"conv.i8.output.chain.1.bits", "vipnano_v8", "vendor_code", "all"}));
  CHECK(has({"conv.i8.output.chain.2.rounding", "vipnano_v8", "assumption", "a guess"}));
  CHECK(has({"conv.i8.output.chain", "tflite_double", "assumption", "no evidence given"}));
  CHECK(to_text(report).find("vipnano_v8, conv.i8.output.chain.2.rounding: assumption, a guess\n") != std::string::npos);
}

TEST_CASE("explain: float16 values, by what the sum does beyond 65504") {
  Model model;
  model.name = "sum";
  for (const char* name : {"x", "y", "z"}) model.tensors.push_back({name, ElementType::float16, {1, 4}, {}, {}});
  model.operations = {{OperationKind::add, "add", {0, 1}, {2}, ElementwiseAttributes{}}};
  model.inputs = {0, 1};
  model.outputs = {2};
  validate(model, "test");
  Tensor x(ElementType::float16, {1, 4}), y = x;
  const std::uint16_t bits_of_60000 = 0x7B53, bits_of_1 = 0x3C00;
  for (std::size_t i = 0; i < 4; ++i) {
    x.values<Float16>()[i].bits = i < 2 ? bits_of_60000 : bits_of_1;
    y.values<Float16>()[i].bits = i % 2 == 0 ? bits_of_60000 : bits_of_1;
  }
  const std::vector<Tensor> inputs{x, y};
  const LayerAttribution found = explain(model, inputs, find_backend("ascend310"), find_backend("ascend910b"));
  REQUIRE(found.differing.size() == 1);  // 60000 + 60000 is beyond the range, 60001 is not
  REQUIRE(found.differing[0].index == 0);
  REQUIRE(found.differing[0].b - found.differing[0].a == 1);  // infinity follows 65504
  REQUIRE(found.unexplained == 0);
  REQUIRE(found.changes[found.causes[0].changes[0]].name == "float16.sum.overflow");
  REQUIRE(found.changes[found.causes[0].changes[0]].what == "saturate -> infinity");
  REQUIRE_FALSE(side_by_side(model, inputs, 0, find_backend("ascend310"), find_backend("ascend910b")));
  REQUIRE_THROWS_AS(explain(model, inputs, find_backend("float"), find_backend("ascend910b")), Error);
}

TEST_CASE("explain: behind merged pairs a value is shown as the device computes it") {
  LayerWithTies layer(3);
  layer.model.tensors[2].merged = Quantization{{0.75}, {-9}, 0};
  const SpecSheet fusing = find_backend("onnxruntime"), plain = find_backend("onnxruntime_unfused");
  const LayerAttribution found = explain(layer.model, layer.inputs, fusing, plain);
  REQUIRE(found.differing.size() > 100);
  for (const AttributedValue& value : found.differing) {
    const auto both = side_by_side(layer.model, layer.inputs, value.index, fusing, plain);
    REQUIRE(both);
    REQUIRE(both->a.output == value.a);
    REQUIRE(both->b.output == value.b);
  }
}
