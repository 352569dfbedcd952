// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// max_pool2d, average_pool2d, global_average_pool and mean.
#include "lastbit/op/pool.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>

#include "engine/finisher.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/ops/window_sums.hpp"
#include "lastbit/op/mean.hpp"

namespace lastbit {
namespace {

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

void require_whole_sums(const Operation& operation, const AccumulatorRule& rule) {
  if (has_partial_sums(rule)) throw_unsupported(operation, "averages have no partial sums");
  if (rule.when == NarrowingPoint::every_tile) throw_unsupported(operation, "averages have no tiles");
}

const AveragePoolArithmetic& average_rule(const Backend& backend, const Operation& operation, const ModelTensor& in,
                                          const ModelTensor& out) {
  const auto& rule = operation.kind == OperationKind::average_pool2d ? backend.average_pool : backend.global_average_pool;
  if (rule.sum.output.chain.empty()) throw_unsupported(operation, "the backend has no average pooling");
  if (!rule.sum.operand.chain.empty()) throw_unsupported(operation, "averages do not rescale their terms");
  const bool same = in.quantization.scale() == out.quantization.scale() && in.quantization.zero_point() == out.quantization.zero_point();
  if (rule.output_scale == OutputScale::of_input && !same)
    throw_unsupported(operation, "input and output quantisation differ; the backend's average pooling does not rescale");
  require_whole_sums(operation, rule.sum.accumulator);
  return rule;
}

/// The output chain for every count of values that a window of the layer may hold; a division that comes first is left to the caller.
std::map<std::int64_t, Finisher> finishers_by_count(const WindowSums& sums, const Chain& chain, const Operation& operation,
                                                    const SumArithmetic& rule, const ConvShape& w, const ModelTensor& in,
                                                    const ModelTensor& out, int bits) {
  const OutputBounds& bounds = std::get<Pool2dAttributes>(operation.attributes).bounds;
  RescaleOperands output = operands_for({}, out, bounds_of(bounds, out));
  output.rectifier = rectifier_of(bounds.activation);
  std::map<std::int64_t, Finisher> finishers;
  for (std::int64_t y = 0; y < w.out_height; ++y) {
    for (std::int64_t x = 0; x < w.out_width; ++x) {
      const std::int64_t count = sums.count(window_at(w, y, x));
      if (finishers.contains(count)) continue;
      const Average average(rule, in.quantization.scale(), out.quantization.scale(), count, output);
      require_held(operation, rule.output.scale, average.operands().scale);
      finishers.emplace(count, Finisher(chain, {average.operands()}, bits));
    }
  }
  return finishers;
}

template <class Sum>
Executor prepare_average(const AveragePoolArithmetic& rule, const Operation& operation, const ConvShape& windows, const ModelTensor& in,
                         const ModelTensor& out) {
  const WindowSums sums(rule, windows, in);
  const Chain& chain = output_chain(operation, rule.sum.output.chain, std::get<Pool2dAttributes>(operation.attributes).bounds);
  const bool divides = chain.stages[0].kind == StageKind::divide;
  Chain rest;
  for (std::size_t i = divides ? 1 : 0; i < chain.size; ++i) rest.append(chain.stages[i]);
  const int bits = sizeof(Sum) == 4 ? 32 : 64;
  return [=, division = chain.stages[0].rounding,
          finishers = finishers_by_count(sums, rest, operation, rule.sum, windows, in, out, bits)](const Execution& run) {
    sums.each<Sum>(*run.inputs[0], run.events, [&](std::span<Sum> values, const Window& window, std::size_t at, Events* events) {
      const std::int64_t count = sums.count(window);
      if (divides) {
        with_rounding(division, [&]<Rounding fixed>() {
          for (Sum& value : values) value = divide<Sum>(value, static_cast<Sum>(count), fixed);
        });
      }
      finishers.at(count)(std::span<const Sum>(values), run.outputs[0], at, events);
    });
  };
}

}  // namespace

Executor prepare_pool(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  const ConvShape windows = pool_shape_of(model, operation);
  if (operation.kind == OperationKind::max_pool2d) {
    if (backend.max_pool == MaxPool::absent) throw_unsupported(operation, "the backend has no such arithmetic");
    return prepare_max_pool(windows, in, out, bounds_of(std::get<Pool2dAttributes>(operation.attributes).bounds, out));
  }
  const AveragePoolArithmetic& average = average_rule(backend, operation, in, out);
  // Twice the sum of a window, for the rounding, with its padding.
  const bool small = size_of(in.type) <= 2 && windows.kernel_height * windows.kernel_width < 1 << 13;
  return small ? prepare_average<std::int32_t>(average, operation, windows, in, out)
               : prepare_average<std::int64_t>(average, operation, windows, in, out);
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

/// Sums of codes minus `zero_point`: modulo the width of Sum, or narrowed after every term where a rule is given.
template <class Sum, class T>
void add_runs(const MeanRuns& runs, std::span<const T> input, std::int64_t zero_point, const AccumulatorRule* every, std::span<Sum> sums) {
  using Unsigned = std::make_unsigned_t<Sum>;
  const auto zero = static_cast<Unsigned>(zero_point);
  const auto add = [](Sum& sum, Unsigned value) { sum = static_cast<Sum>(static_cast<Unsigned>(sum) + value); };
  for (std::size_t run = 0; run < runs.targets.size(); ++run) {
    const T* const from = input.data() + run * runs.length;
    Sum* const to = sums.data() + runs.targets[run];
    for (std::size_t i = 0; i < runs.length; ++i) {
      Sum& sum = to[runs.summed ? 0 : i];
      add(sum, static_cast<Unsigned>(from[i]) - zero);
      if (every != nullptr) sum = static_cast<Sum>(narrow(std::int64_t{sum}, every->bits, every->overflow));
    }
  }
}

template <class Sum>
Executor mean_executor(MeanRuns runs, std::int64_t zero, const AccumulatorRule& rule, Settling settling, Finisher finisher) {
  return [=, runs = std::move(runs), finisher = std::move(finisher)](const Execution& run) {
    std::vector<Sum> sums(static_cast<std::size_t>(run.outputs[0].element_count()), 0);
    with_integers(*run.inputs[0], [&]<class T>() {
      add_runs<Sum, T>(runs, run.inputs[0]->values<T>(), zero, settling == Settling::at_every_term ? &rule : nullptr, sums);
    });
    if (settling == Settling::once) {
      for (Sum& sum : sums) sum = static_cast<Sum>(narrow(std::int64_t{sum}, rule.bits, rule.overflow));
    }
    finisher(std::span<const Sum>(sums), run.outputs[0], 0, run.events);
  };
}

}  // namespace

Executor prepare_mean(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  const SumArithmetic& rule = backend.mean.sum;
  if (rule.output.chain.empty()) throw_unsupported(operation, "the backend has no mean");
  if (!rule.operand.chain.empty()) throw_unsupported(operation, "averages do not rescale their terms");
  require_whole_sums(operation, rule.accumulator);
  const std::int64_t count = in.shape.element_count() / out.shape.element_count();
  RescaleOperands operands =
      Average(rule, in.quantization.scale(), out.quantization.scale(), count, operands_for({}, out, range_of(out.type))).operands();
  if (backend.mean.count == CountIn::multiplier) operands.scale = fold_count(operands.scale, count);
  require_held(operation, rule.output.scale, operands.scale);
  const Settling settling = settling_of(rule.accumulator, largest_sum(in, count));
  const std::int64_t zero = rule.centring == Centring::nothing ? 0 : in.quantization.zero_point();
  MeanRuns runs = mean_runs(in.shape, std::get<MeanAttributes>(operation.attributes).axes);
  const Chain& chain = output_chain(operation, rule.output.chain);
  const bool modulo_32 = rule.accumulator.bits == 32 && rule.accumulator.overflow == Overflow::wrap;
  if (modulo_32)
    return mean_executor<std::int32_t>(std::move(runs), zero, rule.accumulator, Settling::none, Finisher(chain, {operands}, 32));
  return mean_executor<std::int64_t>(std::move(runs), zero, rule.accumulator, settling,
                                     Finisher(chain, {operands}, width_of_sums(rule.accumulator)));
}

}  // namespace lastbit
