// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// fully_connected and matmul.
#include "engine/float/linear.hpp"
#include "engine/float/matrix.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

/// All axes but the last two.
Shape batch_of(const Shape& shape) { return Shape({shape.sizes().begin(), shape.sizes().end() - 2}); }

/// Where the matrices of a broadcast batch begin, counted in matrices.
StridedLoop<3> batch_loop(const Shape& a, const Shape& b, const Shape& out) {
  const Shape batch = batch_of(out);
  return {batch.sizes(), {broadcast_layout(batch_of(a), batch), broadcast_layout(batch_of(b), batch), row_major(batch)}};
}

}  // namespace

Executor prepare_real_fully_connected(const Model& model, const Operation& operation) {
  const Shape& weights = model.tensor(operation.inputs[1]).shape;
  const std::int64_t columns = weights[0];
  const std::int64_t terms = weights[1];
  const std::int64_t rows = model.tensor(operation.outputs[0]).shape.element_count() / columns;
  const RealBounds bounds = real_bounds(std::get<FullyConnectedAttributes>(operation.attributes).bounds);
  return [=](const Execution& run) {
    const std::span<float> out = run.outputs[0].values<float>();
    multiply_matrices({rows, terms, columns}, {run.inputs[0]->values<float>().data(), terms},
                      {run.inputs[1]->values<float>().data(), terms, MatrixOrder::column_major}, out.data(), columns);
    add_bias_and_bound(out, static_cast<std::size_t>(columns), bias_of(run), bounds);
  };
}

Executor prepare_real_matmul(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<MatmulAttributes>(operation.attributes);
  const Shape& a = model.tensor(operation.inputs[0]).shape;
  const Shape& b = model.tensor(operation.inputs[1]).shape;
  const Shape& out_shape = model.tensor(operation.outputs[0]).shape;
  const auto order = [](bool transposed) { return transposed ? MatrixOrder::column_major : MatrixOrder::row_major; };
  const ProductSize size{out_shape[out_shape.rank() - 2], attributes.transpose_a ? a[a.rank() - 2] : a.back(), out_shape.back()};
  return [=, a_stride = a.back(), b_stride = b.back(), a_order = order(attributes.transpose_a), b_order = order(attributes.transpose_b),
          batch = batch_loop(a, b, out_shape), bounds = real_bounds(attributes.bounds)](const Execution& run) {
    const float* const left = run.inputs[0]->values<float>().data();
    const float* const right = run.inputs[1]->values<float>().data();
    const std::span<float> out = run.outputs[0].values<float>();
    const auto& step = batch.row_strides();
    batch.each_row([&](const std::array<std::int64_t, 3>& at) {
      for (std::int64_t i = 0; i < batch.row_length(); ++i) {
        multiply_matrices(size, {left + (at[0] + i * step[0]) * size.rows * size.terms, a_stride, a_order},
                          {right + (at[1] + i * step[1]) * size.terms * size.columns, b_stride, b_order},
                          out.data() + (at[2] + i * step[2]) * size.rows * size.columns, size.columns);
      }
    });
    for (float& value : out) value = bounds(value);
  };
}

}  // namespace lastbit
