// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_vipnano_conv.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "lastbit/advise.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/rules.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace vipnano_conv {
namespace {

constexpr int layers_in_chain = 20;
const std::string cpu = "tflite_double", device = "vipnano_v8";

Tensor random_int8(const Shape& shape, std::mt19937& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

ModelTensor int8_tensor(const std::string& name, const Shape& shape, double scale, std::int64_t zero_point) {
  return {name, ElementType::int8, shape, {{scale}, {zero_point}, 0}, {}};
}

std::vector<Tensor> inputs() { return {images(10)}; }

/// The accumulators: the same layer with an int32 output without scale.
std::int64_t accumulator_at(Model layer, std::int64_t index) {
  ModelTensor& output = layer.tensors[static_cast<std::size_t>(layer.outputs[0])];
  output.type = ElementType::int32;
  output.quantization = {};
  const Trace trace = run(layer, find_backend(cpu).backend, inputs());
  return trace.tensors[static_cast<std::size_t>(layer.outputs[0])]->integer_at(index);
}

std::vector<StageStep> stages(const Model& layer, const std::string& backend, std::int64_t accumulator) {
  const RescaleRule& rule = find_backend(backend).backend.conv.i8.rescale;
  const Quantization& output = layer.tensor(2).quantization;
  const double real =
      effective_scale(rule.scale.arithmetic, layer.tensor(0).quantization.scale(), layer.tensor(1).quantization.scale(), output.scale());
  return trace_stages(rule.chain, accumulator,
                      {.scale = encode(rule.scale, real), .zero_point = output.zero_point(), .min = -128, .max = 127});
}

/// The chain with the layers chosen on the CPU and the others on the device.
Tensor mixed(const Model& model, const std::function<bool(std::size_t)>& on_cpu) {
  OperationSet chosen(model.operations.size());
  for (std::size_t layer = 0; layer < chosen.size(); ++layer) chosen[layer] = on_cpu(layer);
  const std::vector<Tensor> image{images(1)};
  const Trace trace = run_mixed(model, find_backend(cpu).backend, find_backend(device).backend, chosen, image);
  return *trace.tensors[static_cast<std::size_t>(model.outputs[0])];
}

/// One tensor per image.
std::vector<Tensor> separate(const Tensor& batch, const Shape& image) {
  std::vector<Tensor> all(static_cast<std::size_t>(batch.shape()[0]), Tensor(ElementType::int8, image));
  for (std::size_t i = 0; i < all.size(); ++i)
    std::ranges::copy(batch.bytes().subspan(i * all[i].bytes().size(), all[i].bytes().size()), all[i].bytes().begin());
  return all;
}

}  // namespace

Model chain_of(int layers, double output_scale) {
  std::mt19937 random(20);
  const Shape image{1, 16, 16, 8}, filter{8, 3, 3, 8};
  Model model;
  model.name = layers == 1 ? "one convolution" : std::to_string(layers) + " convolutions";
  model.tensors.push_back(int8_tensor("image", image, activation_scale, 3));
  for (std::int32_t i = 1; i <= layers; ++i) {
    const std::string name = "conv" + std::to_string(i);
    // Weight scales near 0.0016 keep the spread of the values about the same from layer to layer.
    model.tensors.push_back(int8_tensor(name + "/weights", filter, 0.0016 + 1e-5 * static_cast<double>(random() % 16), 0));
    model.tensors.back().constant = random_int8(filter, random);
    const auto zero_point = static_cast<std::int64_t>(random() % 9) - 4;
    model.tensors.push_back(int8_tensor(name, image, i == layers ? output_scale : activation_scale, zero_point));
    Conv2dAttributes attributes;
    attributes.padding.mode = PaddingMode::same;
    model.operations.push_back({OperationKind::conv2d, name, {2 * i - 2, 2 * i - 1}, {2 * i}, attributes});
  }
  model.inputs = {0};
  model.outputs = {2 * layers};
  validate(model, "story");
  return model;
}

Tensor images(std::int64_t count) {
  std::mt19937 random(1);
  return random_int8({count, 1, 16, 16, 8}, random);
}

std::vector<PairFigures> pairs() {
  const Model layer = chain_of(1, activation_scale);
  std::vector<PairFigures> all;
  for (const std::string npu : {"vipnano_v8", "vipnano_v7"}) {
    for (const std::string host : {"tflite_double", "tflite_single", "xnnpack", "onnxruntime"}) {
      all.push_back({host, npu, explain(layer, inputs(), find_backend(host), find_backend(npu))});
    }
  }
  return all;
}

ValueOnBoth one_value() {
  const Model layer = chain_of(1, activation_scale);
  const LayerAttribution found = explain(layer, inputs(), find_backend(cpu), find_backend(device));
  ValueOnBoth result{found.differing.front(), 0, {}, {}};
  result.accumulator = accumulator_at(layer, result.value.index);
  result.a = stages(layer, cpu, result.accumulator);
  result.b = stages(layer, device, result.accumulator);
  return result;
}

Growth growth() {
  const CompareReport report =
      compare_backends(chain_of(layers_in_chain, activation_scale), find_backend(cpu), find_backend(device), inputs());
  Growth result;
  for (const LayerDifference& layer : std::span(report.layers).subspan(1)) {
    result.alone.push_back(layer.same_input->share());
    result.in_the_chain.push_back(layer.accumulated.share());
    result.largest_lsb.push_back(*layer.accumulated.largest_lsb);
  }
  return result;
}

std::vector<ScaleFigures> scales() {
  const Model layer = chain_of(1, activation_scale);
  const std::vector<double> factors{0.4, 0.8, 0.84, 1.0, 1.6, 1.68, 2.0, 3.2, 3.4};
  const std::vector<Tensor> many = separate(images(100), layer.tensor(0).shape);
  std::vector<ScaleFigures> all;
  for (const auto& at : scale_sweep(layer, 0, find_backend(cpu).backend, find_backend(device).backend, many, factors)) {
    const double real = activation_scale * layer.tensor(1).quantization.scale() / (activation_scale * at.factor);
    all.push_back({activation_scale * at.factor, real, std::ilogb(real) + 1, at.values, at.differing});
  }
  return all;
}

std::vector<FallbackFigures> fallbacks() {
  const Model model = chain_of(layers_in_chain, activation_scale);
  const Tensor expected = mixed(model, [](std::size_t) { return true; });
  struct Choice {
    std::string name;
    std::function<bool(std::size_t)> on_cpu;
  };
  const std::vector<Choice> choices{{"none", [](std::size_t) { return false; }},
                                    {"the last", [](std::size_t layer) { return layer == 19; }},
                                    {"the first", [](std::size_t layer) { return layer == 0; }},
                                    {"every other", [](std::size_t layer) { return layer % 2 == 1; }},
                                    {"the last ten", [](std::size_t layer) { return layer >= 10; }},
                                    {"the first ten", [](std::size_t layer) { return layer < 10; }},
                                    {"all but the last", [](std::size_t layer) { return layer < 19; }}};
  std::vector<FallbackFigures> all;
  for (const Choice& choice : choices) {
    const TensorDifference found = difference(expected, {}, mixed(model, choice.on_cpu), {});
    all.push_back({choice.name, found.share(), found.largest_lsb.value_or(0)});
  }
  return all;
}

}  // namespace vipnano_conv

namespace {

using namespace vipnano_conv;

std::string percent(double share) { return fixed(100 * share, 2) + " %"; }

Table pair_table() {
  Table table{{"CPU", "device", "differ", "of", "because of"}, {}};
  for (const PairFigures& pair : pairs()) {
    table.rows.push_back({pair.cpu, pair.device, std::to_string(pair.attribution.differing.size()), std::to_string(pair.attribution.values),
                          summary(pair.attribution)});
  }
  return table;
}

void add_stages(Page& page, const std::string& title, const std::vector<StageStep>& steps) {
  Table table{{title, "integer", "in output steps", ""}, {}};
  for (const StageStep& step : steps) table.rows.push_back({step.stage, step.value, fixed(step.real, 5), step.tie ? "a tie" : ""});
  page.table(std::move(table));
}

Table growth_table(const Growth& growth) {
  Table table{{"layer", "alone", "in the chain", "largest"}, {}};
  for (std::size_t i = 0; i < growth.alone.size(); ++i) {
    table.rows.push_back(
        {std::to_string(i + 1), percent(growth.alone[i]), percent(growth.in_the_chain[i]), std::to_string(growth.largest_lsb[i]) + " LSB"});
  }
  return table;
}

Table scale_table() {
  Table table{{"output scale", "effective scale", "exponent", "differ", "2^(exponent-1)"}, {}};
  for (const ScaleFigures& at : scales()) {
    table.rows.push_back({fixed(at.output_scale, 4), fixed(at.effective_scale, 6), std::to_string(at.exponent),
                          percent(static_cast<double>(at.differing) / static_cast<double>(at.values)),
                          percent(std::ldexp(1.0, at.exponent - 1))});
  }
  return table;
}

Table fallback_table() {
  Table table{{"layers on the CPU", "final values that differ", "largest"}, {}};
  for (const FallbackFigures& at : fallbacks()) {
    table.rows.push_back({at.on_cpu, percent(at.differing), std::to_string(at.largest_lsb) + " LSB"});
  }
  return table;
}

Plot growth_plot(const Growth& growth) {
  Series alone{"each layer alone", {}, {}, SeriesStyle::lines_and_points}, chain{"in the chain", {}, {}, SeriesStyle::lines_and_points};
  for (std::size_t i = 0; i < growth.alone.size(); ++i) {
    for (Series* series : {&alone, &chain}) series->x.push_back(static_cast<double>(i + 1));
    alone.y.push_back(100 * growth.alone[i]);
    chain.y.push_back(100 * growth.in_the_chain[i]);
  }
  return {.title = "int8 convolutions, VIPNano V8 against TFLite's double rounding",
          .x_label = "layer",
          .y_label = "values that differ (%)",
          .series = {alone, chain},
          .y_scale = AxisScale::logarithmic};
}

}  // namespace

int story_vipnano_conv(const StoryOptions& options) {
  Page page("vipnano-conv", "VeriSilicon VIPNano: a single Conv2D differs by one (i.MX 8M Plus, 2024)");
  page.section("What was seen")
      .text(
          "An int8 3x3 'same' convolution in .tflite: some outputs on the NPU are one off the CPU's. In a chain of 20 convolutions the "
          "differences grow, and an embedding model and a segmentation decoder become unusable. The vendor: not bit-accurate, a single "
          "layer may be one bit off; the CPU rounds twice when it converts to 8 bits, the NPU once. When it happens was never told.");
  page.section("One convolution, computed on both sides")
      .text(
          "3x3 'same', 8 to 8 channels, 10 images of 16x16, the same input on both sides. Every value that differs is explained: the rule "
          "that, exchanged for the device's, turns the CPU's value into the device's.")
      .table(pair_table())
      .text("The V8 against a CPU that rounds once: equal, nothing is left to explain. The V7 also narrows the multiplier to 16 bits.");
  const ValueOnBoth value = one_value();
  page.section("One of those values, stage by stage")
      .text("Output " + std::to_string(value.value.index) + ": tflite_double gives " + std::to_string(value.value.a) + ", vipnano_v8 " +
            std::to_string(value.value.b) + ". Both start from the same accumulator, " + std::to_string(value.accumulator) + ".");
  add_stages(page, "tflite_double", value.a);
  add_stages(page, "vipnano_v8", value.b);
  page.text(
      "The first rounding makes a tie of a value that is none, and the second takes it away from zero. It needs an exact product "
      "within one step of 2^-n of the half, n the places shifted by the second rounding: about one value in 2^(n+1).");
  const Growth grown = growth();
  page.section("In a chain of twenty").table(growth_table(grown)).plot(growth_plot(grown));
  page.text("Each layer adds its own one in a thousand; what it is handed it spreads, since an input that is one off moves 72 sums.");
  page.section("What to do")
      .text(
          "1. Compare with a CPU that rounds once: tflite_single (TFLITE_SINGLE_ROUNDING), or XNNPACK, the default of desktops and phones.")
      .text(
          "2. Where the scale of an output can be chosen: the share that differs halves with every power of two that the effective scale "
          "(input * weights / output) falls below. A scale a few per cent larger can be enough, and costs as much resolution:")
      .table(scale_table())
      .text(
          "3. Layers on the CPU: a difference made early is spread by every layer after it. Ten layers kept on the CPU in front help, at "
          "the end they do not, and a few anywhere are useless:")
      .table(fallback_table())
      .line("See it in your own network:  lastbit explain MODEL.tflite --a tflite_double --b vipnano_v8 --input x.npy");
  page.section("How this is known")
      .evidence(EvidenceLevel::vendor_code,
                "the device's multiplier and its one rounding to even: vendor's C model, run; recorded cases in tests/vectors/vipnano")
      .evidence(EvidenceLevel::vendor_code, "the CPU's two roundings: TFLite, run; recorded cases in tests/vectors/tflite")
      .evidence(EvidenceLevel::thread, "that one rounding against two is the posters' difference: the vendor's answer in the thread")
      .evidence(EvidenceLevel::guess,
                "the scale computed in float32: Mesa's driver, read; the closed compiler may differ. Nothing was run on silicon");
  return page.show(options);
}

}  // namespace lastbit::tool
