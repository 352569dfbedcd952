// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A sum of feature maps that float16 cannot hold: three maps of an image of 25 x 40 pixels, their sum AddN, a scale, and the scores of four
// classes. The image is chosen so that the sum has 1000 values of the published range, as the vendor's analyser was run on.
#include <algorithm>
#include <cmath>

#include "lastbit/compare.hpp"
#include "lastbit/float16_network.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/rules.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace {

/// The published range of the AddN output.
constexpr double smallest_value = 70683, largest_value = 109508;

struct Experiment {
  Model model;
  std::vector<Tensor> inputs;
};

/// The network on a device, with operations kept in float32 as the quantiser's option says.
struct OnDevice {
  std::string kept{};             ///< names of the operations that stayed float32
  Tensor sums;                    ///< what AddN delivers
  std::string same_class{};       ///< pixels whose largest score is that of the float network
  std::int64_t left_float16 = 0;  ///< results that left float16, over all operations
};

std::string number(float value) {
  return std::isfinite(value) ? fixed(double{value}, 0) : std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
}

std::string range_of(const Tensor& real) {
  const auto [least, most] = std::ranges::minmax(real.values<float>());
  return least == most || std::isnan(least) ? number(least) : number(least) + " to " + number(most);
}

/// Adds the device's row to the table.
OnDevice run_on(const Experiment& network, const std::string& backend, const std::string& keep, Rows& table) {
  const SpecSheet sheet = find_backend(backend);
  const Model device = quantize(network.model, sheet, {&network.inputs, 1}, {{"keep", keep}}).model;
  const NamedTrace truth = run_named(network.model, find_backend("float"), network.inputs), mine = run_named(device, sheet, network.inputs);
  OnDevice found{.sums = dequantized(mine.find("AddN")->values, {})};
  const std::vector<std::int64_t> answers = top_positions(mine.find(device.outputs[0])->values, 4),
                                  right = top_positions(truth.find(network.model.outputs[0])->values, 4);
  found.same_class = fixed(share_equal(answers, right) * static_cast<double>(right.size()), 0) + " of " + std::to_string(right.size());
  for (const NamedEvents& at : mine.events) found.left_float16 += at.events.saturated_outputs;
  for (const Operation& operation : device.operations) {
    const bool is_float32 = device.tensor(operation.outputs[0]).type == ElementType::float32;
    if (is_float32 && operation.kind != OperationKind::cast) found.kept += (found.kept.empty() ? "" : ", ") + operation.name;
  }
  const ElementMetrics metrics = difference(truth.find("AddN")->values, {}, found.sums, {}).metrics;
  const auto figure = [](double value) { return std::isfinite(value) ? fixed(value, 3) : "-"; };
  table.push_back(row(backend, found.kept.empty() ? "nothing" : found.kept, range_of(found.sums), figure(metrics.cosine),
                      figure(metrics.relative_euclidean), figure(metrics.kullback_leibler), found.same_class));
  return found;
}

/// AddN of three numbers on a device.
std::string add_n(const std::vector<float>& terms, const SpecSheet& sheet) {
  ModelBuilder builder;
  std::vector<Tensor> inputs;
  for (const float term : terms) {
    builder.input({"term" + std::to_string(inputs.size()), ElementType::float16, {1}});
    inputs.push_back(Tensor::from<Float16>({1}, std::vector{to_float16(term, ieee_float16)}));
  }
  const auto sum = builder.operation(OperationKind::add_n, builder.model.inputs, {"AddN", ElementType::float16, {1}});
  return number(static_cast<float>(run(builder.finished({sum}), sheet.backend, inputs).tensors.back()->values<Float16>()[0]));
}

/// Saturation makes the order of the additions part of the result.
Rows order_rows() {
  const SpecSheet chip = find_backend("ascend310");
  SpecSheet single = chip;
  set_rule(single.backend, "float16.add_n.precision", "float32");
  const std::string grows = "60000 + 60000 - 60000", each = "every sum rounded to float16, ";
  return {row(grows, each + "saturation mode", add_n({60000, 60000, -60000}, chip)),
          row("60000 - 60000 + 60000", each + "saturation mode", add_n({60000, -60000, 60000}, chip)),
          row(grows, each + "infinity mode", add_n({60000, 60000, -60000}, find_backend("ascend910b"))),
          row(grows, "float32 sums, converted once", add_n({60000, 60000, -60000}, single))};
}

/// log2(65504 / largest) of every tensor, and the operation whose output is the first to leave float16.
void add_headroom(StoryFigures& figures, const Experiment& network) {
  const Calibration calibration = calibrate(network.model, {&network.inputs, 1}, 2048);
  for (std::size_t t = 0; t < network.model.tensors.size(); ++t) {
    const double largest = calibration.tensors[t].largest_magnitude();
    figures.tables["headroom"].push_back(
        row(network.model.tensors[t].name, fixed(largest, largest < 1000 ? 4 : 0), fixed(float16_headroom(largest), 2)));
  }
  const auto first = first_leaving_float16(network.model, calibration);
  figures.texts["first to leave"] = first && first->operation ? network.model.operations[*first->operation].name : "none";
}

std::vector<double> every_tenth(const Tensor& real) {
  const std::span<const float> values = real.values<float>();
  std::vector<double> some;
  for (std::size_t i = 0; i < values.size(); i += 10) some.push_back(double{values[i]});
  return some;
}

}  // namespace

StoryFigures ascend_addn_figures(const std::filesystem::path& data) {
  const std::filesystem::path folder = data / "ascend-addn";
  const Experiment network{read_model(folder / "model.json"), {read_npy(folder / "image.npy")}};
  StoryFigures figures{.tables = {{"orders", order_rows()}}};
  Rows& table = figures.tables["devices"];
  const OnDevice saturated = run_on(network, "ascend310", "none", table);
  for (const char* other : {"ascend910b", "ascend_ge2021"}) run_on(network, other, "none", table);
  const OnDevice kept = run_on(network, "ascend310", "auto", table);
  run_on(network, "ascend910b", "auto", table);
  // The smallest cosine that a constant can have to values between a and b, both positive: 2 sqrt(ab) / (a + b).
  const double bound = 2 * std::sqrt(smallest_value * largest_value) / (smallest_value + largest_value);
  figures.texts = {{"smallest", fixed(smallest_value, 0)},      {"largest", fixed(largest_value, 0)},
                   {"smallest cosine", fixed(bound, 4)},        {"kept", kept.kept},
                   {"left", std::to_string(kept.left_float16)}, {"same class", kept.same_class}};
  add_headroom(figures, network);
  const std::vector<double> x = every_tenth(read_npy(folder / "addn_values.npy"));
  figures.plot.series = {{"float16, saturation mode", x, every_tenth(saturated.sums), SeriesStyle::points},
                         {"AddN and scale kept in float32", x, every_tenth(kept.sums), SeriesStyle::points}};
  return figures;
}

}  // namespace lastbit::tool
