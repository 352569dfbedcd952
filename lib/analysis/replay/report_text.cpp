// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "analysis/explain/text.hpp"
#include "analysis/replay/layer_index.hpp"
#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"
#include "compare/report_lines.hpp"
#include "compare/report_table.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/replay.hpp"

namespace lastbit {
namespace {

struct ReplayRow {
  const ReplayLayer* layer;
  const LayerDifference* loss;
  const LayerDifference* deviation;
};

using ReplayColumn = TableColumn<ReplayRow>;

const TensorDifference* own_of(const LayerDifference& layer) { return layer.same_input ? &*layer.same_input : nullptr; }
const TensorDifference* accumulated_of(const LayerDifference& layer) { return &layer.accumulated; }

/// Which difference a column is of.
struct ReplaySide {
  std::string group;
  const LayerDifference* ReplayRow::*layer;
  const TensorDifference* (*of)(const LayerDifference&);
};

/// What stands where there is none. Of an input, which nobody computes, nothing is expected.
struct ReplayGaps {
  std::string nothing_compared, not_fed;
};

ReplayColumn side_column(const ReplaySide& side, std::string title, std::size_t width, const ReplayGaps& gaps,
                         std::function<std::string(const TensorDifference&)> text) {
  return {side.group, std::move(title), width, Align::right, [=, text = std::move(text)](const ReplayRow& row) {
            const LayerDifference* const layer = row.*side.layer;
            if (layer == nullptr) return gaps.nothing_compared;
            const TensorDifference* const d = side.of(*layer);
            if (d == nullptr) return row.layer->number ? gaps.not_fed : "";
            return text(*d);
          }};
}

void add_loss(std::vector<ReplayColumn>& columns, const ReplaySide& side, const ReplayGaps& gaps) {
  columns.push_back(side_column(side, "cosine", 8, gaps, [](const auto& d) { return number_text("%.6f", d.metrics.cosine); }));
  columns.push_back(side_column(side, "SQNR", 6, {}, [](const auto& d) { return number_text("%.1f", d.metrics.sqnr_db); }));
}

void add_deviation(std::vector<ReplayColumn>& columns, const ReplaySide& side, const ReplayGaps& gaps) {
  columns.push_back(side_column(side, "differ", 7, gaps, differing_text));
  columns.push_back(side_column(side, "max", 5, {}, largest_text));
}

std::vector<ReplayColumn> replay_columns(const LayerView& view) {
  const std::size_t width = name_width(view, 16);
  std::vector<ReplayColumn> columns{
      {"", "no.", 4, Align::right, [](const ReplayRow& row) { return row.layer->number ? std::to_string(*row.layer->number) : ""; }},
      {"", "layer", width, Align::left, [width](const ReplayRow& row) { return shortened(row.layer->name, width); }},
      {"", "operation", 16, Align::left, [](const ReplayRow& row) { return row.layer->operation.substr(0, 16); }}};
  add_loss(columns, {"loss, own", &ReplayRow::loss, own_of}, {"", "not fed"});
  add_loss(columns, {"accumulated", &ReplayRow::loss, accumulated_of}, {"no match", ""});
  add_deviation(columns, {"board, own", &ReplayRow::deviation, own_of}, {"", "not fed"});
  add_deviation(columns, {"accumulated", &ReplayRow::deviation, accumulated_of}, {"missing", ""});
  columns.push_back({"", "", 1, Align::left, [](const ReplayRow& row) {
                       return std::string(row.deviation != nullptr && !row.deviation->assumptions.empty() ? "?" : "");
                     }});
  return columns;
}

std::string head(const ReplayReport& report) {
  std::string text;
  for (const std::string& side : report.deviation.not_emulated) text += wrapped("Not emulated: " + side + ".");
  for (const std::string& line : report.deviation.elsewhere) text += wrapped(line);
  const std::string real = report.float_network.empty() ? "the float path of the model itself" : report.float_network;
  return text + wrapped("float: " + real) + wrapped("emulated: " + report.deviation.b) + wrapped("board: " + report.board) +
         wrapped("model: " + report.model);
}

std::string layer_text(const LayerDifference& layer) { return layer_title(*layer.number, layer.operation, layer.name); }

std::string decibels(const TensorDifference& d) { return "SQNR " + number_text("%.1f", d.metrics.sqnr_db) + " dB"; }

std::string loss_line(const ReplayReport& report) {
  const bool any = std::ranges::any_of(report.loss.layers, [](const LayerDifference& layer) { return layer.number.has_value(); });
  if (!any) return "No layer was matched with the float network.\n";
  const LayerDifference* const most = report.most_lost();
  if (most == nullptr) return "Quantisation loses nothing.\n";
  const std::string accumulated = decibels(most->accumulated);
  if (!most->same_input) return wrapped("Farthest from the float network: " + layer_text(*most) + ", " + accumulated + " accumulated.");
  return wrapped("Loses most by quantisation: " + layer_text(*most) + ", " + decibels(*most->same_input) +
                 " on the float network's tensors (" + accumulated + " accumulated).");
}

std::string match_text(const ReplayReport& report) {
  std::vector<std::string> unmatched, by_order;
  for (const ReplayLayer& layer : report.layers) {
    if (layer.match == MatchedBy::nothing) unmatched.push_back(layer.name);
    if (layer.match == MatchedBy::order) by_order.push_back(layer.name + "' with '" + layer.counterpart);
  }
  std::string text;
  if (!by_order.empty()) text += wrapped("Matched with the float network by shape and order, not by name: " + first_of(by_order) + ".");
  if (!unmatched.empty()) text += wrapped("Not matched with the float network: " + first_of(unmatched) + ".");
  return text;
}

std::string differing_values(const TensorDifference& d) {
  std::string text = std::to_string(d.differing) + " of " + std::to_string(d.values) + " values differ (" + differing_text(d) + ")";
  if (d.largest_lsb) text += ", by at most " + std::to_string(std::abs(*d.largest_lsb)) + " LSB";
  return text;
}

std::string sheet_line(const ReplayReport& report) {
  const LayerDifference* const first = report.first_deviation();
  if (first == nullptr && !report.deviation.misread.empty()) return "No layer that was compared differs, but the dump was misread.\n";
  if (first == nullptr)
    return wrapped("The board is its data sheet on " + std::string(report.compared() == 1 ? "the " : "all ") +
                   count_of(report.compared(), "layer") + " compared, " + std::to_string(report.fed()) +
                   " of them fed with the board's own tensors.");
  const std::string title = "First layer where the board is not its data sheet: " + layer_text(*first) + ": ";
  if (first->same_input) return wrapped(title + "fed with the board's tensors, " + differing_values(*first->same_input) + ".");
  return wrapped(title + differing_values(first->accumulated) +
                 "; it or a layer before it, as it cannot be fed: the dump lacks what it reads, or has it as other values than codes.");
}

std::string cause_lines(const ReplayReport& report) {
  if (!report.no_cause.empty()) return wrapped("  not explained: " + report.no_cause, 4);
  if (!report.cause) return {};
  const DumpVerdict& layer = report.cause->layers.front();
  std::istringstream lines(findings(layer, *report.cause) + (layer.note.empty() ? "" : "  " + layer.note + "\n") +
                           evidence_lines(report.cause->evidence));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += wrapped(line, 6);
  return text;
}

std::string input_lines(const ReplayReport& report) {
  std::string text;
  for (const LayerDifference& layer : report.deviation.layers)
    if (!layer.number && layer.accumulated.differing > 0)
      text += wrapped("The board was given another '" + layer.name + "': " + differing_values(layer.accumulated) + ".");
  return text;
}

/// By what the board deviates.
ViewedLayer viewed(const ReplayRow& row) {
  if (row.deviation != nullptr) return viewed(*row.deviation);
  return {row.layer->number, row.layer->name};
}

}  // namespace

std::string to_text(const ReplayReport& report, const LayerView& view) {
  std::vector<ReplayRow> rows;
  const LayerIndex loss(report.loss), deviation(report.deviation);
  for (const ReplayLayer& layer : report.layers) rows.push_back({&layer, loss.of(layer.tensor), deviation.of(layer.tensor)});
  std::vector<ViewedLayer> layers;
  for (const ReplayRow& row : rows) layers.push_back(viewed(row));
  std::vector<const ReplayRow*> visible;
  for (const std::size_t at : shown(view, layers)) visible.push_back(&rows[at]);
  const CompareReport& board = report.deviation;
  return head(report) + (visible.empty() ? "" : table(replay_columns(view), visible)) + shown_line(visible.size(), rows.size()) +
         reading_lines(board) + "\n" + misread_lines(board) + match_lines(board) + input_lines(report) + match_text(report) +
         loss_line(report) + sheet_line(report) + cause_lines(report) + output_lines(report.loss, "float and emulated") +
         output_lines(board, "board and emulated") + partial_lines(board) + assumption_lines(board);
}

}  // namespace lastbit
