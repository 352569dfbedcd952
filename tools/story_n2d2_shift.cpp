// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_n2d2_shift.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/quantizer.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace n2d2_shift {
namespace {

constexpr std::int64_t calibration_images = 60;
const std::string last_layer = "logits";
const std::string sum = "sum";

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

std::vector<std::vector<Tensor>> samples(const Digits& digits, std::int64_t count) {
  const Shape shape = digits.model.tensor(digits.model.inputs[0]).shape;
  std::vector<std::vector<Tensor>> list;
  for (std::int64_t i = 0; i < count; ++i) {
    Tensor one(digits.images.type(), shape);
    const auto bytes = one.bytes();
    std::ranges::copy(digits.images.bytes().subspan(static_cast<std::size_t>(i) * bytes.size(), bytes.size()), bytes.begin());
    list.push_back({one});
  }
  return list;
}

Model quantized(const Digits& digits, const std::string& backend, const QuantizerOptions& options) {
  return quantize(digits.model, find_backend(backend), samples(digits, calibration_images), options).model;
}

/// The images as the float network takes them.
Tensor real_images(const Digits& digits) { return dequantized(digits.images, digits.model.tensor(digits.model.inputs[0]).quantization); }

std::vector<std::int64_t> answers(const NamedTrace& trace) { return top_positions(trace.find(last_layer)->values, 10); }

double share_equal(const std::vector<std::int64_t>& a, std::span<const std::int64_t> b) {
  const auto equal = std::ranges::count_if(a, [&, i = std::size_t{0}](std::int64_t answer) mutable { return answer == b[i++]; });
  return static_cast<double>(equal) / static_cast<double>(a.size());
}

WayFigures figures_of(const Digits& digits, const NamedTrace& trace, const NamedTrace& real) {
  const NamedTensor& logits = *trace.find(last_layer);
  const NamedTensor& expected = *real.find(last_layer);
  WayFigures figures;
  figures.top1 = share_equal(answers(trace), digits.labels.values<std::int64_t>());
  figures.same_answer = share_equal(answers(trace), answers(real));
  figures.sqnr_db = difference(expected.values, expected.quantization, logits.values, logits.quantization).metrics.sqnr_db;
  return figures;
}

NamedTrace float_trace(const Digits& digits, const Model& real) {
  const std::vector<Tensor> inputs{real_images(digits)};
  return run_named(real, find_backend("float"), inputs);
}

/// The first layer of the network, and four 1x1 convolutions of its outputs, rectified and summed.
Model four_branches(const Digits& digits) {
  Model model = float_network(digits.model);
  model.operations.erase(model.operations.begin() + 1, model.operations.end());
  const std::int32_t trunk = model.operations[0].outputs[0];
  const Shape image = model.tensor(trunk).shape;
  const std::int64_t channels = image.back();
  std::mt19937 random(2021);
  std::vector<std::int32_t> branches;
  const auto add_tensor = [&](const std::string& name, const Shape& shape) {
    model.tensors.push_back({name, ElementType::float32, shape, {}, {}});
    return static_cast<std::int32_t>(model.tensors.size()) - 1;
  };
  for (int b = 1; b <= 4; ++b) {
    const std::string name = "branch" + std::to_string(b);
    const std::int32_t weights = add_tensor(name + "/weights", {channels, 1, 1, channels});
    Tensor& values = model.tensors.back().constant.emplace(ElementType::float32, Shape{channels, 1, 1, channels});
    for (float& value : values.values<float>()) value = static_cast<float>(random() % 2001) / 1000.0F - 1;
    branches.push_back(add_tensor(name, image));
    Conv2dAttributes attributes;
    attributes.bounds.activation = Activation::relu;
    model.operations.push_back({OperationKind::conv2d, name, {trunk, weights}, {branches.back()}, attributes});
  }
  const std::int32_t end = add_tensor(sum, image);
  model.operations.push_back({OperationKind::add_n, sum, branches, {end}, ElementwiseAttributes{}});
  std::get<ElementwiseAttributes>(model.operations.back().attributes).bounds.activation = Activation::relu;
  model.outputs = {end};
  validate(model, "story");
  return model;
}

SumMismatch mismatch_of(const std::string& way, const CompareReport& report) {
  SumMismatch found{.way = way};
  for (const LayerDifference& layer : report.layers) {
    if (layer.name != sum) {
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

Digits read_digits(const std::filesystem::path& folder) {
  Digits digits{read_model(folder / "model.json"), read_npy(folder / "test_images.npy"), read_npy(folder / "test_labels.npy")};
  const bool fits = digits.labels.type() == ElementType::int64 && digits.images.shape().rank() > 0 &&
                    digits.labels.element_count() == digits.images.shape()[0] && digits.images.shape()[0] >= calibration_images;
  if (!fits) throw Error(ErrorCode::bad_input, folder.string(), "one int64 label per image is needed");
  return digits;
}

WayFigures float_figures(const Digits& digits) {
  const Model real = float_network(digits.model);
  const NamedTrace trace = float_trace(digits, real);
  WayFigures figures = figures_of(digits, trace, trace);
  figures.backend = "float";
  return figures;
}

std::vector<WayFigures> ways(const Digits& digits) {
  struct Choice {
    std::string backend;
    QuantizerOptions options;
    std::string text;
  };
  std::vector<Choice> choices;
  for (const std::string bits : {"8", "4"}) {
    for (const std::string way : {"single_shift", "double_shift", "fixed_mult16", "fixed_mult32", "float_mult"})
      choices.push_back({"n2d2_" + way, {{"bits", bits}}, bits + " bits"});
  }
  const Model real = float_network(digits.model);
  const NamedTrace expected = float_trace(digits, real);
  const std::vector<Tensor> inputs{real_images(digits)};
  std::vector<WayFigures> all;
  for (const Choice& choice : choices) {
    const Model model = quantized(digits, choice.backend, choice.options);
    all.push_back(figures_of(digits, run_named(model, find_backend(choice.backend), inputs), expected));
    all.back().backend = choice.backend;
    all.back().options = choice.text;
  }
  return all;
}

std::vector<SumMismatch> sum_mismatches(const Digits& digits) {
  const Model real = four_branches(digits);
  const std::vector<Tensor> inputs{real_images(digits)};
  std::vector<std::vector<Tensor>> calibration = samples(digits, calibration_images);
  for (std::vector<Tensor>& sample : calibration)
    sample[0] = dequantized(sample[0], digits.model.tensor(digits.model.inputs[0]).quantization);
  std::vector<SumMismatch> all;
  for (const std::string way : {"single_shift", "double_shift", "fixed_mult16", "fixed_mult32"}) {
    const Model model = quantize(real, find_backend("n2d2_" + way), calibration).model;
    all.push_back(mismatch_of(way, compare_backends(model, find_backend("n2d2_" + way), find_backend("n2d2_simulator_" + way), inputs)));
  }
  return all;
}

}  // namespace n2d2_shift

namespace {

using namespace n2d2_shift;

std::string percent(double share) { return fixed(100 * share, 2) + " %"; }

std::string printed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

Table log_table(const std::vector<RecomputedLayer>& rows) {
  Table table{{"layer", "prev", "act", "bias", "quant", "global", "cell", "shift", "printed shift", "weights x", "off"}, {}};
  for (const RecomputedLayer& row : rows) {
    const double off = std::max(std::abs(row.figures.global / row.logged.global - 1), std::abs(row.figures.cell / row.logged.cell - 1));
    table.rows.push_back({std::to_string(row.logged.layer), printed(row.logged.previous), printed(row.logged.activation),
                          printed(row.logged.bias), printed(row.logged.quant), printed(row.figures.global), printed(row.figures.cell),
                          std::to_string(row.single.shift), std::to_string(row.logged.shift), fixed(row.single.weight_factor, 6),
                          scientific(off, 1)});
  }
  return table;
}

Table other_ways(const std::vector<RecomputedLayer>& rows) {
  Table table{{"layer", "scale", "one shift", "of it", "two shifts", "of it", "16-bit factor", "off"}, {}};
  for (const RecomputedLayer& row : rows) {
    const double factor = std::ldexp(static_cast<double>(row.fixed.multiplier), -row.fixed.fraction_bits);
    table.rows.push_back(
        {std::to_string(row.logged.layer), printed(row.figures.cell), "2^-" + std::to_string(row.single.shift),
         percent(row.single.precision), "2^-" + std::to_string(row.twice.first) + " + 2^-" + std::to_string(row.twice.second),
         percent(row.twice.precision), std::to_string(row.fixed.multiplier) + " / 2^" + std::to_string(row.fixed.fraction_bits),
         scientific(std::abs(factor / row.figures.cell - 1), 1)});
  }
  return table;
}

Table way_table(const WayFigures& real, const std::vector<WayFigures>& all) {
  Table table{{"backend", "bits", "top-1", "answers as float", "SQNR of the last layer"}, {}};
  table.rows.push_back({real.backend, "", percent(real.top1), "", ""});
  for (const WayFigures& way : all)
    table.rows.push_back({way.backend, way.options, percent(way.top1), percent(way.same_answer), fixed(way.sqnr_db, 1) + " dB"});
  return table;
}

Table mismatch_table(const std::vector<SumMismatch>& all) {
  Table table{{"scaling", "differ before the sum", "differ in the sum", "of", "simulator - export"}, {}};
  for (const SumMismatch& found : all) {
    table.rows.push_back({found.way, std::to_string(found.before), std::to_string(found.differing), std::to_string(found.values),
                          found.differing == 0 ? "equal" : std::to_string(found.smallest) + " to " + std::to_string(found.largest)});
  }
  return table;
}

Plot loss_plot(const std::vector<WayFigures>& all) {
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
  const std::vector<RecomputedLayer> log = recomputed_log();
  const std::vector<WayFigures> all = ways(digits);
  Page page("n2d2-shift", "N2D2: 81 % in PyTorch, 14.6 % after the INT8 export (2021)");
  page.section("What was seen")
      .text(
          "A network lost its accuracy in the export. It was the data and the labels given to the export that broke the score, but its log "
          "prints, layer by layer, the scale and the single shift that stands for it. That log is a published table of the quantiser.");
  page.section("The log, recomputed")
      .text(
          "global = act / bias, cell = prev / global / quant. The shift is the largest power of two below the scale, or, more than 2 % "
          "below it, the next one above: then the weights shrink by what is too much. 'off' is the larger deviation of global and cell "
          "from "
          "the six digits printed.")
      .table(log_table(log))
      .text("What the other ways of the same export make of these scales:")
      .table(other_ways(log));
  page.section("A sound network under every way of scaling")
      .text("The float form of the digits network, " + std::to_string(digits.images.shape()[0]) +
            " test images; thresholds by least squared error over the first 60 of them.")
      .table(way_table(float_figures(digits), all))
      .plot(loss_plot(all))
      .text(
          "A single shift costs resolution of the weights, up to one bit, and sums without weights take the error whole; two shifts or a "
          "16-bit factor do not. None of them explains a fall from 81 % to 14.6 %.");
  page.section("Where the export and its own simulator part")
      .text(
          "The exporter adds half a step to the bias of convolutions and fully connected layers, so that a shift rounds. An element-wise "
          "sum "
          "has no bias: the exported kernel rounds down, N2D2's simulator rounds half up. The first layer of the network, four rectified "
          "1x1 "
          "convolutions of it and their sum, over all test images, on both:")
      .table(mismatch_table(sum_mismatches(digits)))
      .text("Every difference is one step, from the sum on. What helps: FIXED_MULT, or a bias of half a step in the layer before the sum.")
      .line("The rules in which they differ:  lastbit diff-backends n2d2_single_shift n2d2_simulator_single_shift")
      .line("See it in your own network:  lastbit quantize MODEL --backend n2d2_single_shift --calibrate DIR --output MODEL.json");
  page.section("How this is known")
      .evidence(EvidenceLevel::vendor_code,
                "the kernels of the export and the simulator's scaling, run: recorded cases in tests/vectors/n2d2")
      .evidence(EvidenceLevel::vendor_source,
                "thresholds, scales and shifts: src/DeepNetQuantization.cpp, read, and the log itself reproduced")
      .evidence(EvidenceLevel::thread, "that data and labels broke the score: the vendor's answer in the thread");
  return page.show(options);
}

}  // namespace lastbit::tool
