// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected and matmul of float16 data.
//
// Contract, for one output:
//   1. terms: input times weight over the kernel and the channels of the group. A position outside the image, or between the pixels that a
//      transposed convolution spreads out, counts as a zero;
//   2. their order: kernel rows, kernel columns, channels; or blocks of 16 channels, kernel rows, kernel columns, the channels of the block,
//      filled up to 16 with zeros times zeros. A transposed convolution walks its kernel backwards, so that it walks the input forwards;
//   3. products and sums are rounded to the precision of the rule and added in its order; the running sum starts at the bias or at +0, or
//      the bias is added at the end;
//   4. the activation's bounds, then one conversion to float16 where the output is float16.
#include <memory>
#include <vector>

#include "engine/float16/prepare.hpp"
#include "engine/float16/steps.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t channels_per_block = 16;

/// A tap of the kernel and a channel of the group; a negative channel fills a block up.
struct Term {
  std::int64_t tap, channel;
};

std::vector<Term> terms_of(TermOrder order, std::int64_t taps, std::int64_t channels, bool backwards) {
  const std::int64_t width = order == TermOrder::kernel_then_channel ? channels : channels_per_block;
  std::vector<Term> terms;
  for (std::int64_t first = 0; first < channels; first += width) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t c = first; c < first + width; ++c) terms.push_back({backwards ? taps - 1 - tap : tap, c < channels ? c : -1});
    }
  }
  return terms;
}

/// One layer, independent of the precision.
struct CubeLayer {
  ConvShape shape{};
  bool transposed = false;
  std::vector<Term> terms{};
  CubeArithmetic rule{};
  RealBounds bounds{};
};

/// The input pixel that a tap meets at an output pixel, or nothing.
std::optional<std::int64_t> pixel_of(const CubeLayer& layer, const ConvIndex& at, std::int64_t tap) {
  const ConvShape& s = layer.shape;
  std::int64_t y = tap / s.kernel_width, x = tap % s.kernel_width;
  if (layer.transposed) {
    y = at.y + s.pad_top - y;
    x = at.x + s.pad_left - x;
    if (y % s.stride_height != 0 || x % s.stride_width != 0) return std::nullopt;
    y /= s.stride_height;
    x /= s.stride_width;
  } else {
    y = at.y * s.stride_height + y * s.dilation_height - s.pad_top;
    x = at.x * s.stride_width + x * s.dilation_width - s.pad_left;
  }
  if (y < 0 || y >= s.in_height || x < 0 || x >= s.in_width) return std::nullopt;
  return (at.n * s.in_height + y) * s.in_width + x;
}

template <class Steps>
using Values = std::vector<typename Steps::Value>;

template <class Steps>
Values<Steps> decoded(const Steps& steps, const Tensor& tensor) {
  const auto source = tensor.values<Float16>();
  Values<Steps> values(source.size());
  std::transform(source.begin(), source.end(), values.begin(), [&](Float16 value) { return steps.from(value); });
  return values;
}

/// A bias of float16 or float32; none: zeros.
template <class Steps>
Values<Steps> decoded_bias(const Steps& steps, const Tensor* bias, std::int64_t channels) {
  if (bias == nullptr) return Values<Steps>(static_cast<std::size_t>(channels));
  if (bias->type() == ElementType::float16) return decoded(steps, *bias);
  const auto source = bias->values<float>();
  Values<Steps> values(source.size());
  std::transform(source.begin(), source.end(), values.begin(), [&](float value) { return steps.rounded(value); });
  return values;
}

/// Weights as [output channel, term]; read(o, tap, channel) is where they lie.
template <class Steps, class Read>
Values<Steps> packed(const CubeLayer& layer, Read&& read) {
  Values<Steps> weights;
  weights.reserve(static_cast<std::size_t>(layer.shape.out_channels) * layer.terms.size());
  for (std::int64_t o = 0; o < layer.shape.out_channels; ++o) {
    for (const Term& term : layer.terms) weights.push_back(term.channel < 0 ? typename Steps::Value{} : read(o, term.tap, term.channel));
  }
  return weights;
}

template <class Steps>
typename Steps::Value sum_of(const Steps& steps, const CubeArithmetic& rule, const typename Steps::Value* inputs,
                             const typename Steps::Value* weights, Values<Steps>& terms, typename Steps::Value bias) {
  using Value = typename Steps::Value;
  for (std::size_t k = 0; k < terms.size(); ++k) terms[k] = steps.product(inputs[k], weights[k]);
  const bool at_start = rule.bias == BiasAt::accumulator_start;
  const Value sum = ordered_sum<Value>(terms, rule.sum, at_start ? bias : Value{}, steps);
  return at_start ? sum : steps.sum(sum, bias);
}

/// Step 4. Bounds before the conversion and after it give the same: rounding keeps the order, and the bounds are float16 values or become so.
template <class Steps>
void deliver(const Steps& steps, typename Steps::Value sum, const RealBounds& bounds, Tensor& output, std::size_t at) {
  if (output.type() == ElementType::float16) {
    output.values<Float16>()[at] = steps.delivered(steps.rounded(bounds(steps.real(sum))));
  } else {
    const float value = bounds(steps.real(sum));
    output.values<float>()[at] = value != value ? std::numeric_limits<float>::quiet_NaN() : value;
  }
}

/// The inputs of one output pixel, group by group in the order of the terms.
template <class Steps>
void gather(const CubeLayer& layer, const ConvIndex& at, const Values<Steps>& input, Values<Steps>& rows) {
  const ConvShape& s = layer.shape;
  std::vector<std::int64_t> first(static_cast<std::size_t>(s.kernel_height * s.kernel_width), -1);
  for (std::size_t tap = 0; tap < first.size(); ++tap) {
    if (const auto pixel = pixel_of(layer, at, static_cast<std::int64_t>(tap))) first[tap] = *pixel * s.in_channels;
  }
  std::size_t k = 0;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    for (const Term& term : layer.terms) {
      const std::int64_t pixel = first[static_cast<std::size_t>(term.tap)];
      const std::int64_t channel = g * s.group_channels() + term.channel;
      rows[k++] = pixel < 0 || term.channel < 0 ? typename Steps::Value{} : input[static_cast<std::size_t>(pixel + channel)];
    }
  }
}

template <class Steps>
void convolve(const Steps& steps, const CubeLayer& layer, const Values<Steps>& input, const Values<Steps>& weights,
              const Values<Steps>& bias, Tensor& output, std::size_t offset, OutputCounter& counter) {
  const ConvShape& s = layer.shape;
  const std::size_t count = layer.terms.size();
  const std::int64_t columns = s.out_channels / s.groups;
  Values<Steps> rows(count * static_cast<std::size_t>(s.groups)), terms(count);
  ConvIndex at;
  for (at.n = 0; at.n < s.batch; ++at.n) {
    for (at.y = 0; at.y < s.out_height; ++at.y) {
      for (at.x = 0; at.x < s.out_width; ++at.x) {
        gather<Steps>(layer, at, input, rows);
        for (std::int64_t o = 0; o < s.out_channels; ++o) {
          const auto channel = static_cast<std::size_t>(o);
          const auto sum = sum_of(steps, layer.rule, rows.data() + static_cast<std::size_t>(o / columns) * count,
                                  weights.data() + channel * count, terms, bias[channel]);
          deliver(steps, sum, layer.bounds, output, offset++);
          counter.next();
        }
      }
    }
  }
}

/// Weights of a convolution [o, ky, kx, i], of a depthwise one [1, ky, kx, o], of a fully connected layer [o, i].
template <class Steps>
Values<Steps> packed_weights(const Steps& steps, const CubeLayer& layer, OperationKind kind, const Tensor& tensor) {
  const ConvShape& s = layer.shape;
  const std::int64_t taps = s.kernel_height * s.kernel_width, channels = s.group_channels();
  const Values<Steps> values = decoded(steps, tensor);
  return packed<Steps>(layer, [&](std::int64_t o, std::int64_t tap, std::int64_t channel) {
    const bool depthwise = kind == OperationKind::depthwise_conv2d;
    return values[static_cast<std::size_t>(depthwise ? tap * s.out_channels + o : (o * taps + tap) * channels + channel)];
  });
}

ConvShape rows_shape(std::int64_t rows, std::int64_t terms, std::int64_t columns) {
  return {.in_width = rows, .in_channels = terms, .out_width = rows, .out_channels = columns};
}

CubeLayer layer_of(const Model& model, const Operation& operation, const CubeArithmetic& rule) {
  CubeLayer layer{.rule = rule};
  if (operation.kind == OperationKind::fully_connected) {
    const Shape& weights = model.tensor(operation.inputs[1]).shape;
    layer.shape = rows_shape(model.tensor(operation.inputs[0]).shape.element_count() / weights[1], weights[1], weights[0]);
    layer.bounds = real_bounds(std::get<FullyConnectedAttributes>(operation.attributes).bounds);
  } else {
    layer.shape = conv_shape_of(model, operation);
    layer.bounds = real_bounds(std::get<Conv2dAttributes>(operation.attributes).bounds);
  }
  layer.transposed = operation.kind == OperationKind::transposed_conv2d;
  layer.terms = terms_of(rule.terms, layer.shape.kernel_height * layer.shape.kernel_width, layer.shape.group_channels(), layer.transposed);
  return layer;
}

Executor prepare_layer(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  return [=, layer = layer_of(model, operation, rules.cube), kind = operation.kind](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    with_steps(rules.cube.sum.precision, rounder, [&](const auto& steps) {
      const auto weights = packed_weights(steps, layer, kind, *run.inputs[1]);
      const auto bias = decoded_bias(steps, run.inputs.size() > 2 ? run.inputs[2] : nullptr, layer.shape.out_channels);
      static_cast<void>(rounder.take_left());  // what a bias lost is no output's
      convolve(steps, layer, decoded(steps, *run.inputs[0]), weights, bias, run.outputs[0], 0, counter);
    });
  };
}

/// All axes but the last two.
Shape batch_of(const Shape& shape) { return Shape({shape.sizes().begin(), shape.sizes().end() - 2}); }

/// One matrix of a batch as rows [rows, columns], from storage or from its transpose.
template <class Steps>
Values<Steps> matrix(const Values<Steps>& values, std::int64_t first, std::int64_t rows, std::int64_t columns, bool transpose) {
  Values<Steps> out;
  out.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      out.push_back(values[static_cast<std::size_t>(first + (transpose ? c * rows + r : r * columns + c))]);
    }
  }
  return out;
}

Executor prepare_matrices(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  const auto& attributes = std::get<MatmulAttributes>(operation.attributes);
  const Shape& a = model.tensor(operation.inputs[0]).shape;
  const Shape& b = model.tensor(operation.inputs[1]).shape;
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  const std::int64_t rows = out[out.rank() - 2], columns = out.back(), terms = attributes.transpose_a ? a[a.rank() - 2] : a.back();
  CubeLayer layer{.shape = rows_shape(rows, terms, columns), .rule = rules.cube, .bounds = real_bounds(attributes.bounds)};
  layer.terms = terms_of(rules.cube.terms, 1, terms, false);
  const Shape batch = batch_of(out);
  const StridedLoop<3> loop(batch.sizes(), {broadcast_layout(batch_of(a), batch), broadcast_layout(batch_of(b), batch), row_major(batch)});
  return [=](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    with_steps(rules.cube.sum.precision, rounder, [&]<class Steps>(const Steps& steps) {
      const auto left = decoded(steps, *run.inputs[0]), right = decoded(steps, *run.inputs[1]);
      const auto& step = loop.row_strides();
      loop.each_row([&](const std::array<std::int64_t, 3>& at) {
        for (std::int64_t i = 0; i < loop.row_length(); ++i) {
          const auto input = matrix<Steps>(left, (at[0] + i * step[0]) * rows * terms, rows, terms, attributes.transpose_a);
          const std::int64_t first = (at[1] + i * step[1]) * terms * columns;
          const auto weights = packed<Steps>(layer, [&](std::int64_t o, std::int64_t, std::int64_t c) {
            return right[static_cast<std::size_t>(first + (attributes.transpose_b ? o * terms + c : c * columns + o))];
          });
          convolve(steps, layer, input, weights, Values<Steps>(static_cast<std::size_t>(columns)), run.outputs[0],
                   static_cast<std::size_t>((at[2] + i * step[2]) * rows * columns), counter);
        }
      });
    });
  };
}

}  // namespace

Executor prepare_float16_cube(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  return operation.kind == OperationKind::matmul ? prepare_matrices(model, operation, rules) : prepare_layer(model, operation, rules);
}

}  // namespace lastbit
