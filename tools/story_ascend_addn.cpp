// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_ascend_addn.hpp"

#include <algorithm>
#include <cmath>

#include "lastbit/error.hpp"
#include "lastbit/float16_network.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/rules.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace ascend_addn {
namespace {

const Shape image_shape{1, 25, 40, 1};
constexpr std::size_t classes = 4;

Tensor real(const Shape& shape, const std::vector<float>& values) { return Tensor::from<float>(shape, values); }

std::int32_t add_tensor(Model& model, const std::string& name, const Shape& shape, std::optional<Tensor> constant = {}) {
  model.tensors.push_back({name, ElementType::float32, shape, {}, std::move(constant)});
  return static_cast<std::int32_t>(model.tensors.size()) - 1;
}

/// A 1x1 convolution of the one channel.
std::int32_t add_convolution(Model& model, const std::string& name, std::int32_t input, const std::vector<float>& weights,
                             const std::vector<float>& bias) {
  const auto channels = static_cast<std::int64_t>(weights.size());
  const Shape filter{channels, 1, 1, 1};
  const std::int32_t w = add_tensor(model, name + "/weights", filter, real(filter, weights));
  const std::int32_t b = add_tensor(model, name + "/bias", {channels}, real({channels}, bias));
  const std::int32_t output = add_tensor(model, name, {1, 25, 40, channels});
  model.operations.push_back({OperationKind::conv2d, name, {input, w, b}, {output}, Conv2dAttributes{}});
  return output;
}

/// Scores of the nearest of four centres: 2*m*z - m^2.
std::int32_t add_scores(Model& model, std::int32_t input) {
  std::vector<float> weights, bias;
  for (const float centre : {7.5F, 8.5F, 9.5F, 10.5F}) {
    weights.push_back(2 * centre);
    bias.push_back(-centre * centre);
  }
  return add_convolution(model, "scores", input, weights, bias);
}

Calibration calibration_of(const Network& network) { return calibrate(network.model, {&network.inputs, 1}, 2048); }

std::vector<float> values_of(const Model& model, const Trace& trace, const std::string& name) {
  const Tensor tensor = dequantized(*trace.tensors[static_cast<std::size_t>(model.find_tensor(name).value())], {});
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

std::vector<std::int64_t> answers(const Model& model, const Trace& trace) {
  return top_positions(*trace.tensors[static_cast<std::size_t>(model.outputs[0])], classes);
}

float add_n(const std::vector<float>& terms, const Backend& backend) {
  Model model;
  Operation operation{OperationKind::add_n, "AddN", {}, {}, ElementwiseAttributes{}};
  std::vector<Tensor> inputs;
  for (const float term : terms) {
    operation.inputs.push_back(static_cast<std::int32_t>(model.tensors.size()));
    model.tensors.push_back({"term" + std::to_string(model.tensors.size()), ElementType::float16, {1}, {}, {}});
    const Float16 value = to_float16(term, Float16Rules{});
    inputs.push_back(Tensor::from<Float16>({1}, std::span(&value, 1)));
  }
  model.inputs = operation.inputs;
  model.outputs = operation.outputs = {static_cast<std::int32_t>(model.tensors.size())};
  model.tensors.push_back({"sum", ElementType::float16, {1}, {}, {}});
  model.operations.push_back(std::move(operation));
  const Trace trace = run(model, backend, inputs);
  return static_cast<float>(trace.tensors.back()->values<Float16>()[0]);
}

}  // namespace

Network network(const Tensor& sums) {
  if (sums.type() != ElementType::float32 || sums.element_count() != image_shape.element_count()) {
    throw Error(ErrorCode::bad_input, "AddN values", "1000 float32 values are needed");
  }
  Network made;
  Model& model = made.model;
  model.name = "three feature maps and their sum";
  std::vector<float> pixels;
  for (const float sum : sums.values<float>()) {
    pixels.push_back(static_cast<float>((double{sum} - smallest_value) / (largest_value - smallest_value)));
  }
  made.inputs.push_back(real(image_shape, pixels));
  const std::int32_t image = add_tensor(model, "image", image_shape);
  const std::vector<std::int32_t> maps{add_convolution(model, "P3", image, {8825}, {20000}),
                                       add_convolution(model, "P4", image, {15000}, {25000}),
                                       add_convolution(model, "P5", image, {15000}, {25683})};
  const std::int32_t sum = add_tensor(model, "AddN", image_shape);
  model.operations.push_back({OperationKind::add_n, "AddN", maps, {sum}, ElementwiseAttributes{}});
  const std::int32_t factor = add_tensor(model, "scale/factor", {1}, real({1}, {1e-4F}));
  const std::int32_t scaled = add_tensor(model, "scale", image_shape);
  model.operations.push_back({OperationKind::mul, "scale", {sum, factor}, {scaled}, ElementwiseAttributes{}});
  model.inputs = {image};
  model.outputs = {add_scores(model, scaled)};
  validate(model, "story");
  return made;
}

Tensor read_sums(const std::filesystem::path& data) { return read_npy(data / "ascend-addn" / "addn_values.npy"); }

DeviceFigures run_on(const Network& network, const std::string& backend, const std::string& keep) {
  const SpecSheet sheet = find_backend(backend);
  const Model device = quantize(network.model, sheet, {&network.inputs, 1}, {{"keep", keep}}).model;
  const Trace truth = run(network.model, Backend{.domain = Domain::real}, network.inputs, {.keep_all = true});
  const Trace mine = run(device, sheet.backend, network.inputs, {.keep_all = true, .count_events = true});
  DeviceFigures figures{backend, keep, {}, values_of(device, mine, "AddN"), {}, 0, 0};
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
  Backend chip = find_backend("ascend310").backend, single = chip;
  set_rule(single, "float16.add_n.precision", "float32");
  const std::string saturating = "every sum rounded to float16, saturation mode";
  return {{"60000 + 60000 - 60000", saturating, add_n({60000, 60000, -60000}, chip)},
          {"60000 - 60000 + 60000", saturating, add_n({60000, -60000, 60000}, chip)},
          {"60000 + 60000 - 60000", "every sum rounded to float16, infinity mode",
           add_n({60000, 60000, -60000}, find_backend("ascend910b").backend)},
          {"60000 + 60000 - 60000", "float32 sums, converted once", add_n({60000, 60000, -60000}, single)}};
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

Table device_table(const std::vector<DeviceFigures>& all) {
  Table table{{"device", "float32", "AddN", "cosine", "RED", "KLD", "classes as float"}, {}};
  for (const DeviceFigures& at : all) {
    table.rows.push_back({at.backend, at.kept.empty() ? "nothing" : at.kept, range_of(at.sums), figure(at.metrics.cosine),
                          figure(at.metrics.relative_euclidean), figure(at.metrics.kullback_leibler),
                          std::to_string(at.same_class) + " of " + std::to_string(at.sums.size())});
  }
  return table;
}

Table headroom_table(const Network& network) {
  Table table{{"tensor", "largest magnitude", "headroom in bits"}, {}};
  for (const HeadroomFigures& at : headroom(network)) {
    table.rows.push_back({at.name, fixed(at.largest, at.largest < 1000 ? 4 : 0), fixed(at.bits, 2)});
  }
  return table;
}

Table order_table() {
  Table table{{"terms", "rule", "AddN"}, {}};
  for (const OrderFigures& at : orders()) table.rows.push_back({at.terms, at.rules, number(at.sum)});
  return table;
}

Plot sums_plot(const Tensor& sums, const DeviceFigures& saturated, const DeviceFigures& kept) {
  Plot plot{.title = "AddN of feature maps: what float16 makes of it",
            .x_label = "AddN in float32",
            .y_label = "AddN on the device",
            .series = {}};
  const auto every_tenth = [](const auto& values) {
    std::vector<double> some;
    for (std::size_t i = 0; i < values.size(); i += 10) some.push_back(double{values[i]});
    return some;
  };
  const auto series = [&](const std::string& title, const std::vector<float>& y) {
    plot.series.push_back({title, every_tenth(sums.values<float>()), every_tenth(y), SeriesStyle::points});
  };
  series("float16, saturation mode", saturated.sums);
  series("AddN and scale kept in float32", kept.sums);
  return plot;
}

void add_cause(Page& page, const Network& story) {
  page.section("Why, and where it begins")
      .text("The largest float16 is 65504. The first operation whose values leave it is " + first_leaving(story) +
            ". The headroom of a tensor is log2(65504 / largest magnitude): so many bits it may grow.")
      .table(headroom_table(story));
  page.section("Why cosine does not show it")
      .text(
          "A constant and values between a and b have a cosine of at least 2*sqrt(a*b)/(a+b), whatever the values: in this range " +
          fixed(smallest_cosine(smallest_value, largest_value), 4) +
          ", above every usual threshold. The relative Euclidean distance (RED, threshold 0.05) and the Kullback-Leibler divergence (KLD, "
          "threshold 0.005) of the vendor's own analyser do show it. The guide's cosine of 0.72 does not follow from this saturation "
          "alone.");
}

void add_way_out(Page& page, const DeviceFigures& kept) {
  page.section("The way out")
      .text("The smallest set of operations to keep in float32 so that no value leaves float16 on the samples: " + kept.kept +
            " (the one that makes such values, and the one that reads them). With it " + std::to_string(kept.left_float16) +
            " results leave float16, and " + std::to_string(kept.same_class) + " of " + std::to_string(kept.sums.size()) +
            " pixels have the class of the float network.")
      .line("lastbit quantize MODEL --backend ascend310 --calibrate DIR --set keep=auto");
  page.section("The order of the additions").text("Saturation makes it part of the result:").table(order_table());
}

void add_evidence(Page& page) {
  page.section("How this is known")
      .evidence(EvidenceLevel::thread,
                "the range of the AddN values, every one of them 65504 on the device, mAP 0, and that high precision helps")
      .evidence(EvidenceLevel::vendor_code,
                "RED 0.302 and KLD 0.335: the vendor's analyser on 1000 uniform values of that range; the overflow of the "
                "class of 2021")
      .evidence(EvidenceLevel::document,
                "saturation: infinity becomes 65504 and NaN 0; the only mode of the 310, infinity the default of the 910B")
      .evidence(EvidenceLevel::vendor_source, "AddN adds one input after another at the precision of the data")
      .evidence(EvidenceLevel::guess, "the small network: only its AddN is the published one");
}

}  // namespace

int story_ascend_addn(const StoryOptions& options) {
  const Tensor sums = read_sums(options.data);
  const Network story = network(sums);
  const std::vector<DeviceFigures> all{run_on(story, "ascend310", "none"), run_on(story, "ascend910b", "none"),
                                       run_on(story, "ascend_ge2021", "none"), run_on(story, "ascend310", "auto"),
                                       run_on(story, "ascend910b", "auto")};
  Page page("ascend-addn", "Huawei Ascend: a detector without detections");
  page.section("What was seen")
      .text(
          "A detector with forced float16 finds nothing: mAP 0. In high precision it works. One operation stands out, an AddN of feature "
          "maps: in float32 its values lie between " +
          fixed(smallest_value, 0) + " and " + fixed(largest_value, 0) + ".")
      .text("A small network around such an AddN: three feature maps, their sum, a scale, scores of four classes per pixel.")
      .table(device_table(all))
      .text("The vendor's software class of 2021 gives the pattern 0x7FFF, which it reads as 131008 and everybody else as NaN.");
  add_cause(page, story);
  add_way_out(page, all[3]);
  add_evidence(page);
  page.plot(sums_plot(sums, all[0], all[3]));
  return page.show(options);
}

}  // namespace lastbit::tool
