// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/migrate.hpp"

#include <algorithm>
#include <array>

#include "analysis/migrate/every_input.hpp"
#include "analysis/migrate/layer_changes.hpp"
#include "analysis/migrate/matching.hpp"
#include "analysis/migrate/on_data.hpp"
#include "lastbit/error.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

std::vector<LoneLayer> lone_layers(const Model& model, const std::vector<MigratedLayer>& layers, std::size_t MigratedLayer::*number) {
  std::vector<bool> is_matched(model.operations.size(), false);
  for (const MigratedLayer& layer : layers) is_matched[layer.*number] = true;
  std::vector<LoneLayer> lone;
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    if (is_matched[i]) continue;
    lone.push_back({i, layer_name(model, i), std::string(name_of(model.operations[i].kind))});
  }
  return lone;
}

/// Both networks' problems are told at once.
void require_runnable(const Version& before, const Version& after) {
  std::vector<Diagnostic> problems;
  for (const auto& [version, place] : {std::pair{&before, "old"}, {&after, "new"}}) {
    for (Diagnostic& problem : check(version->model, version->device)) {
      problem.where = std::string(place) + " network: " + problem.where;
      problems.push_back(std::move(problem));
    }
  }
  if (!problems.empty()) throw Error(std::move(problems));
}

/// Every tensor of both runs is held.
void require_budget(const Version& before, const Version& after, std::span<const Tensor> inputs, int threads) {
  if (inputs.empty() || before.model.inputs.empty()) return;
  const std::int64_t samples =
      inputs[0].element_count() / std::max<std::int64_t>(1, before.model.tensor(before.model.inputs[0]).shape.element_count());
  const RunOptions how{.threads = threads, .keep_all = true};
  require_memory(before.model, std::array{memory_need(before.model, before.device.backend, how, samples),
                                          memory_need(after.model, after.device.backend, how, samples)});
}

/// What the paths of the rules begin with that the device itself reads for an operation.
std::vector<std::string> prefixes_read(const Model& model, std::size_t operation, const Backend& device) {
  const auto& elsewhere = device.elsewhere.list();
  const std::string name = layer_name(model, operation);
  const bool is_elsewhere = std::ranges::any_of(
      elsewhere, [&](const Placement& placement) { return std::ranges::find(placement.layers, name) != placement.layers.end(); });
  return is_elsewhere ? std::vector<std::string>{} : rule_prefixes(model, model.operations[operation], device);
}

std::vector<ChangedRule> changed_rules(const Model& model, const Backend& before, const Backend& after) {
  std::vector<ChangedRule> rules;
  for (const RuleDifference& rule : diff_backends(before, after)) rules.push_back({rule.path, rule.a, rule.b, {}});
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    std::vector<std::string> prefixes = prefixes_read(model, i, before);
    for (std::string& prefix : prefixes_read(model, i, after)) prefixes.push_back(std::move(prefix));
    for (ChangedRule& rule : rules)
      if (std::ranges::any_of(prefixes, [&](const std::string& prefix) { return covers(prefix, rule.path); })) rule.layers.push_back(i);
  }
  return rules;
}

}  // namespace

std::string_view name_of(PairedBy match) {
  constexpr std::array<std::string_view, 3> names{"name", "weights", "place"};
  return names[static_cast<std::size_t>(match)];
}

std::string_view name_of(ChangeOf what) {
  constexpr std::array<std::string_view, 8> names{"wiring", "type", "shape", "quantization", "values", "bounds", "attribute", "statement"};
  return names[static_cast<std::size_t>(what)];
}

bool MigratedLayer::rewired() const {
  return std::ranges::any_of(changes, [](const LayerChange& change) { return change.of == ChangeOf::wiring; });
}

bool MigratedLayer::equal() const { return certificate.equal() && !rewired(); }

bool NetworkMigration::equal() const {
  return !layers.empty() && removed.empty() && added.empty() && ends.empty() && first_not_equal() == nullptr;
}

std::vector<SharedAssumption> NetworkMigration::assumptions() const {
  std::vector<std::vector<BackendAssumption>> of_layers;
  for (const MigratedLayer& layer : layers) of_layers.push_back(layer.certificate.assumptions);
  return shared_assumptions(of_layers);
}

const MigratedLayer* NetworkMigration::first_not_equal() const {
  const auto found = std::ranges::find_if_not(layers, &MigratedLayer::equal);
  return found == layers.end() ? nullptr : &*found;
}

NetworkMigration migrate_network(const Version& before, const Version& after, std::span<const Tensor> inputs,
                                 const MigrateOptions& options) {
  require_runnable(before, after);
  require_budget(before, after, inputs, options.threads);
  const Emulator emulator_before(before.model, before.device.backend), emulator_after(after.model, after.device.backend);
  const std::vector<LayerMatch> matches = matched_layers(before.model, after.model);
  const BothNetworks both{before.model, after.model, matched_tensors(before.model, after.model, matches)};
  NetworkMigration migration{.before = before.model.name, .after = after.model.name, .device = before.device.name};
  for (const LayerMatch& match : matches)
    migration.layers.push_back({.before = match.before,
                                .after = match.after,
                                .name_before = layer_name(before.model, match.before),
                                .name_after = layer_name(after.model, match.after),
                                .by = match.by,
                                .changes = changes_of(both, match)});
  migration.removed = lone_layers(before.model, migration.layers, &MigratedLayer::before);
  migration.added = lone_layers(after.model, migration.layers, &MigratedLayer::after);
  migration.ends = changes_of_ends(both);
  const RunnableVersion runs_before{emulator_before, before.device}, runs_after{emulator_after, after.device};
  decide_for_every_input(runs_before, runs_after, migration.layers, options);
  if (!inputs.empty()) compare_on_data(runs_before, runs_after, both, inputs, options.threads, migration);
  return migration;
}

DeviceMigration migrate_device(const Model& model, const Device& before, const Device& after, std::span<const Tensor> inputs,
                               const MigrateOptions& options) {
  DeviceMigration migration{
      .model = model.name,
      .before = before.name,
      .after = after.name,
      .rules = changed_rules(model, before.backend, after.backend),
      .certificate = certify(model, before, after, {}, {.threads = options.threads, .on_progress = options.on_progress}),
      .on_data = {}};
  if (!inputs.empty()) migration.on_data = compare_backends(model, before, after, inputs, {.threads = options.threads});
  return migration;
}

}  // namespace lastbit
