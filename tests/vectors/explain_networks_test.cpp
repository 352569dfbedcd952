// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ground truth of explain on recorded networks: two backends that differ in one rule, drawn at random. The rule named must be the one that
// was changed, for every differing value; and from the tensors alone, as from a board, it must be among the rules named.
#include <filesystem>
#include <random>

#include "lastbit/explain.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace {

using namespace lastbit;
namespace fs = std::filesystem;

struct RecordedNetwork {
  std::string name;
  Model model;
  std::vector<Tensor> inputs;  ///< one sample
};

std::optional<RecordedNetwork> read_network(const fs::path& folder) {
  if (!fs::exists(folder / "model.tflite") || !fs::exists(folder / "input.npy")) return std::nullopt;
  RecordedNetwork network{folder.filename().string(), read_model(folder / "model.tflite"), {}};
  const Tensor all = read_npy(folder / "input.npy");
  const ModelTensor& input = network.model.tensor(network.model.inputs.at(0));
  Tensor one(all.type(), input.shape);
  std::copy_n(all.bytes().begin(), one.bytes().size(), one.bytes().begin());
  network.inputs.push_back(std::move(one));
  return network;
}

/// A rule that some layer of the network reads, and another value for it with which the backend still runs the network.
struct Change {
  std::string rule, value;
  SpecSheet changed;
};

class Draw {
 public:
  Draw(const RecordedNetwork& network, const SpecSheet& base) : network_(network), base_(base) {
    for (const RuleText& rule : list_rules(base.backend)) {
      if (is_read(rule.path) && !rule.path.ends_with(".kind") && !rule.path.ends_with(".method")) rules_.push_back(rule.path);
    }
  }

  std::optional<Change> operator()(std::mt19937& random) const {
    const std::string& rule = rules_[random() % rules_.size()];
    const auto values = every_alternative(base_.backend, rule);
    if (values.empty()) return std::nullopt;
    Change change{rule, values[random() % values.size()], base_};
    set_rule(change.changed.backend, rule, change.value);
    if (!check(network_.model, change.changed.backend).empty()) return std::nullopt;
    return change;
  }

 private:
  [[nodiscard]] bool is_read(const std::string& path) const {
    return std::any_of(network_.model.operations.begin(), network_.model.operations.end(), [&](const Operation& operation) {
      const auto prefixes = rule_prefixes(network_.model, operation, base_.backend);
      return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) { return covers(prefix, path); });
    });
  }

  const RecordedNetwork& network_;
  const SpecSheet& base_;
  std::vector<std::string> rules_;
};

/// Returns how many values differed; every one of them must be put down to the change.
std::int64_t check_pair(const RecordedNetwork& network, const SpecSheet& base, const Change& change) {
  const ExplainReport report = explain_network(network.model, network.inputs, base, change.changed);
  std::int64_t differing = 0;
  for (const LayerAttribution& layer : report.layers) {
    INFO(layer.name);
    differing += static_cast<std::int64_t>(layer.differing.size());
    CHECK(layer.unexplained == 0);
    for (const AttributedValue& value : layer.differing) {
      REQUIRE(value.cause);
      const Cause& cause = layer.causes[*value.cause];
      REQUIRE(cause.changes.size() == 1);
      REQUIRE(layer.changes[cause.changes[0]].rules == std::vector{change.rule});
    }
  }
  return differing;
}

/// The same from the tensors alone. Returns how many layers differed.
std::int64_t check_board(const RecordedNetwork& network, const SpecSheet& base, const Change& change) {
  const DumpReport report = explain_dump(network.model, run_named(network.model, change.changed, network.inputs), base, {});
  std::int64_t differing = 0;
  for (const DumpVerdict& layer : report.layers) {
    if (layer.differing == 0) continue;
    ++differing;
    INFO(layer.name);
    CHECK(std::any_of(layer.explanations.begin(), layer.explanations.end(),
                      [&](const RuleChange& found) { return found.name == change.rule && found.what.ends_with("-> " + change.value); }));
  }
  return differing;
}

}  // namespace

TEST_CASE("explain names the one rule that was changed, on recorded networks") {
  const auto root = test::models_directory();
  if (!root) return;
  const std::vector<std::string> names{"hello_world_int8", "ic_resnet8_int8", "kws_dscnn_int8", "micro_speech_int8",
                                       "ad01_fc_autoencoder_int8"};
  std::mt19937 random(20);
  std::int64_t pairs = 0, telling = 0, values = 0, layers = 0;
  for (const std::string& name : names) {
    const auto network = read_network(*root / name);
    REQUIRE(network);
    for (const char* const backend : {"tflite_double", "tflite_single", "xnnpack", "onnxruntime", "vipnano_v8", "vipnano_v7"}) {
      const SpecSheet base = find_backend(backend);
      const Draw draw(*network, base);
      for (int i = 0; i < 6; ++i) {
        const auto change = draw(random);
        if (!change) continue;
        INFO(name << ", " << backend << ": " << change->rule << " = " << change->value);
        ++pairs;
        const std::int64_t differing = check_pair(*network, base, *change);
        values += differing;
        if (differing == 0) continue;
        ++telling;
        const bool searched = !change->rule.ends_with("_exponent") && !change->rule.ends_with(".size");
        if (searched && telling % 4 == 0) layers += check_board(*network, base, *change);
      }
    }
  }
  WARN(pairs << " pairs, " << telling << " of them differ, in " << values << " values; from the tensors alone " << layers << " layers");
  CHECK(pairs > 100);
  CHECK(telling > 30);
  CHECK(values > 10000);
  CHECK(layers > 10);
}
