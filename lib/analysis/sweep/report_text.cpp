// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/sweep.hpp"

namespace lastbit {
namespace {

/// Of names in a line of 100.
constexpr std::size_t usual_width = 28;

std::string right_trimmed(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1) + "\n"; }

std::string percent(double share) { return number_text("%.2f%%", 100 * share); }

double share_of(std::int64_t part, std::int64_t all) { return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all); }

std::string difference_cells(const TensorSums& sums, bool as_integers) {
  const double share = share_of(sums.differing, sums.values);
  if (sums.differing == 0) return right("equal", 9);
  const auto figure = [&](const char* format, double value) { return number_text(format, value); };
  std::string line = right(share < 0.00005 ? "<0.01%" : percent(share), 9) + right(std::to_string(sums.samples_differing), 10) +
                     right(std::to_string(*sums.first_sample), 9);
  if (!as_integers) return line + right("real", 9) + right("SQNR", 10) + right(figure("%.1f", sums.reference.sqnr_db()) + " dB", 12);
  return line + right(figure("%+.0f", static_cast<double>(sums.largest_lsb())), 9) +
         right(figure("%+.5f", static_cast<double>(sums.lsb_sum) / static_cast<double>(sums.values)), 10) +
         right(figure("%.5f", static_cast<double>(sums.lsb_magnitude_sum) / static_cast<double>(sums.values)), 12);
}

std::string number_cell(const SweptTensor& swept) { return swept.number ? std::to_string(*swept.number) : ""; }

/// The tensors that are shown of a backend.
std::vector<std::size_t> shown_tensors(const SweepReport& report, std::size_t backend, const LayerView& view) {
  std::vector<ViewedLayer> layers;
  for (std::size_t t = 0; t < report.sweeper->tensors().size(); ++t) {
    const SweptTensor& swept = report.sweeper->tensors()[t];
    const TensorSums& sums = report.statistics->backends[backend].tensors[t];
    const bool as_integers = report.sweeper->as_integers(backend, t);
    const double largest = as_integers ? static_cast<double>(sums.largest_lsb()) : sums.reference.largest_error;
    layers.push_back({swept.number, swept.name, share_of(sums.differing, sums.values), largest});
  }
  return shown(view, layers);
}

/// The same layers of every backend, where its sums are of no difference between backends.
LayerView without_differences(const LayerView& view) { return {.layer = view.layer, .width = view.width}; }

std::string difference_table(const SweepReport& report, std::size_t backend, const LayerView& view) {
  const std::vector<std::size_t> rows = shown_tensors(report, backend, view);
  const std::size_t width = name_width(view, usual_width), all = report.sweeper->tensors().size();
  if (rows.empty()) return shown_line(0, all);
  std::string text = right("no.", 4) + " " + left("layer", width) + right("differing", 9) + right("samples", 10) + right("first", 9) +
                     right("largest", 9) + right("mean LSB", 10) + right("mean |LSB|", 12) + "\n";
  for (const std::size_t t : rows) {
    const SweptTensor& swept = report.sweeper->tensors()[t];
    const TensorSums& sums = report.statistics->backends[backend].tensors[t];
    text += right_trimmed(right(number_cell(swept), 4) + " " + left(shortened(swept.name, width), width) +
                          difference_cells(sums, report.sweeper->as_integers(backend, t)));
  }
  return text + shown_line(rows.size(), all);
}

std::string share_line(const std::string& what, std::int64_t hits, std::int64_t samples) {
  const Interval interval = wilson_interval(hits, samples);
  return wrapped(what + " in " + std::to_string(hits) + " of " + count_of(samples, "sample") + ", " + percent(share_of(hits, samples)) +
                 " (95%: " + percent(interval.low) + " to " + percent(interval.high) + ")");
}

std::string answer_lines(const SweepReport& report, std::size_t backend) {
  std::string text;
  const Model& model = report.sweeper->model();
  const std::vector<AnswerSums>& answers = report.statistics->backends[backend].answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string largest =
        "'" + model.tensor(model.outputs[report.sweeper->answer_outputs()[i]]).name + "' is largest at the same place as ";
    if (backend > 0) text += share_line(largest + "on " + report.sweeper->backends()[0].name, answers[i].as_reference, answers[i].samples);
    if (report.sweeper->options().golden == Golden::with)
      text += share_line(largest + "in the float network", answers[i].as_golden, answers[i].samples);
  }
  return text;
}

std::string golden_table(const SweepReport& report, const LayerView& view) {
  const std::size_t width = name_width(view, usual_width);
  const auto backends = report.sweeper->backends();
  std::string text = "Against the float network, bounded by what each tensor's codes stand for\n";
  for (std::size_t b = 0; b < backends.size(); ++b) {
    text += right("no.", 4) + " " + left(shortened(backends[b].name, width), width) + right("cosine", 12) + right("SQNR dB", 10) +
            right("RMS error", 13) + right("largest", 13) + right("not finite", 12) + "\n";
    for (const std::size_t t : shown_tensors(report, b, without_differences(view))) {
      const SweptTensor& swept = report.sweeper->tensors()[t];
      const RealSums& sums = report.statistics->backends[b].tensors[t].golden;
      text += right_trimmed(
          right(number_cell(swept), 4) + " " + left(shortened(swept.name, width), width) + right(number_text("%.8f", sums.cosine()), 12) +
          right(number_text("%.2f", sums.sqnr_db()), 10) + right(number_text("%.6g", sums.root_mean_square_error()), 13) +
          right(number_text("%.6g", sums.largest_error), 13) + right(sums.non_finite == 0 ? "" : std::to_string(sums.non_finite), 12));
    }
  }
  return text;
}

std::string events_table(const SweepReport& report, const LayerView& view) {
  const std::size_t width = name_width(view, usual_width);
  std::string text = "Seen while computing\n";
  for (std::size_t b = 0; b < report.sweeper->backends().size(); ++b) {
    const std::vector<Events>& events = report.statistics->backends[b].events;
    const bool behind = std::ranges::any_of(events, [](const Events& each) { return each.saturated_stages + each.wrapped_stages > 0; });
    text += " no. " + left(shortened(report.sweeper->backends()[b].name, width), width) + right("outputs", 16) + right("saturated", 16) +
            right("sums left the accumulator", 28) + (behind ? right("behind them saturated", 24) + right("wrapped", 12) : "") + "\n";
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!view.layer.empty() && view.layer != std::to_string(i) && view.layer != layer_name(report.sweeper->model(), i)) continue;
      text += right_trimmed(
          right(std::to_string(i), 4) + " " + left(shortened(layer_name(report.sweeper->model(), i), width), width) +
          right(std::to_string(events[i].outputs), 16) + right(std::to_string(events[i].saturated_outputs), 16) +
          right(std::to_string(events[i].accumulator_overflows), 28) +
          (behind ? right(std::to_string(events[i].saturated_stages), 24) + right(std::to_string(events[i].wrapped_stages), 12) : ""));
    }
  }
  return text;
}

std::string assumption_lines(const SweepReport& report) {
  std::string text;
  for (const SpecSheet& sheet : report.sweeper->backends()) {
    for (const Assumption& assumption : assumptions_of(report.sweeper->model(), sheet))
      text += wrapped("  " + sheet.name + ": " + assumption.rule + ": " + assumption.source, 4);
  }
  return text.empty() ? text : "This result rests on assumptions:\n" + text;
}

std::string ranges_text(const SampleSet& samples) {
  std::string text;
  for (const SampleRange& range : samples.ranges()) {
    text += (text.empty() ? "" : ", ") + std::to_string(range.first);
    if (range.last - range.first > 1) text += " to " + std::to_string(range.last - 1);
  }
  return text;
}

}  // namespace

std::string to_text(const SweepReport& report, const LayerView& view) {
  const auto backends = report.sweeper->backends();
  std::string text = wrapped(report.model + ": " + count_of(report.statistics->samples.count(), "sample") + " of " + report.data +
                             "; the reference is " + backends[0].name);
  if (!report.complete())
    text += wrapped("INCOMPLETE: of " + count_of(report.samples, "sample") +
                    " these are missing: " + ranges_text(report.statistics->samples.missing(report.samples)));
  for (std::size_t b = 1; b < backends.size(); ++b)
    text += "\n" + backends[b].name + " against " + backends[0].name + "\n" + difference_table(report, b, view) + answer_lines(report, b);
  if (report.sweeper->options().golden == Golden::with) text += "\n" + golden_table(report, view);
  if (backends.size() == 1 && report.sweeper->options().golden == Golden::with) text += answer_lines(report, 0);
  if (report.sweeper->options().count_events) text += "\n" + events_table(report, view);
  for (const std::string& line : report.sweeper->elsewhere()) text += wrapped(line, 2);
  if (const std::string assumptions = assumption_lines(report); !assumptions.empty()) text += "\n" + assumptions;
  return text;
}

}  // namespace lastbit
