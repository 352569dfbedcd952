// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A small int8 network: x [1,12,12,8] -3x3 'same'-> y [1,12,12,16] -1x1-> z [1,12,12,16], random weights, no bias.
#pragma once

#include <random>

#include "lastbit/model.hpp"

namespace lastbit::test {

inline Tensor random_int8(const Shape& shape, std::mt19937& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

inline ModelTensor int8_tensor(const std::string& name, const Shape& shape, double scale, std::int64_t zero_point) {
  return {name, ElementType::int8, shape, {{scale}, {zero_point}, 0}, {}};
}

struct TwoConvolutions {
  /// The effective scale of both is 2^-10 / output_scale; at 0.5 exact results are ties now and then.
  TwoConvolutions(unsigned seed, double output_scale) : random(seed) {
    model.name = "two convolutions";
    model.tensors = {int8_tensor("x", {1, 12, 12, 8}, 0.0625, -1), int8_tensor("w", {16, 3, 3, 8}, 1.0 / 64, 0),
                     int8_tensor("y", {1, 12, 12, 16}, output_scale, 5), int8_tensor("w2", {16, 1, 1, 16}, 1.0 / 256, 0),
                     int8_tensor("z", {1, 12, 12, 16}, output_scale, 0)};
    model.tensors[1].constant = random_int8({16, 3, 3, 8}, random);
    model.tensors[3].constant = random_int8({16, 1, 1, 16}, random);
    Conv2dAttributes same;
    same.padding.mode = PaddingMode::same;
    model.operations = {{OperationKind::conv2d, "first", {0, 1}, {2}, same},
                        {OperationKind::conv2d, "second", {2, 3}, {4}, Conv2dAttributes{}}};
    model.inputs = {0};
    model.outputs = {4};
    validate(model, "test");
    inputs = {random_int8({1, 12, 12, 8}, random)};
  }

  std::mt19937 random;
  Model model;
  std::vector<Tensor> inputs;
};

}  // namespace lastbit::test
