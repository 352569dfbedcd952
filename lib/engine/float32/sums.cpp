// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and products of matrices as one matrix product in blocks: rows are output channels, columns pixels, and the terms run as weights of
// ONNX lie in memory: channel, kernel row, kernel column. A product of matrices begins with its bias; a convolution adds it last.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/float/linear.hpp"
#include "engine/float32/prepare.hpp"
#include "engine/geometry.hpp"
#include "lastbit/arith/float32_sum.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

/// The taps of one output channel of weights [o, ky, kx, i], or, depthwise, [1, ky, kx, o].
struct Kernel {
  const float* first;
  std::int64_t tap, channel;  ///< steps
};

struct Pixel {
  std::int64_t n, y, x;
};

Kernel kernel_of(const ConvShape& shape, bool depthwise, const float* weights, std::int64_t o) {
  if (depthwise) return {weights + o, shape.out_channels, 0};
  return {weights + o * shape.taps(), shape.group_channels(), 1};
}

/// One value of a convolution, without its bias. Padding is terms of zeros.
float convolved(const ConvShape& shape, const Float32Sum& sum, const Kernel& kernel, const float* input, const Pixel& at,
                std::int64_t output) {
  const std::int64_t taps = shape.kernel_height * shape.kernel_width, outputs = shape.out_channels / shape.groups;
  const std::int64_t first_channel = output / outputs * shape.group_channels();
  return sum(output % outputs, std::nullopt, [&](std::int64_t k) {
    const std::int64_t channel = k / taps, tap = k % taps;
    const std::int64_t y = at.y * shape.stride_height + tap / shape.kernel_width * shape.dilation_height - shape.pad_top;
    const std::int64_t x = at.x * shape.stride_width + tap % shape.kernel_width * shape.dilation_width - shape.pad_left;
    const bool inside = y >= 0 && y < shape.in_height && x >= 0 && x < shape.in_width;
    const float value =
        inside ? input[((at.n * shape.in_height + y) * shape.in_width + x) * shape.in_channels + first_channel + channel] : 0.0F;
    return std::pair{value, kernel.first[tap * kernel.tap + channel * kernel.channel]};
  });
}

RealBounds bounds_of(const Operation& operation) { return real_bounds(std::get<Conv2dAttributes>(operation.attributes).bounds); }

}  // namespace

Executor prepare_ordered_convolution(const Model& model, const Operation& operation) {
  const bool depthwise = operation.kind == OperationKind::depthwise_conv2d;
  const ConvShape shape = conv_shape_of(model, operation);
  const std::int64_t pixels = shape.out_height * shape.out_width;
  const Float32Sum sum({.rows = shape.out_channels / shape.groups, .columns = pixels, .terms = shape.taps()});
  return [=, bounds = bounds_of(operation)](const Execution& run) {
    const float* const input = run.inputs[0]->values<float>().data();
    const float* const weights = run.inputs[1]->values<float>().data();
    const std::span<float> out = run.outputs[0].values<float>();
    for (std::int64_t p = 0; p < shape.batch * pixels; ++p) {
      const Pixel at{p / pixels, p % pixels / shape.out_width, p % shape.out_width};
      for (std::int64_t o = 0; o < shape.out_channels; ++o) {
        out[static_cast<std::size_t>(p * shape.out_channels + o)] =
            convolved(shape, sum, kernel_of(shape, depthwise, weights, o), input, at, o);
      }
    }
    add_bias_and_bound(out, static_cast<std::size_t>(shape.out_channels), bias_of(run), bounds);
  };
}

/// Every input pixel times every tap is a column of a matrix product; what falls on one output pixel is added up in the order of the taps.
Executor prepare_ordered_transposed(const Model& model, const Operation& operation) {
  const ConvShape shape = conv_shape_of(model, operation);
  const std::int64_t pixels = shape.in_height * shape.in_width, taps = shape.kernel_height * shape.kernel_width;
  const Float32Sum sum({.rows = shape.out_channels * taps, .columns = pixels, .terms = shape.in_channels, .left_transposed = true});
  return [=, bounds = bounds_of(operation)](const Execution& run) {
    const float* const input = run.inputs[0]->values<float>().data();
    const float* const weights = run.inputs[1]->values<float>().data();
    const std::span<float> out = run.outputs[0].values<float>();
    std::ranges::fill(out, 0.0F);
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t p = 0; p < shape.batch * pixels; ++p) {
        const std::int64_t n = p / pixels;
        const std::int64_t y =
            p / shape.in_width % shape.in_height * shape.stride_height + tap / shape.kernel_width * shape.dilation_height - shape.pad_top;
        const std::int64_t x = p % shape.in_width * shape.stride_width + tap % shape.kernel_width * shape.dilation_width - shape.pad_left;
        if (y < 0 || y >= shape.out_height || x < 0 || x >= shape.out_width) continue;
        float* const pixel = out.data() + ((n * shape.out_height + y) * shape.out_width + x) * shape.out_channels;
        for (std::int64_t o = 0; o < shape.out_channels; ++o) {
          pixel[o] += sum(p % pixels, std::nullopt, [&](std::int64_t c) {
            return std::pair{input[p * shape.in_channels + c], weights[(o * taps + tap) * shape.in_channels + c]};
          });
        }
      }
    }
    add_bias_and_bound(out, static_cast<std::size_t>(shape.out_channels), bias_of(run), bounds);
  };
}

Executor prepare_ordered_fully_connected(const Model& model, const Operation& operation) {
  const Shape& weights = model.tensor(operation.inputs[1]).shape;
  const std::int64_t columns = weights[0], terms = weights[1];
  const std::int64_t rows = model.tensor(operation.outputs[0]).shape.element_count() / columns;
  const auto& attributes = std::get<FullyConnectedAttributes>(operation.attributes);
  const Float32Sum sum({.rows = rows, .columns = columns, .terms = terms, .right_transposed = !attributes.stated_by_input});
  return [=, bounds = real_bounds(attributes.bounds)](const Execution& run) {
    const std::span<const float> a = run.inputs[0]->values<float>(), b = run.inputs[1]->values<float>(), bias = bias_of(run);
    const std::span<float> out = run.outputs[0].values<float>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows * columns); ++i) {
      const std::size_t row = i / static_cast<std::size_t>(columns), column = i % static_cast<std::size_t>(columns);
      const std::optional<float> start = bias.empty() ? std::nullopt : std::optional(bias[column]);
      out[i] = bounds(sum(static_cast<std::int64_t>(rows == 1 ? column : row), start, [&](std::int64_t k) {
        const auto at = static_cast<std::size_t>(k), length = static_cast<std::size_t>(terms);
        return std::pair{a[row * length + at], b[column * length + at]};
      }));
    }
  };
}

namespace {

/// All axes but the last two.
Shape batch_of(const Shape& shape) { return Shape({shape.sizes().begin(), shape.sizes().end() - 2}); }

/// One operand of a matrix product: where its matrices begin in a broadcast batch is counted in matrices of `size` values.
struct Factor {
  std::int64_t size, row, term;  ///< values, and steps along the kept axis and along the terms
  explicit Factor(const Shape& shape, bool terms_last)
      : size(shape[shape.rank() - 2] * shape.back()), row(terms_last ? shape.back() : 1), term(terms_last ? 1 : shape.back()) {}
};

}  // namespace

Executor prepare_ordered_matmul(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<MatmulAttributes>(operation.attributes);
  const Shape &a = model.tensor(operation.inputs[0]).shape, &b = model.tensor(operation.inputs[1]).shape;
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  const Factor left(a, !attributes.transpose_a), right(b, attributes.transpose_b);
  const std::int64_t rows = out[out.rank() - 2], columns = out.back(), terms = attributes.transpose_a ? a[a.rank() - 2] : a.back();
  const Float32Sum sum({rows, columns, terms, attributes.transpose_a, attributes.transpose_b});
  const Shape batch = batch_of(out);
  const StridedLoop<3> loop(batch.sizes(), {broadcast_layout(batch_of(a), batch), broadcast_layout(batch_of(b), batch), row_major(batch)});
  return [=, bounds = real_bounds(attributes.bounds)](const Execution& run) {
    const float *const x = run.inputs[0]->values<float>().data(), *const w = run.inputs[1]->values<float>().data();
    float* const y = run.outputs[0].values<float>().data();
    loop.each_row([&](const std::array<std::int64_t, 3>& at) {
      for (std::int64_t m = 0; m < loop.row_length(); ++m) {
        const auto& step = loop.row_strides();
        const float* const one = x + (at[0] + m * step[0]) * left.size;
        const float* const other = w + (at[1] + m * step[1]) * right.size;
        float* const target = y + (at[2] + m * step[2]) * rows * columns;
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          target[i] = bounds(sum(rows == 1 ? i % columns : i / columns, std::nullopt, [&](std::int64_t k) {
            return std::pair{one[i / columns * left.row + k * left.term], other[i % columns * right.row + k * right.term]};
          }));
        }
      }
    });
  };
}

}  // namespace lastbit
