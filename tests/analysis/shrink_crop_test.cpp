// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every cut of a layer computes the value that it was cut to, and delta debugging finds what it looks for.
#include "analysis/shrink/crop.hpp"

#include <map>
#include <random>
#include <set>

#include "analysis/shrink/ddmin.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Tensor random_values(const ModelTensor& tensor, std::mt19937& random) {
  Tensor values(tensor.type, tensor.shape);
  visit_element_type(tensor.type, [&]<class T>() {
    for (T& value : values.values<T>()) {
      const auto drawn = static_cast<int>(random() % 255) - 127;
      if constexpr (std::is_same_v<T, Float16>) value = {};
      else if constexpr (std::is_same_v<T, bool>) value = drawn > 0;
      else if constexpr (std::is_floating_point_v<T>) value = static_cast<T>(drawn) / 32;
      else value = static_cast<T>(drawn);
    }
  });
  return values;
}

/// The value of the layer's index, as bytes.
std::vector<std::byte> value_of(const LayerCase& layer, const Backend& backend) {
  validate(layer.layer, "cut");
  const Trace trace = run(layer.layer, backend, layer.inputs);
  const Tensor& out = *trace.tensors[static_cast<std::size_t>(layer.output_tensor())];
  const std::size_t size = size_of(out.type());
  const auto bytes = out.bytes().subspan(static_cast<std::size_t>(layer.index) * size, size);
  return {bytes.begin(), bytes.end()};
}

/// Compares every cut for every value of the first output; returns how many values there were.
std::int64_t check_cuts(const Model& model, const Backend& backend, std::mt19937& random) {
  LayerCase whole{model, {}, 0};
  for (const std::int32_t input : model.inputs) whole.inputs.push_back(random_values(model.tensor(input), random));
  const std::int64_t values = whole.output_shape().element_count();
  for (whole.index = 0; whole.index < values; ++whole.index) {
    const auto expected = value_of(whole, backend);
    const std::vector<LayerCase> cuts = crops(whole);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      INFO("value " << whole.index << ", cut " << i << " of " << cuts.size());
      CHECK(value_of(cuts[i], backend) == expected);
      CHECK(size_of(cuts[i]).elements <= size_of(whole).elements * std::max<std::int64_t>(1, values));
    }
  }
  return values;
}

struct Window {
  const char* name;
  OperationKind kind;
  Shape in, weights, out;
  Conv2dAttributes attributes;
};

Padding2d same() { return {PaddingMode::same}; }

Model windows(const Window& window, std::mt19937& random) {
  Model model;
  model.name = window.name;
  model.tensors = {{"x", ElementType::int8, window.in, {{0.5}, {3}, 0}, {}},
                   {"w", ElementType::int8, window.weights, {}, {}},
                   {"b", ElementType::int32, Shape{window.out[3]}, {}, {}},
                   {"y", ElementType::int8, window.out, {{8.0}, {-2}, 0}, {}}};
  Quantization& scales = model.tensors[1].quantization;
  for (std::int64_t i = 0; i < window.out[3]; ++i) {
    scales.scales.push_back(0.25 + 0.125 * static_cast<double>(i));
    scales.zero_points.push_back(0);
    model.tensors[2].quantization.scales.push_back(scales.scales.back() * 0.5);
    model.tensors[2].quantization.zero_points.push_back(0);
  }
  scales.axis = window.kind == OperationKind::depthwise_conv2d ? 3 : 0;
  for (const std::size_t constant : {1U, 2U}) model.tensors[constant].constant = random_values(model.tensors[constant], random);
  model.operations = {{window.kind, "y", {0, 1, 2}, {3}, window.attributes}};
  model.inputs = {0};
  model.outputs = {3};
  validate(model, window.name);
  return model;
}

}  // namespace

TEST_CASE("shrink: windows of every form, cut to one value") {
  const unsigned seed = 20;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  using enum OperationKind;
  const std::vector<Window> cases{
      {"a border on every side", conv2d, {1, 5, 4, 2}, {3, 3, 3, 2}, {1, 5, 4, 3}, {.padding = same()}},
      {"strides and dilation", conv2d, {2, 7, 6, 3}, {2, 2, 2, 3}, {2, 2, 5, 2}, {.stride = {2, 1}, .dilation = {3, 1}, .padding = {}}},
      {"groups", conv2d, {1, 3, 3, 4}, {4, 2, 2, 2}, {1, 2, 2, 4}, {.padding = {}}},
      {"uneven padding", conv2d, {1, 3, 3, 1}, {1, 3, 3, 1}, {1, 3, 2, 1}, {.padding = {PaddingMode::explicit_sizes, 2, 0, 0, 1}}},
      {"a multiplier of channels", depthwise_conv2d, {1, 4, 3, 2}, {1, 3, 2, 6}, {1, 4, 3, 6}, {.padding = same()}},
      {"backwards", transposed_conv2d, {1, 2, 3, 2}, {3, 3, 3, 2}, {1, 4, 6, 3}, {.stride = {2, 2}, .padding = same()}},
      {"backwards, gaps", transposed_conv2d, {1, 2, 2, 1}, {2, 2, 2, 1}, {1, 5, 5, 2}, {.stride = {3, 3}, .padding = {}}},
  };
  for (const Window& one : cases) {
    INFO(one.name);
    CHECK(check_cuts(windows(one, random), find_backend("tflite_double").backend, random) == one.out.element_count());
  }
}

TEST_CASE("shrink: a layer of every kind, cut to one value") {
  const unsigned seed = 21;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::set<OperationKind> cut_smaller;
  for (const auto& path : seeds("run_fuzz")) {
    const Model model = read_json_model(path);
    if (model.operations.size() != 1 || !model.states.empty()) continue;
    INFO(path.filename().string());
    for (const char* name : {"tflite_double", "gna3_0", "n2d2_fixed_mult32", "ascend310"}) {
      const Backend backend = find_backend(name).backend;
      if (!check(model, backend).empty()) continue;
      check_cuts(model, backend, random);
      LayerCase layer{model, {}, 0};
      for (const std::int32_t input : model.inputs) layer.inputs.push_back(random_values(model.tensor(input), random));
      if (crops(layer).size() > 1) cut_smaller.insert(model.operations[0].kind);
      break;
    }
  }
  CHECK(cut_smaller.size() >= 22);
}

TEST_CASE("shrink: delta debugging finds what is needed and nothing else") {
  const unsigned seed = 22;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t size = 1 + static_cast<std::int64_t>(random() % 40);
    std::set<std::int64_t> needed;
    for (std::size_t i = 0; i <= random() % 5; ++i) needed.insert(static_cast<std::int64_t>(random()) % size);
    int asked = 0;
    const auto holds = [&](const std::vector<std::int64_t>& kept) {
      ++asked;
      REQUIRE(!kept.empty());
      REQUIRE(std::is_sorted(kept.begin(), kept.end()));
      return std::all_of(needed.begin(), needed.end(), [&](auto one) { return std::binary_search(kept.begin(), kept.end(), one); });
    };
    CHECK(ddmin(counting(size), holds) == std::vector<std::int64_t>(needed.begin(), needed.end()));
    CHECK(asked < 40 * 40 * 2);
  }
}

TEST_CASE("shrink: of a condition that is not monotone, nothing single can be left out") {
  std::mt19937 random(23);
  for (int round = 0; round < 200; ++round) {
    const auto modulus = static_cast<std::int64_t>(2 + random() % 5);
    const auto holds = [&](const std::vector<std::int64_t>& kept) {
      std::int64_t sum = 0;
      for (const std::int64_t one : kept) sum += one * one;
      return sum % modulus == 1;
    };
    std::vector<std::int64_t> all = counting(20);
    if (!holds(all)) continue;
    const auto kept = ddmin(all, holds);
    CHECK(holds(kept));
    for (std::size_t i = 0; i < kept.size() && kept.size() > 1; ++i) {
      std::vector<std::int64_t> fewer = kept;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_FALSE(holds(fewer));
    }
  }
}
