// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// max_pool2d, average_pool2d, global_average_pool and mean.
#include "lastbit/op/pool.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "emulator/finisher.hpp"
#include "emulator/geometry.hpp"
#include "emulator/operands.hpp"
#include "emulator/ops/prepare.hpp"
#include "lastbit/op/mean.hpp"

namespace lastbit {
namespace {

/// Calls visit(sample, rows [y0, y1), columns [x0, x1) inside the image) for every output pixel in order.
template <class Visit>
void each_window(const ConvShape& w, Visit&& visit) {
  for (std::int64_t n = 0; n < w.batch; ++n) {
    for (std::int64_t y = 0; y < w.out_height; ++y) {
      const std::int64_t top = y * w.stride_height - w.pad_top;
      for (std::int64_t x = 0; x < w.out_width; ++x) {
        const std::int64_t left = x * w.stride_width - w.pad_left;
        visit(n, std::max<std::int64_t>(top, 0), std::min(top + w.kernel_height, w.in_height), std::max<std::int64_t>(left, 0),
              std::min(left + w.kernel_width, w.in_width));
      }
    }
  }
}

/// Reduces every window channel by channel: out[pixel, c] = combine over taps, starting at `start`.
template <class T, class Combine>
std::vector<std::int64_t> reduce(const ConvShape& w, std::span<const T> input, std::int64_t start, std::vector<std::int64_t>* counts,
                                 Combine&& combine) {
  const auto channels = static_cast<std::size_t>(w.in_channels);
  std::vector<std::int64_t> out(static_cast<std::size_t>(w.batch * w.out_height * w.out_width) * channels, start);
  std::int64_t* at = out.data();
  each_window(w, [&](std::int64_t n, std::int64_t y0, std::int64_t y1, std::int64_t x0, std::int64_t x1) {
    for (std::int64_t y = y0; y < y1; ++y) {
      for (std::int64_t x = x0; x < x1; ++x) {
        const T* const pixel = input.data() + ((n * w.in_height + y) * w.in_width + x) * w.in_channels;
        for (std::size_t c = 0; c < channels; ++c) at[c] = combine(at[c], static_cast<std::int64_t>(pixel[c]));
      }
    }
    if (counts != nullptr) counts->push_back((y1 - y0) * (x1 - x0));
    at += channels;
  });
  return out;
}

void bound(std::vector<std::int64_t>& values, IntegerRange range, Events* events) {
  for (auto& value : values) {
    const std::int64_t bounded = std::clamp(value, range.min, range.max);
    if (events != nullptr && bounded != value) ++events->saturated_outputs;
    value = bounded;
  }
  if (events != nullptr) events->outputs += static_cast<std::int64_t>(values.size());
}

Executor prepare_max_pool(const ConvShape& windows, IntegerRange range) {
  return [=](const Execution& run) {
    visit_element_type(run.inputs[0]->type(), [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const auto larger = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
        auto values = reduce<T>(windows, run.inputs[0]->values<T>(), std::numeric_limits<std::int64_t>::min(), nullptr, larger);
        bound(values, range, run.events);
        store(values, run.outputs[0]);
      }
    });
  };
}

/// Step 2 of the contract on every sum.
void divide_sums(const AveragePoolArithmetic& rule, std::vector<std::int64_t>& sums, const std::vector<std::int64_t>& counts,
                 const ConvShape& w, const Quantization& in, const Quantization& out) {
  const std::int64_t window = w.kernel_height * w.kernel_width;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::int64_t count = counts[i / static_cast<std::size_t>(w.in_channels)];
    std::int64_t& value = sums[i];
    if (rule.padding == PaddingCount::included) {
      value += (window - count) * in.zero_point();
      count = window;
    }
    if (rule.method != DivisionMethod::float_scale) {
      value = average(rule, value, count);
      continue;
    }
    const float real = static_cast<float>(value - count * in.zero_point()) * average_scale(in.scale(), out.scale(), count);
    value = round_to_integer(real, rule.rounding) + out.zero_point();
  }
}

const AveragePoolArithmetic& average_rule(const Backend& backend, const Operation& operation, const ModelTensor& in,
                                          const ModelTensor& out) {
  const auto& rule = operation.kind == OperationKind::average_pool2d ? backend.average_pool : backend.global_average_pool;
  if (rule.method == DivisionMethod::absent) throw_unsupported(operation, "the backend has no average pooling");
  const bool same = in.quantization.scale() == out.quantization.scale() && in.quantization.zero_point() == out.quantization.zero_point();
  const bool rescales =
      rule.method == DivisionMethod::float_scale || (rule.method == DivisionMethod::rescaled && rule.output_scale == OutputScale::own);
  if (!rescales && !same) {
    throw_unsupported(operation, "input and output quantisation differ; the backend's average pooling does not rescale");
  }
  return rule;
}

/// One finisher per count of values that a window of the layer may hold.
std::map<std::int64_t, Finisher> finishers_by_count(const AveragePoolArithmetic& rule, const Operation& operation, const ConvShape& w,
                                                    const ModelTensor& in, const ModelTensor& out, IntegerRange range) {
  const Chain& chain = output_chain(operation, rule.rescale.chain);
  const ScaleEncoding& encoding = rule.rescale.scale;
  std::map<std::int64_t, Finisher> finishers;
  const auto add = [&](std::int64_t count) {
    if (finishers.contains(count)) return;
    const double per_value = out.quantization.scale() * static_cast<double>(count);
    const EncodedScale scale = encode(encoding, effective_scale(encoding.arithmetic, in.quantization.scale(), 1.0, per_value));
    finishers.emplace(count, Finisher(chain, {operands_for(scale, out, range)}, 32));
  };
  if (rule.padding == PaddingCount::included) add(w.kernel_height * w.kernel_width);
  else
    each_window(w, [&](std::int64_t, std::int64_t y0, std::int64_t y1, std::int64_t x0, std::int64_t x1) { add((y1 - y0) * (x1 - x0)); });
  return finishers;
}

Executor prepare_rescaled_average(const AveragePoolArithmetic& rule, const Operation& operation, const ConvShape& windows,
                                  const ModelTensor& in, const ModelTensor& out, IntegerRange range) {
  return [=, finishers = finishers_by_count(rule, operation, windows, in, out, range),
          zero = in.quantization.zero_point()](const Execution& run) {
    visit_element_type(run.inputs[0]->type(), [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        std::vector<std::int64_t> counts;
        auto sums = reduce<T>(windows, run.inputs[0]->values<T>(), 0, &counts, std::plus<>());
        const auto channels = static_cast<std::size_t>(windows.in_channels);
        for (std::size_t pixel = 0; pixel < counts.size(); ++pixel) {
          const std::span<std::int64_t> row(sums.data() + pixel * channels, channels);
          for (auto& sum : row) sum = narrow_wrap(sum - counts[pixel] * zero, 32);
          const std::int64_t count = rule.padding == PaddingCount::included ? windows.kernel_height * windows.kernel_width : counts[pixel];
          finishers.at(count)(row, run.events);
        }
        store(sums, run.outputs[0]);
      }
    });
  };
}

}  // namespace

Executor prepare_pool(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  const IntegerRange range = bounds_of(std::get<Pool2dAttributes>(operation.attributes).bounds, out);
  const ConvShape windows = pool_shape_of(model, operation);
  if (operation.kind == OperationKind::max_pool2d) return prepare_max_pool(windows, range);
  const AveragePoolArithmetic& average = average_rule(backend, operation, in, out);
  if (average.method == DivisionMethod::rescaled) return prepare_rescaled_average(average, operation, windows, in, out, range);
  return [=, rule = average, from = in.quantization, to = out.quantization](const Execution& run) {
    visit_element_type(run.inputs[0]->type(), [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        std::vector<std::int64_t> counts;
        auto sums = reduce<T>(windows, run.inputs[0]->values<T>(), 0, &counts, std::plus<>());
        divide_sums(rule, sums, counts, windows, from, to);
        bound(sums, range, run.events);
        store(sums, run.outputs[0]);
      }
    });
  };
}

namespace {

/// For every input element, the output element it is averaged into.
std::vector<std::int64_t> mean_targets(const Shape& in, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> targets{0};
  for (std::size_t axis = 0; axis < in.rank(); ++axis) {
    const bool reduced = std::any_of(axes.begin(), axes.end(), [&](std::int64_t a) {
      return a == static_cast<std::int64_t>(axis) || a + static_cast<std::int64_t>(in.rank()) == static_cast<std::int64_t>(axis);
    });
    std::vector<std::int64_t> next;
    next.reserve(targets.size() * static_cast<std::size_t>(in[axis]));
    for (const std::int64_t target : targets) {
      for (std::int64_t i = 0; i < in[axis]; ++i) next.push_back(reduced ? target : target * in[axis] + i);
    }
    targets = std::move(next);
  }
  return targets;
}

}  // namespace

Executor prepare_mean(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  const MeanArithmetic& rule = backend.mean;
  if (rule.method == MeanMethod::absent) throw_unsupported(operation, "the backend has no mean");
  const std::int64_t count = in.shape.element_count() / out.shape.element_count();
  const double per_output = rule.method == MeanMethod::scale_per_count ? static_cast<double>(count) : 1.0;
  const ScaleEncoding& encoding = rule.rescale.scale;
  EncodedScale scale =
      encode(encoding, effective_scale(encoding.arithmetic, in.quantization.scale(), 1.0, out.quantization.scale() * per_output));
  if (rule.method == MeanMethod::count_in_multiplier) scale = fold_count(scale, count);
  return [=, targets = mean_targets(in.shape, std::get<MeanAttributes>(operation.attributes).axes), zero = in.quantization.zero_point(),
          finisher = Finisher(output_chain(operation, rule.rescale.chain), {operands_for(scale, out, range_of(out.type))}, 32)](
             const Execution& run) {
    const auto values = centred(*run.inputs[0], zero);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(run.outputs[0].element_count()), 0);
    for (std::size_t i = 0; i < values.size(); ++i) sums[static_cast<std::size_t>(targets[i])] += values[i];
    for (auto& sum : sums) sum = narrow_wrap(sum, 32);
    finisher(sums, run.events);
    store(sums, run.outputs[0]);
  };
}

}  // namespace lastbit
