// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/known_devices.hpp"

#include <algorithm>

#include "analysis/explain/candidates.hpp"
#include "lastbit/error.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

/// Built-in backends of integers, of those that compute the layer by the same rules the first.
std::vector<const SpecSheet*> builtins_for(const Model& layer) {
  std::vector<const SpecSheet*> sheets;
  std::vector<Backend> known;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain != Domain::integer) continue;
    Backend read = no_rules;
    for (const std::string& path : rule_prefixes(layer, layer.operations[0], sheet.backend)) copy_rules(read, sheet.backend, path);
    if (std::ranges::find(known, read) != known.end()) continue;
    known.push_back(std::move(read));
    sheets.push_back(&sheet);
  }
  return sheets;
}

/// Nothing where the backend cannot run the layer.
std::optional<Integers> computed(const Model& layer, const Backend& backend, std::span<const Tensor> inputs) {
  try {
    return layer_codes(layer, backend, inputs);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Beside this sheet by one rule.
std::optional<KnownDevice> neighbour_of(const SpecSheet& sheet, const Model& layer, const std::vector<Tensor>& inputs,
                                        const Integers& codes) {
  const std::vector<std::string> prefixes = rule_prefixes(layer, layer.operations[0], sheet.backend);
  if (prefixes.empty()) return std::nullopt;
  const PartJudge judge({{0}, layer, inputs, codes, prefixes, {}, {}, {}}, sheet.backend);
  for (const Candidate& candidate : single_candidates(sheet.backend, prefixes)) {
    const auto changed = with_settings(sheet.backend, candidate);
    if (changed && judge.computes(*changed)) return KnownDevice{sheet.name, change_of(candidate)};
  }
  return std::nullopt;
}

}  // namespace

bool some_builtin(const Model& layer, std::span<const Tensor> inputs, const std::function<bool(const Integers&)>& accepts) {
  return std::ranges::any_of(builtins_for(layer), [&](const SpecSheet* sheet) {
    const auto codes = computed(layer, sheet->backend, inputs);
    return codes && accepts(*codes);
  });
}

std::optional<KnownDevice> known_device_of(const Model& layer, const std::vector<Tensor>& inputs, const Integers& codes) {
  std::vector<const SpecSheet*> able;
  for (const SpecSheet* const sheet : builtins_for(layer)) {
    const auto own = computed(layer, sheet->backend, inputs);
    if (own && own->size() == codes.size()) able.push_back(sheet);
    if (own == codes) return KnownDevice{sheet->name, {}};
  }
  for (const SpecSheet* const sheet : able) {
    if (auto found = neighbour_of(*sheet, layer, inputs, codes)) return found;
  }
  return std::nullopt;
}

}  // namespace lastbit
