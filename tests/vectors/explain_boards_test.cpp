// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ground truth of explain --dump on recorded networks: boards that differ from a known backend in one rule or in two, drawn at random, given with
// every tensor or with the last one alone; and dumps that no one device made. The rules named must be those that were changed, or compute the
// same values on these data; and where two devices took part nothing is explained.
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
#include "support/rule_changes.hpp"
#include "support/two_devices.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;
namespace fs = std::filesystem;

struct RecordedNetwork {
  Model model;
  std::vector<Tensor> inputs;  ///< one sample
};

RecordedNetwork read_network(const fs::path& folder) {
  RecordedNetwork network{read_model(folder / "model.tflite"), {}};
  const Tensor all = read_npy(folder / "input.npy");
  Tensor one(all.type(), network.model.tensor(network.model.inputs.at(0)).shape);
  std::copy_n(all.bytes().begin(), one.bytes().size(), one.bytes().begin());
  network.inputs.push_back(std::move(one));
  return network;
}

class Boards {
 public:
  Boards(const RecordedNetwork& network, const SpecSheet& base) : network_(network), base_(base) {
    for (const RuleText& rule : list_rules(base.backend)) {
      const bool is_searched = !rule.path.ends_with(".kind") && !rule.path.ends_with(".method") && !rule.path.ends_with("_exponent") &&
                               !rule.path.ends_with(".size");
      if (is_searched && is_read(rule.path)) rules_.push_back(rule);
    }
  }

  [[nodiscard]] std::optional<RuleValue> single(std::mt19937& random) const {
    const RuleText& rule = rules_[random() % rules_.size()];
    const auto values = every_alternative(base_.backend, rule.path);
    if (values.empty()) return std::nullopt;
    return RuleValue{rule.path, values[random() % values.size()]};
  }

  /// Two rules of one operation: a width and an enumerator, or two enumerators.
  [[nodiscard]] std::optional<RuleSettings> pair(std::mt19937& random) const {
    const auto a = single(random), b = single(random);
    const auto operation = [](const RuleValue& setting) { return setting.path.substr(0, setting.path.find('.')); };
    const auto is_width = [](const RuleValue& setting) { return setting.path.ends_with("bits"); };
    const auto is_name = [](const RuleValue& setting) {
      return setting.value.find_first_not_of("-0123456789") != std::string::npos && !setting.path.ends_with(".by");
    };
    if (!a || !b || a->path == b->path || operation(*a) != operation(*b)) return std::nullopt;
    const bool fits = (is_name(*a) && is_name(*b)) || (is_width(*a) && is_name(*b)) || (is_name(*a) && is_width(*b));
    return fits ? std::optional(RuleSettings{*a, *b}) : std::nullopt;
  }

  /// Nothing where the device cannot run the network.
  [[nodiscard]] std::optional<SpecSheet> device(const RuleSettings& settings) const try {
    SpecSheet changed = with(base_, settings);
    return check(network_.model, changed.backend).empty() ? std::optional(std::move(changed)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
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
  std::vector<RuleText> rules_;
};

struct Tally {
  int boards = 0, differing = 0, named = 0, equal_on_data = 0, misread = 0, not_found = 0;
};

bool differs(const DumpReport& report) {
  return std::any_of(report.layers.begin(), report.layers.end(), [](const DumpVerdict& layer) { return layer.differing > 0; });
}

bool computes(const RecordedNetwork& network, const NamedTrace& dump, const SpecSheet& sheet) {
  return !differs(explain_dump(network.model, dump, sheet, {}));
}

/// Whether the change says nothing but what was done, of two rules perhaps one that alone decides.
bool is_of(const RuleSettings& named, const RuleSettings& made) {
  return std::all_of(named.begin(), named.end(), [&](const RuleValue& one) {
    return std::any_of(made.begin(), made.end(), [&](const RuleValue& other) {
      return one.value == other.value && (one.path == other.path || covers(one.path, other.path));
    });
  });
}

/// What is named is what was made, or some of what is named is; and all of it computes the dump.
void check_named(const RecordedNetwork& network, const SpecSheet& base, const RuleSettings& made, const NamedTrace& dump, Tally& tally) {
  const DumpReport report = explain_dump(network.model, dump, base, {});
  ++tally.boards;
  if (!differs(report)) return;
  ++tally.differing;
  bool found = false, any = false;
  for (const DumpVerdict& layer : report.layers) {
    if (layer.differing == 0) continue;
    tally.misread += layer.misread.empty() ? 0 : 1;
    int checked = 0;
    for (const RuleChange& change : layer.explanations) {
      any = true;
      found = found || is_of(settings_of(change), made);
      if (checked++ % 32 != 0) continue;
      INFO(change.name << ": " << change.what);
      CHECK(computes(network, dump, with(base, settings_of(change))));
    }
  }
  if (found) ++tally.named;
  else if (any) ++tally.equal_on_data;
  else ++tally.not_found;
  CHECK((found || !report.all_pairs_tried || (any && made.size() > 1)));
}

/// Unless a device that is named did it all, on these data.
void check_two(const RecordedNetwork& network, const SpecSheet& base, const SpecSheet& first, const SpecSheet& second, Tally& tally) {
  const NamedTrace dump = dump_of_two(network.model, first, second, network.model.operations.size() / 2, network.inputs);
  const DumpReport report = explain_dump(network.model, dump, base, {});
  ++tally.boards;
  if (!differs(report)) return;
  ++tally.differing;
  const bool is_one = computes(network, dump, first) || computes(network, dump, second);
  if (report.one_device) ++tally.equal_on_data;
  for (const DumpVerdict& layer : report.layers) {
    for (const RuleChange& change : layer.explanations) {
      INFO(change.name << ": " << change.what);
      if (report.one_device && !is_one) CHECK(computes(network, dump, with(base, settings_of(change))));
    }
  }
}

void print(const std::string& what, const Tally& tally) {
  WARN(what << ": " << tally.boards << " boards, " << tally.differing << " differ: " << tally.named << " named, " << tally.equal_on_data
            << " by rules equal on the data, " << tally.misread << " layers called misread, " << tally.not_found << " not found");
}

/// Boards of one changed rule, and of two, for each network and device.
struct BoardCounts {
  int single, pair;
};

void check_boards(BoardCounts boards_of) {
  const auto root = test::models_directory();
  if (!root) return;
  std::mt19937 random(2024);
  Tally singles, pairs, last_alone, two;
  for (const char* const name : {"hello_world_int8", "micro_speech_int8", "kws_dscnn_int8", "ic_resnet8_int8"}) {
    const RecordedNetwork network = read_network(*root / name);
    for (const char* const backend : {"tflite_double", "xnnpack", "onnxruntime", "vipnano_v8", "vipnano_v7"}) {
      const SpecSheet base = find_backend(backend);
      const Boards boards(network, base);
      for (int i = 0; i < boards_of.single; ++i) {
        const auto drawn = boards.single(random);
        const auto device = drawn ? boards.device({*drawn}) : std::nullopt;
        if (!device) continue;
        INFO(name << ", " << backend << ": " << text_of({*drawn}));
        const NamedTrace dump = run_named(network.model, *device, network.inputs);
        check_named(network, base, {*drawn}, dump, singles);
        if (i % 2 == 0) check_named(network, base, {*drawn}, ends_of(network.model, dump), last_alone);
      }
      for (int i = 0; i < boards_of.pair; ++i) {
        const auto drawn = boards.pair(random);
        const auto device = drawn ? boards.device(*drawn) : std::nullopt;
        if (!device) continue;
        INFO(name << ", " << backend << ": " << text_of(*drawn));
        check_named(network, base, *drawn, run_named(network.model, *device, network.inputs), pairs);
        if (i % 2 == 0) check_two(network, base, find_backend(i % 4 == 0 ? backend : "tflite_single"), *device, two);
      }
    }
  }
  print("one rule", singles);
  print("two rules", pairs);
  print("the last tensor alone", last_alone);
  print("two devices", two);
  CHECK(singles.named > 10);
  CHECK(pairs.named > 8);
}

}  // namespace

TEST_CASE("explain names what was changed on a board, on recorded networks") { check_boards({.single = 3, .pair = 3}); }
TEST_CASE("explain names what was changed on many boards, on recorded networks", "[.every]") { check_boards({.single = 8, .pair = 10}); }
