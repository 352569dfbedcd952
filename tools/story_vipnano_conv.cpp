// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A convolution that differs by one from the CPU, alone and in a chain of twenty.
#include <cmath>
#include <random>

#include "lastbit/advise.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/io/model_file.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace {

/// The pair that is looked at closely: a CPU that rounds twice, and the device.
struct Sides {
  SpecSheet cpu = find_backend("tflite_double"), device = find_backend("vipnano_v8");
};

/// So many images, each of the shape given.
Tensor images(std::int64_t count) {
  std::mt19937 random(1);
  Tensor tensor(ElementType::int8, {count, 1, 16, 16, 8});
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

std::string lsb(std::optional<std::int64_t> largest) { return std::to_string(largest.value_or(0)) + " LSB"; }

/// One convolution on every CPU arithmetic and both devices, and its first differing value, stage by stage.
void add_one(StoryFigures& figures, const Sides& sides, const Model& one) {
  const std::vector<Tensor> inputs{images(10)};
  for (const std::string npu : {"vipnano_v8", "vipnano_v7"}) {
    for (const std::string host : {"tflite_double", "tflite_single", "xnnpack", "onnxruntime"}) {
      const LayerAttribution found = explain(one, inputs, find_backend(host), find_backend(npu));
      figures.tables["pairs"].push_back(row(host, npu, found.differing.size(), found.values, summary(found)));
    }
  }
  const AttributedValue first = explain(one, inputs, sides.cpu, sides.device).differing.front();
  const SideBySide both = side_by_side(one, inputs, first.index, sides.cpu, sides.device).value();
  figures.texts = {{"index", std::to_string(first.index)},
                   {"on the CPU", std::to_string(first.a)},
                   {"on the device", std::to_string(first.b)},
                   {"accumulator", std::to_string(both.a.accumulator)}};
  for (const auto& [table, trace] : {std::pair{"stages on the CPU", &both.a}, {"stages on the device", &both.b}})
    for (const StageStep& step : trace->steps)
      figures.tables[table].push_back(row(step.stage, step.value, fixed(step.real, 5), step.tie ? "a tie" : ""));
}

/// The layers of the chain, alone and in the chain.
void add_growth(StoryFigures& figures, const Sides& sides, const Model& chain) {
  Series alone{.title = "each layer alone", .style = SeriesStyle::lines_and_points};
  Series in_chain{.title = "in the chain", .style = SeriesStyle::lines_and_points};
  for (const LayerDifference& layer : compare_backends(chain, sides.cpu, sides.device, std::vector{images(10)}).layers) {
    if (!layer.same_input) continue;  // the image
    const double own = layer.same_input->share(), all = layer.accumulated.share();
    figures.tables["growth"].push_back(row(layer.name.substr(4), percent(own), percent(all), lsb(layer.accumulated.largest_lsb)));
    for (Series* series : {&alone, &in_chain}) series->x.push_back(static_cast<double>(series->x.size() + 1));
    alone.y.push_back(100 * own);
    in_chain.y.push_back(100 * all);
  }
  figures.plot.series = {alone, in_chain};
  figures.plot.y_scale = AxisScale::logarithmic;
}

/// The share that differs in one convolution, by the scale of its output; effective scales in [2^(exponent-1), 2^exponent).
void add_scales(StoryFigures& figures, const Sides& sides, const Model& one) {
  const std::vector<Tensor> samples{images(100)};
  const auto scale = [&](std::int32_t tensor) { return one.tensor(tensor).quantization.scale(); };
  for (const double factor : {0.4, 0.8, 0.84, 1.0, 1.6, 1.68, 2.0, 3.2, 3.4}) {
    const CompareReport report = compare_backends(with_output_scale(one, 0, factor), sides.cpu, sides.device, samples);
    const double output_scale = scale(2) * factor, real = scale(0) * scale(1) / output_scale;
    const int exponent = std::ilogb(real) + 1;
    figures.tables["scales"].push_back(row(fixed(output_scale, 4), fixed(real, 6), exponent,
                                           percent(report.layers.back().accumulated.share()), percent(std::ldexp(1.0, exponent - 1))));
  }
}

/// What differs in the end from an all-CPU run, where some layers are computed on the CPU.
void add_fallbacks(StoryFigures& figures, const Sides& sides, const Model& chain) {
  const struct {
    std::string name;
    std::size_t first, end, step = 1;
  } choices[]{{"none", 0, 0},           {"the last", 19, 20},     {"the first", 0, 1},        {"every other", 1, 20, 2},
              {"the last ten", 10, 20}, {"the first ten", 0, 10}, {"all but the last", 0, 19}};
  const auto mixed = [&](const OperationSet& on_cpu) {
    return *run_mixed(chain, sides.cpu.backend, sides.device.backend, on_cpu, std::vector{images(1)}).tensors.back();
  };
  const Tensor expected = mixed(OperationSet(20, true));
  for (const auto& [name, first, end, step] : choices) {
    OperationSet on_cpu(20);
    for (std::size_t layer = first; layer < end; layer += step) on_cpu[layer] = true;
    const TensorDifference found = difference(expected, {}, mixed(on_cpu), {});
    figures.tables["fallbacks"].push_back(row(name, percent(found.share()), lsb(found.largest_lsb)));
  }
}

}  // namespace

StoryFigures vipnano_conv_figures(const std::filesystem::path& data) {
  const Model chain = read_model(data / "vipnano-conv" / "model.json"), one = extract_operation(chain, 0);
  const Sides sides;
  StoryFigures figures;
  add_one(figures, sides, one);
  add_growth(figures, sides, chain);
  add_scales(figures, sides, one);
  add_fallbacks(figures, sides, chain);
  return figures;
}

}  // namespace lastbit::tool
