// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Means of float32 values, every step rounded, as ONNX Runtime's ReduceMean adds them up. Neighbouring axes that are both reduced, or both kept, count
// as one; what is left of the shape decides, K an axis that is kept, R one that is reduced:
//   R, KR   each row by packets of four (arith/float32_sum.hpp);
//   RKR     of at least two K: the rows' sums by packets, added up from +0;
//   KRK     of at least two K before R: four values at a time, added up in order, as a row of ones times a matrix (arith/float32_sum.hpp, fours);
//   else    one by one from +0, as they lie in memory.
// The sum is divided by the count. The tensor begins at a multiple of 16 bytes, and lies as the file states it. One or two threads: with more, RKR and
// KRK take as many K.
// Sources: ONNX Runtime core/providers/cpu/reduction/reduction_ops.h; version 1.30 run on random tensors of each kind, every bit equal.
#include <algorithm>
#include <span>
#include <vector>

#include "engine/executor.hpp"
#include "engine/float32/prepare.hpp"
#include "lastbit/arith/float32_sum.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

struct Axis {
  std::int64_t size;
  bool is_reduced;
};

std::vector<Axis> merged_axes(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<Axis> merged;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const bool is_reduced = std::ranges::find(axes, static_cast<std::int64_t>(i)) != axes.end();
    if (!merged.empty() && merged.back().is_reduced == is_reduced) merged.back().size *= shape[i];
    else merged.push_back({shape[i], is_reduced});
  }
  return merged;
}

/// R, KR, RKR: outer * kept rows.
struct Rows {
  std::int64_t outer, kept, length;

  void operator()(std::span<const float> in, std::span<float> sums) const {
    const auto width = static_cast<std::size_t>(length);
    for (std::int64_t row = 0; row < outer * kept; ++row) {
      const std::size_t first = static_cast<std::size_t>(row) * width;
      const float sum = sum_in_packets(in.subspan(first, width), first);
      float& target = sums[static_cast<std::size_t>(row % kept)];
      target = outer == 1 ? sum : target + sum;
    }
  }
};

/// KRK
struct Columns {
  std::int64_t outer, terms, columns;

  void operator()(std::span<const float> in, std::span<float> sums) const {
    const Float32Sum sum({.rows = 1, .columns = columns, .terms = terms});
    for (std::int64_t i = 0; i < outer * columns; ++i) {
      const std::int64_t first = i / columns * terms * columns + i % columns;
      sums[static_cast<std::size_t>(i)] = sum(i % columns, std::nullopt, [&](std::int64_t k) {
        return std::pair{1.0F, in[static_cast<std::size_t>(first + k * columns)]};
      });
    }
  }
};

struct OneByOne {
  StridedLoop<2> loop;

  void operator()(std::span<const float> in, std::span<float> sums) const {
    const auto& step = loop.row_strides();
    loop.each_row([&](const std::array<std::int64_t, 2>& at) {
      for (std::int64_t i = 0; i < loop.row_length(); ++i)
        sums[static_cast<std::size_t>(at[1] + i * step[1])] += in[static_cast<std::size_t>(at[0] + i * step[0])];
    });
  }
};

template <class Sum>
Executor mean_by(Sum sum) {
  return [sum](const Execution& run) {
    const std::span<float> out = run.outputs[0].values<float>();
    const std::span<const float> in = run.inputs[0]->values<float>();
    std::ranges::fill(out, 0.0F);
    sum(in, out);
    const std::size_t count = in.size() / out.size();
    for (float& value : out) value /= static_cast<float>(count);
  };
}

}  // namespace

Executor prepare_ordered_mean(const Model& model, const Operation& operation) {
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  const auto& attributes = std::get<MeanAttributes>(operation.attributes);
  const std::vector<Axis> axes = merged_axes(in, attributes.axes);
  const bool ends_reduced = !axes.empty() && axes.back().is_reduced;
  if (ends_reduced && axes.size() == 1) return mean_by(Rows{1, 1, axes[0].size});
  if (ends_reduced && axes.size() == 2) return mean_by(Rows{1, axes[0].size, axes[1].size});
  if (ends_reduced && axes.size() == 3 && axes[1].size > 1) return mean_by(Rows{axes[0].size, axes[1].size, axes[2].size});
  if (!ends_reduced && axes.size() == 3 && axes[0].size > 1) return mean_by(Columns{axes[0].size, axes[1].size, axes[2].size});
  return mean_by(OneByOne{{in.sizes(), {row_major(in), reduced_layout(in, attributes.axes)}}});
}

}  // namespace lastbit
