// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tables of a report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compare/report_layout.hpp"

namespace lastbit {

struct AdviceColumn {
  std::string title;
  Align align = Align::right;
  std::size_t widest = 24;
};

/// Columns as wide as what stands in them. Where that is wider than `width` names give way, then the end of the line.
[[nodiscard]] std::string table(const std::vector<AdviceColumn>& columns, std::vector<std::vector<std::string>> rows,
                                std::size_t width = line_width);

}  // namespace lastbit
