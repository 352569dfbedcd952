// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>

#include "analysis/advise/scales_report.hpp"
#include "analysis/advise/table.hpp"
#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

constexpr std::size_t rows_shown = 12;

std::string percent(double share) {
  if (share == 0) return "0 %";
  const double value = 100 * share;
  return number_text(value < 0.01 ? "%.1g %%" : value < 10 ? "%.2f %%" : "%.1f %%", value);
}
std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "" : percent(static_cast<double>(part) / static_cast<double>(whole));
}
std::string cosine_text(double cosine) { return cosine == 1 ? "1" : number_text("%.6f", cosine); }
std::string short_number(double value) { return value == 0 ? "0" : number_text("%.3g", value); }

std::string macs_text(std::int64_t macs) {
  const auto value = static_cast<double>(macs);
  if (macs < 10'000) return std::to_string(macs);
  return value < 1e7 ? number_text("%.0f k", value / 1e3) : number_text("%.0f M", value / 1e6);
}

std::string samples_text(std::int64_t count) { return count_of(count, "sample"); }

class Writer {
 public:
  Writer(const AdviseReport& report, const LayerView& view) : report_(report), view_(view) {}

  std::string text() const {
    std::string text = heading() + layers();
    if (!report_.equal()) text += fallbacks();
    text += report_.halves ? halves() : scales();
    if (!report_.equal()) text += consequences();
    return text + assumptions();
  }

 private:
  /// Fused layers have the names of all their parts; the last says enough.
  [[nodiscard]] std::string name(std::size_t operation) const {
    const std::string& whole = report_.names[operation];
    const std::size_t end = whole.find_last_not_of(';');
    const std::size_t start = end == std::string::npos || end == 0 ? std::string::npos : whole.rfind(';', end);
    return start == std::string::npos ? whole : whole.substr(start + 1);
  }
  [[nodiscard]] std::string names(const std::vector<std::size_t>& operations) const {
    std::string text;
    for (const std::size_t operation : operations)
      text += (text.empty() ? "" : ", ") + std::to_string(operation) + " '" + name(operation) + "'";
    return text;
  }
  /// Numbers of layers, neighbours as ranges: "0-3 5 8"; of many, those that are missing.
  [[nodiscard]] std::string numbers(const std::vector<std::size_t>& operations) const {
    std::vector<std::size_t> all;
    for (const FallbackPoint& at : report_.search.alone) all.push_back(at.operations[0]);
    if (operations.empty()) return "none";
    if (operations == all) return "all";
    std::vector<std::size_t> missing;
    std::ranges::set_difference(all, operations, std::back_inserter(missing));
    const std::string given = ranges(operations, all), others = "all but " + ranges(missing, all);
    return others.size() < given.size() ? others : given;
  }
  [[nodiscard]] static std::string ranges(const std::vector<std::size_t>& operations, const std::vector<std::size_t>& all) {
    const auto next = [&](std::size_t operation) {
      const auto found = std::ranges::find(all, operation);
      return found == all.end() || found + 1 == all.end() ? operation : *(found + 1);
    };
    std::string text;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      std::size_t last = i;
      while (last + 1 < operations.size() && operations[last + 1] == next(operations[last])) ++last;
      text += (text.empty() ? "" : " ") + std::to_string(operations[i]);
      if (last > i + 1) text += "-" + std::to_string(operations[last]);
      if (last > i + 1) i = last;
    }
    return text;
  }
  [[nodiscard]] const Agreement& alone() const { return report_.search.greedy.front().agreement; }

  [[nodiscard]] std::string heading() const {
    std::string text =
        wrapped("model: " + report_.model) + wrapped("a: " + report_.a + " (wanted)") + wrapped("b: " + report_.b + " (the device)");
    text += wrapped("data: " + samples_text(report_.samples) + "; judged at " + report_.judged_at + " by " + objective_text());
    for (const Diagnostic& diagnostic : report_.missing) text += wrapped("Always on a: " + diagnostic.text());
    text += "\n";
    if (report_.equal()) return text + "On these data b gives what a gives: nothing to advise.\n";
    return text + wrapped("The device alone: " + percent(alone().differing_share()) + " of the final values differ, cosine " +
                          cosine_text(alone().cosine()) + ", the largest value elsewhere in " +
                          std::to_string(alone().samples - alone().same_top) + " of " + samples_text(alone().samples) + ".");
  }

  [[nodiscard]] std::string objective_text() const {
    switch (report_.objective) {
      case Objective::differing: return "the share of values that differ";
      case Objective::cosine: return "the cosine";
      case Objective::top: return "the place of the largest value";
      case Objective::distance: return "the distance of the vectors scaled to length 1";
      case Objective::relative_error: break;
    }
    return "the relative error |b - a| / |a|";
  }

  [[nodiscard]] std::string cost_text(const Agreement& agreement) const {
    const double cost = cost_of(agreement, report_.objective);
    const bool is_share = report_.objective == Objective::differing || report_.objective == Objective::top;
    return is_share ? percent(cost) : short_number(cost);
  }

  [[nodiscard]] std::string layers() const {
    std::vector<AdviceColumn> columns{
        {"no."}, {"layer", Align::left, name_width(view_, 24)}, {"operation", Align::left, 16}, {"MAC"}, {"differ"}, {"error"}};
    if (!report_.float16) columns.insert(columns.end(), {{"of all"}, {"at ties"}, {"tie, a"}, {"tie, b"}});
    columns.push_back({"alone on a"});
    std::vector<ViewedLayer> viewed;
    for (const LayerAdvice& layer : report_.layers) {
      const double share = layer.values == 0 ? 0 : static_cast<double>(layer.differing) / static_cast<double>(layer.values);
      viewed.push_back({layer.operation, layer.name, share, layer.error, share});
    }
    std::vector<std::vector<std::string>> rows;
    for (const std::size_t position : shown(view_, viewed)) {
      const LayerAdvice& layer = report_.layers[position];
      std::vector<std::string> row{std::to_string(layer.operation),        name(layer.operation),    layer.kind, macs_text(layer.macs),
                                   percent(layer.differing, layer.values), short_number(layer.error)};
      if (!report_.float16) {
        const bool has = layer.ties.has_value();
        row.push_back(has ? percent(layer.ties->differing, layer.ties->cases) : "");
        row.push_back(has && layer.ties->differing > 0 ? percent(layer.ties->differing_at.near, layer.ties->differing) : "");
        row.push_back(has ? percent(layer.ties->a.near, layer.ties->cases) : "");
        row.push_back(has ? percent(layer.ties->b.near, layer.ties->cases) : "");
      }
      row.push_back(layer.alone ? cost_text(*layer.alone) : "");
      rows.push_back(std::move(row));
    }
    std::string text = "\nEach layer fed with a's tensors (" + samples_text(report_.layer_samples) + ")\n";
    text += table(columns, rows, view_.width) + shown_line(rows.size(), viewed.size());
    text += wrapped("  differ, error: its own; alone on a: what is left at the end if this layer alone is computed on a.", 2);
    if (!report_.float16)
      text += wrapped(
          "  of all: so many of the accumulators (codes, pairs of codes) that the layer can have differ, every one counted; at ties: so "
          "many of "
          "these the side rounds on a tie or within one step of the multiplier of one; tie: so many of all it rounds so.",
          2);
    return text;
  }

  [[nodiscard]] std::string front_table(const std::vector<FallbackPoint>& front) const {
    std::vector<AdviceColumn> columns{{"kept"},     {"MAC"},      {"differ"}, {"cosine"},
                                      {"same top"}, {"distance"}, {"error"},  {"layers", Align::left, line_width}};
    std::vector<std::vector<std::string>> rows;
    const std::size_t step = (front.size() + rows_shown - 1) / rows_shown;
    for (std::size_t i = 0; i < front.size(); ++i) {
      if (step > 1 && i % step != 0 && i + 1 != front.size()) continue;
      const Agreement& at = front[i].agreement;
      rows.push_back({std::to_string(front[i].operations.size()), percent(front[i].macs, report_.macs), percent(at.differing_share()),
                      cosine_text(at.cosine()), std::to_string(at.same_top) + "/" + std::to_string(at.samples), short_number(at.distance()),
                      short_number(at.relative_error()), numbers(front[i].operations)});
    }
    const std::string shown = std::to_string(rows.size()) + " of " + std::to_string(front.size()) + " rows; --json has all.";
    return table(columns, std::move(rows)) + (step > 1 ? "  " + shown + "\n" : "");
  }

  [[nodiscard]] std::string fallbacks() const {
    const FallbackSearch& search = report_.search;
    std::string text = "\nLayers to keep on a\n";
    const bool all = search.greedy_samples == report_.samples && search.exact_samples == report_.samples;
    const auto on = [&](std::int64_t samples) { return all ? std::string() : " (" + samples_text(samples) + ")"; };
    text += wrapped("Greedy over " + count_of(std::ssize(search.alone), "layer") + on(search.greedy_samples) + ", and all " +
                    count_of(std::int64_t{1} << search.candidates.size(), "subset") + " of " +
                    count_of(std::ssize(search.candidates), "candidate") + on(search.exact_samples) +
                    (all ? ", on " : "; the figures are of ") + samples_text(report_.samples) + ".");
    text += front_table(search.by_count);
    if (search.by_macs.size() > 1 && report_.macs > 0) text += "By multiply-accumulates kept:\n" + front_table(search.by_macs);
    return text;
  }

  [[nodiscard]] std::string scales() const {
    if (!report_.scales) return {};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < report_.names.size(); ++i) names.push_back(name(i));
    std::string text = "\nOutput scales, for every input\n" + scales_text(*report_.scales, names);
    if (report_.all_scales)
      text += wrapped("On these data: " + cost_text(*report_.all_scales) + " at the end, in place of " + cost_text(alone()) +
                      "; SQNR of the final values against float " + number_text("%.2f", *report_.sqnr_db_before) + " dB, then " +
                      number_text("%.2f", *report_.sqnr_db_after) + " dB.");
    return text;
  }

  [[nodiscard]] std::vector<std::string> halves_row(const std::string& choice, const Float16Figures& figures) const {
    return {choice,
            std::to_string(figures.kept.size()),
            std::to_string(figures.left),
            short_number(figures.agreement.relative_error()),
            cosine_text(figures.agreement.cosine()),
            std::to_string(figures.agreement.same_top) + "/" + std::to_string(figures.agreement.samples)};
  }

  [[nodiscard]] std::string halves() const {
    const Float16Advice& halves = *report_.halves;
    std::string text = "\nfloat16: range\n";
    text += table({{"", Align::left, 40}, {"in float32"}, {"left float16"}, {"error"}, {"cosine"}, {"same top"}},
                  {halves_row("everything in float16", halves.alone), halves_row("what has to stay in float32", halves.kept),
                   halves_row("constants rescaled", halves.with_rescaling)});
    if (halves.alone.left == 0) return text + "No value leaves float16 on these data: nothing to rescale.\n";
    text += wrapped("  left float16: values that became the largest float16 or infinite on the way.");
    if (!halves.kept.kept.empty()) text += wrapped("In float32: " + names(halves.kept.kept), 4);
    for (const RescalingPair& pair : halves.rescaling.pairs) {
      text += wrapped("Scale down by 2^" + std::to_string(pair.exponent) + " the constants of " + names(pair.producers) +
                          ", up by as much those of " + names(pair.consumers) + " (" + std::to_string(pair.tensors.size()) +
                          (pair.tensors.size() == 1 ? " tensor" : " tensors") + " between)",
                      4);
    }
    for (const UnscalableTensor& refused : halves.rescaling.refused) text += wrapped("Not to be rescaled: " + refused.why, 4);
    if (!halves.with_rescaling.kept.empty()) text += wrapped("Still in float32: " + names(halves.with_rescaling.kept), 4);
    return text;
  }

  [[nodiscard]] std::string consequences() const {
    std::vector<AdviceColumn> columns{{"choice", Align::left, 24}, {"layers"}, {"answers changed"}, {"95 %"}, {"distance"}, {"95 %"}};
    std::vector<std::vector<std::string>> rows;
    for (const Consequence& at : report_.consequences) {
      const std::int64_t changed = at.agreement.samples - at.agreement.same_top;
      rows.push_back({at.choice, std::to_string(at.operations.size()),
                      std::to_string(changed) + " of " + std::to_string(at.agreement.samples),
                      percent(at.flips.low) + " to " + percent(at.flips.high), short_number(at.agreement.distance()),
                      at.distance ? short_number(at.distance->low) + " to " + short_number(at.distance->high) : "one sample"});
    }
    std::string text = "\nWhat users of the network see\n" + table(columns, rows);
    text += wrapped(
        "  answers changed: the largest value stands elsewhere; distance: of the outputs as vectors of length 1, mean; the "
        "intervals hold for inputs like these data.");
    for (const Consequence& at : report_.consequences) {
      const std::string options = options_of(report_, at);
      if (!options.empty()) text += wrapped("  " + at.choice + ": " + options, 4);
    }
    return text;
  }

  [[nodiscard]] std::string assumptions() const {
    if (report_.assumptions.empty()) return {};
    std::string text = "\nRests on assumptions:\n";
    for (const Assumption& assumption : report_.assumptions) text += wrapped("  " + assumption.rule + ": " + assumption.source, 4);
    return text;
  }

  const AdviseReport& report_;
  const LayerView& view_;
};

}  // namespace

std::string to_text(const AdviseReport& report, const LayerView& view) { return Writer(report, view).text(); }

}  // namespace lastbit
