// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends_page.hpp"

#include <algorithm>

#include "devices/vendors.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

std::string row(const SpecSheet& sheet, std::string_view vendor) {
  const EvidenceRange range = evidence_range(sheet);
  std::string levels(name_of(range.strongest));
  if (range.strongest != range.weakest) levels += " to " + std::string(name_of(range.weakest));
  const std::string page(vendor);
  return "| `" + sheet.name + "` | " + sheet.title + " | " + levels + " | [" + page + "](" + page + ".md) |\n";
}

}  // namespace

EvidenceRange evidence_range(const SpecSheet& sheet) {
  EvidenceRange range;
  for (const RuleText& rule : list_rules(sheet.backend)) {
    if (rule.value == "absent" || rule.value == "0") continue;
    const Evidence* evidence = evidence_for(sheet, rule.path);
    const EvidenceLevel level = evidence == nullptr ? EvidenceLevel::assumption : evidence->level;
    range.strongest = std::min(range.strongest, level);
    range.weakest = std::max(range.weakest, level);
  }
  return range;
}

std::string backends_page() {
  std::string page = "| backend | what it is | evidence, strongest to weakest | page |\n|---|---|---|---|\n";
  for (const Vendor& vendor : vendors())
    for (const SheetRow& sheet : vendor.sheets()) page += row(spec_sheet(sheet), vendor.name);
  return page;
}

}  // namespace lastbit
