// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pools, means and what else reduces axes. A tap in the padding is no value: it is neither a maximum nor counted in an average.
#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "engine/float/real.hpp"
#include "engine/geometry.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

/// The part of a window that lies inside the image, along one axis.
struct Taps {
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

Taps taps_inside(std::int64_t first, std::int64_t filter, std::int64_t size) {
  return {std::max<std::int64_t>(first, 0), std::min(first + filter, size)};
}

/// Reduces every window, channel by channel, and calls finish(sums of one pixel, taps inside, output pixel).
template <class Combine, class Finish>
void each_window(const ConvShape& shape, const float* input, double start, Combine&& combine, Finish&& finish) {
  std::vector<double> values(static_cast<std::size_t>(shape.in_channels));
  std::int64_t out = 0;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t out_y = 0; out_y < shape.out_height; ++out_y) {
      const Taps rows = taps_inside(out_y * shape.stride_height - shape.pad_top, shape.kernel_height, shape.in_height);
      for (std::int64_t out_x = 0; out_x < shape.out_width; ++out_x, out += shape.in_channels) {
        const Taps columns = taps_inside(out_x * shape.stride_width - shape.pad_left, shape.kernel_width, shape.in_width);
        std::fill(values.begin(), values.end(), start);
        for (std::int64_t y = rows.begin; y < rows.end; ++y) {
          const float* pixel = input + ((n * shape.in_height + y) * shape.in_width + columns.begin) * shape.in_channels;
          for (std::int64_t x = columns.begin; x < columns.end; ++x, pixel += shape.in_channels) {
            for (std::size_t c = 0; c < values.size(); ++c) values[c] = combine(values[c], double{pixel[c]});
          }
        }
        finish(values, rows.count() * columns.count(), out);
      }
    }
  }
}

/// What combine makes of `start` and the values of each output, in the order of memory.
template <class Combine>
std::vector<double> reduced(const StridedLoop<2>& loop, const Execution& run, double start, const Combine& combine) {
  const float* const input = run.inputs[0]->values<float>().data();
  std::vector<double> values(static_cast<std::size_t>(run.outputs[0].element_count()), start);
  const auto& step = loop.row_strides();
  loop.each_row([&](const std::array<std::int64_t, 2>& at) {
    for (std::int64_t i = 0; i < loop.row_length(); ++i) {
      double& value = values[static_cast<std::size_t>(at[1] + i * step[1])];
      value = combine(value, double{input[at[0] + i * step[0]]});
    }
  });
  return values;
}

}  // namespace

Executor prepare_real_pool(const Model& model, const Operation& operation) {
  const ConvShape shape = pool_shape_of(model, operation);
  const RealBounds bounds = real_bounds(std::get<Pool2dAttributes>(operation.attributes).bounds);
  const bool average = operation.kind == OperationKind::average_pool2d;
  const bool sums = average || operation.kind == OperationKind::sum_pool2d;
  return [=](const Execution& run) {
    const float* const input = run.inputs[0]->values<float>().data();
    float* const output = run.outputs[0].values<float>().data();
    const auto finish = [&](const std::vector<double>& values, std::int64_t count, std::int64_t out) {
      const double divisor = average ? static_cast<double>(count) : 1.0;
      for (std::size_t c = 0; c < values.size(); ++c)
        output[static_cast<std::size_t>(out) + c] = bounds(static_cast<float>(values[c] / divisor));
    };
    if (sums) each_window(shape, input, 0, std::plus<>(), finish);
    else each_window(shape, input, -std::numeric_limits<double>::infinity(), larger, finish);
  };
}

/// mean, global_average_pool; reduce_sum, which divides by nothing.
Executor prepare_real_mean(const Model& model, const Operation& operation) {
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  const auto* attributes = std::get_if<MeanAttributes>(&operation.attributes);  // null: global_average_pool
  const std::vector<std::int64_t> axes = attributes != nullptr ? attributes->axes : std::vector<std::int64_t>{1, 2};
  const RealBounds bounds = attributes != nullptr ? RealBounds{} : real_bounds(std::get<Pool2dAttributes>(operation.attributes).bounds);
  const StridedLoop<2> loop(in.sizes(), {row_major(in), reduced_layout(in, axes)});
  const bool divides = operation.kind != OperationKind::reduce_sum;
  return [loop, bounds, divides](const Execution& run) {
    const std::span<float> out = run.outputs[0].values<float>();
    const std::vector<double> sums = reduced(loop, run, 0, std::plus<>());
    const double count = divides ? static_cast<double>(run.inputs[0]->element_count()) / static_cast<double>(out.size()) : 1;
    std::transform(sums.begin(), sums.end(), out.begin(), [&](double sum) { return bounds(static_cast<float>(sum / count)); });
  };
}

Executor prepare_real_reduce_extreme(const Model& model, const Operation& operation) {
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  const StridedLoop<2> loop(in.sizes(), {row_major(in), reduced_layout(in, std::get<MeanAttributes>(operation.attributes).axes)});
  const bool largest = operation.kind == OperationKind::reduce_max;
  return [loop, largest](const Execution& run) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto values = largest ? reduced(loop, run, -infinity, larger) : reduced(loop, run, infinity, smaller);
    std::transform(values.begin(), values.end(), run.outputs[0].values<float>().begin(), [](double v) { return static_cast<float>(v); });
  };
}

}  // namespace lastbit
