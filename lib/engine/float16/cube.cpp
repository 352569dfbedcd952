// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected and matmul of float16 data. Contract: op/float16_cube.hpp.
#include <vector>

#include "engine/float16/prepare.hpp"
#include "engine/float16/steps.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "lastbit/op/float16_cube.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

/// A bias of float16 or float32; none: zeros.
template <class Steps>
CubeValues<Steps> decoded_bias(const Steps& steps, const Tensor* bias, std::int64_t channels) {
  if (bias == nullptr) return CubeValues<Steps>(static_cast<std::size_t>(channels));
  return bias->type() == ElementType::float16 ? cube_values(steps, bias->values<Float16>()) : cube_values(steps, bias->values<float>());
}

/// Step 4 of the contract.
template <class Steps>
void deliver(const Steps& steps, typename Steps::Value sum, const RealBounds& bounds, Tensor& output, std::size_t at) {
  if (output.type() == ElementType::float16) {
    output.values<Float16>()[at] = cube_output(steps, sum, bounds);
  } else {
    const float value = bounds(steps.real(sum));
    output.values<float>()[at] = value != value ? std::numeric_limits<float>::quiet_NaN() : value;
  }
}

template <class Steps>
void convolve(const Steps& steps, const CubeLayer& layer, const CubeValues<Steps>& input, const CubeValues<Steps>& weights,
              const CubeValues<Steps>& bias, Tensor& output, std::size_t offset, OutputCounter& counter) {
  each_cube_sum(steps, layer, input, weights, bias, [&](typename Steps::Value sum) {
    deliver(steps, sum, layer.bounds, output, offset++);
    counter.next();
  });
}

CubeLayer layer_of(const Model& model, const Operation& operation, const CubeArithmetic& rule) {
  if (operation.kind == OperationKind::fully_connected) {
    const Shape& weights = model.tensor(operation.inputs[1]).shape;
    const std::int64_t rows = model.tensor(operation.inputs[0]).shape.element_count() / weights[1];
    const OutputBounds& bounds = std::get<FullyConnectedAttributes>(operation.attributes).bounds;
    return {.shape = cube_rows(rows, weights[1], weights[0]), .rule = rule, .bounds = real_bounds(bounds)};
  }
  return {.shape = conv_shape_of(model, operation),
          .transposed = operation.kind == OperationKind::transposed_conv2d,
          .rule = rule,
          .bounds = real_bounds(std::get<Conv2dAttributes>(operation.attributes).bounds)};
}

Executor prepare_layer(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  const CubeWeights lie = operation.kind == OperationKind::depthwise_conv2d ? CubeWeights::depthwise : CubeWeights::by_output;
  return [=, layer = layer_of(model, operation, rules.cube)](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    with_steps(rules.cube.sum.precision, rounder, [&](const auto& steps) {
      const auto weights = cube_weights(steps, layer, lie, run.inputs[1]->values<Float16>());
      const auto bias = decoded_bias(steps, run.inputs.size() > 2 ? run.inputs[2] : nullptr, layer.shape.out_channels);
      static_cast<void>(rounder.take_left());  // what a bias lost is no output's
      convolve(steps, layer, cube_values(steps, run.inputs[0]->values<Float16>()), weights, bias, run.outputs[0], 0, counter);
    });
  };
}

/// All axes but the last two.
Shape batch_of(const Shape& shape) { return Shape({shape.sizes().begin(), shape.sizes().end() - 2}); }

/// One matrix of a batch as rows [rows, columns], from storage or from its transpose.
template <class Steps>
CubeValues<Steps> matrix(const CubeValues<Steps>& values, std::int64_t first, std::int64_t rows, std::int64_t columns, bool transpose) {
  CubeValues<Steps> out;
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
  const CubeLayer layer{.shape = cube_rows(rows, terms, columns), .rule = rules.cube, .bounds = real_bounds(attributes.bounds)};
  const Shape batch = batch_of(out);
  const StridedLoop<3> loop(batch.sizes(), {broadcast_layout(batch_of(a), batch), broadcast_layout(batch_of(b), batch), row_major(batch)});
  return [=](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    with_steps(rules.cube.sum.precision, rounder, [&]<class Steps>(const Steps& steps) {
      const auto left = cube_values(steps, run.inputs[0]->values<Float16>()), right = cube_values(steps, run.inputs[1]->values<Float16>());
      const auto& step = loop.row_strides();
      loop.each_row([&](const std::array<std::int64_t, 3>& at) {
        for (std::int64_t i = 0; i < loop.row_length(); ++i) {
          const auto input = matrix<Steps>(left, (at[0] + i * step[0]) * rows * terms, rows, terms, attributes.transpose_a);
          const std::int64_t first = (at[1] + i * step[1]) * terms * columns;
          const auto weights = cube_packed<Steps>(layer, [&](std::int64_t o, std::int64_t, std::int64_t c) {
            return right[static_cast<std::size_t>(first + (attributes.transpose_b ? o * terms + c : c * columns + o))];
          });
          convolve(steps, layer, input, weights, CubeValues<Steps>(static_cast<std::size_t>(columns)), run.outputs[0],
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
