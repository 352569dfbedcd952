// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "lastbit/printable.hpp"
#include "layer_plot.hpp"
#include "report/documents.hpp"
#include "report/parts.hpp"

namespace lastbit::tool {
namespace {

const std::string lsb_meaning = "How many values differ by how many LSB. The height is logarithmic; values that are equal stand in grey.";

std::string title_of(const LayerAttribution& layer) { return label_of(layer.number, layer.operation) + " " + layer.name; }
Subject subject_of(const LayerAttribution& layer) { return subject_of(layer.name, layer.operation, standing_of(!layer.differing.empty())); }
std::int64_t differing_of(const LayerAttribution& layer) { return std::ssize(layer.differing); }

LsbHistogram histogram_of(const LayerAttribution& layer) {
  LsbHistogram histogram;
  for (const AttributedValue& value : layer.differing) histogram.add(value.b - value.a);
  histogram.counts[histogram.counts.size() / 2] += layer.values - differing_of(layer);
  return histogram;
}

std::string names_of(const LayerAttribution& layer, const Cause& cause) {
  std::vector<std::string> names;
  for (const std::size_t change : cause.changes) names.push_back(layer.changes[change].name);
  return joined(names, " with ");
}

std::string changes_of(const LayerAttribution& layer, const Cause& cause) {
  std::vector<std::string> changes;
  for (const std::size_t change : cause.changes) changes.push_back(layer.changes[change].what);
  return joined(changes, "; ");
}

/// Of all samples.
DifferencePlaces places_of(const LayerAttribution& layer, const Model& model) {
  const Shape& shape = model.tensor(model.operations[layer.number].outputs[0]).shape;
  std::vector<std::int64_t> sizes{layer.values / shape.element_count()};
  sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
  DifferencePlaces where{Shape(std::move(sizes))};
  for (const AttributedValue& value : layer.differing) where.add(value.index);
  return where;
}

Table layers_of(const ExplainReport& report) {
  Table table{{{"no."},
               {"layer", Alignment::left},
               {"operation", Alignment::left},
               {"differ", Alignment::right, "fed with a's tensors"},
               {"values that differ"},
               {"not explained"},
               {"LSB", Alignment::left, "from below -3 to above +3; equal values are left out"},
               {"differ in the network", Alignment::right, "each side on its own history"},
               {"of them inherited"},
               {"causes", Alignment::left}},
              {}};
  for (const LayerAttribution& layer : report.layers)
    table.rows.push_back(
        {subject_of(layer),
         {layer.number, layer.name, layer.operation, share_cell(share_of(differing_of(layer), layer.values)), differing_of(layer),
          layer.unexplained, lsb_cell(counts_of(histogram_of(layer))), share_cell(share_of(layer.in_network.total(), layer.values)),
          layer.in_network.inherited, layer.differing.empty() ? "" : summary(layer)}});
  return table;
}

Table causes_of(const ExplainReport& report) {
  Table table{
      {{"no."},
       {"layer", Alignment::left},
       {"values"},
       {"rules", Alignment::left},
       {"from a's to b's", Alignment::left},
       {"on a tie", Alignment::right, "one side rounds a value that lies half-way; counted for convolutions and fully connected layers"},
       {"below zero"},
       {"explained by others too", Alignment::right, "another set of as many rules would explain these as well"}},
      {}};
  for (const LayerAttribution& layer : report.layers)
    for (const Cause& cause : layer.causes)
      table.rows.push_back({subject_of(layer),
                            {layer.number, layer.name, cause.values, names_of(layer, cause), changes_of(layer, cause), cause.ties,
                             cause.negative, cause.alternatives}});
  return table;
}

void add_side(Table& table, const Subject& subject, const ValueTrace& trace, const std::string& backend, const std::string& parts_at) {
  std::string left =
      trace.left_width ? "left its width (" + trace.left_width->rule + ") at term " + std::to_string(trace.left_width->term) : "";
  if (parts_at == "accumulator") left += (left.empty() ? "" : "; ") + std::string("parts here");
  table.rows.push_back({subject, {backend, "accumulator", trace.accumulator, "", left}});
  for (const StageStep& step : trace.steps)
    table.rows.push_back(
        {subject,
         {backend, step.stage, step.value, number_cell(step.real, 9),
          std::string(step.tie ? "a tie" : "") + (step.stage == parts_at ? (step.tie ? "; parts here" : "parts here") : "")}});
}

/// The corners of a staircase.
Series stairs_of(const Staircase& stairs, const std::string& title) {
  Series series{.title = title};
  for (std::size_t i = 0; i < stairs.steps.size(); ++i) {
    const bool is_last = i + 1 == stairs.steps.size();
    const std::int64_t end = is_last ? stairs.accumulators.max : stairs.steps[i + 1].first;
    for (const std::int64_t x : {stairs.steps[i].first, end}) {
      series.x.push_back(static_cast<double>(x));
      series.y.push_back(static_cast<double>(stairs.steps[i].output));
    }
  }
  return series;
}

Series value_of(const ValueTrace& trace, const std::string& title) {
  return {.title = title,
          .x = {static_cast<double>(trace.accumulator)},
          .y = {static_cast<double>(trace.output)},
          .style = SeriesStyle::points};
}

void add_values(Document& page, const ExplainReport& report) {
  std::vector<Block> values, stairs;
  for (const LayerAttribution& layer : report.layers) {
    for (const SideBySide& shown : layer.shown) {
      if (values.size() / 2 >= most_pictures) break;
      const std::string title = title_of(layer) + ", value " + std::to_string(shown.index) + ": " + std::to_string(shown.a.output) +
                                " and " + std::to_string(shown.b.output);
      Table table{{{"side", Alignment::left}, {"stage", Alignment::left}, {"integer"}, {"in output steps"}, {"", Alignment::left}}, {}};
      add_side(table, subject_of(layer), shown.a, report.a, shown.parts_at);
      add_side(table, subject_of(layer), shown.b, report.b, shown.parts_at);
      values.insert(values.end(), {Heading{subject_of(layer), title}, table});
      if (!shown.stairs_a || !shown.stairs_b) continue;
      Plot plot{.title = title, .x_label = "accumulator", .y_label = "output"};
      plot.series = {stairs_of(*shown.stairs_a, report.a), stairs_of(*shown.stairs_b, report.b),
                     value_of(shown.a, "this value on " + report.a), value_of(shown.b, "this value on " + report.b)};
      stairs.emplace_back(Figure{plot, subject_of(layer)});
    }
  }
  page.add("Values stage by stage", "From the accumulator to the output, the first differing values of each layer; --top says how many.",
           std::move(values));
  page.add("Where they stand on the staircase",
           "The outputs of both sides over the accumulators around a differing value: a step is where the output changes, which is where a "
           "tie or a "
           "boundary of rounding lies; where the two steps are apart, the sides differ.",
           std::move(stairs));
}

AssumptionList evidence_of(const std::vector<RuleEvidence>& evidence) {
  AssumptionList found;
  for (const RuleEvidence& each : evidence) found.push_back({each.backend, each.rule, each.level, each.source});
  return found;
}

}  // namespace

Document document_of(const ExplainReport& report, const Model& model) {
  std::int64_t layers = 0, values = 0, unexplained = 0;
  for (const LayerAttribution& layer : report.layers) {
    layers += layer.differing.empty() ? 0 : 1;
    values += differing_of(layer);
    unexplained += layer.unexplained;
  }
  Document page{.title = "explain", .standing = standing_of(values > 0)};
  page.verdict = values == 0
                     ? "Every layer is equal, fed with a's tensors."
                     : count_of(values, "value") + " of " + std::to_string(layers) + " of " + count_of(std::ssize(report.layers), "layer") +
                           (values == 1 ? " differs, " : " differ, ") + std::to_string(values - unexplained) + " of them explained.";
  page.facts = {{"model", report.model}, {"a, expected", report.a}, {"b, judged", report.b}};
  std::map<std::size_t, double> shares;
  std::vector<Histogram> histograms;
  std::vector<Grids> places;
  AssumptionList assumptions;
  for (const LayerAttribution& layer : report.layers) {
    shares[layer.number] = share_of(differing_of(layer), layer.values);
    for (const AssumptionRow& assumption : assumption_rows(layer.assumptions, "")) {
      const auto known = std::ranges::find_if(
          assumptions, [&](const AssumptionRow& each) { return each.rule == assumption.rule && each.source == assumption.source; });
      if (known == assumptions.end()) assumptions.push_back(assumption);
    }
    if (layer.differing.empty()) continue;
    histograms.push_back(tool::histogram_of(subject_of(layer), title_of(layer), histogram_of(layer)));
    add_grids(places.emplace_back(Grids{subject_of(layer), title_of(layer), {}}), places_of(layer, model), "same input");
  }
  add_network(page, model, "its values that differ when it is fed with a's tensors", shares);
  Plot plot = plot_of(report);
  plot.title.clear();
  page.add("Layers", "", {Figure{plot, {}}, layers_of(report)});
  page.add("Causes", "The smallest set of a's rules which, replaced by b's, turns a's value into b's.", {causes_of(report)});
  const Paragraph of_histograms = keep_first(histograms), of_places = keep_first(places);
  page.add("LSB", lsb_meaning, {histograms, of_histograms});
  page.add("Where in the tensors", "By place, over all channels, and by channel, over all places.", {places, of_places});
  add_values(page, report);
  page.add("Evidence", "What the rules that make the difference rest on, on both sides.", {evidence_of(report.evidence)});
  page.add("Assumptions", assumptions_meaning, {assumptions});
  return page;
}

namespace {

std::string texts_of(const std::vector<RuleChange>& changes) {
  std::vector<std::string> texts;
  for (const RuleChange& change : changes) texts.push_back(change.name + ": " + change.what);
  return joined(texts, " | ");
}

std::string rules_of(const DumpVerdict& layer) {
  if (!layer.backends.empty()) return "computed just so by " + joined(layer.backends);
  return texts_of(layer.explanations);
}

std::string findings_of(const DumpVerdict& layer) {
  if (layer.differing == 0) return "equal";
  std::vector<std::string> found;
  if (const std::string rules = rules_of(layer); !rules.empty()) found.push_back(rules);
  for (const NamedMistake& mistake : layer.mistakes) found.push_back("a mistake: " + mistake.what);
  if (!found.empty()) return joined(found, " | ");
  if (!layer.follows.empty()) return "follows from " + layer.follows;
  if (!layer.misread.empty()) return "misread: " + layer.misread;
  if (!layer.suspected.empty()) return "suspected: " + layer.suspected;
  if (!layer.alone.empty()) return "by itself: " + texts_of(layer.alone);
  if (!layer.backends_alone.empty()) return "by itself computed just so by " + joined(layer.backends_alone);
  if (layer.nearest)
    return "nearest: " + layer.nearest->name + ": " + layer.nearest->what + ", after which " + std::to_string(layer.nearest_differing) +
           " differ";
  if (layer.nearest_mistake)
    return "nearest: a mistake: " + layer.nearest_mistake->what + ", after which " + std::to_string(layer.nearest_mistake_differing) +
           " differ";
  return "no single rule and no pair of rules explains it";
}

std::string verdict_of(const DumpReport& report) {
  const auto equal = std::ranges::count(report.layers, 0, &DumpVerdict::differing);
  std::string text =
      std::to_string(equal) + " of " + count_of(std::ssize(report.layers), "layer") + (equal == 1 ? " is" : " are") + " equal. ";
  if (equal == std::ssize(report.layers)) return text;
  return text + (report.one_device      ? "One device computes every layer."
                 : report.doubt.empty() ? ""
                                        : "Not one device, or one whose operations differ: " + report.doubt + ".");
}

}  // namespace

Document document_of(const DumpReport& report, const Model& model) {
  Document page{.title = "explain", .verdict = verdict_of(report)};
  const bool equal = std::ranges::all_of(report.layers, [](const DumpVerdict& layer) { return layer.differing == 0; });
  page.standing = standing_of(!equal || !report.one_device);
  page.facts = {{"model", report.model}, {"dump", report.dump}, {"backend", report.backend}};
  std::map<std::size_t, double> shares;
  std::vector<Histogram> histograms;
  Table layers{{{"no."},
                {"layer", Alignment::left},
                {"operation", Alignment::left},
                {"differ"},
                {"values"},
                {"LSB", Alignment::left, "dump - backend, from below -3 to above +3; equal values are left out"},
                {"explained by", Alignment::left},
                {"note", Alignment::left}},
               {}};
  for (const DumpVerdict& layer : report.layers) {
    const double share = share_of(layer.differing, layer.values);
    const Subject subject = subject_of(layer.name, layer.operation, standing_of(layer.differing > 0));
    shares[layer.number] = share;
    layers.rows.push_back({subject,
                           {layer.number, layer.name, layer.operation, share_cell(share), layer.values,
                            lsb_cell(counts_of(layer.histogram)), findings_of(layer), layer.note}});
    if (layer.differing > 0)
      histograms.push_back(histogram_of(subject, label_of(layer.number, layer.operation) + " " + layer.name, layer.histogram));
  }
  page.add("Notes", "", {List{report.notes}});
  add_network(page, model, "the dump's values that differ from the backend's", shares);
  Plot plot = plot_of(report);
  plot.title.clear();
  page.add("Layers", "Each layer fed with the dump's own tensors.", {Figure{plot, {}}, layers});
  List common;
  for (const CommonExplanation& each : report.common)
    common.lines.push_back(each.change.name + ": " + each.change.what + " explains " + count_of(each.layers, "layer"));
  page.add("What explains several layers", "", {common});
  const Paragraph rest = keep_first(histograms);
  page.add("LSB", lsb_meaning, {histograms, rest});
  page.add("Evidence", "Of the backend's rules that would have to be others.", {evidence_of(report.evidence)});
  return page;
}

}  // namespace lastbit::tool
