// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_n2d2_shift.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lastbit/compare.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"

namespace lastbit::tool {
namespace n2d2_shift {
namespace {

constexpr std::size_t calibration_images = 60;
const std::string last_layer = "logits";

/// N2D2 export log, as published in 2021.
constexpr LoggedLayer published[] = {
    {17, 1, 605.467, 1.57456, 63.251, 384.532, 4.1115e-05, 14, .673628},
    {20, 384.532, 885.995, 1.10175, 127, 804.168, 0.00376515, 8, .963878},
    {23, 804.168, 1939.13, 0.77638, 127, 2497.66, 0.00253519, 8, .649009},
    {26, 2497.66, 3749.77, 0.445755, 127, 8412.17, 0.00233787, 8, .598495},
    {29, 8412.17, 2682.97, 0.24595, 127, 10908.6, 0.00607205, 7, .777222},
    {33, 10908.6, 10430.1, 0.107331, 127, 97176.4, 0.000883903, 10, .905117},
    {35, 97176.4, 2751.02, 0.0528017, 127, 52100.9, 0.0146863, 6, .939923},
    {37, 52100.9, 3834.95, 0.0259759, 255, 147635, 0.00138393, 9, .708572},
};

/// The images that set the thresholds, one by one.
std::vector<std::vector<Tensor>> calibration_samples(const Digits& digits) {
  const Shape shape = digits.model.tensor(digits.model.inputs[0]).shape;
  std::vector<std::vector<Tensor>> list;
  for (std::size_t i = 0; i < calibration_images; ++i) {
    Tensor one(digits.images.type(), shape);
    const auto bytes = one.bytes();
    std::ranges::copy(digits.images.bytes().subspan(i * bytes.size(), bytes.size()), bytes.begin());
    list.push_back({one});
  }
  return list;
}

std::vector<std::int64_t> answers(const NamedTrace& trace) { return top_positions(trace.find(last_layer)->values, 10); }

std::vector<Tensor> real_inputs(const Digits& digits) {
  return {dequantized(digits.images, digits.model.tensor(digits.model.inputs[0]).quantization)};
}

WayFigures figures_of(const Digits& digits, const NamedTrace& trace, const NamedTrace& real) {
  const NamedTensor &logits = *trace.find(last_layer), &expected = *real.find(last_layer);
  const auto labels = digits.labels.values<std::int64_t>();
  return {.backend = trace.backend,
          .options = {},
          .top1 = share_equal(answers(trace), {labels.begin(), labels.end()}),
          .same_answer = share_equal(answers(trace), answers(real)),
          .sqnr_db = difference(expected.values, expected.quantization, logits.values, logits.quantization).metrics.sqnr_db};
}

NamedTrace float_trace(const Digits& digits) { return run_named(float_network(digits.model), find_backend("float"), real_inputs(digits)); }

SumMismatch mismatch_of(const std::string& way, const CompareReport& report) {
  SumMismatch found{.way = way};
  for (const LayerDifference& layer : report.layers) {
    if (layer.name != "sum") {
      found.before += layer.accumulated.differing;
      continue;
    }
    found.values = layer.accumulated.values;
    found.differing = layer.accumulated.differing;
    const auto& counts = layer.accumulated.histogram.counts;
    for (std::size_t bin = 0; bin < counts.size(); ++bin) {
      const std::int64_t lsb = static_cast<std::int64_t>(bin) - LsbHistogram::reach - 1;
      if (counts[bin] == 0) continue;
      found.smallest = std::min(found.smallest, lsb);
      found.largest = std::max(found.largest, lsb);
    }
  }
  return found;
}

}  // namespace

std::vector<RecomputedLayer> recomputed_log() {
  std::vector<RecomputedLayer> rows;
  for (const LoggedLayer& row : published) {
    const auto figures = n2d2::printed_scaling(row.previous, row.activation, row.bias, row.quant);
    rows.push_back({row, figures, n2d2::single_shift_for(figures.cell), n2d2::double_shift_for(figures.cell),
                    n2d2::fixed_multiplier_for(figures.cell, n2d2::fixed_fraction_bits(15, figures.cell))});
  }
  return rows;
}

WayFigures float_figures(const Digits& digits) {
  const NamedTrace trace = float_trace(digits);
  return figures_of(digits, trace, trace);
}

std::vector<WayFigures> ways(const Digits& digits) {
  const NamedTrace expected = float_trace(digits);
  const auto samples = calibration_samples(digits);
  std::vector<WayFigures> all;
  for (const std::string bits : {"8", "4"}) {
    for (const std::string way : {"single_shift", "double_shift", "fixed_mult16", "fixed_mult32", "float_mult"}) {
      const SpecSheet sheet = find_backend("n2d2_" + way);
      const Model model = quantize(digits.model, sheet, samples, {{"bits", bits}}).model;
      all.push_back(figures_of(digits, run_named(model, sheet, real_inputs(digits)), expected));
      all.back().options = bits + " bits";
    }
  }
  return all;
}

Model read_branches(const std::filesystem::path& data) { return read_model(data / "n2d2-shift" / "model.json"); }

std::vector<SumMismatch> sum_mismatches(const Digits& digits, const Model& branches) {
  std::vector<std::vector<Tensor>> samples = calibration_samples(digits);
  for (std::vector<Tensor>& sample : samples) sample[0] = dequantized(sample[0], digits.model.tensor(digits.model.inputs[0]).quantization);
  std::vector<SumMismatch> all;
  for (const std::string way : {"single_shift", "double_shift", "fixed_mult16", "fixed_mult32"}) {
    const SpecSheet chip = find_backend("n2d2_" + way), simulator = find_backend("n2d2_simulator_" + way);
    all.push_back(mismatch_of(way, compare_backends(quantize(branches, chip, samples).model, chip, simulator, real_inputs(digits))));
  }
  return all;
}

}  // namespace n2d2_shift

namespace {

using namespace n2d2_shift;

std::string printed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

void add_log(StoryFigures& figures) {
  for (const RecomputedLayer& row : recomputed_log()) {
    const LoggedLayer& logged = row.logged;
    const double off = std::max(std::abs(row.figures.global / logged.global - 1), std::abs(row.figures.cell / logged.cell - 1));
    figures.tables["log"].push_back({std::to_string(logged.layer), printed(logged.previous), printed(logged.activation),
                                     printed(logged.bias), printed(logged.quant), printed(row.figures.global), printed(row.figures.cell),
                                     std::to_string(row.single.shift), std::to_string(logged.shift), fixed(row.single.weight_factor, 6),
                                     scientific(off, 1)});
    const double factor = std::ldexp(static_cast<double>(row.fixed.multiplier), -row.fixed.fraction_bits);
    figures.tables["other ways"].push_back(
        {std::to_string(logged.layer), printed(row.figures.cell), "2^-" + std::to_string(row.single.shift), percent(row.single.precision),
         "2^-" + std::to_string(row.twice.first) + " + 2^-" + std::to_string(row.twice.second), percent(row.twice.precision),
         std::to_string(row.fixed.multiplier) + " / 2^" + std::to_string(row.fixed.fraction_bits),
         scientific(std::abs(factor / row.figures.cell - 1), 1)});
  }
}

Plot plot_of(const std::vector<WayFigures>& all) {
  Plot plot{.title = "digits network quantised as N2D2 does", .x_label = "scaling", .y_label = "SQNR of the last layer (dB)", .series = {}};
  for (const WayFigures& way : all) {
    if (plot.series.empty() || plot.series.back().title != way.options)
      plot.series.push_back({way.options, {}, {}, SeriesStyle::lines_and_points});
    Series& series = plot.series.back();
    series.x.push_back(static_cast<double>(series.x.size()));
    series.y.push_back(way.sqnr_db);
    if (plot.series.size() == 1) plot.x_names.push_back(way.backend.substr(5));
  }
  return plot;
}

}  // namespace

int story_n2d2_shift(const StoryOptions& options) {
  const Digits digits = read_digits(options.data / "digits");
  const std::vector<WayFigures> all = ways(digits);
  StoryFigures figures{.texts = {{"images", std::to_string(digits.images.shape()[0])}}, .tables = {}};
  add_log(figures);
  figures.tables["ways"].push_back({"float", "", percent(float_figures(digits).top1), "", ""});
  for (const WayFigures& way : all)
    figures.tables["ways"].push_back(
        {way.backend, way.options, percent(way.top1), percent(way.same_answer), fixed(way.sqnr_db, 1) + " dB"});
  for (const SumMismatch& found : sum_mismatches(digits, read_branches(options.data)))
    figures.tables["sums"].push_back(
        {found.way, std::to_string(found.before), std::to_string(found.differing), std::to_string(found.values),
         found.differing == 0 ? "equal" : std::to_string(found.smallest) + " to " + std::to_string(found.largest)});
  return tell(options, "n2d2-shift", figures, plot_of(all));
}

}  // namespace lastbit::tool
