// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// max_pool2d, average_pool2d, global_average_pool, mean and softmax of float16 data.
//
//   pools    op/float16_reduce.hpp
//   softmax  d = x - max in float16 (times beta, where it is not 1), e = exp(d), e / sum(e) in the sum's precision
#include <vector>

#include "engine/float16/prepare.hpp"
#include "engine/float16/steps.hpp"
#include "engine/geometry.hpp"
#include "lastbit/op/float16_reduce.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

/// Calls visit(values of one window and channel, output) for every output in order.
template <class Visit>
void each_window(const ConvShape& s, std::span<const Float16> input, Visit&& visit) {
  std::vector<Float16> values;
  std::size_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t y = 0; y < s.out_height; ++y) {
      for (std::int64_t x = 0; x < s.out_width; ++x) {
        const std::int64_t top = y * s.stride_height - s.pad_top, left = x * s.stride_width - s.pad_left;
        for (std::int64_t c = 0; c < s.in_channels; ++c) {
          values.clear();
          for (std::int64_t iy = std::max<std::int64_t>(top, 0); iy < std::min(top + s.kernel_height, s.in_height); ++iy) {
            for (std::int64_t ix = std::max<std::int64_t>(left, 0); ix < std::min(left + s.kernel_width, s.in_width); ++ix)
              values.push_back(input[static_cast<std::size_t>(((n * s.in_height + iy) * s.in_width + ix) * s.in_channels + c)]);
          }
          visit(values, out++);
        }
      }
    }
  }
}

}  // namespace

Executor prepare_float16_pool(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  return [rules, average = operation.kind == OperationKind::average_pool2d, shape = pool_shape_of(model, operation),
          bounds = real_bounds(std::get<Pool2dAttributes>(operation.attributes).bounds)](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const Float16Bounds bounded(bounds, rounder);
    const auto out = run.outputs[0].values<Float16>();
    each_window(shape, run.inputs[0]->values<Float16>(), [&](std::span<const Float16> values, std::size_t at) {
      out[at] = bounded(average ? float16_mean(rules.average_pool, rounder, values) : float16_largest(rounder, values));
      counter.next();
    });
  };
}

Executor prepare_float16_mean(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  const auto* attributes = std::get_if<MeanAttributes>(&operation.attributes);  // null: global_average_pool
  const std::vector<std::int64_t> axes = attributes != nullptr ? attributes->axes : std::vector<std::int64_t>{1, 2};
  const RealBounds bounds = attributes != nullptr ? RealBounds{} : real_bounds(std::get<Pool2dAttributes>(operation.attributes).bounds);
  std::vector<std::int64_t> kept(in.sizes().begin(), in.sizes().end());
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  const StridedLoop<2> loop(in.sizes(), {row_major(in), broadcast_layout(Shape(kept), in)});
  return [=](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const Float16Bounds bounded(bounds, rounder);
    const auto in_values = run.inputs[0]->values<Float16>();
    const auto out = run.outputs[0].values<Float16>();
    std::vector<std::vector<Float16>> groups(out.size());
    const auto& step = loop.row_strides();
    loop.each_row([&](const std::array<std::int64_t, 2>& at) {
      for (std::int64_t i = 0; i < loop.row_length(); ++i) {
        groups[static_cast<std::size_t>(at[1] + i * step[1])].push_back(in_values[static_cast<std::size_t>(at[0] + i * step[0])]);
      }
    });
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = bounded(float16_mean(rules.mean, rounder, groups[i]));
      counter.next();
    }
  };
}

namespace {

/// exp(x - max) for a row, each as the precision of the exponential holds it.
std::vector<float> exponentials(const Float16Arithmetic& rules, double beta, Float16Rounder& rounder, std::span<const Float16> row) {
  const Float16 largest = float16_largest(rounder, row);
  std::vector<float> powers(row.size());
  with_steps(rules.softmax.exponential, rounder, [&](const auto& steps) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      Float16 difference = rounder.difference(row[i], largest);
      if (beta != 1) difference = rounder.product(difference, rounder.converted(beta));
      powers[i] = steps.real(steps.exponential(steps.from(difference)));
    }
  });
  return powers;
}

}  // namespace

Executor prepare_float16_softmax(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  return [rules, length = static_cast<std::size_t>(model.tensor(operation.inputs[0]).shape.back()),
          beta = std::get<SoftmaxAttributes>(operation.attributes).beta](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const auto in = run.inputs[0]->values<Float16>();
    const auto out = run.outputs[0].values<Float16>();
    for (std::size_t first = 0; first < in.size(); first += length) {
      const std::vector<float> powers = exponentials(rules, beta, rounder, in.subspan(first, length));
      with_steps(rules.softmax.sum.precision, rounder, [&]<class Steps>(const Steps& steps) {
        using Value = typename Steps::Value;
        std::vector<Value> terms(length);
        std::transform(powers.begin(), powers.end(), terms.begin(), [&](float power) { return steps.rounded(power); });
        const std::vector<Value> values = terms;
        const Value sum = ordered_sum<Value>(terms, rules.softmax.sum, std::nullopt, steps);
        for (std::size_t i = 0; i < length; ++i) {
          out[first + i] = steps.delivered(steps.quotient(values[i], sum));
          counter.next();
        }
      });
    }
  };
}

}  // namespace lastbit
