// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>

#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"
#include "compare/report_lines.hpp"
#include "compare/report_table.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/registry.hpp"

namespace lastbit {
namespace {

using Column = TableColumn<LayerDifference>;

Column index_column() {
  return {"", "no.", 4, Align::right, [](const LayerDifference& layer) { return layer.number ? std::to_string(*layer.number) : ""; }};
}
Column name_column(std::size_t width) {
  return {"", "layer", width, Align::left, [width](const LayerDifference& layer) { return shortened(layer.name, width); }};
}

using DifferenceOf = std::function<const TensorDifference*(const LayerDifference&)>;

const TensorDifference* accumulated(const LayerDifference& layer) { return &layer.accumulated; }
const TensorDifference* same_input(const LayerDifference& layer) { return layer.same_input ? &*layer.same_input : nullptr; }

Column difference_column(std::string group, std::string title, std::size_t width, const DifferenceOf& of,
                         std::function<std::string(const TensorDifference&)> text) {
  return {std::move(group), std::move(title), width, Align::right, [of, text = std::move(text)](const LayerDifference& layer) {
            const TensorDifference* const d = of(layer);
            return d == nullptr ? std::string() : text(*d);
          }};
}

Column metric_column(std::string group, std::string title, std::size_t width, const char* format, double ElementMetrics::*value) {
  return difference_column(std::move(group), std::move(title), width, accumulated,
                           [=](const TensorDifference& d) { return number_text(format, d.metrics.*value); });
}

std::vector<Column> summary_columns(bool golden, const LayerView& view) {
  const auto golden_cosine = [](ElementMetrics GoldenMetrics::*side) {
    return
        [side](const LayerDifference& layer) { return layer.golden ? number_text("%.6f", ((*layer.golden).*side).cosine) : std::string(); };
  };
  std::vector<Column> columns{
      index_column(),
      name_column(name_width(view, golden ? 18 : 20)),
      {"", "operation", 16, Align::left, [](const LayerDifference& layer) { return layer.operation.substr(0, 16); }},
      difference_column("same input", "differ", 7, same_input, differing_text),
      difference_column("same input", "max", 6, same_input, largest_text),
      difference_column("accumulated", "differ", 7, accumulated, differing_text),
      difference_column("accumulated", "max", 6, accumulated, largest_text),
      metric_column(golden ? "cosine of" : "", golden ? "b to a" : "cosine", 8, "%.6f", &ElementMetrics::cosine)};
  if (golden) {
    columns.push_back({"cosine of", "a to fl.", 8, Align::right, golden_cosine(&GoldenMetrics::a)});
    columns.push_back({"cosine of", "b to fl.", 8, Align::right, golden_cosine(&GoldenMetrics::b)});
  } else {
    columns.push_back(metric_column("", "SQNR", 6, "%.1f", &ElementMetrics::sqnr_db));
    columns.push_back(difference_column("", "values", 8, accumulated, [](const TensorDifference& d) { return std::to_string(d.values); }));
  }
  columns.push_back({"", "", 1, Align::left, [](const LayerDifference& layer) { return layer.assumptions.empty() ? "" : "?"; }});
  return columns;
}

std::vector<Column> histogram_columns(const DifferenceOf& of, const std::string& kind, const LayerView& view) {
  std::vector<Column> columns{index_column(), name_column(name_width(view, 18))};
  for (std::size_t i = 0; i < histogram_names.size(); ++i) {
    columns.push_back(difference_column("LSB of b - a, " + kind, std::string(histogram_names[i]), 7, of, [i](const TensorDifference& d) {
      return d.largest_lsb ? std::to_string(d.histogram.counts[i]) : std::string("real");
    }));
  }
  return columns;
}

std::vector<Column> error_columns(const LayerView& view) {
  return {index_column(),
          name_column(name_width(view, 18)),
          difference_column("", "first at", 16, accumulated,
                            [](const TensorDifference& d) { return d.first ? coordinates_text(d.shape, d.first->index) : ""; }),
          metric_column("error of real values, accumulated", "rel.eucl.", 9, "%.3g", &ElementMetrics::relative_euclidean),
          metric_column("error of real values, accumulated", "KL", 9, "%.2g", &ElementMetrics::kullback_leibler),
          metric_column("error of real values, accumulated", "max", 8, "%.3g", &ElementMetrics::max_absolute_error),
          metric_column("error of real values, accumulated", "mean", 8, "%.3g", &ElementMetrics::mean_absolute_error),
          difference_column("saturated", "a", 8, accumulated, [](const TensorDifference& d) { return std::to_string(d.saturated_a); }),
          difference_column("saturated", "b", 8, accumulated, [](const TensorDifference& d) { return std::to_string(d.saturated_b); })};
}

std::vector<const LayerDifference*> select(const CompareReport& report, const std::function<bool(const LayerDifference&)>& wanted) {
  std::vector<const LayerDifference*> rows;
  for (const LayerDifference& layer : report.layers) {
    if (wanted(layer)) rows.push_back(&layer);
  }
  return rows;
}

bool differs(const TensorDifference* d) { return d != nullptr && d->differing > 0; }

using Rows = std::vector<const LayerDifference*>;

Rows shown_layers(const CompareReport& report, const LayerView& view) {
  std::vector<ViewedLayer> layers;
  for (const LayerDifference& layer : report.layers) layers.push_back(viewed(layer));
  Rows rows;
  for (const std::size_t at : shown(view, layers)) rows.push_back(&report.layers[at]);
  return rows;
}

std::string detail_tables(const Rows& shown, const LayerView& view) {
  std::string text;
  const auto add = [&](const std::vector<Column>& columns, const DifferenceOf& of) {
    Rows rows;
    std::ranges::copy_if(shown, std::back_inserter(rows), [&](const LayerDifference* layer) { return differs(of(*layer)); });
    if (!rows.empty()) text += "\n" + table(columns, rows);
  };
  add(histogram_columns(same_input, "same input", view), same_input);
  add(histogram_columns(accumulated, "accumulated", view), accumulated);
  add(error_columns(view), accumulated);
  return text;
}

std::string value_text(double value) { return number_text("%.9g", value); }

std::string first_divergence_line(const CompareReport& report) {
  const LayerDifference* const layer = report.first_divergence();
  if (layer == nullptr && !report.equal()) return "Every value that was compared is equal.\n";
  if (layer == nullptr) return "Every value is equal.\n";
  const TensorDifference& d = layer->accumulated;
  const std::string number = layer->number ? "layer " + std::to_string(*layer->number) + ", " : "";
  return wrapped("First difference: " + number + layer->operation + " '" + layer->name + "', at " +
                     coordinates_text(d.shape, d.first->index) + ": a " + value_text(d.first->a) + ", b " + value_text(d.first->b) + ".",
                 2);
}

std::string same_input_line(const CompareReport& report) {
  const auto fed = select(report, [](const LayerDifference& layer) { return layer.same_input.has_value(); });
  if (fed.empty()) return "Layers were not fed with a's tensors: that needs the model and integer tensors of it on side a.\n";
  std::int64_t differing = 0;
  std::int64_t largest = 0;
  for (const LayerDifference* layer : fed) {
    if (layer->same_input->differing > 0) ++differing;
    largest = std::max(largest, std::abs(layer->same_input->largest_lsb.value_or(0)));
  }
  std::string line = "Fed with a's tensors, " + std::to_string(differing) + " of " + std::to_string(fed.size()) + " layers of b differ";
  if (largest > 0) line += ", by at most " + std::to_string(largest) + " LSB";
  return line + ".\n";
}

std::string non_finite_lines(const CompareReport& report) {
  std::string text;
  for (const LayerDifference& layer : report.layers) {
    const ElementMetrics& m = layer.accumulated.metrics;
    if (m.non_finite_mine + m.non_finite_truth == 0) continue;
    text += wrapped("Not finite in '" + layer.name + "': " + count_of(m.non_finite_truth, "value") + " of a, " +
                        std::to_string(m.non_finite_mine) + " of b.",
                    2);
  }
  return text;
}

std::string list_line(std::string_view title, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string line(title);
  for (const std::string& name : names) line += " '" + name + "'";
  return wrapped(line, 2);
}

}  // namespace

std::string number_text(const char* format, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string coordinates_text(const Shape& shape, std::int64_t index) {
  std::string text = "[";
  for (const std::int64_t at : coordinates(shape, index)) text += (text.size() > 1 ? "," : "") + std::to_string(at);
  return text + "]";
}

/// With the title of its sheet, which says what bounds the values.
std::string golden_line(const CompareReport& report) {
  if (report.golden.empty()) return {};
  const auto& sheets = builtin_backends();
  const auto found = std::ranges::find(sheets, report.golden, &SpecSheet::name);
  return wrapped("fl.: " + report.golden + (found == sheets.end() ? std::string() : ", " + found->title), 2);
}

ViewedLayer viewed(const LayerDifference& layer) {
  const TensorDifference& d = layer.accumulated;
  const double largest = d.largest_lsb ? static_cast<double>(*d.largest_lsb) : d.metrics.max_absolute_error;
  return {layer.number, layer.name, d.share(), largest, layer.same_input ? layer.same_input->share() : 0};
}

std::string to_text(const CompareReport& report, Detail detail, const LayerView& view) {
  const Rows rows = shown_layers(report, view);
  const bool golden = std::ranges::any_of(report.layers, [](const LayerDifference& layer) { return layer.golden.has_value(); });
  std::string text;
  for (const std::string& side : report.not_emulated) text += wrapped("Not emulated: " + side + ".", 2);
  for (const std::string& line : report.elsewhere) text += wrapped(line, 2);
  text += wrapped("a: " + report.a, 2) + wrapped("b: " + report.b, 2) + golden_line(report) + wrapped("model: " + report.model, 2) +
          (rows.empty() ? "" : table(summary_columns(golden, view), rows)) + shown_line(rows.size(), report.layers.size());
  if (detail == Detail::everything) text += detail_tables(rows, view);
  text += reading_lines(report) + "\n" + misread_lines(report) + match_lines(report) + first_divergence_line(report) +
          same_input_line(report) + output_lines(report) + non_finite_lines(report) + partial_lines(report) + assumption_lines(report);
  return text + list_line("Only in a:", report.only_in_a) + list_line("Only in b:", report.only_in_b);
}

}  // namespace lastbit
