// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// conv2d and transposed_conv2d as products of matrices; depthwise_conv2d directly.
#include <algorithm>
#include <vector>

#include "engine/float/linear.hpp"
#include "engine/float/matrix.hpp"
#include "engine/geometry.hpp"

namespace lastbit {
namespace {

struct Pixel {
  std::int64_t n, y, x;
};

Pixel pixel_at(std::int64_t index, std::int64_t height, std::int64_t width) {
  return {index / (height * width), index / width % height, index % width};
}

/// Calls visit(tap, first value of the input pixel or nullptr in the padding) for every tap of the window of one output pixel.
template <class Visit>
void each_window_pixel(const ConvShape& shape, const Pixel& out, const float* input, Visit&& visit) {
  std::int64_t tap = 0;
  for (std::int64_t ky = 0; ky < shape.kernel_height; ++ky) {
    const std::int64_t y = out.y * shape.stride_height + ky * shape.dilation_height - shape.pad_top;
    for (std::int64_t kx = 0; kx < shape.kernel_width; ++kx, ++tap) {
      const std::int64_t x = out.x * shape.stride_width + kx * shape.dilation_width - shape.pad_left;
      const bool inside = y >= 0 && y < shape.in_height && x >= 0 && x < shape.in_width;
      visit(tap, inside ? input + ((out.n * shape.in_height + y) * shape.in_width + x) * shape.in_channels : nullptr);
    }
  }
}

/// Rows of a matrix that stay in the nearest caches.
std::int64_t rows_per_block(std::int64_t row_length, std::int64_t rows) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 16) / row_length, 1, rows);
}

bool is_pointwise(const ConvShape& shape) {
  return shape.kernel_height == 1 && shape.kernel_width == 1 && shape.stride_height == 1 && shape.stride_width == 1 &&
         shape.in_height == shape.out_height && shape.in_width == shape.out_width && shape.pad_top == 0 && shape.pad_left == 0;
}

/// The windows of `count` output pixels as rows [ky, kx, i] of one group's channels.
void gather(const ConvShape& shape, const float* input, std::int64_t first, std::int64_t count, float* rows) {
  const std::int64_t channels = shape.group_channels();
  for (std::int64_t p = first; p < first + count; ++p, rows += shape.taps()) {
    each_window_pixel(shape, pixel_at(p, shape.out_height, shape.out_width), input, [&](std::int64_t tap, const float* pixel) {
      if (pixel != nullptr) std::copy_n(pixel, channels, rows + tap * channels);
      else std::fill_n(rows + tap * channels, channels, 0.0F);
    });
  }
}

void convolve_group(const ConvShape& shape, const float* input, const float* weights, float* out) {
  const std::int64_t pixels = shape.batch * shape.out_height * shape.out_width;
  const std::int64_t columns = shape.out_channels / shape.groups;
  const MatrixView right{weights, shape.taps(), MatrixOrder::column_major};
  if (is_pointwise(shape)) {
    multiply_matrices({pixels, shape.taps(), columns}, {input, shape.in_channels}, right, out, shape.out_channels);
    return;
  }
  const std::int64_t block = rows_per_block(shape.taps(), pixels);
  std::vector<float> rows(static_cast<std::size_t>(block * shape.taps()));
  for (std::int64_t first = 0; first < pixels; first += block) {
    const std::int64_t count = std::min(block, pixels - first);
    gather(shape, input, first, count, rows.data());
    multiply_matrices({count, shape.taps(), columns}, {rows.data(), shape.taps()}, right, out + first * shape.out_channels,
                      shape.out_channels);
  }
}

void convolve(const ConvShape& shape, const float* input, const float* weights, float* out) {
  const std::int64_t columns = shape.out_channels / shape.groups;
  for (std::int64_t g = 0; g < shape.groups; ++g) {
    convolve_group(shape, input + g * shape.group_channels(), weights + g * columns * shape.taps(), out + g * columns);
  }
}

void convolve_depthwise(const ConvShape& shape, const float* input, const float* weights, float* out) {
  const std::int64_t channels = shape.in_channels;
  const std::int64_t multiplier = shape.out_channels / channels;
  std::vector<double> sums(static_cast<std::size_t>(shape.out_channels));
  for (std::int64_t p = 0; p < shape.batch * shape.out_height * shape.out_width; ++p, out += shape.out_channels) {
    std::fill(sums.begin(), sums.end(), 0.0);
    each_window_pixel(shape, pixel_at(p, shape.out_height, shape.out_width), input, [&](std::int64_t tap, const float* pixel) {
      if (pixel == nullptr) return;
      const float* const w = weights + tap * shape.out_channels;
      double* const sum = sums.data();
      if (multiplier == 1) {
        for (std::int64_t c = 0; c < channels; ++c) sum[c] += double{pixel[c]} * w[c];
        return;
      }
      for (std::int64_t o = 0; o < shape.out_channels; ++o) sum[o] += double{pixel[o / multiplier]} * w[o];
    });
    std::transform(sums.begin(), sums.end(), out, [](double sum) { return static_cast<float>(sum); });
  }
}

/// What one input pixel adds to the output; `terms` is laid out [o, ky, kx].
void scatter(const ConvShape& shape, const Pixel& in, const float* terms, double* sums) {
  const std::int64_t taps = shape.kernel_height * shape.kernel_width;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::int64_t y = in.y * shape.stride_height + tap / shape.kernel_width * shape.dilation_height - shape.pad_top;
    const std::int64_t x = in.x * shape.stride_width + tap % shape.kernel_width * shape.dilation_width - shape.pad_left;
    if (y < 0 || y >= shape.out_height || x < 0 || x >= shape.out_width) continue;
    double* const pixel = sums + ((in.n * shape.out_height + y) * shape.out_width + x) * shape.out_channels;
    for (std::int64_t o = 0; o < shape.out_channels; ++o) pixel[o] += double{terms[o * taps + tap]};
  }
}

void convolve_transposed(const ConvShape& shape, const float* input, const float* weights, std::span<float> out) {
  const std::int64_t pixels = shape.batch * shape.in_height * shape.in_width;
  const std::int64_t columns = shape.out_channels * shape.kernel_height * shape.kernel_width;
  const std::int64_t block = rows_per_block(columns, pixels);
  std::vector<float> terms(static_cast<std::size_t>(block * columns));
  std::vector<double> sums(out.size(), 0.0);
  for (std::int64_t first = 0; first < pixels; first += block) {
    const std::int64_t count = std::min(block, pixels - first);
    multiply_matrices({count, shape.in_channels, columns}, {input + first * shape.in_channels, shape.in_channels},
                      {weights, shape.in_channels, MatrixOrder::column_major}, terms.data(), columns);
    for (std::int64_t p = 0; p < count; ++p) {
      scatter(shape, pixel_at(first + p, shape.in_height, shape.in_width), terms.data() + p * columns, sums.data());
    }
  }
  std::transform(sums.begin(), sums.end(), out.begin(), [](double sum) { return static_cast<float>(sum); });
}

RealBounds bounds_of(const Operation& operation) { return real_bounds(std::get<Conv2dAttributes>(operation.attributes).bounds); }

}  // namespace

Executor prepare_real_convolution(const Model& model, const Operation& operation) {
  const auto sum = operation.kind == OperationKind::depthwise_conv2d ? convolve_depthwise : convolve;
  return [sum, shape = conv_shape_of(model, operation), bounds = bounds_of(operation)](const Execution& run) {
    const std::span<float> out = run.outputs[0].values<float>();
    sum(shape, run.inputs[0]->values<float>().data(), run.inputs[1]->values<float>().data(), out.data());
    add_bias_and_bound(out, static_cast<std::size_t>(shape.out_channels), bias_of(run), bounds);
  };
}

Executor prepare_real_transposed(const Model& model, const Operation& operation) {
  return [shape = conv_shape_of(model, operation), bounds = bounds_of(operation)](const Execution& run) {
    const std::span<float> out = run.outputs[0].values<float>();
    convolve_transposed(shape, run.inputs[0]->values<float>().data(), run.inputs[1]->values<float>().data(), out);
    add_bias_and_bound(out, static_cast<std::size_t>(shape.out_channels), bias_of(run), bounds);
  };
}

}  // namespace lastbit
