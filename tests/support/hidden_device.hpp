// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer, and what a device of the tests' own choice makes of it.
#pragma once

#include <random>
#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/identify.hpp"

namespace lastbit::test {

inline Tensor random_int8(const Shape& shape, std::mt19937_64& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

/// An 8-bit layer with zero points.
inline Model layer(std::mt19937_64& random, bool per_channel = false) {
  Model model;
  model.name = "layer";
  const auto int8_tensor = [](const char* name, const Shape& shape, double scale, std::int64_t zero_point) {
    return ModelTensor{name, ElementType::int8, shape, {{scale}, {zero_point}, 0}, {}};
  };
  model.tensors = {int8_tensor("x", {1, 8, 8, 4}, 0.0625, -1), int8_tensor("w", {8, 3, 3, 4}, 1.0 / 70, 0),
                   int8_tensor("y", {1, 6, 6, 8}, 0.53, 5)};
  model.tensors[1].constant = random_int8({8, 3, 3, 4}, random);
  if (per_channel) {
    model.tensors[1].quantization = {{}, std::vector<std::int64_t>(8, 0), 0};
    for (int c = 0; c < 8; ++c) model.tensors[1].quantization.scales.push_back(1.0 / (60 + c));
  }
  model.operations = {{OperationKind::conv2d, "conv", {0, 1}, {2}, Conv2dAttributes{}}};
  model.inputs = {0};
  model.outputs = {2};
  validate(model, "test");
  return model;
}

/// What a device makes of a layer: by the emulator, which shares nothing with the search but the rules.
inline IdentifyPair answered(IdentifyPair question, const Backend& device) {
  const Trace trace = run(question.layer, device, question.inputs);
  question.output = *trace.tensors[static_cast<std::size_t>(question.layer.outputs[0])];
  return question;
}

}  // namespace lastbit::test
