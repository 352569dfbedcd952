// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analysis/certify/layer_report.hpp"
#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/layer_view.hpp"
#include "lastbit/matrix.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g%%", 100 * share);
  return text;
}

std::string percent(const std::optional<double>& share) { return share ? percent(*share) : "-"; }

/// Above the diagonal: layers that can differ, and a question mark where some are open.
std::string layers_text(const PairShares& pair, AssumptionsAre are) {
  if (pair.equal()) return pair.holds(are) ? "=" : "=?";
  return (pair.differing() > 0 ? std::to_string(pair.differing()) : "") + (pair.open() > 0 ? "?" : "");
}

std::string cell_text(const Matrix& matrix, std::size_t row, std::size_t column, AssumptionsAre are) {
  if (row == column) return ".";
  const PairShares& pair = matrix.pair(row, column);
  if (row < column || pair.equal() || pair.differing() == 0) return layers_text(pair, are);
  return percent(pair.expected());
}

std::string verdict_text(const LayerShares& layer) {
  if (!layer.open.empty()) return "open";
  const std::string condition = layer.assumptions.empty() ? "" : ", if";
  if (layer.by == DecidedBy::same_rules) return "same" + (condition.empty() ? " rules" : condition);
  return layer.differing == 0 ? "equal" + condition : percent(static_cast<double>(layer.differing) / static_cast<double>(layer.cases));
}

JsonValue optional_number(const std::optional<double>& value) { return value ? JsonValue(*value) : JsonValue(); }

std::string_view verdict_name(const LayerShares& layer) {
  if (!layer.open.empty()) return "open";
  return layer.differing > 0 ? "differs" : layer.assumptions.empty() ? "equal" : equal_if;
}

JsonValue json_of(const LayerShares& layer) {
  JsonValue json{{"number", layer.operation}, {"name", layer.name}, {"kind", layer.kind}, {"outputs", layer.outputs}};
  json.update({{"decided_by", name_of(layer.by)}, {"verdict", verdict_name(layer)}});
  if (!layer.open.empty()) json["why"] = layer.open;
  json.update({{"cases", layer.cases},
               {"differing", layer.differing},
               {"expected_by_ranges", optional_number(layer.by_ranges)},
               {"expected_by_data", optional_number(layer.by_data)},
               {"measured", optional_number(layer.measured)},
               {"assumptions", json_of(layer.assumptions)}});
  return json;
}

/// Of its outputs, what is known best of how many differ; NaN where nothing is.
double share_of(const LayerShares& layer) {
  if (layer.measured && *layer.measured > 0) return *layer.measured;
  if (!layer.open.empty()) return std::nan("");
  return layer.by_data.value_or(layer.by_ranges.value_or(layer.differing > 0 ? 1 : 0));
}

std::string number_or_nothing(const std::optional<double>& value) { return value ? number_text("%.9g", *value) : ""; }

}  // namespace

std::string to_text(const Matrix& matrix, AssumptionsAre are) {
  constexpr std::size_t width = 9;
  std::string text = matrix.model + ": above the diagonal layers that can differ (=: equal for every input, ?: some are open,\n" +
                     "=?: equal only if assumptions hold),\n" +
                     "below it the share of outputs that is expected to, each layer given the same codes" +
                     (matrix.samples > 0 ? ", spread as on " + std::to_string(matrix.samples) + " samples" : "") + "\n\n";
  std::size_t names = 0;
  for (const std::string& name : matrix.backends) names = std::max(names, name.size());
  text += left("", names + 4);
  for (std::size_t column = 0; column < matrix.backends.size(); ++column) text += right(std::to_string(column + 1), width);
  text += "\n";
  for (std::size_t row = 0; row < matrix.backends.size(); ++row) {
    text += right(std::to_string(row + 1), 3) + " " + left(matrix.backends[row], names);
    for (std::size_t column = 0; column < matrix.backends.size(); ++column) text += right(cell_text(matrix, row, column, are), width);
    text += "\n";
  }
  for (const auto& [name, reason] : matrix.left_out) text += wrapped("left out: " + name + ": " + reason);
  const std::vector<SharedAssumption> assumptions = matrix.assumptions();
  if (assumptions.empty()) return text;
  const auto count =
      std::ranges::count_if(matrix.pairs, [](const PairShares& pair) { return pair.equal() && !pair.holds(AssumptionsAre::named); });
  text += "\n" + to_text(assumptions) + count_of(count, "pair");
  if (are == AssumptionsAre::accepted) return text + " equal by accepted assumptions\n";
  return text + " equal only if assumptions hold; --accept-assumptions takes them\n";
}

std::string to_text(const Matrix& matrix, const PairShares& pair, const LayerView& view) {
  const std::size_t names = name_width(view, 25);
  std::string text = matrix.backends[pair.a] + " against " + matrix.backends[pair.b] +
                     ": share of all cases, share of outputs expected by ranges and by data, and measured\n" + "no. " +
                     left("layer", names) + "operation            cases   ranges     data measured\n";
  std::vector<ViewedLayer> layers;
  for (const LayerShares& layer : pair.layers) layers.push_back({layer.operation, layer.name, share_of(layer), 0, share_of(layer)});
  const std::vector<std::size_t> rows = shown(view, layers);
  for (const std::size_t row : rows) {
    const LayerShares& layer = pair.layers[row];
    text += right(std::to_string(layer.operation), 3) + " " + left(shortened(layer.name, names - 1), names) +
            left(layer.kind.substr(0, 16), 17) + right(verdict_text(layer), 10) + right(percent(layer.by_ranges), 9) +
            right(percent(layer.by_data), 9) + right(percent(layer.measured), 9) + "\n";
  }
  return text + shown_line(rows.size(), layers.size());
}

std::string to_csv(const Matrix& matrix) {
  std::string text = "a,b,number,name,kind,outputs,verdict,decided_by,cases,differing,expected_by_ranges,expected_by_data,measured\n";
  for (const PairShares& pair : matrix.pairs) {
    for (const LayerShares& layer : pair.layers) {
      text += csv_cell(matrix.backends[pair.a]) + "," + csv_cell(matrix.backends[pair.b]) + "," + std::to_string(layer.operation) + "," +
              csv_cell(layer.name) + "," + layer.kind + "," + std::to_string(layer.outputs) + "," + std::string(verdict_name(layer)) + "," +
              std::string(name_of(layer.by)) + "," + std::to_string(layer.cases) + "," + std::to_string(layer.differing) + "," +
              number_or_nothing(layer.by_ranges) + "," + number_or_nothing(layer.by_data) + "," + number_or_nothing(layer.measured) + "\n";
    }
  }
  return text;
}

std::string to_json(const Matrix& matrix) {
  JsonValue json{{"format", "lastbit.matrix.v1"}, {"model", matrix.model}, {"samples", matrix.samples}, {"backends", matrix.backends}};
  json.update({{"left_out", JsonValue::array()}, {"pairs", JsonValue::array()}});
  for (const auto& [name, reason] : matrix.left_out) json["left_out"].push_back({{"backend", name}, {"why", reason}});
  for (const PairShares& pair : matrix.pairs) {
    JsonValue one{{"a", matrix.backends[pair.a]}, {"b", matrix.backends[pair.b]}, {"equal", pair.holds(AssumptionsAre::named)}};
    one["assumptions"] = json_of(pair.assumptions());
    one.update({{"open", pair.open()}, {"differing", pair.differing()}, {"expected", pair.expected()}, {"layers", JsonValue::array()}});
    for (const LayerShares& layer : pair.layers) one["layers"].push_back(json_of(layer));
    json["pairs"].push_back(std::move(one));
  }
  return json.text(1) + "\n";
}

}  // namespace lastbit
