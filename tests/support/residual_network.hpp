// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// An int8 network of nine operations: convolution, 1x1 convolution, their sum, max pool, depthwise convolution, average pool, reshape, fully
// connected layer, softmax.
#pragma once

#include <random>

#include "support/network.hpp"

namespace lastbit::test {

inline Tensor random_codes(const Shape& shape, int largest, std::mt19937& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>())
    value = static_cast<std::int8_t>(static_cast<int>(random() % static_cast<unsigned>(2 * largest + 1)) - largest);
  return tensor;
}

struct ResidualNetwork {
  explicit ResidualNetwork(std::int64_t sample_count, unsigned seed = 1) : random(seed) {
    Network network;
    const auto codes = [&](const char* name, const Shape& shape, double scale, std::int64_t zero_point) {
      return network.tensor(name, ElementType::int8, shape, {{scale}, {zero_point}, 0});
    };
    const auto weights = [&](const char* name, const Shape& shape) {
      return network.constant(name, random_codes(shape, 127, random), {{1.0 / 300}, {0}, 0});
    };
    const std::int32_t x = codes("x", {1, 8, 8, 4}, 0.05, -3), y = codes("y", {1, 8, 8, 8}, 0.061, 4),
                       z = codes("z", {1, 8, 8, 8}, 0.043, -6), sum = codes("sum", {1, 8, 8, 8}, 0.08, 2),
                       peak = codes("peak", {1, 4, 4, 8}, 0.08, 2), deep = codes("deep", {1, 4, 4, 8}, 0.07, 1),
                       mean = codes("mean", {1, 1, 1, 8}, 0.07, 1), flat = codes("flat", {1, 8}, 0.07, 1),
                       score = codes("score", {1, 6}, 0.04, 3), share = codes("share", {1, 6}, 1.0 / 256, -128);
    Conv2dAttributes same;
    same.padding.mode = PaddingMode::same;
    Pool2dAttributes pool;
    pool.filter = pool.stride = {2, 2};
    Pool2dAttributes whole;
    whole.filter = whole.stride = {4, 4};
    network.operation(OperationKind::conv2d, {x, weights("w1", {8, 3, 3, 4})}, {y}, same);
    network.operation(OperationKind::conv2d, {y, weights("w2", {8, 1, 1, 8})}, {z}, Conv2dAttributes{});
    network.operation(OperationKind::add, {y, z}, {sum});
    network.operation(OperationKind::max_pool2d, {sum}, {peak}, pool);
    network.operation(OperationKind::depthwise_conv2d, {peak, weights("w3", {1, 3, 3, 8})}, {deep}, same);
    network.operation(OperationKind::average_pool2d, {deep}, {mean}, whole);
    network.operation(OperationKind::reshape, {mean}, {flat});
    network.operation(OperationKind::fully_connected, {flat, weights("w4", {6, 8})}, {score});
    network.operation(OperationKind::softmax, {score}, {share});
    network.model.inputs = {x};
    model = network.finished({share}, "test");
    inputs = {random_codes({sample_count, 1, 8, 8, 4}, 100, random)};
  }

  std::mt19937 random;
  Model model;
  std::vector<Tensor> inputs;
};

}  // namespace lastbit::test
