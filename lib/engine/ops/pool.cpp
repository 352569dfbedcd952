// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// max_pool2d, average_pool2d, global_average_pool and mean.
#include "lastbit/op/pool.hpp"

#include <algorithm>
#include <map>
#include <type_traits>

#include "engine/counted_parts.hpp"
#include "engine/finisher.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "lastbit/op/mean.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t taps_per_part = 65536;  ///< times channels: what a thread does at least

/// The part of a window that lies inside the image.
struct Window {
  std::int64_t y0, y1, x0, x1;
  [[nodiscard]] std::int64_t count() const { return (y1 - y0) * (x1 - x0); }
};

Window window_at(const ConvShape& w, std::int64_t y, std::int64_t x) {
  const std::int64_t top = y * w.stride_height - w.pad_top, left = x * w.stride_width - w.pad_left;
  return {std::max<std::int64_t>(top, 0), std::min(top + w.kernel_height, w.in_height), std::max<std::int64_t>(left, 0),
          std::min(left + w.kernel_width, w.in_width)};
}

/// Calls body(values of the channels, how many) for every tap of a window that lies inside the image, in order.
template <class T, class Body>
void each_tap(const ConvShape& w, std::span<const T> input, std::int64_t n, const Window& window, Body&& body) {
  const auto channels = static_cast<std::size_t>(w.in_channels);
  for (std::int64_t y = window.y0; y < window.y1; ++y) {
    const T* pixel = input.data() + ((n * w.in_height + y) * w.in_width + window.x0) * w.in_channels;
    for (std::int64_t x = window.x0; x < window.x1; ++x, pixel += channels) body(pixel, channels);
  }
}

/// Calls pixel(sample, window, index of its first output, events) for every output pixel, rows shared among threads.
template <class Pixel>
void each_pixel(const ConvShape& w, Events* events, Pixel&& pixel) {
  const std::int64_t work = w.out_width * w.kernel_height * w.kernel_width * w.in_channels;
  for_each_counted_part(events, w.batch * w.out_height, std::max<std::int64_t>(1, taps_per_part / work),
                        [&](std::int64_t first, std::int64_t last, Events* counted) {
                          for (std::int64_t row = first; row < last; ++row) {
                            const std::int64_t n = row / w.out_height, y = row % w.out_height;
                            for (std::int64_t x = 0; x < w.out_width; ++x)
                              pixel(n, window_at(w, y, x), static_cast<std::size_t>((row * w.out_width + x) * w.in_channels), counted);
                          }
                        });
}

/// Calls body.template operator()<T>() with the type of an integer tensor.
template <class Body>
void with_integers(const Tensor& tensor, Body&& body) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) body.template operator()<T>();
  });
}

Executor prepare_max_pool(const ConvShape& windows, const ModelTensor& in, const ModelTensor& out, IntegerRange range) {
  const IntegerRange codes = range_of(in.type);
  return [=, finisher = Finisher({clamp()}, {operands_for({}, out, range)}, FinisherInput{codes.min, codes.max})](const Execution& run) {
    with_integers(*run.inputs[0], [&]<class T>() {
      const auto input = run.inputs[0]->values<T>();
      Tensor& output = run.outputs[0];
      const std::size_t size = size_of(output.type());
      each_pixel(windows, run.events, [&](std::int64_t n, const Window& window, std::size_t at, Events* events) {
        thread_local std::vector<T> largest;
        largest.assign(static_cast<std::size_t>(windows.in_channels), std::numeric_limits<T>::min());
        each_tap<T>(windows, input, n, window, [](const T* tap, std::size_t channels) {
          T* const to = largest.data();
          for (std::size_t c = 0; c < channels; ++c) to[c] = tap[c] > to[c] ? tap[c] : to[c];
        });
        finisher(largest.data(), element_type_of<T>, largest.size(), output.bytes().data() + at * size, size, events);
      });
    });
  };
}

/// The sum of every window, channel by channel, into the row given to pixel(sums, window, index of the first output, events).
template <class Sum, class Pixel>
void each_window_sum(const ConvShape& w, const Tensor& tensor, Events* events, Pixel&& pixel) {
  with_integers(tensor, [&]<class T>() {
    const auto input = tensor.values<T>();
    each_pixel(w, events, [&](std::int64_t n, const Window& window, std::size_t at, Events* counted) {
      thread_local std::vector<Sum> sums;
      sums.assign(static_cast<std::size_t>(w.in_channels), 0);
      each_tap<T>(w, input, n, window, [](const T* tap, std::size_t channels) {
        Sum* const to = sums.data();
        for (std::size_t c = 0; c < channels; ++c) to[c] = static_cast<Sum>(to[c] + static_cast<Sum>(tap[c]));
      });
      pixel(std::span<Sum>(sums), window, at, counted);
    });
  });
}

/// Step 2 of the contract on the sums of one window.
template <class Sum>
void divide_sums(const AveragePoolArithmetic& rule, std::span<Sum> sums, std::int64_t inside, std::span<std::int64_t> out,
                 const ConvShape& w, const Quantization& from, const Quantization& to) {
  const bool padded = rule.padding == PaddingCount::included;
  const std::int64_t count = padded ? w.kernel_height * w.kernel_width : inside;
  const std::int64_t padding = padded ? (count - inside) * from.zero_point() : 0;
  if (rule.method == DivisionMethod::exact) {
    with_rounding(rule.rounding, [&]<Rounding fixed>() {
      for (std::size_t i = 0; i < sums.size(); ++i)
        out[i] = divide<Sum>(static_cast<Sum>(sums[i] + padding), static_cast<Sum>(count), fixed);
    });
  } else if (rule.method != DivisionMethod::float_scale) {
    const AverageByReciprocal average(rule, count);
    for (std::size_t i = 0; i < sums.size(); ++i) out[i] = average(sums[i] + padding);
  } else {
    const float scale = average_scale(from.scale(), to.scale(), count);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const float real = static_cast<float>(sums[i] + padding - count * from.zero_point()) * scale;
      out[i] = round_to_integer(real, rule.rounding) + to.zero_point();
    }
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
  else {
    for (std::int64_t y = 0; y < w.out_height; ++y) {
      for (std::int64_t x = 0; x < w.out_width; ++x) add(window_at(w, y, x).count());
    }
  }
  return finishers;
}

/// Sums minus zero points are taken modulo 2^32.
Executor prepare_rescaled_average(const AveragePoolArithmetic& rule, const Operation& operation, const ConvShape& windows,
                                  const ModelTensor& in, const ModelTensor& out, IntegerRange range) {
  return [=, finishers = finishers_by_count(rule, operation, windows, in, out, range),
          zero = in.quantization.zero_point()](const Execution& run) {
    each_window_sum<std::int64_t>(windows, *run.inputs[0], run.events,
                                  [&](std::span<std::int64_t> sums, const Window& window, std::size_t at, Events* events) {
                                    for (auto& sum : sums) sum = narrow_wrap(sum - window.count() * zero, 32);
                                    const bool padded = rule.padding == PaddingCount::included;
                                    const std::int64_t count = padded ? windows.kernel_height * windows.kernel_width : window.count();
                                    finishers.at(count)(std::span<const std::int64_t>(sums), run.outputs[0], at, events);
                                  });
  };
}

template <class Sum>
Executor prepare_average(const AveragePoolArithmetic& rule, const ConvShape& windows, const ModelTensor& in, const ModelTensor& out,
                         IntegerRange range) {
  return [=, finisher = Finisher({clamp()}, {operands_for({}, out, range)}, 64), from = in.quantization,
          to = out.quantization](const Execution& run) {
    each_window_sum<Sum>(windows, *run.inputs[0], run.events,
                         [&](std::span<Sum> sums, const Window& window, std::size_t at, Events* events) {
                           thread_local std::vector<std::int64_t> values;
                           values.resize(sums.size());
                           divide_sums<Sum>(rule, sums, window.count(), values, windows, from, to);
                           finisher(std::span<const std::int64_t>(values), run.outputs[0], at, events);
                         });
  };
}

}  // namespace

Executor prepare_pool(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  const IntegerRange range = bounds_of(std::get<Pool2dAttributes>(operation.attributes).bounds, out);
  const ConvShape windows = pool_shape_of(model, operation);
  if (operation.kind == OperationKind::max_pool2d) return prepare_max_pool(windows, in, out, range);
  const AveragePoolArithmetic& average = average_rule(backend, operation, in, out);
  if (average.method == DivisionMethod::rescaled) return prepare_rescaled_average(average, operation, windows, in, out, range);
  // Twice the sum of a window, for the rounding, with its padding.
  const bool small = size_of(in.type) <= 2 && windows.kernel_height * windows.kernel_width < 1 << 13;
  return small ? prepare_average<std::int32_t>(average, windows, in, out, range)
               : prepare_average<std::int64_t>(average, windows, in, out, range);
}

namespace {

/// Input elements in runs along the last axis; where it is averaged, a run is summed, else it is added element by element.
struct MeanRuns {
  std::size_t length = 1;
  bool summed = false;
  std::vector<std::int64_t> targets;  ///< for every run, the output element of its first element
};

MeanRuns mean_runs(const Shape& in, const std::vector<std::int64_t>& axes) {
  MeanRuns runs{1, false, {0}};
  for (std::size_t axis = 0; axis < in.rank(); ++axis) {
    const bool reduced = std::any_of(axes.begin(), axes.end(), [&](std::int64_t a) {
      return a == static_cast<std::int64_t>(axis) || a + static_cast<std::int64_t>(in.rank()) == static_cast<std::int64_t>(axis);
    });
    const bool last = axis + 1 == in.rank();
    if (last) runs.length = static_cast<std::size_t>(in[axis]), runs.summed = reduced;
    std::vector<std::int64_t> next;
    for (const std::int64_t target : runs.targets) {
      for (std::int64_t i = 0; i < (last ? 1 : in[axis]); ++i) next.push_back(reduced ? target : target * in[axis] + i);
    }
    runs.targets = std::move(next);
  }
  return runs;
}

/// Sums modulo 2^32 of codes minus the zero point.
template <class T>
void add_runs(const MeanRuns& runs, std::span<const T> input, std::int64_t zero_point, std::span<std::int32_t> sums) {
  const auto zero = static_cast<std::uint32_t>(zero_point);
  const auto add = [](std::int32_t& sum, std::uint32_t value) { sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + value); };
  for (std::size_t run = 0; run < runs.targets.size(); ++run) {
    const T* const from = input.data() + run * runs.length;
    std::int32_t* const to = sums.data() + runs.targets[run];
    for (std::size_t i = 0; i < runs.length; ++i) add(to[runs.summed ? 0 : i], static_cast<std::uint32_t>(from[i]) - zero);
  }
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
  return [runs = mean_runs(in.shape, std::get<MeanAttributes>(operation.attributes).axes), zero = in.quantization.zero_point(),
          finisher = Finisher(output_chain(operation, rule.rescale.chain), {operands_for(scale, out, range_of(out.type))}, 32)](
             const Execution& run) {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(run.outputs[0].element_count()), 0);
    with_integers(*run.inputs[0], [&]<class T>() { add_runs<T>(runs, run.inputs[0]->values<T>(), zero, sums); });
    finisher(sums, run.outputs[0], 0, run.events);
  };
}

}  // namespace lastbit
