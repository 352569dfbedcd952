// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers that are small enough to be run on every input there is.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "lastbit/model_builder.hpp"

namespace lastbit::test {

inline double scale_between(std::mt19937& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() % 65521) / 65521.0;
}

inline Quantization of_data(std::mt19937& random, double low, double high) {
  return {{static_cast<float>(scale_between(random, low, high))}, {static_cast<std::int64_t>(random() % 61) - 30}};
}

inline std::vector<std::int8_t> every_code() {
  std::vector<std::int8_t> codes(256);
  for (int i = 0; i < 256; ++i) codes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
  return codes;
}

/// One weight of 1 and a bias: its accumulators are the 256 codes, moved. 256 places, so that one run shows every one.
inline Model one_weight(std::mt19937& random) {
  ModelBuilder builder("one weight");
  const Quantization data = of_data(random, 0.01, 0.1);
  const double weight = static_cast<float>(scale_between(random, 0.2, 2));
  const auto in = builder.input({"in", ElementType::int8, Shape{1, 16, 16, 1}, data});
  const auto w = builder.constant<std::int8_t>("w", Shape{1, 1, 1, 1}, {1}, {{weight}, {0}});
  const auto b =
      builder.constant<std::int32_t>("b", Shape{1}, {static_cast<std::int32_t>(random() % 201) - 100}, {{data.scale() * weight}, {0}});
  const auto out =
      builder.operation(OperationKind::conv2d, {in, w, b}, {"out", ElementType::int8, Shape{1, 16, 16, 1}, of_data(random, 0.01, 0.3)});
  return builder.finished({out});
}

inline Model sum_of_two(OperationKind kind, std::mt19937& random) {
  ModelBuilder builder("two");
  const Shape shape{1, 256, 256, 1};
  const auto a = builder.input({"a", ElementType::int8, shape, of_data(random, 0.01, 0.1)});
  const auto b = builder.input({"b", ElementType::int8, shape, of_data(random, 0.01, 0.1)});
  return builder.finished({builder.operation(kind, {a, b}, {"out", ElementType::int8, shape, of_data(random, 0.02, 0.2)})});
}

}  // namespace lastbit::test
