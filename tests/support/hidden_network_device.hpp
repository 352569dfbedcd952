// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A device for a network, drawn at random from the space of rules: of each kind of convolution any combination, of every other operation a
// built-in backend's rules but for two.
#pragma once

#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analysis/identify/conv_search.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit::test {

class HiddenDevices {
 public:
  HiddenDevices(const Model& model, unsigned seed) : model_(model), random_(seed) {
    for (const SpecSheet& sheet : builtin_backends()) {
      if (sheet.backend.domain == Domain::integer && check(model, sheet.backend).empty()) bases_.push_back(sheet);
    }
  }

  /// One that can run the network.
  SpecSheet next() {
    while (true) {
      SpecSheet device = bases_.at(random_() % bases_.size());
      device.name = "hidden";
      std::set<std::string> changed;
      for (std::size_t i = 0; i < model_.operations.size(); ++i) change(device.backend, i, changed);
      try {
        check_widths(device.backend);
        require_stated(device.backend);
      } catch (const Error&) {
        continue;
      }
      if (check(model_, device.backend).empty()) return device;
    }
  }

 private:
  /// The rules that the operation reads, once for all operations that read them.
  void change(Backend& device, std::size_t operation, std::set<std::string>& changed) {
    const Operation& present = model_.operations[operation];
    const std::string rules = rule_prefix(model_, present, device);
    if (rules.empty() || !changed.insert(rules).second) return;
    if (is_conv_layer(present.kind)) {
      const ConvSpace space = conv_space(scope_of({present.name, extract_operation(model_, operation), {}, {}}));
      const auto arithmetic = arithmetic_of(space.sums[random_() % space.sums.size()], space.rescales[random_() % space.rescales.size()]);
      copy_rules(device, backend_of(arithmetic), rules);
      return;
    }
    for (int step = 0; step < 2; ++step) {
      std::vector<std::pair<std::string, std::string>> steps;
      for (const RuleText& rule : list_rules(device)) {
        if (!rule.path.starts_with(rules + ".") || rule.path.ends_with("size") || rule.path.ends_with("kind")) continue;
        for (const std::string& value : alternatives(device, rule.path)) steps.emplace_back(rule.path, value);
      }
      if (steps.empty()) return;
      Backend next = device;
      const auto& [path, value] = steps[random_() % steps.size()];
      try {
        set_rule(next, path, value);
      } catch (const Error&) {
        continue;
      }
      if (check(extract_operation(model_, operation), next).empty()) device = next;
    }
  }

  const Model& model_;
  std::mt19937 random_;
  std::vector<SpecSheet> bases_;
};

/// What came of a saved identification.
struct SavedCounts {
  int devices = 0, misread = 0, loaded = 0, runs = 0, explained = 0, reproduced = 0;
};

/// Dumps of hidden devices, identified, saved, read back and run.
inline SavedCounts save_and_reproduce(const Model& model, std::span<const Tensor> inputs, int devices, unsigned seed, double seconds) {
  SavedCounts counts;
  HiddenDevices hidden(model, seed);
  for (; counts.devices < devices; ++counts.devices) {
    const SpecSheet device = hidden.next();
    const NamedTrace dump = run_named(model, device, inputs);
    const std::vector<Misread> misread = find_misread(model, dump);
    for (const Misread& one : misread) std::printf("  taken for misread: %s: %s\n", one.tensor.c_str(), one.cause.c_str());
    counts.misread += std::ranges::any_of(misread, [](const Misread& one) { return one.certainty == Certainty::certain; }) ? 1 : 0;
    const Identification found = identify(pairs_of(model, dump), {.most_seconds = seconds});
    const SpecSheet saved = backend_from_json(backend_to_json(identified_backend(found, "mine")), "saved");
    ++counts.loaded;
    const Reproduction network = reproduce(model, dump, saved.backend);
    counts.runs += network.impossible.empty() ? 1 : 0;
    counts.explained += found.exact() ? 1 : 0;
    counts.reproduced += found.exact() && network.impossible.empty() && network.differing == 0 ? 1 : 0;
    if (!network.impossible.empty()) std::printf("  impossible: %s\n", network.impossible.c_str());
  }
  return counts;
}

}  // namespace lastbit::test
