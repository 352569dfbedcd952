// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Proofs of recorded layers: an accumulator that was recorded to saturate is never called safe, it saturates as often as recorded, and the
// input handed out saturates it as well.
#include <nlohmann/json.hpp>

#include "formats/file.hpp"
#include "formats/json_model.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;

namespace {

struct Case {
  std::string name;
  Model model;
  std::vector<Tensor> inputs;
  SpecSheet sheet;
  std::optional<std::int64_t> saturations;
};

std::vector<Case> cases_of(const std::string& suite) {
  const std::filesystem::path folder = test::source_directory() / "tests/vectors" / suite;
  const auto json = nlohmann::json::parse(read_text_file(folder / "cases.json"));
  std::vector<Case> cases;
  for (const auto& entry : json["cases"]) {
    Case& one = cases.emplace_back(Case{
        entry["name"], parse_json_model(entry["model"].dump(), folder, suite), {}, find_backend(entry["backend"].get<std::string>()), {}});
    if (entry.contains("settings")) {
      for (const auto& [rule, value] : entry["settings"].items()) set_rule(one.sheet.backend, rule, value.get<std::string>());
    }
    if (entry.contains("saturations") && entry["saturations"].is_number_integer())
      one.saturations = entry["saturations"].get<std::int64_t>();
    for (const std::int32_t index : one.model.inputs) {
      const auto& input = entry["inputs"][one.model.tensor(index).name];
      one.inputs.push_back(input.is_string() ? read_npy(folder / input.get<std::string>()) : tensor_from_json(JsonView(input, "input")));
      one.inputs.back().reshape(one.model.tensor(index).shape);
    }
  }
  return cases;
}

/// Runs the example where it is made of codes; every unsafe kind of sum has one.
void check_examples(const Case& one, const ProveReport& report) {
  for (const LayerProof& layer : report.layers) {
    if (layer.safe()) continue;
    INFO(one.name << " " << layer.part);
    REQUIRE(layer.example);
    if (layer.example->in_partial_sum) continue;
    REQUIRE(layer.example->overflows > 0);
    // A pool behind an activation adds what no input has for a code.
    if (layer.example->inputs.empty()) {
      REQUIRE(layer.part == "pooled");
      continue;
    }
    const Trace trace = run(one.model, one.sheet.backend, layer.example->inputs, {.count_events = true});
    REQUIRE(trace.events[0].accumulator_overflows > 0);
  }
}

}  // namespace

TEST_CASE("prove: recorded sums saturate as often as the proof counts them") {
  std::int64_t saturations = 0, unsafe = 0;
  for (const std::string suite : {"gna/affine", "gna/conv1d", "gna/conv2d", "gna/seed000_demo"}) {
    for (const Case& one : cases_of(suite)) {
      const ProveReport report = prove(one.model, one.sheet, one.inputs);
      INFO(suite << " " << one.name);
      REQUIRE(report.layers.size() == 1);
      const LayerProof& layer = report.layers[0];
      if (one.saturations) REQUIRE((layer.on_data ? layer.on_data->events : 0) == *one.saturations);
      saturations += one.saturations.value_or(0);
      unsafe += layer.safe() ? 0 : 1;
      check_examples(one, report);
    }
  }
  CHECK(saturations > 800);
  CHECK(unsafe > 20);
}

TEST_CASE("prove: fused and recurrent layers have examples that overflow when they are run") {
  std::int64_t unsafe = 0;
  for (const std::string suite : {"gna/conv1d_pool_pwl", "gna/conv2d_fused", "gna/recurrent"}) {
    for (const Case& one : cases_of(suite)) {
      const ProveReport report = prove(one.model, one.sheet, one.inputs);
      unsafe += report.safe() ? 0 : 1;
      check_examples(one, report);
    }
  }
  CHECK(unsafe > 8);
}

TEST_CASE("prove: recorded layers of 8-bit devices are safe, and nothing overflows on their data at the width that is enough") {
  std::int64_t proven = 0;
  for (const std::string suite : {"tflite/conv2d_s8", "tflite/depthwise_s8", "tflite/transpose_conv_s8", "n2d2/conv", "n2d2/fc"}) {
    for (const Case& one : cases_of(suite)) {
      const ProveReport report = prove(one.model, one.sheet, one.inputs);
      INFO(suite << " " << one.name);
      for (const LayerProof& layer : report.layers) {
        REQUIRE(layer.safe());
        const ProveReport enough = prove(one.model, one.sheet, one.inputs, {.bits = layer.bits()});
        REQUIRE(enough.layers[0].safe());
        if (layer.bits() == 2) continue;
        const ProveReport less = prove(one.model, one.sheet, one.inputs, {.bits = layer.bits() - 1});
        REQUIRE_FALSE(less.layers[0].safe());
        REQUIRE(less.layers[0].example);
        REQUIRE(less.layers[0].example->overflows > 0);
        ++proven;
      }
    }
  }
  CHECK(proven > 20);
}
