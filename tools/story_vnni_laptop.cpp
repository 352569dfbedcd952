// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// An int8 network that is right on a server with VNNI and wrong on a laptop without: products added two by two in 16 bits.
#include <algorithm>
#include <cmath>
#include <random>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/dequantize.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/pair_proof.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/quantizer.hpp"
#include "story.hpp"

namespace lastbit::tool {
namespace {

/// The same engine on processors with VNNI and without.
struct Machines {
  SpecSheet server = find_backend("pytorch_x86"), laptop = find_backend("pytorch_x86_avx2");
};

using Samples = std::vector<std::vector<Tensor>>;

/// Images of the real values 0 … 1, with the answers.
struct DenseDigits {
  Model network;
  Samples calibration;  ///< the first 240, on which the network was trained
  Tensor test;          ///< the others
  std::vector<std::int64_t> labels;
};

DenseDigits read_dense_digits(const std::filesystem::path& data) {
  constexpr std::size_t trained = 240;
  const Digits digits = read_digits(data / "digits");
  DenseDigits dense{read_model(data / "vnni-laptop" / "model.json"), {}, {}, {digits.labels.begin() + trained, digits.labels.end()}};
  const Tensor real = dequantized(digits.images, digits.model.tensor(digits.model.inputs[0]).quantization);
  const auto values = real.values<float>();
  constexpr std::size_t pixels = 64;
  for (std::size_t i = 0; i < trained; ++i)
    dense.calibration.push_back(
        {Tensor::from<float>({1, pixels}, std::vector(values.begin() + static_cast<std::ptrdiff_t>(i * pixels),
                                                      values.begin() + static_cast<std::ptrdiff_t>((i + 1) * pixels)))});
  dense.test = Tensor::from<float>({std::ssize(dense.labels), 1, pixels}, std::vector(values.begin() + trained * pixels, values.end()));
  return dense;
}

Tensor brighter(const Tensor& images, float factor) {
  Tensor result = images;
  for (float& value : result.values<float>()) value *= factor;
  return result;
}

Model quantised(const Model& network, const Samples& calibration, const char* reduce_range) {
  return quantize(network, find_backend("pytorch_x86"), calibration, {{"reduce_range", reduce_range}}).model;
}

/// Weights of 7 bits, as ONNX Runtime's reduce_range makes them: half the code, twice the scale.
Model with_narrow_weights(Model model) {
  for (ModelTensor& tensor : model.tensors) {
    if (tensor.type != ElementType::int8 || !tensor.constant) continue;
    for (std::int8_t& code : tensor.constant.edit().values<std::int8_t>())
      code = static_cast<std::int8_t>(round_to_integer(code / 2.0, Rounding::half_even));
    for (double& scale : tensor.quantization.scales) scale *= 2;
  }
  for (const Operation& operation : model.operations) {
    ModelTensor& bias = model.tensors[static_cast<std::size_t>(operation.inputs.at(2))];
    for (double& scale : bias.quantization.scales) scale *= 2;
    for (std::int32_t& code : bias.constant.edit().values<std::int32_t>())
      code = static_cast<std::int32_t>(round_to_integer(code / 2.0, Rounding::half_even));
  }
  return model;
}

std::string signed_lsb(std::int64_t largest) { return (largest > 0 ? "+" : "") + std::to_string(largest) + " LSB"; }

std::int64_t largest_of(const LayerAttribution& layer) {
  std::int64_t largest = 0;
  for (const AttributedValue& value : layer.differing)
    if (std::abs(value.b - value.a) > std::abs(largest)) largest = value.b - value.a;
  return largest;
}

/// One convolution as a unit test has it: weights from a normal distribution, data evenly spread.
void add_unit_test(StoryFigures& figures, const Machines& machines) {
  const Shape image{1, 8, 8, 16}, filters{16, 3, 3, 16};
  std::mt19937_64 random(1);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto normal = [&] {  // nearly: the sum of twelve
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  };
  Tensor weights(ElementType::float32, filters), bias(ElementType::float32, {16});
  for (float& value : weights.values<float>()) value = static_cast<float>(normal());
  ModelBuilder builder("one convolution");
  const auto x = builder.input({"x", ElementType::float32, image});
  const auto y = builder.operation(OperationKind::conv2d, {x, builder.constant("weights", weights), builder.constant("bias", bias)},
                                   {"y", ElementType::float32, {1, 6, 6, 16}});
  const Model layer = builder.finished({y});
  Tensor data(ElementType::float32, {10, 1, 8, 8, 16});
  for (float& value : data.values<float>()) value = static_cast<float>(uniform());
  Samples calibration;
  for (Tensor& sample : samples_of(data, image, 10)) calibration.push_back({std::move(sample)});
  for (const auto& [configuration, reduce_range] : {std::pair{"onednn", "no"}, {"x86", "yes"}}) {
    const Model model = quantised(layer, calibration, reduce_range);
    const LayerAttribution found = explain_network(model, std::vector{data}, machines.server, machines.laptop).layers.at(0);
    figures.tables["unit test"].push_back(row(configuration, std::string(reduce_range) == "no" ? "8" : "7", found.differing.size(),
                                              found.values, found.differing.empty() ? "none" : signed_lsb(largest_of(found)),
                                              summary(found)));
  }
}

/// The network's layers, by proof and on the test images.
void add_layers(StoryFigures& figures, const Machines& machines, const DenseDigits& digits, const Model& model) {
  const std::vector<PairProof> proofs = prove_pairs(model);
  const ExplainReport report = explain_network(model, std::vector{digits.test}, machines.server, machines.laptop);
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    const PairProof& proof = proofs[i];
    const LayerAttribution& layer = report.layers.at(i);
    figures.tables["layers"].push_back(row(proof.name, std::to_string(proof.leaving) + " of " + std::to_string(proof.channels),
                                           std::to_string(proof.first) + ", " + std::to_string(proof.second), proof.lowest, proof.highest,
                                           std::to_string(layer.differing.size()) + " of " + std::to_string(layer.values),
                                           signed_lsb(largest_of(layer))));
  }
}

/// The value that moves furthest, stage by stage.
void add_value(StoryFigures& figures, const Machines& machines, const DenseDigits& digits, const Model& model) {
  const Model layer = extract_operation(model, 0);
  const std::vector inputs{run_named(model, machines.server, std::vector{digits.test}).find(model.inputs[0])->values};
  const LayerAttribution found = explain(layer, inputs, machines.server, machines.laptop);
  const auto& value = *std::ranges::max_element(found.differing, {}, [](const AttributedValue& one) { return std::abs(one.b - one.a); });
  const SideBySide both = side_by_side(layer, inputs, value.index, machines.server, machines.laptop).value();
  figures.texts["index"] = std::to_string(value.index);
  figures.texts["accumulator on the server"] = std::to_string(both.a.accumulator);
  figures.texts["accumulator on the laptop"] = std::to_string(both.b.accumulator);
  figures.texts["on the server"] = std::to_string(value.a);
  figures.texts["on the laptop"] = std::to_string(value.b);
}

/// Outputs of all layers that differ, where each side runs on its own history.
double differing(const Model& model, const Machines& machines, const Tensor& images) {
  std::int64_t values = 0, differ = 0;
  for (const LayerDifference& layer : compare_backends(model, machines.server, machines.laptop, std::vector{images}).layers) {
    if (!layer.number) continue;
    values += layer.accumulated.values;
    differ += layer.accumulated.differing;
  }
  return static_cast<double>(differ) / static_cast<double>(values);
}

double right(const Model& model, const SpecSheet& sheet, const DenseDigits& digits) {
  const NamedTrace trace = run_named(model, sheet, std::vector{digits.test});
  return share_equal(top_positions(trace.find(model.outputs[0])->values, 10), digits.labels);
}

std::string proven(const Model& model, const Machines& machines, const DenseDigits& digits) {
  if (std::ranges::all_of(prove_pairs(model), [](const PairProof& layer) { return layer.verdict == PairVerdict::same; }))
    return "every input";
  const ProveReport report = prove(model, machines.laptop, std::vector{digits.test}, {.range = InputRange::data});
  return std::ranges::all_of(report.layers, &LayerProof::partial_sums_fit) ? "these images" : "no";
}

/// What each way of quantising costs, and what it is proven for.
void add_remedies(StoryFigures& figures, const Machines& machines, const DenseDigits& digits, const Model& whole,
                  const Model& narrow_weights) {
  const Model narrow_data = quantised(digits.network, digits.calibration, "yes");
  const Tensor bright = brighter(digits.test, 2);
  for (const auto& [name, model] : {std::pair{"data and weights of 8 bits (onednn)", &whole},
                                    {"data of 7 bits (x86)", &narrow_data},
                                    {"weights of 7 bits", &narrow_weights}})
    figures.tables["remedies"].push_back(row(name, proven(*model, machines, digits), percent(differing(*model, machines, digits.test)),
                                             percent(differing(*model, machines, bright)), percent(right(*model, machines.server, digits)),
                                             percent(right(*model, machines.laptop, digits))));
}

/// The share of the hidden layer that differs, by the largest code of the images.
void add_plot(StoryFigures& figures, const Machines& machines, const DenseDigits& digits, const Model& whole, const Model& narrow_weights) {
  figures.plot.series = {{.title = "weights of 8 bits", .style = SeriesStyle::lines_and_points},
                         {.title = "weights of 7 bits", .style = SeriesStyle::lines_and_points}};
  for (int code = 95; code <= 255; code += 10) {
    const Tensor images = brighter(digits.test, static_cast<float>(code) / 255);
    for (std::size_t i = 0; i < 2; ++i) {
      const CompareReport report = compare_backends(i == 0 ? whole : narrow_weights, machines.server, machines.laptop, std::vector{images});
      const auto hidden = std::ranges::find(report.layers, "hidden", &LayerDifference::name);
      figures.plot.series[i].x.push_back(code);
      figures.plot.series[i].y.push_back(100 * hidden->accumulated.share());
    }
  }
}

}  // namespace

StoryFigures vnni_laptop_figures(const std::filesystem::path& data) {
  const Machines machines;
  const DenseDigits digits = read_dense_digits(data);
  StoryFigures figures;
  add_unit_test(figures, machines);
  const Model whole = quantised(digits.network, digits.calibration, "no");
  add_layers(figures, machines, digits, whole);
  add_value(figures, machines, digits, whole);
  const Model narrow_weights = with_narrow_weights(whole);
  add_remedies(figures, machines, digits, whole, narrow_weights);
  add_plot(figures, machines, digits, whole, narrow_weights);
  return figures;
}

}  // namespace lastbit::tool
