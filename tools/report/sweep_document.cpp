// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "lastbit/one_operation.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/printable.hpp"
#include "layer_plot.hpp"
#include "report/documents.hpp"
#include "report/parts.hpp"

namespace lastbit::tool {
namespace {

double per_value(Int128 sum, std::int64_t values) { return values == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(values); }

/// One backend against the first.
class Side {
 public:
  Side(const SweepReport& report, std::size_t backend)
      : report_(report), backend_(backend), tensors_(report.sweeper->tensors()), sums_(report.statistics->backends[backend]) {}

  void add_to(Document& page) const {
    const std::string title = name() + " against " + report_.sweeper->backends()[0].name;
    std::map<std::size_t, double> shares;
    std::vector<Histogram> histograms;
    Table table{{{"no."},
                 {"layer", Alignment::left},
                 {"operation", Alignment::left},
                 {"differ"},
                 {"samples that differ"},
                 {"the first"},
                 {"largest, LSB"},
                 {"mean LSB"},
                 {"mean |LSB|"},
                 {"LSB", Alignment::left, "from below -3 to above +3; equal values are left out"},
                 {"SQNR, dB", Alignment::right, "where real values are compared"}},
                {}};
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const TensorSums& sums = sums_.tensors[t];
      const double share = share_of(sums.differing, sums.values);
      const Subject subject = subject_of(tensors_[t].name, tensors_[t].operation, standing_of(sums.differing > 0));
      if (tensors_[t].number) shares[*tensors_[t].number] = std::max(shares[*tensors_[t].number], share);
      table.rows.push_back({subject, cells_of(t)});
      if (sums.differing > 0 && report_.sweeper->as_integers(backend_, t))
        histograms.push_back(
            histogram_of(subject, label_of(tensors_[t].number, tensors_[t].operation) + " " + tensors_[t].name, sums.histogram));
    }
    const Paragraph rest = keep_first(histograms);
    page.add(title, "Over all samples, each side on its own history.",
             {answers(), table, Heading{{}, "Network"},
              graph_of(report_.sweeper->model(),
                       [&](std::size_t operation) {
                         const auto found = shares.find(operation);
                         return found == shares.end() ? std::nullopt : std::optional(found->second);
                       }),
              Heading{{}, histograms.empty() ? "" : "How many values differ by how many LSB"}, histograms, rest});
  }

  [[nodiscard]] Table golden() const {
    Table table{{{"no."}, {"layer", Alignment::left}, {"cosine"}, {"SQNR, dB"}, {"RMS error"}, {"largest error"}, {"not finite"}}, {}};
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const RealSums& sums = sums_.tensors[t].golden;
      table.rows.push_back({subject_of(tensors_[t].name, tensors_[t].operation, Standing::none),
                            {number_of(t), tensors_[t].name, number_cell(sums.cosine(), 9), number_cell(sums.sqnr_db(), 4),
                             number_cell(sums.root_mean_square_error()), number_cell(sums.largest_error), sums.non_finite}});
    }
    return table;
  }

  [[nodiscard]] Table events() const {
    Table table{{{"no."}, {"layer", Alignment::left}, {"outputs"}, {"saturated"}, {"sums that left the accumulator"}}, {}};
    for (std::size_t i = 0; i < sums_.events.size(); ++i) {
      const std::string layer = layer_name(report_.sweeper->model(), i);
      table.rows.push_back({{layer, Standing::none},
                            {i, layer, sums_.events[i].outputs, sums_.events[i].saturated_outputs, sums_.events[i].accumulator_overflows}});
    }
    return table;
  }

  [[nodiscard]] const std::string& name() const { return report_.sweeper->backends()[backend_].name; }

 private:
  [[nodiscard]] Cell number_of(std::size_t tensor) const { return tensors_[tensor].number ? Cell(*tensors_[tensor].number) : Cell(); }

  [[nodiscard]] std::vector<Cell> cells_of(std::size_t t) const {
    const TensorSums& sums = sums_.tensors[t];
    std::vector<Cell> cells{number_of(t),           tensors_[t].name,
                            tensors_[t].operation,  share_cell(share_of(sums.differing, sums.values)),
                            sums.samples_differing, sums.first_sample ? Cell(*sums.first_sample) : Cell()};
    if (report_.sweeper->as_integers(backend_, t))
      cells.insert(cells.end(),
                   {sums.largest_lsb(), number_cell(per_value(sums.lsb_sum, sums.values), 4),
                    number_cell(per_value(sums.lsb_magnitude_sum, sums.values), 4), lsb_cell(counts_of(sums.histogram)), Cell()});
    else cells.insert(cells.end(), {Cell("real"), Cell(), Cell(), Cell(), number_cell(sums.reference.sqnr_db(), 4)});
    return cells;
  }

  [[nodiscard]] List answers() const {
    List list;
    const Model& model = report_.sweeper->model();
    for (std::size_t i = 0; i < sums_.answers.size(); ++i) {
      const AnswerSums& answer = sums_.answers[i];
      const Interval interval = wilson_interval(answer.as_reference, answer.samples);
      list.lines.push_back("Output '" + model.tensor(model.outputs[report_.sweeper->answer_outputs()[i]]).name +
                           "': the largest value stands at the same place in " + std::to_string(answer.as_reference) + " of " +
                           count_of(answer.samples, "sample") + " (95 %: " + share_cell(interval.low).text + " to " +
                           share_cell(interval.high).text + ").");
    }
    return list;
  }

  const SweepReport& report_;
  std::size_t backend_;
  std::span<const SweptTensor> tensors_;
  const BackendSums& sums_;
};

}  // namespace

Document document_of(const SweepReport& report) {
  const auto backends = report.sweeper->backends();
  Document page{.title = "sweep", .standing = standing_of(!report.equal())};
  page.verdict = std::string(report.complete() ? "" : "INCOMPLETE. ") +
                 (report.equal() ? "No value of any backend differs from the reference's." : "Some values differ from the reference's.");
  page.facts = {
      {"model", report.model},
      {"data", report.data},
      {"samples", std::to_string(report.statistics->samples.count()) + (report.complete() ? "" : " of " + std::to_string(report.samples))},
      {"the reference", backends[0].name}};
  page.add("Remarks", "", {List{report.sweeper->elsewhere()}});
  if (backends.size() > 1) {
    Plot plot = plot_of(report);
    plot.title.clear();
    page.add("All backends", "", {Figure{plot, {}}});
  }
  for (std::size_t b = 1; b < backends.size(); ++b) Side(report, b).add_to(page);
  AssumptionList assumptions;
  for (std::size_t b = 0; b < backends.size(); ++b) {
    const Side side(report, b);
    if (report.sweeper->options().golden == Golden::with)
      page.add(side.name() + " against float", "Bounded by what each tensor's codes stand for.", {side.golden()});
    if (report.sweeper->options().count_events) page.add("Events of " + side.name(), "Seen while computing.", {side.events()});
    for (AssumptionRow& each : assumption_rows(assumptions_of(report.sweeper->model(), backends[b]), side.name()))
      assumptions.push_back(std::move(each));
  }
  page.add("Assumptions", assumptions_meaning, {assumptions});
  return page;
}

}  // namespace lastbit::tool
