// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Verdicts name what they rest on: equal by rules of which some are assumed is equal only if that is so.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "lastbit/certify.hpp"
#include "lastbit/matrix.hpp"
#include "lastbit/migrate.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/testing.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

using Json = nlohmann::json;

using Are = AssumptionsAre;
const Quantization data{{0.5}, {3}}, means{{0.25}, {1}};

/// A mean over the image and one over the channels.
Model two_means() {
  ModelBuilder builder("two means");
  const auto in = builder.input({"in", ElementType::int8, Shape{1, 4, 4, 8}, data});
  const auto over_image =
      builder.operation(OperationKind::mean, {in}, {"over image", ElementType::int8, Shape{1, 8}, means}, MeanAttributes{{1, 2}});
  return builder.finished(
      {builder.operation(OperationKind::mean, {over_image}, {"over all", ElementType::int8, Shape{1}, means}, MeanAttributes{{1}})});
}

Model convolution(std::int32_t bias, double scale = 2.0) {
  ModelBuilder builder("convolution");
  const auto in = builder.input({"in", ElementType::uint8, Shape{1, 2, 2, 1}, data});
  const auto w = builder.constant<std::int8_t>("w", Shape{1, 1, 1, 1}, {1}, {{0.5}, {0}});
  const auto b = builder.constant<std::int32_t>("b", Shape{1}, {bias}, {{0.25}, {0}});
  return builder.finished(
      {builder.operation(OperationKind::conv2d, {in, w, b}, {"out", ElementType::uint8, Shape{1, 2, 2, 1}, {{scale}, {7}}})});
}

/// A sheet of the same rules under another name, which nothing is open about.
SpecSheet told(const char* name) {
  SpecSheet sheet = find_backend(name);
  sheet.name = "told";
  sheet.open.clear();
  sheet.evidence = {{"*", EvidenceLevel::hardware, "measured"}};
  return sheet;
}

SpecSheet open_about(const char* rule, const char* what) {
  SpecSheet sheet = told("tflite_double");
  sheet.name = "open";
  sheet.open = {{rule, LayerCondition::always, what, ""}};
  return sheet;
}

/// Reports are wrapped.
std::string on_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n') + 1, start = text.rfind('\n', end - 1);
  return text.substr(start == std::string::npos ? 0 : start + 1, end - (start == std::string::npos ? 0 : start + 1));
}

}  // namespace

TEST_CASE("an int8 mean over the image of TFLite's built-in kernels is equal only if an open point holds") {
  const Certificate found = certify(two_means(), find_backend("tflite_builtin_double"), find_backend("tflite_double"), {});
  CHECK(found.equal());
  CHECK_FALSE(found.holds(Are::named));
  CHECK(found.holds(Are::accepted));
  REQUIRE(found.layers.size() == 2);
  REQUIRE_FALSE(found.layers[0].assumptions.empty());
  CHECK(found.layers[0].assumptions[0].backend == "tflite_builtin_double");
  CHECK(found.layers[0].assumptions[0].assumption.rule == "mean");
  const Json json = Json::parse(to_json(found));
  CHECK(json["equal"] == false);
  CHECK(json["layers"][0]["verdict"] == "equal_if");
  CHECK(json["layers"][0]["assumptions"][0]["rule"] == "mean");
  CHECK(json["assumptions"][0]["backend"] == "tflite_builtin_double");
  CHECK(json["assumptions"][0]["layers"] == 1);
  const std::string text = on_one_line(to_text(found));
  CHECK(text.find("equal: the same rules, if mean of tflite_builtin_double is so") != std::string::npos);
  CHECK(text.find("only if") != std::string::npos);
  CHECK(text.find("--accept-assumptions takes") != std::string::npos);
  CHECK(text.find("compute the same network") == std::string::npos);
  CHECK(on_one_line(to_text(found, {}, Are::accepted)).find("accepted: tflite_builtin_double and tflite_double compute the same network") !=
        std::string::npos);
}

TEST_CASE("a real bias of PyTorch's engine onednn is named against ONNX Runtime, whatever the rules say") {
  const auto assumed = [](std::int32_t bias) {
    const Certificate found = certify(convolution(bias), find_backend("pytorch_x86"), find_backend("onnxruntime"), {});
    const auto is_it = [](const BackendAssumption& each) { return each.assumption.source.find("a bias is added as a real number") == 0; };
    return std::ranges::any_of(found.layers.at(0).assumptions, is_it);
  };
  CHECK(assumed(5));
  CHECK_FALSE(assumed(0));
}

TEST_CASE("what is assumed alike on both sides of one backend decides nothing; what nothing is open about is equal without conditions") {
  const SpecSheet open = open_about("mean", "nobody knows");
  CHECK(certify(two_means(), open, open, {}).holds(Are::named));
  SpecSheet derived = open, other = open;
  derived.name = "derived";
  CHECK_FALSE(certify(two_means(), open, derived, {}).holds(Are::named));
  derived.origin = "open";
  CHECK(certify(two_means(), open, derived, {}).holds(Are::named));
  derived.open.push_back({"mean", LayerCondition::always, "nor this", ""});
  CHECK(certify(two_means(), open, derived, {}).assumptions().size() == 1);
  set_rule(other.backend, "mean.output.chain.2.rounding", "half_up");
  CHECK_FALSE(certify(two_means(), open, other, {}).layers.at(0).assumptions.empty());
  const Certificate sure = certify(two_means(), told("tflite_double"), told("tflite_double"), {});
  CHECK(sure.holds(Are::named));
  CHECK(to_text(sure).find("assumption") == std::string::npos);
  CHECK(Json::parse(to_json(sure))["assumptions"].empty());
  CHECK(last_line(to_text(sure)).starts_with("equal for every input: told and told compute"));
}

TEST_CASE("an assumption is said once, with how many layers rest on it, and the last line counts them") {
  const Certificate found = certify(two_means(), open_about("mean", "nobody knows"), told("tflite_double"), {});
  REQUIRE(found.assumptions().size() == 1);
  CHECK(found.assumptions()[0].layers == 2);
  const std::string text = to_text(found);
  CHECK(text.find("Rests on assumptions:\n  mean of open (2 layers): nobody knows\n") != std::string::npos);
  CHECK(last_line(text) == "equal for every input only if 1 assumption holds: mean of open; --accept-assumptions takes it");
}

TEST_CASE("rules of one reason are one assumption, of another backend another") {
  const BackendAssumption conv{"a", {"conv", "x"}}, depthwise{"a", {"depthwise_conv", "x"}}, add{"a", {"add", "y"}},
      other{"b", {"conv", "x"}};
  const std::vector<std::vector<BackendAssumption>> layers{{conv, depthwise}, {}, {depthwise, add, other}};
  const std::vector<SharedAssumption> shared = shared_assumptions(layers);
  REQUIRE(shared.size() == 3);
  CHECK(shared[0].rules_text() == "conv, depthwise_conv of a");
  CHECK(shared[0].layers == 2);
  CHECK(shared[1].rules_text() == "add of a");
  CHECK(shared[2].layers == 1);
  CHECK(only_if(shared) == "only if 3 assumptions hold: conv, depthwise_conv of a, add of a, conv of b; --accept-assumptions takes them");
  CHECK(names_text(layers[0]) == "conv of a, depthwise_conv of a");
}

TEST_CASE("a matrix marks pairs that are equal only if assumptions hold") {
  const std::vector<SpecSheet> sheets{open_about("mean", "nobody knows"), told("tflite_double")};
  const Matrix found = matrix(two_means(), sheets, {});
  CHECK(found.pairs[0].equal());
  CHECK_FALSE(found.holds(Are::named));
  CHECK(found.holds(Are::accepted));
  const std::string text = to_text(found);
  CHECK(text.find(" =?\n") != std::string::npos);
  CHECK(text.find("mean of open (2 layers): nobody knows") != std::string::npos);
  CHECK(last_line(text) == "1 pair equal only if assumptions hold; --accept-assumptions takes them");
  CHECK(to_text(found, Are::accepted).find(" =?\n") == std::string::npos);
  const Json json = Json::parse(to_json(found));
  CHECK(json["pairs"][0]["equal"] == false);
  CHECK(json["pairs"][0]["assumptions"][0]["rules"][0] == "mean");
  CHECK(json["pairs"][0]["layers"][0]["verdict"] == "equal_if");
  CHECK(to_csv(found).find(",equal_if,same_rules,") != std::string::npos);
}

TEST_CASE("a migrated network rests on assumptions in the layers that changed, and in no others") {
  const Model before = convolution(5), after = convolution(5, 2.0000002384185791);
  const SpecSheet sheet = open_about("conv", "nobody knows");
  const NetworkMigration same = migrate_network({before, sheet}, {before, sheet}, {});
  CHECK(same.holds(Are::named));
  const NetworkMigration changed = migrate_network({before, sheet}, {after, sheet}, {});
  REQUIRE(changed.layers.size() == 1);
  CHECK_FALSE(changed.layers[0].certificate.assumptions.empty());
  if (changed.equal()) {
    CHECK_FALSE(changed.holds(Are::named));
    CHECK(changed.holds(Are::accepted));
    CHECK(last_line(to_text(changed)).find("--accept-assumptions takes it") != std::string::npos);
    CHECK(Json::parse(to_json(changed))["equal"] == false);
  }
  CHECK(Json::parse(to_json(changed))["assumptions"][0]["source"] == "nobody knows");
}

TEST_CASE("two versions of a device are equal only if what either assumes is so") {
  const DeviceMigration found = migrate_device(two_means(), open_about("mean", "nobody knows"), told("tflite_double"), {});
  CHECK(found.equal());
  CHECK_FALSE(found.holds(Are::named));
  CHECK(found.holds(Are::accepted));
  CHECK(Json::parse(to_json(found))["equal"] == false);
}

TEST_CASE("sums are safe only if what is assumed of their accumulators is so") {
  const auto proven = [](const SpecSheet& sheet) { return prove(convolution(5), sheet, {}); };
  const ProveReport sure = proven(told("tflite_double")), open = proven(open_about("conv.*.accumulator", "nobody knows"));
  CHECK(sure.safe());
  CHECK(sure.holds(Are::named));
  CHECK(open.safe());
  CHECK_FALSE(open.holds(Are::named));
  CHECK(open.holds(Are::accepted));
  CHECK(
      last_line(to_text(open)).starts_with("Safe only if 1 assumption holds: conv.*.accumulator of open; --accept-assumptions takes it."));
  CHECK(last_line(to_text(open, {}, Are::accepted)) == "Safe, 1 assumption accepted.");
  CHECK(Json::parse(to_json(open))["safe"] == false);
  CHECK(proven(open_about("conv.*.output.chain", "nobody knows")).holds(Are::named));
  CHECK(proven(open_about("conv.*.accumulator.overflow", "nobody knows")).holds(Are::named));  // none leaves it
  SpecSheet without = told("tflite_double");
  without.evidence.clear();
  CHECK_FALSE(proven(without).holds(Are::named));
}

TEST_CASE("a unit test that asks for equality is refused until it accepts the assumptions") {
  const SpecSheet a = open_about("mean", "nobody knows"), b = told("tflite_double");
  const testing::Verdict refused = testing::equal_for_every_input(two_means(), a, b);
  CHECK_FALSE(refused.passed());
  CHECK(refused.message().find("only if 1 assumption holds") != std::string::npos);
  CHECK(testing::equal_for_every_input(two_means(), a, b, Are::accepted).passed());
}

}  // namespace lastbit
