// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_vipnano_conv.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "lastbit/advise.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/registry.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace vipnano_conv {
namespace {

const std::string cpu = "tflite_double", device = "vipnano_v8";

/// So many images, each of the shape given.
Tensor images(std::int64_t count) {
  std::mt19937 random(1);
  Tensor tensor(ElementType::int8, {count, 1, 16, 16, 8});
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}
std::vector<Tensor> inputs() { return {images(10)}; }

/// The accumulators: the same layer with an int32 output without scale.
std::int64_t accumulator_at(Model layer, std::int64_t index) {
  ModelTensor& output = layer.tensors.back();
  output.type = ElementType::int32;
  output.quantization = {};
  return run(layer, find_backend(cpu).backend, inputs()).tensors.back()->integer_at(index);
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
  return *run_mixed(model, find_backend(cpu).backend, find_backend(device).backend, chosen, std::vector{images(1)}).tensors.back();
}

}  // namespace

Networks read_networks(const std::filesystem::path& data) {
  Networks networks{read_model(data / "vipnano-conv" / "model.json"), {}};
  networks.one = networks.chain;
  networks.one.operations.resize(1);
  networks.one.tensors.resize(3);
  networks.one.outputs = {2};
  return networks;
}

std::vector<PairFigures> pairs(const Model& one) {
  std::vector<PairFigures> all;
  for (const std::string npu : {"vipnano_v8", "vipnano_v7"}) {
    for (const std::string host : {"tflite_double", "tflite_single", "xnnpack", "onnxruntime"})
      all.push_back({host, npu, explain(one, inputs(), find_backend(host), find_backend(npu))});
  }
  return all;
}

ValueOnBoth one_value(const Model& one) {
  const LayerAttribution found = explain(one, inputs(), find_backend(cpu), find_backend(device));
  const AttributedValue& value = found.differing.front();
  const std::int64_t accumulator = accumulator_at(one, value.index);
  return {value, accumulator, stages(one, cpu, accumulator), stages(one, device, accumulator)};
}

std::vector<LayerDifference> growth(const Model& chain) {
  std::vector<LayerDifference> layers = compare_backends(chain, find_backend(cpu), find_backend(device), inputs()).layers;
  layers.erase(layers.begin());  // the image
  return layers;
}

std::vector<ScaleFigures> scales(const Model& one) {
  const Tensor batch = images(100);
  std::vector<Tensor> many(100, Tensor(ElementType::int8, one.tensor(0).shape));
  for (std::size_t i = 0, size = many[0].bytes().size(); i < many.size(); ++i)
    std::ranges::copy(batch.bytes().subspan(i * size, size), many[i].bytes().begin());
  const std::vector<double> factors{0.4, 0.8, 0.84, 1.0, 1.6, 1.68, 2.0, 3.2, 3.4};
  const double scale = one.tensor(2).quantization.scale();
  std::vector<ScaleFigures> all;
  for (const auto& at : scale_sweep(one, 0, find_backend(cpu).backend, find_backend(device).backend, many, factors)) {
    const double real = one.tensor(0).quantization.scale() * one.tensor(1).quantization.scale() / (scale * at.factor);
    all.push_back({scale * at.factor, real, std::ilogb(real) + 1, at.values, at.differing});
  }
  return all;
}

std::vector<FallbackFigures> fallbacks(const Model& chain) {
  const Tensor expected = mixed(chain, [](std::size_t) { return true; });
  const std::vector<std::pair<std::string, std::function<bool(std::size_t)>>> choices{
      {"none", [](std::size_t) { return false; }},
      {"the last", [](std::size_t layer) { return layer == 19; }},
      {"the first", [](std::size_t layer) { return layer == 0; }},
      {"every other", [](std::size_t layer) { return layer % 2 == 1; }},
      {"the last ten", [](std::size_t layer) { return layer >= 10; }},
      {"the first ten", [](std::size_t layer) { return layer < 10; }},
      {"all but the last", [](std::size_t layer) { return layer < 19; }}};
  std::vector<FallbackFigures> all;
  for (const auto& [name, on_cpu] : choices) all.push_back({name, difference(expected, {}, mixed(chain, on_cpu), {})});
  return all;
}

}  // namespace vipnano_conv

namespace {

using namespace vipnano_conv;

Rows rows_of(const std::vector<StageStep>& steps) {
  Rows rows;
  for (const StageStep& step : steps) rows.push_back({step.stage, step.value, fixed(step.real, 5), step.tie ? "a tie" : ""});
  return rows;
}

Plot plot_of(const std::vector<LayerDifference>& layers) {
  Series alone{"each layer alone", {}, {}, SeriesStyle::lines_and_points}, chain{"in the chain", {}, {}, SeriesStyle::lines_and_points};
  for (const LayerDifference& layer : layers) {
    for (Series* series : {&alone, &chain}) series->x.push_back(static_cast<double>(series->x.size() + 1));
    alone.y.push_back(100 * layer.same_input->share());
    chain.y.push_back(100 * layer.accumulated.share());
  }
  return {.title = "int8 convolutions, VIPNano V8 against TFLite's double rounding",
          .x_label = "layer",
          .y_label = "values that differ (%)",
          .series = {alone, chain},
          .y_scale = AxisScale::logarithmic};
}

}  // namespace

int story_vipnano_conv(const StoryOptions& options) {
  const auto [chain, one] = read_networks(options.data);
  const ValueOnBoth value = one_value(one);
  const std::vector<LayerDifference> layers = growth(chain);
  StoryFigures figures{.texts = {{"index", std::to_string(value.value.index)},
                                 {"on the CPU", std::to_string(value.value.a)},
                                 {"on the device", std::to_string(value.value.b)},
                                 {"accumulator", std::to_string(value.accumulator)}},
                       .tables = {{"stages on the CPU", rows_of(value.a)}, {"stages on the device", rows_of(value.b)}}};
  for (const auto& [host, npu, found] : pairs(one))
    figures.tables["pairs"].push_back({host, npu, std::to_string(found.differing.size()), std::to_string(found.values), summary(found)});
  for (const LayerDifference& layer : layers)
    figures.tables["growth"].push_back({layer.name.substr(4), percent(layer.same_input->share()), percent(layer.accumulated.share()),
                                        std::to_string(*layer.accumulated.largest_lsb) + " LSB"});
  for (const ScaleFigures& at : scales(one))
    figures.tables["scales"].push_back({fixed(at.output_scale, 4), fixed(at.effective_scale, 6), std::to_string(at.exponent),
                                        percent(static_cast<double>(at.differing) / static_cast<double>(at.values)),
                                        percent(std::ldexp(1.0, at.exponent - 1))});
  for (const auto& [on_cpu, found] : fallbacks(chain))
    figures.tables["fallbacks"].push_back({on_cpu, percent(found.share()), std::to_string(found.largest_lsb.value_or(0)) + " LSB"});
  return tell(options, "vipnano-conv", figures, plot_of(layers));
}

}  // namespace lastbit::tool
