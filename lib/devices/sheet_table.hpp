// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The built-in sheets as the vendors' folders write them: constants alone, so that no code runs to make them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "lastbit/backend.hpp"
#include "sheet/joined.hpp"

namespace lastbit {

/// An Evidence. Its rule is `prefix` followed by `rule`. Its source is `source`, the program or document, followed by `detail`, the suites, files or
/// functions in it.
struct EvidenceRow {
  std::string_view rule;
  EvidenceLevel level;
  std::string_view source;
  std::string_view detail = {};
  std::string_view prefix = {};
};

/// Of a setting; the last ones may be empty.
using Alternatives = std::array<std::string_view, 4>;

/// A Setting.
struct SettingRow {
  std::string_view rule;
  Alternatives alternatives;
  std::string_view why;
};

/// An OpenPoint.
struct OpenRow {
  std::string_view rule;
  LayerCondition when;
  std::string_view what;
  std::string_view program = {};
};

/// A SpecSheet.
struct SheetRow {
  std::string_view name;
  std::string_view title;
  const Backend& backend;
  std::span<const EvidenceRow> evidence;
  std::span<const SettingRow> settings = {};
  std::string_view quantizer = {};
  LayerList layer_list = LayerList::none;
  std::span<const OpenRow> open = {};
};

[[nodiscard]] SpecSheet spec_sheet(const SheetRow& row);

/// `table` with these rows in the places of its rows of the same rules; each rule must be there.
template <std::size_t size, std::size_t count>
[[nodiscard]] consteval std::array<EvidenceRow, size> replaced(std::array<EvidenceRow, size> table, const EvidenceRow (&rows)[count]) {
  for (const EvidenceRow& row : rows) *std::ranges::find(table, row.rule, &EvidenceRow::rule) = row;
  return table;
}

/// `table` of the rules that begin with `prefix`, its rows naming their ends.
template <std::size_t size>
[[nodiscard]] consteval std::array<EvidenceRow, size> prefixed(std::string_view prefix, std::array<EvidenceRow, size> table) {
  for (EvidenceRow& row : table) row.prefix = prefix;
  return table;
}

}  // namespace lastbit
