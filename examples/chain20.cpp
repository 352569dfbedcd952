// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a difference of one in a single convolution grows in a chain of twenty: `chain20 [FILE.json]` plots the share of values that differ on
// a VIPNano from the CPU, layer by layer, and writes the report.
#include <cstdio>
#include <fstream>
#include <random>

#include "lastbit/compare.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"

using namespace lastbit;

Tensor random_int8(const Shape& shape, std::mt19937& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

/// Weight scales near 0.0016 keep the spread of the values about the same from layer to layer.
Model chain(const Shape& image, const Shape& filter, int layers) {
  std::mt19937 random(20);
  ModelBuilder builder("twenty convolutions");
  std::int32_t values = builder.input({"image", ElementType::int8, image, {{0.05}, {3}}});
  for (std::int32_t i = 1; i <= layers; ++i) {
    const std::string name = "conv" + std::to_string(i);
    const double scale = 0.0016 + 1e-5 * static_cast<double>(random() % 16);
    const std::int32_t weights = builder.constant(name + "/weights", random_int8(filter, random), {{scale}, {0}});
    const std::int64_t zero_point = static_cast<std::int64_t>(random() % 9) - 4;
    values = builder.operation(OperationKind::conv2d, {values, weights}, {name, ElementType::int8, image, {{0.05}, {zero_point}}},
                               Conv2dAttributes{.padding = {.mode = PaddingMode::same}});
  }
  return builder.finished({values});
}

int main(int count, char** arguments) {
  std::mt19937 random(1);
  const std::vector<Tensor> images{random_int8({10, 1, 16, 16, 8}, random)};
  const Model model = chain({1, 16, 16, 8}, {8, 3, 3, 8}, 20);
  const CompareReport report = compare_backends(model, find_backend("tflite_double"), find_backend("vipnano_v8"), images);
  std::puts("layer   alone   in the chain");
  for (const LayerDifference& layer : std::span(report.layers).subspan(1)) {
    const double alone = layer.same_input->share() * 100, all = layer.accumulated.share() * 100;
    std::printf("%-6s %5.2f%%  %5.2f%%, max %+d %s\n", layer.name.c_str(), alone, all, static_cast<int>(*layer.accumulated.largest_lsb),
                std::string(static_cast<std::size_t>(all * 0.6), '#').c_str());
  }
  std::ofstream(count > 1 ? arguments[1] : "chain20.json") << to_json(report);
  return report.equal() ? 1 : 0;
}
