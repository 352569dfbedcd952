// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pools and means. A tap in the padding is no value: it is neither a maximum nor counted in an average.
#include <algorithm>
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

/// NaN wins, so that it is seen.
double larger(double a, double b) { return b > a || b != b ? b : a; }

/// The input's layout in the output: reduced axes have stride 0.
StridedLayout reduced_layout(const Shape& in, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> kept(in.sizes().begin(), in.sizes().end());
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  return broadcast_layout(Shape(kept), in);
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

Executor prepare_real_mean(const Model& model, const Operation& operation) {
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  const auto* attributes = std::get_if<MeanAttributes>(&operation.attributes);  // null: global_average_pool
  const std::vector<std::int64_t> axes = attributes != nullptr ? attributes->axes : std::vector<std::int64_t>{1, 2};
  const RealBounds bounds = attributes != nullptr ? RealBounds{} : real_bounds(std::get<Pool2dAttributes>(operation.attributes).bounds);
  const StridedLoop<2> loop(in.sizes(), {row_major(in), reduced_layout(in, axes)});
  return [loop, bounds](const Execution& run) {
    const float* const input = run.inputs[0]->values<float>().data();
    const std::span<float> out = run.outputs[0].values<float>();
    std::vector<double> sums(out.size(), 0.0);
    const auto& step = loop.row_strides();
    loop.each_row([&](const std::array<std::int64_t, 2>& at) {
      for (std::int64_t i = 0; i < loop.row_length(); ++i)
        sums[static_cast<std::size_t>(at[1] + i * step[1])] += double{input[at[0] + i * step[0]]};
    });
    const double count = static_cast<double>(run.inputs[0]->element_count()) / static_cast<double>(out.size());
    std::transform(sums.begin(), sums.end(), out.begin(), [&](double sum) { return bounds(static_cast<float>(sum / count)); });
  };
}

}  // namespace lastbit
