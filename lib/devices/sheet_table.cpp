// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "devices/sheet_table.hpp"

#include <string>

namespace lastbit {
namespace {

std::string text(std::string_view begin, std::string_view end) { return std::string(begin).append(end); }

Setting setting(const SettingRow& row) {
  Setting made{std::string(row.rule), {}, std::string(row.why)};
  for (const std::string_view alternative : row.alternatives)
    if (!alternative.empty()) made.alternatives.emplace_back(alternative);
  return made;
}

}  // namespace

SpecSheet spec_sheet(const SheetRow& row) {
  SpecSheet made{.name = std::string(row.name),
                 .title = std::string(row.title),
                 .backend = row.backend,
                 .evidence = {},
                 .settings = {},
                 .quantizer = std::string(row.quantizer),
                 .layer_list = row.layer_list,
                 .open = {},
                 .origin = {}};
  made.evidence.reserve(row.evidence.size());
  for (const EvidenceRow& each : row.evidence)
    made.evidence.push_back({text(each.prefix, each.rule), each.level, text(each.source, each.detail)});
  made.settings.reserve(row.settings.size());
  for (const SettingRow& each : row.settings) made.settings.push_back(setting(each));
  made.open.reserve(row.open.size());
  for (const OpenRow& each : row.open)
    made.open.push_back({std::string(each.rule), each.when, std::string(each.what), std::string(each.program)});
  return made;
}

}  // namespace lastbit
