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

std::string numbers(const std::vector<std::size_t>& operations) {
  std::vector<std::string> texts;
  for (const std::size_t operation : operations) texts.push_back(std::to_string(operation));
  return operations.empty() ? "none" : joined(texts, " ");
}

std::string same_top(const Agreement& agreement) { return std::to_string(agreement.same_top) + " of " + std::to_string(agreement.samples); }

bool is_share(Objective objective) { return objective == Objective::differing || objective == Objective::top; }

Cell cost_cell(const Agreement& agreement, Objective objective) {
  const double cost = cost_of(agreement, objective);
  return is_share(objective) ? share_cell(cost) : number_cell(cost, 3);
}

Table layers_of(const AdviseReport& report) {
  Table table{{{"no."},
               {"layer", Alignment::left},
               {"operation", Alignment::left},
               {"MAC"},
               {"differ", Alignment::right, "fed with a's tensors"},
               {"relative error"},
               {"left with it alone on a", Alignment::right, "at the end, if this layer alone is computed on a"}},
              {}};
  for (const LayerAdvice& layer : report.layers)
    table.rows.push_back({subject_of(layer.name, layer.kind, standing_of(layer.differing > 0)),
                          {layer.operation, layer.name, layer.kind, layer.macs, share_cell(share_of(layer.differing, layer.values)),
                           number_cell(layer.error, 3), layer.alone ? cost_cell(*layer.alone, report.objective) : Cell()}});
  return table;
}

Table ties_of(const AdviseReport& report) {
  Table table{{{"no."},
               {"layer", Alignment::left},
               {"cases", Alignment::right, "accumulators, codes or pairs of codes that the layer can have"},
               {"differ"},
               {"of them at ties", Alignment::right, "a side rounds them on a tie, or within one step of the multiplier of one"},
               {"on a tie, a"},
               {"at a tie, a"},
               {"on a tie, b"},
               {"at a tie, b"}},
              {}};
  for (const LayerAdvice& layer : report.layers) {
    if (!layer.ties) continue;
    const TieCensus& ties = *layer.ties;
    const auto share = [&](std::int64_t part) { return share_cell(share_of(part, ties.cases)); };
    table.rows.push_back({subject_of(layer.name, layer.kind, standing_of(ties.differing > 0)),
                          {layer.operation, layer.name, ties.cases, share(ties.differing),
                           ties.differing > 0 ? share_cell(share_of(ties.differing_at.near, ties.differing)) : Cell(), share(ties.a.on),
                           share(ties.a.near), share(ties.b.on), share(ties.b.near)}});
  }
  return table;
}

Table front_of(const AdviseReport& report, const std::vector<FallbackPoint>& front) {
  Table table{{{"layers kept on a"},
               {"MAC"},
               {"differ"},
               {"cosine"},
               {"same largest"},
               {"distance"},
               {"relative error"},
               {"which", Alignment::left}},
              {}};
  for (const FallbackPoint& at : front)
    table.rows.push_back({{},
                          {at.operations.size(), share_cell(share_of(at.macs, report.macs)), share_cell(at.agreement.differing_share()),
                           number_cell(at.agreement.cosine(), 8), same_top(at.agreement), number_cell(at.agreement.distance(), 3),
                           number_cell(at.agreement.relative_error(), 3), numbers(at.operations)}});
  return table;
}

Plot front_plot(const AdviseReport& report) {
  const double times = is_share(report.objective) ? 100 : 1;
  Plot plot{.x_label = "layers kept on a", .y_label = std::string(name_of(report.objective)) + (times > 1 ? ", %" : "")};
  Series series{.title = "the best choice of so many layers", .style = SeriesStyle::lines_and_points};
  for (const FallbackPoint& at : report.search.by_count) {
    series.x.push_back(static_cast<double>(at.operations.size()));
    series.y.push_back(times * cost_of(at.agreement, report.objective));
  }
  plot.series.push_back(std::move(series));
  return plot;
}

Table scales_of(const EqualScales& scales) {
  Table table{{{"no."},
               {"layer", Alignment::left},
               {"scale"},
               {"differ"},
               {"of"},
               {"times", Alignment::right, "the nearest scale at which none does, in multiples of the model's"},
               {"bits", Alignment::right, "of resolution that it costs; below 0: of range"},
               {"left then"},
               {"fewest"},
               {"at times"}},
              {}};
  for (const ScaleAdvice& layer : scales.layers) {
    const bool moves = layer.factor != 1;
    table.rows.push_back(
        {{scales.names[layer.operation], standing_of(!layer.equal())},
         {layer.operation, scales.names[layer.operation], layer.scale == 0 ? Cell() : number_cell(layer.scale), layer.differing,
          layer.cases, moves ? number_cell(layer.factor) : Cell(), moves ? number_cell(layer.bits_lost(), 3) : Cell(), layer.left,
          layer.best ? Cell(layer.best->differing) : Cell(), layer.best ? number_cell(layer.best->factor) : Cell()}});
  }
  return table;
}

Table consequences_of(const AdviseReport& report) {
  Table table{{{"choice", Alignment::left},
               {"layers on a"},
               {"answers changed"},
               {"95 %", Alignment::left},
               {"distance"},
               {"95 %", Alignment::left},
               {"options", Alignment::left}},
              {}};
  for (const Consequence& at : report.consequences)
    table.rows.push_back(
        {{},
         {at.choice, at.operations.size(), at.agreement.samples - at.agreement.same_top,
          share_cell(at.flips.low).text + " to " + share_cell(at.flips.high).text, number_cell(at.agreement.distance(), 3),
          at.distance ? number_cell(at.distance->low, 3).text + " to " + number_cell(at.distance->high, 3).text : "one sample",
          options_of(report, at)}});
  return table;
}

Table halves_of(const Float16Advice& halves) {
  Table table{{{"choice", Alignment::left},
               {"operations in float32"},
               {"values that left float16"},
               {"relative error"},
               {"cosine"},
               {"same largest"}},
              {}};
  const auto add = [&](const std::string& choice, const Float16Figures& figures) {
    table.rows.push_back({{},
                          {choice, figures.kept.size(), figures.left, number_cell(figures.agreement.relative_error(), 3),
                           number_cell(figures.agreement.cosine(), 8), same_top(figures.agreement)}});
  };
  add("everything in float16", halves.alone);
  add("what has to stay in float32", halves.kept);
  add("constants rescaled", halves.with_rescaling);
  return table;
}

List rescaling_of(const Float16Advice& halves) {
  List list;
  for (const RescalingPair& pair : halves.rescaling.pairs)
    list.lines.push_back("Scale down by 2^" + std::to_string(pair.exponent) + " the constants of " + numbers(pair.producers) +
                         ", up by as much those of " + numbers(pair.consumers) + ".");
  for (const UnscalableTensor& refused : halves.rescaling.refused) list.lines.push_back("Not to be rescaled: " + refused.why + ".");
  return list;
}

}  // namespace

Document document_of(const AdviseReport& report, const Model& model) {
  Document page{.title = "advise", .standing = standing_of(!report.equal())};
  if (report.equal()) page.verdict = "On these data b gives what a gives: nothing to advise.";
  else {
    const Agreement& alone = report.search.greedy.front().agreement;
    page.verdict = "The device alone: " + share_cell(alone.differing_share()).text +
                   " of the final values differ, the largest value elsewhere in " + std::to_string(alone.samples - alone.same_top) +
                   " of " + count_of(alone.samples, "sample") + ".";
  }
  page.facts = {{"model", report.model},
                {"a, wanted", report.a},
                {"b, the device", report.b},
                {"samples", std::to_string(report.samples)},
                {"judged at", report.judged_at + ", by " + std::string(name_of(report.objective))}};
  List missing;
  for (const Diagnostic& diagnostic : report.missing) missing.lines.push_back("Always on a: " + diagnostic.text());
  page.add("Remarks", "", {missing});
  if (!report.equal())
    page.add("What users of the network see", "The largest value elsewhere; the intervals hold for inputs like these data.",
             {consequences_of(report)});
  std::map<std::size_t, double> shares;
  for (const LayerAdvice& layer : report.layers) shares[layer.operation] = share_of(layer.differing, layer.values);
  if (report.names.size() == model.operations.size())
    add_network(page, model, "its values that differ when it is fed with a's tensors", shares);
  Plot plot = plot_of(report);
  plot.title.clear();
  page.add("Layers", "Each layer fed with a's tensors.", {Figure{plot, {}}, layers_of(report)});
  if (!report.equal()) {
    page.add("Layers to keep on a", "The best choice of every size; no other does as well with as few.",
             {Figure{front_plot(report), {}}, front_of(report, report.search.by_count),
              Heading{{}, report.search.by_macs.size() > 1 ? "By multiply-accumulates kept" : ""},
              report.search.by_macs.size() > 1 ? front_of(report, report.search.by_macs) : Table{}});
  }
  page.add("Ties", "Of everything that a layer can have, what is rounded half-way: there the rules part.", {ties_of(report)});
  if (report.scales) {
    List open;
    for (const auto& [operation, why] : report.scales->open)
      open.lines.push_back("Open: " + std::to_string(operation) + " '" + report.scales->names[operation] + "': " + why + ".");
    page.add("Output scales", "For every input, without data.", {scales_of(*report.scales), open});
  }
  if (report.halves)
    page.add("float16", "Values that became the largest float16 or infinite on the way.",
             {halves_of(*report.halves), rescaling_of(*report.halves)});
  page.add("Assumptions", assumptions_meaning, {assumption_rows(report.assumptions, report.b)});
  return page;
}

}  // namespace lastbit::tool
