// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A published log of the export recomputed, one network under every way of scaling, and the sums in which the export and the simulator part.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "lastbit/backends/n2d2_scaling.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/quantizer.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace {

constexpr std::size_t calibration_images = 60;

std::string printed(double value) {
  std::ostringstream text;
  text << value;  // six digits
  return text.str();
}

/// The log as published in 2021: one line of names, then a line per layer.
void add_log(StoryFigures& figures, const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string names;
  std::getline(in, names);
  double previous, activation, bias, quant, global, cell, weights;
  for (int layer, shift; in >> layer >> previous >> activation >> bias >> quant >> global >> cell >> shift >> weights;) {
    const n2d2::PrintedScaling found = n2d2::printed_scaling(previous, activation, bias, quant);
    const n2d2::SingleShift single = n2d2::single_shift_for(found.cell);
    const n2d2::DoubleShift twice = n2d2::double_shift_for(found.cell);
    const n2d2::FixedMultiplier fixed_point = n2d2::fixed_multiplier_for(found.cell, n2d2::fixed_fraction_bits(15, found.cell));
    const double off = std::max(std::abs(found.global / global - 1), std::abs(found.cell / cell - 1));
    const double factor = std::ldexp(static_cast<double>(fixed_point.multiplier), -fixed_point.fraction_bits);
    figures.tables["log"].push_back(row(layer, printed(previous), printed(activation), printed(bias), printed(quant), printed(found.global),
                                        printed(found.cell), single.shift, shift, fixed(single.weight_factor, 6), scientific(off, 1)));
    figures.tables["other ways"].push_back(row(layer, printed(found.cell), "2^-" + std::to_string(single.shift), percent(single.precision),
                                               "2^-" + std::to_string(twice.first) + " + 2^-" + std::to_string(twice.second),
                                               percent(twice.precision),
                                               std::to_string(fixed_point.multiplier) + " / 2^" + std::to_string(fixed_point.fraction_bits),
                                               scientific(std::abs(factor / found.cell - 1), 1)));
  }
  if (!in.eof() || figures.tables.empty()) throw Error(ErrorCode::unreadable_file, file.string(), "cannot be read");
}

/// The network quantised for every way of scaling, over all test images.
void add_ways(StoryFigures& figures, const Digits& digits, const std::vector<std::vector<Tensor>>& samples,
              const std::vector<Tensor>& real) {
  const auto logits = [](const NamedTrace& trace) -> const NamedTensor& { return *trace.find("logits"); };
  const auto answers = [&](const NamedTrace& trace) { return top_positions(logits(trace).values, 10); };
  const NamedTrace expected = run_named(float_network(digits.model), find_backend("float"), real);
  Rows& rows = figures.tables["ways"];
  rows.push_back(row("float", "", percent(share_equal(answers(expected), digits.labels)), "", ""));
  Plot& plot = figures.plot;
  plot.x_names = {"single_shift", "double_shift", "fixed_mult16", "fixed_mult32", "float_mult"};
  for (const std::string bits : {"8", "4"}) {
    Series& series = plot.series.emplace_back(Series{.title = bits + " bits", .style = SeriesStyle::lines_and_points});
    for (const std::string& way : plot.x_names) {
      const SpecSheet sheet = find_backend("n2d2_" + way);
      const NamedTrace found = run_named(quantize(digits.model, sheet, samples, {{"bits", bits}}).model, sheet, real);
      const NamedTensor &a = logits(expected), &b = logits(found);
      const double sqnr = difference(a.values, a.quantization, b.values, b.quantization).metrics.sqnr_db;
      rows.push_back(row(sheet.name, series.title, percent(share_equal(answers(found), digits.labels)),
                         percent(share_equal(answers(found), answers(expected))), fixed(sqnr, 1) + " dB"));
      series.x.push_back(static_cast<double>(series.x.size()));
      series.y.push_back(sqnr);
    }
  }
}

/// "-1 to 2": simulator minus export.
std::string range_of(const LsbHistogram& histogram) {
  std::int64_t smallest = 0, largest = 0, lsb = -LsbHistogram::reach - 1;
  for (const std::int64_t count : histogram.counts) {
    if (count != 0) smallest = std::min(smallest, lsb), largest = std::max(largest, lsb);
    ++lsb;
  }
  return std::to_string(smallest) + " to " + std::to_string(largest);
}

/// The network's first layer, four rectified 1x1 convolutions of it and their sum, on the export's arithmetic and on the simulator's.
Rows sum_rows(const Model& branches, const std::vector<std::vector<Tensor>>& samples, const std::vector<Tensor>& real) {
  Rows rows;
  for (const std::string way : {"single_shift", "double_shift", "fixed_mult16", "fixed_mult32"}) {
    const SpecSheet chip = find_backend("n2d2_" + way), simulator = find_backend("n2d2_simulator_" + way);
    std::int64_t before = 0;
    for (const LayerDifference& layer : compare_backends(quantize(branches, chip, samples).model, chip, simulator, real).layers) {
      const TensorDifference& found = layer.accumulated;
      if (layer.name == "sum")
        rows.push_back(row(way, before, found.differing, found.values, found.differing == 0 ? "equal" : range_of(found.histogram)));
      before += found.differing;
    }
  }
  return rows;
}

}  // namespace

StoryFigures n2d2_shift_figures(const std::filesystem::path& data) {
  const Digits digits = read_digits(data / "digits");
  const ModelTensor& input = digits.model.tensor(digits.model.inputs[0]);
  const std::vector<Tensor> real{dequantized(digits.images, input.quantization)};
  std::vector<std::vector<Tensor>> samples;  // the images that set the thresholds
  for (const Tensor& image : samples_of(real[0], input.shape, calibration_images)) samples.push_back({image});
  StoryFigures figures{.texts = {{"images", std::to_string(digits.images.shape()[0])}}};
  add_log(figures, data / "n2d2-shift" / "log.txt");
  add_ways(figures, digits, samples, real);
  figures.tables["sums"] = sum_rows(read_model(data / "n2d2-shift" / "model.json"), samples, real);
  return figures;
}

}  // namespace lastbit::tool
