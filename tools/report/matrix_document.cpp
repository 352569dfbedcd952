// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lastbit/printable.hpp"
#include "report/documents.hpp"
#include "report/parts.hpp"

namespace lastbit::tool {
namespace {

constexpr std::size_t most_rows = 4000;  ///< of layers of pairs

Cell cell_of(const Matrix& matrix, std::size_t row, std::size_t column) {
  if (row == column) return {};
  const PairShares& pair = matrix.pair(std::min(row, column), std::max(row, column));
  if (pair.equal()) {
    Cell cell(pair.holds(AssumptionsAre::named) ? "=" : "=?");
    cell.share = 0;
    return cell;
  }
  return pair.differing() == 0 ? Cell("?") : share_cell(pair.expected());
}

Cell optional_share(const std::optional<double>& share) { return share ? share_cell(*share) : Cell(); }

Table pairs_of(const Matrix& matrix) {
  Table table{
      {{"a", Alignment::left}, {"b", Alignment::left}, {"outputs expected to differ"}, {"layers that can differ"}, {"open"}, {"layers"}},
      {}};
  for (const PairShares& pair : matrix.pairs) {
    const std::string a = matrix.backends[pair.a], b = matrix.backends[pair.b];
    table.rows.push_back({subject_of(a, b, standing_of(!pair.equal())),
                          {a, b, share_cell(pair.expected()), pair.differing(), pair.open(), std::ssize(pair.layers)}});
  }
  return table;
}

Table layers_of(const Matrix& matrix) {
  Table table{{{"a", Alignment::left},
               {"b", Alignment::left},
               {"no."},
               {"layer", Alignment::left},
               {"operation", Alignment::left},
               {"verdict", Alignment::left},
               {"of all cases"},
               {"expected by ranges"},
               {"expected by data"},
               {"measured"}},
              {}};
  for (const PairShares& pair : matrix.pairs) {
    for (const LayerShares& layer : pair.layers) {
      if (layer.equal() || table.rows.size() >= most_rows) continue;
      const std::string a = matrix.backends[pair.a], b = matrix.backends[pair.b];
      table.rows.push_back({{a + " " + b + " " + layer.name + " " + layer.kind, layer.open.empty() ? Standing::differs : Standing::open},
                            {a, b, layer.operation, layer.name, layer.kind, layer.open.empty() ? "differs" : "open: " + layer.open,
                             layer.open.empty() ? share_cell(share_of(layer.differing, layer.cases)) : Cell(),
                             optional_share(layer.by_ranges), optional_share(layer.by_data), optional_share(layer.measured)}});
    }
  }
  return table;
}

}  // namespace

Document document_of(const Matrix& matrix) {
  const auto equal = std::ranges::count_if(matrix.pairs, [](const PairShares& pair) { return pair.holds(AssumptionsAre::named); });
  Document page{.title = "matrix", .standing = standing_of(equal != std::ssize(matrix.pairs))};
  page.verdict = std::to_string(equal) + " of " + count_of(std::ssize(matrix.pairs), "pair") + " of backends " +
                 (equal == 1 ? "computes" : "compute") + " the same network for every input.";
  page.facts = {{"model", matrix.model}, {"samples", std::to_string(matrix.samples)}};
  Square square{matrix.backends, {}};
  for (std::size_t row = 0; row < matrix.backends.size(); ++row) {
    square.cells.emplace_back();
    for (std::size_t column = 0; column < matrix.backends.size(); ++column) square.cells.back().push_back(cell_of(matrix, row, column));
  }
  page.add("Each against each",
           "The share of outputs that is expected to differ, each layer given the same codes. =: equal for every input; =?: equal only "
           "if assumptions hold; ?: nothing is known to differ, some layers are open.",
           {square});
  page.add("Pairs", "", {pairs_of(matrix)});
  Table layers = layers_of(matrix);
  const Paragraph rest{layers.rows.size() < most_rows ? "" : "The first " + std::to_string(most_rows) + "; --csv has all."};
  page.add("Layers", "Of every pair, the layers that can differ or are open.", {std::move(layers), rest});
  List assumed;
  for (const SharedAssumption& each : matrix.assumptions()) assumed.lines.push_back(each.rules_text() + ": " + each.source + ".");
  page.add("Assumptions", "What pairs that are equal rest on without evidence.", {assumed});
  List left_out;
  for (const auto& [name, reason] : matrix.left_out) left_out.lines.push_back(name + ": " + reason);
  page.add("Left out", "", {left_out});
  return page;
}

}  // namespace lastbit::tool
