// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Averages of float32 values, every step rounded, as ONNX Runtime's core/mlas/lib/pooling.cpp adds them up. Windows: the rows of each column, then the
// columns from left to right, divided by the count of values inside. A whole image: four lanes over the pixels, (l0 + l2) + (l1 + l3), then what
// pixels are left one by one, divided by their count.
#include <algorithm>
#include <array>

#include "engine/float/real.hpp"
#include "engine/float32/prepare.hpp"
#include "engine/geometry.hpp"

namespace lastbit {
namespace {

float sum_of_window(const ConvShape& shape, const float* image, std::int64_t top, std::int64_t left, std::int64_t& count) {
  const std::int64_t first_row = std::max<std::int64_t>(top, 0), last_row = std::min(top + shape.kernel_height, shape.in_height);
  const std::int64_t first = std::max<std::int64_t>(left, 0), last = std::min(left + shape.kernel_width, shape.in_width);
  float sum = 0;
  for (std::int64_t x = first; x < last; ++x) {
    float column = 0;
    for (std::int64_t y = first_row; y < last_row; ++y) column += image[(y * shape.in_width + x) * shape.in_channels];
    sum += column;
  }
  count = (last_row - first_row) * (last - first);
  return sum;
}

float sum_of_image(const ConvShape& shape, const float* image, std::int64_t pixels) {
  constexpr std::int64_t width = 4;
  std::array<float, width> lanes{};
  const std::int64_t whole = pixels / width * width;
  for (std::int64_t i = 0; i < whole; ++i) lanes[static_cast<std::size_t>(i % width)] += image[i * shape.in_channels];
  float sum = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  for (std::int64_t i = whole; i < pixels; ++i) sum += image[i * shape.in_channels];
  return sum;
}

}  // namespace

Executor prepare_ordered_average_pool(const Model& model, const Operation& operation) {
  const ConvShape shape = pool_shape_of(model, operation);
  const bool global = operation.kind == OperationKind::global_average_pool;
  return [=, bounds = real_bounds(std::get<Pool2dAttributes>(operation.attributes).bounds)](const Execution& run) {
    const float* const input = run.inputs[0]->values<float>().data();
    const std::span<float> out = run.outputs[0].values<float>();
    const std::int64_t pixels = shape.in_height * shape.in_width;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i) {
      const std::int64_t channel = i % shape.in_channels, at = i / shape.in_channels;
      const std::int64_t x = at % shape.out_width, y = at / shape.out_width % shape.out_height, n = at / shape.out_width / shape.out_height;
      const float* const image = input + n * pixels * shape.in_channels + channel;
      std::int64_t count = pixels;
      const float sum =
          global ? sum_of_image(shape, image, pixels)
                 : sum_of_window(shape, image, y * shape.stride_height - shape.pad_top, x * shape.stride_width - shape.pad_left, count);
      out[static_cast<std::size_t>(i)] = bounds(sum / static_cast<float>(count));
    }
  };
}

}  // namespace lastbit
