// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_ascend_addn.hpp"

#include <algorithm>
#include <cmath>

#include "lastbit/emulator.hpp"
#include "lastbit/float16_network.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace ascend_addn {
namespace {

Calibration calibration_of(const Network& network) { return calibrate(network.model, {&network.inputs, 1}, 2048); }

std::vector<float> values_of(const Model& model, const Trace& trace, const std::string& name) {
  const Tensor tensor = dequantized(*trace.tensors[static_cast<std::size_t>(model.find_tensor(name).value())], {});
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

std::vector<std::int64_t> answers(const Model& model, const Trace& trace) {
  return top_positions(*trace.tensors[static_cast<std::size_t>(model.outputs[0])], 4);
}

float add_n(const std::vector<float>& terms, const Backend& backend) {
  ModelBuilder builder;
  std::vector<Tensor> inputs;
  for (const float term : terms) {
    builder.input({"term" + std::to_string(inputs.size()), ElementType::float16, {1}});
    inputs.push_back(Tensor::from<Float16>({1}, std::vector{to_float16(term, Float16Rules{})}));
  }
  const auto sum = builder.operation(OperationKind::add_n, builder.model.inputs, {"AddN", ElementType::float16, {1}});
  return static_cast<float>(run(builder.finished({sum}), backend, inputs).tensors.back()->values<Float16>()[0]);
}

}  // namespace

Network read_network(const std::filesystem::path& data) {
  return {read_model(data / "ascend-addn" / "model.json"), {read_npy(data / "ascend-addn" / "image.npy")}};
}

DeviceFigures run_on(const Network& network, const std::string& backend, const std::string& keep) {
  const SpecSheet sheet = find_backend(backend);
  const Model device = quantize(network.model, sheet, {&network.inputs, 1}, {{"keep", keep}}).model;
  const Trace truth = run(network.model, Backend{.domain = Domain::real}, network.inputs, {.keep_all = true});
  const Trace mine = run(device, sheet.backend, network.inputs, {.keep_all = true, .count_events = true});
  DeviceFigures figures{backend, {}, values_of(device, mine, "AddN"), {}, 0, 0};
  figures.metrics = element_metrics(figures.sums, values_of(network.model, truth, "AddN"));
  const auto expected = answers(network.model, truth), found = answers(device, mine);
  for (std::size_t i = 0; i < expected.size(); ++i) figures.same_class += expected[i] == found[i];
  for (const Events& events : mine.events) figures.left_float16 += events.saturated_outputs;
  for (const Operation& operation : device.operations) {
    const bool is_float32 = device.tensor(operation.outputs[0]).type == ElementType::float32;
    if (is_float32 && operation.kind != OperationKind::cast) figures.kept += (figures.kept.empty() ? "" : ", ") + operation.name;
  }
  return figures;
}

std::vector<HeadroomFigures> headroom(const Network& network) {
  const Calibration calibration = calibration_of(network);
  std::vector<HeadroomFigures> all;
  for (std::size_t t = 0; t < network.model.tensors.size(); ++t) {
    const double largest = calibration.tensors[t].largest_magnitude();
    all.push_back({network.model.tensors[t].name, largest, float16_headroom(largest)});
  }
  return all;
}

std::string first_leaving(const Network& network) {
  const auto found = first_leaving_float16(network.model, calibration_of(network));
  return found && found->operation ? network.model.operations[*found->operation].name : "none";
}

double smallest_cosine(double a, double b) { return 2 * std::sqrt(a * b) / (a + b); }

std::vector<OrderFigures> orders() {
  const Backend chip = find_backend("ascend310").backend, other = find_backend("ascend910b").backend;
  Backend single = chip;
  set_rule(single, "float16.add_n.precision", "float32");
  const std::string grows = "60000 + 60000 - 60000", stays = "60000 - 60000 + 60000", each = "every sum rounded to float16, ";
  return {{grows, each + "saturation mode", add_n({60000, 60000, -60000}, chip)},
          {stays, each + "saturation mode", add_n({60000, -60000, 60000}, chip)},
          {grows, each + "infinity mode", add_n({60000, 60000, -60000}, other)},
          {grows, "float32 sums, converted once", add_n({60000, 60000, -60000}, single)}};
}

}  // namespace ascend_addn

namespace {

using namespace ascend_addn;

std::string number(float value) {
  return std::isfinite(value) ? fixed(double{value}, 0) : std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
}

std::string figure(double value) { return std::isfinite(value) ? fixed(value, 3) : "-"; }

std::string range_of(const std::vector<float>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return least == most || std::isnan(least) ? number(least) : number(least) + " to " + number(most);
}

std::vector<double> every_tenth(std::span<const float> values) {
  std::vector<double> some;
  for (std::size_t i = 0; i < values.size(); i += 10) some.push_back(double{values[i]});
  return some;
}

Plot plot_of(const Tensor& sums, const DeviceFigures& saturated, const DeviceFigures& kept) {
  const std::vector<double> x = every_tenth(sums.values<float>());
  return {.title = "AddN of feature maps: what float16 makes of it",
          .x_label = "AddN in float32",
          .y_label = "AddN on the device",
          .series = {{"float16, saturation mode", x, every_tenth(saturated.sums), SeriesStyle::points},
                     {"AddN and scale kept in float32", x, every_tenth(kept.sums), SeriesStyle::points}}};
}

}  // namespace

int story_ascend_addn(const StoryOptions& options) {
  const Network network = read_network(options.data);
  const std::vector<DeviceFigures> all{run_on(network, "ascend310", "none"), run_on(network, "ascend910b", "none"),
                                       run_on(network, "ascend_ge2021", "none"), run_on(network, "ascend310", "auto"),
                                       run_on(network, "ascend910b", "auto")};
  const auto same_class = [](const DeviceFigures& at) { return std::to_string(at.same_class) + " of " + std::to_string(at.sums.size()); };
  StoryFigures figures{.texts = {{"smallest", fixed(smallest_value, 0)},
                                 {"largest", fixed(largest_value, 0)},
                                 {"first to leave", first_leaving(network)},
                                 {"smallest cosine", fixed(smallest_cosine(smallest_value, largest_value), 4)},
                                 {"kept", all[3].kept},
                                 {"left", std::to_string(all[3].left_float16)},
                                 {"same class", same_class(all[3])}},
                       .tables = {}};
  for (const DeviceFigures& at : all)
    figures.tables["devices"].push_back({at.backend, at.kept.empty() ? "nothing" : at.kept, range_of(at.sums), figure(at.metrics.cosine),
                                         figure(at.metrics.relative_euclidean), figure(at.metrics.kullback_leibler), same_class(at)});
  for (const HeadroomFigures& at : headroom(network))
    figures.tables["headroom"].push_back({at.name, fixed(at.largest, at.largest < 1000 ? 4 : 0), fixed(at.bits, 2)});
  for (const OrderFigures& at : orders()) figures.tables["orders"].push_back({at.terms, at.rules, number(at.sum)});
  return tell(options, "ascend-addn", figures, plot_of(read_npy(options.data / "ascend-addn" / "addn_values.npy"), all[0], all[3]));
}

}  // namespace lastbit::tool
