// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "lastbit/printable.hpp"
#include "layer_plot.hpp"
#include "report/documents.hpp"
#include "report/parts.hpp"

namespace lastbit::tool {
namespace {

Subject subject_of(const LayerDifference& layer) {
  const bool differs = layer.accumulated.differing > 0 || (layer.same_input && layer.same_input->differing > 0);
  return subject_of(layer.name, layer.operation, standing_of(differs));
}

std::string title_of(const LayerDifference& layer) { return label_of(layer.number, layer.operation) + " " + layer.name; }

std::string place_text(const TensorDifference& d) {
  if (!d.first) return "";
  std::string text;
  for (const std::int64_t at : coordinates(d.shape, d.first->index)) text += (text.empty() ? "[" : ",") + std::to_string(at);
  return text + "]";
}

Cell largest_cell(const TensorDifference* d) {
  if (d == nullptr || d->differing == 0) return {};
  if (!d->largest_lsb) return "real";
  Cell cell((*d->largest_lsb > 0 ? "+" : "") + std::to_string(*d->largest_lsb));
  cell.number = static_cast<double>(std::abs(*d->largest_lsb));
  return cell;
}

std::string verdict_of(const CompareReport& report) {
  const LayerDifference* const first = report.first_divergence();
  if (first == nullptr) return report.equal() ? "Every value is equal." : "Every value that was compared is equal, but not all could be.";
  const auto differing = std::ranges::count_if(report.layers, [](const auto& layer) { return layer.accumulated.differing > 0; });
  const TensorDifference& d = first->accumulated;
  return std::to_string(differing) + " of " + count_of(std::ssize(report.layers), "tensor") + (differing == 1 ? " differs" : " differ") +
         "; the first is " + title_of(*first) + ", at " + place_text(d) + ": a " + number_cell(d.first->a, 9).text + ", b " +
         number_cell(d.first->b, 9).text + ".";
}

Table layers_of(const CompareReport& report) {
  const bool golden = !report.golden.empty();
  Table table{{{"no."},
               {"layer", Alignment::left},
               {"operation", Alignment::left},
               {"differ, same input", Alignment::right, "b's layer fed with a's tensors"},
               {"largest", Alignment::right, "in LSB"},
               {"differ, accumulated", Alignment::right, "each side on its own history"},
               {"largest", Alignment::right, "in LSB"},
               {"LSB", Alignment::left, "b - a from below -3 to above +3, accumulated; equal values are left out"},
               {"cosine"},
               {"SQNR, dB"},
               {"values"},
               {"assumes", Alignment::left, "rests on an assumption"}},
              {}};
  if (golden) table.columns.insert(table.columns.end(), {{"cosine of a to float"}, {"cosine of b to float"}});
  for (const LayerDifference& layer : report.layers) {
    const TensorDifference* const same = layer.same_input ? &*layer.same_input : nullptr;
    const TensorDifference& d = layer.accumulated;
    Row row{subject_of(layer), {}};
    row.cells = {layer.number ? Cell(*layer.number) : Cell(),
                 layer.name,
                 layer.operation,
                 same != nullptr ? share_cell(same->share()) : Cell(),
                 largest_cell(same),
                 share_cell(d.share()),
                 largest_cell(&d),
                 d.largest_lsb ? lsb_cell(counts_of(d.histogram)) : Cell(),
                 number_cell(d.metrics.cosine, 8),
                 number_cell(d.metrics.sqnr_db, 4),
                 d.values,
                 layer.assumptions.empty() ? "" : "an assumption"};
    if (golden) {
      row.cells.push_back(layer.golden ? number_cell(layer.golden->a.cosine, 8) : Cell());
      row.cells.push_back(layer.golden ? number_cell(layer.golden->b.cosine, 8) : Cell());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table errors_of(const CompareReport& report) {
  Table table{{{"no."},
               {"layer", Alignment::left},
               {"first at", Alignment::left},
               {"a there"},
               {"b there"},
               {"relative error"},
               {"largest error"},
               {"mean error"},
               {"KL divergence"},
               {"a saturated"},
               {"b saturated"}},
              {}};
  for (const LayerDifference& layer : report.layers) {
    const TensorDifference& d = layer.accumulated;
    if (!d.first) continue;
    table.rows.push_back(
        {subject_of(layer),
         {layer.number ? Cell(*layer.number) : Cell(), layer.name, place_text(d), number_cell(d.first->a), number_cell(d.first->b),
          number_cell(d.metrics.relative_euclidean, 3), number_cell(d.metrics.max_absolute_error, 3),
          number_cell(d.metrics.mean_absolute_error, 3), number_cell(d.metrics.kullback_leibler, 3), d.saturated_a, d.saturated_b}});
  }
  return table;
}

void add_pictures(Document& page, const CompareReport& report) {
  std::vector<Histogram> same_input, accumulated;
  std::vector<Grids> places;
  for (const LayerDifference& layer : report.layers) {
    Grids grids{subject_of(layer), title_of(layer), {}};
    if (layer.same_input && layer.same_input->differing > 0) {
      if (layer.same_input->largest_lsb)
        same_input.push_back(histogram_of(subject_of(layer), title_of(layer), layer.same_input->histogram));
      add_grids(grids, layer.same_input->where, "same input");
    }
    if (layer.accumulated.differing > 0) {
      if (layer.accumulated.largest_lsb)
        accumulated.push_back(histogram_of(subject_of(layer), title_of(layer), layer.accumulated.histogram));
      add_grids(grids, layer.accumulated.where, "accumulated");
    }
    if (!grids.grids.empty()) places.push_back(std::move(grids));
  }
  const std::string counted =
      "How many values differ by how many LSB, b - a. The height is logarithmic; values that are equal stand in grey.";
  const Paragraph of_same = keep_first(same_input), of_accumulated = keep_first(accumulated), of_places = keep_first(places);
  page.add("LSB, same input", counted, {same_input, of_same});
  page.add("LSB, accumulated", counted, {accumulated, of_accumulated});
  page.add("Where in the tensors", "By place, over all channels, and by channel, over all places.", {places, of_places});
}

List remarks_of(const CompareReport& report) {
  List list;
  for (const OutputAgreement& output : report.outputs)
    list.lines.push_back("Output '" + output.name + "': the largest value stands at the same position in " +
                         std::to_string(output.same_top) + " of " + count_of(output.samples, "sample") + ".");
  for (const std::string& each : report.misread) list.lines.push_back("Misread: " + each + ".");
  for (const std::string& each : report.suspected) list.lines.push_back("Suspected: " + each + ".");
  if (report.match) {
    list.lines.push_back("The dump holds " + std::to_string(report.match->matched) + " of " + count_of(report.match->computed, "tensor") +
                         " that the network computes.");
    for (const std::string& reading : report.match->readings) list.lines.push_back("Dump: " + reading + ".");
    for (const std::string& file : report.match->unfit_files) list.lines.push_back("Fits no tensor: '" + file + "'.");
    for (const std::string& name : report.match->missing) list.lines.push_back("Not in the dump: '" + name + "'.");
  }
  for (const std::string& side : report.not_emulated) list.lines.push_back("Not emulated: " + side + ".");
  list.lines.insert(list.lines.end(), report.elsewhere.begin(), report.elsewhere.end());
  for (const std::string& name : report.only_in_a) list.lines.push_back("Only in a: '" + name + "'.");
  for (const std::string& name : report.only_in_b) list.lines.push_back("Only in b: '" + name + "'.");
  return list;
}

/// Each assumption with how many layers rest on it.
AssumptionList counted_assumptions(const CompareReport& report) {
  AssumptionList found = assumption_rows(report.assumptions, "");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto layers = std::ranges::count_if(report.layers, [&](const LayerDifference& layer) {
      return std::ranges::find(layer.assumptions, report.assumptions[i]) != layer.assumptions.end();
    });
    found[i].of = layers == 0 ? "" : count_of(layers, "layer");
  }
  return found;
}

}  // namespace

Document document_of(const CompareReport& report, const Model* model) {
  Document page{.title = "compare", .verdict = verdict_of(report), .standing = standing_of(!report.equal())};
  page.facts = {{"model", report.model}, {"a, expected", report.a}, {"b, judged", report.b}, {"computed on", report.path}};
  if (!report.golden.empty()) page.facts.emplace_back("float", report.golden);
  std::erase_if(page.facts, [](const auto& fact) { return fact.second.empty(); });
  page.add("Remarks", "", {remarks_of(report)});
  if (model != nullptr) {
    std::map<std::size_t, double> shares;  // of an operation with several outputs, the largest
    for (const LayerDifference& layer : report.layers)
      if (layer.number) shares[*layer.number] = std::max(shares[*layer.number], layer.accumulated.share());
    page.add("Network", "Each operation, coloured by the share of its values that differ, accumulated.",
             {graph_of(*model, [&](std::size_t operation) {
               const auto found = shares.find(operation);
               return found == shares.end() ? std::nullopt : std::optional(found->second);
             })});
  }
  Plot plot = plot_of(report);
  plot.title.clear();
  page.add("Layers", "Each tensor in the order of computation.", {Figure{plot, {}}, layers_of(report)});
  add_pictures(page, report);
  page.add("Errors", "Of real values, accumulated.", {errors_of(report)});
  page.add("Assumptions", assumptions_meaning, {counted_assumptions(report)});
  return page;
}

}  // namespace lastbit::tool
