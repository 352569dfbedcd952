// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// max_pool2d, average_pool2d, global_average_pool, mean and reduce_sum.
#include "lastbit/op/pool.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <type_traits>

#include "engine/finisher.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/ops/window_sums.hpp"
#include "lastbit/arith/binary_float.hpp"
#include "lastbit/op/mean.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

Executor prepare_max_pool(const ConvShape& windows, const ModelTensor& in, const ModelTensor& out, IntegerRange range) {
  const IntegerRange codes = range_of(in.type);
  return [=, finisher =
                 Finisher({stage::clamp()}, {operands_for({}, out, range)}, FinisherInput{codes.min, codes.max})](const Execution& run) {
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

/// Also that the device has the terms' scale.
void require_whole_sums(const Operation& operation, const SumArithmetic& rule, const RescaleOperands& terms) {
  if (has_partial_sums(rule.accumulator)) throw_unsupported(operation, "averages have no partial sums");
  if (!rule.operand.chain.empty()) require_held(operation, rule.operand.scale, terms.scale);
}

/// As far as the rule asks for it.
bool shares_quantization(OutputScale rule, const Quantization& in, const Quantization& out) {
  return (rule == OutputScale::own || in.scale() == out.scale()) && (rule != OutputScale::of_input || in.zero_point() == out.zero_point());
}

const AveragePoolArithmetic& average_rule(const Backend& backend, const Operation& operation, const ModelTensor& in,
                                          const ModelTensor& out) {
  const auto& rule = average_pool_of(operation, backend);
  const bool in_float = rule.in_float.method != FloatAverageMethod::absent;
  if (!exists(rule.sum) && !in_float) throw_unsupported(operation, "the backend has no average pooling");
  if (!shares_quantization(rule.output_scale, in.quantization, out.quantization))
    throw_unsupported(operation, "input and output quantisation differ; the backend's average pooling does not rescale");
  if (!in_float) require_whole_sums(operation, rule.sum, term_operands(rule.sum, in.quantization.scale(), out.quantization.scale(), 1));
  return rule;
}

/// The output chain for every count of values that a window of the layer may hold; a division that comes first is left to the caller.
std::map<std::int64_t, Finisher> finishers_by_count(const WindowSums& sums, const Chain& chain, const Operation& operation,
                                                    const AveragePoolArithmetic& rule, const ConvShape& w, const ModelTensor& in,
                                                    const ModelTensor& out, int bits) {
  const OutputBounds& bounds = std::get<Pool2dAttributes>(operation.attributes).bounds;
  const std::optional<EncodedScale> registers = one_register(operation, rule.sum.output.scale, bounds);
  RescaleOperands output = operands_for({}, out, bounds_of(bounds, out));
  output.rectifier = rectifier_of(bounds.activation);
  std::map<std::int64_t, Finisher> finishers;
  for (std::int64_t y = 0; y < w.out_height; ++y) {
    for (std::int64_t x = 0; x < w.out_width; ++x) {
      const std::int64_t count = sums.count(window_at(w, y, x));
      if (finishers.contains(count)) continue;
      const RescaleOperands operands = average_operands(rule, in.quantization.scale(), out.quantization.scale(), count, w.kernel_width,
                                                        w.kernel_height, output, registers);
      require_held(operation, rule.sum.output.scale, operands.scale);
      finishers.emplace(count, Finisher(chain, {operands}, bits));
    }
  }
  return finishers;
}

template <class Sum>
Executor prepare_average(const AveragePoolArithmetic& rule, const Operation& operation, const ConvShape& windows, const ModelTensor& in,
                         const ModelTensor& out) {
  const WindowSums sums(rule, windows, in, out);
  const Chain& chain = output_chain(operation, rule.sum.output.chain, std::get<Pool2dAttributes>(operation.attributes).bounds);
  const bool divides = chain.stages[0].kind == StageKind::divide;
  Chain rest;
  for (std::size_t i = divides ? 1 : 0; i < chain.size; ++i) rest.append(chain.stages[i]);
  const int bits = sizeof(Sum) == 4 ? 32 : 64;
  return [=, division = chain.stages[0].rounding,
          finishers = finishers_by_count(sums, rest, operation, rule, windows, in, out, bits)](const Execution& run) {
    sums.each<Sum>(*run.inputs[0], run.events, [&](std::span<Sum> values, const Window& window, std::size_t at, Events* events) {
      const std::int64_t count = sums.count(window);
      if (divides) divide_all(values, static_cast<Sum>(count), division);
      finishers.at(count)(std::span<const Sum>(values), run.outputs[0], at, events);
    });
  };
}

Executor prepare_float_average(const AveragePoolArithmetic& rule, const Operation& operation, const ConvShape& windows,
                               const ModelTensor& in, const ModelTensor& out) {
  const auto& attributes = std::get<Pool2dAttributes>(operation.attributes);
  const IntegerRange range = bounds_of(attributes.bounds, out);
  const auto in_scale = static_cast<float>(in.quantization.scale()), out_scale = static_cast<float>(out.quantization.scale());
  return [=, zero = in.quantization.zero_point(), zero_out = static_cast<float>(out.quantization.zero_point()),
          rounding = rule.in_float.rounding, padding = attributes.counted_padding ? rule.in_float.overhang : rule.padding,
          finisher = Finisher({stage::clamp()}, {operands_for({}, out, range)}, 64)](const Execution& run) {
    with_integers(*run.inputs[0], [&]<class T>() {
      const auto input = run.inputs[0]->values<T>();
      each_pixel(windows, run.events, [&](std::int64_t n, const Window& window, std::size_t at, Events* events) {
        thread_local std::vector<float> sums;
        thread_local std::vector<std::int64_t> averages;
        sums.assign(static_cast<std::size_t>(windows.in_channels), 0);
        averages.resize(sums.size());
        each_tap<T>(windows, input, n, window, [&](const T* tap, std::size_t channels) {
          for (std::size_t c = 0; c < channels; ++c) sums[c] += in_scale * static_cast<float>(static_cast<std::int64_t>(tap[c]) - zero);
        });
        const auto count = static_cast<float>(padded_count(padding, windows, window));
        std::ranges::transform(sums, averages.begin(),
                               [&](float sum) { return round_to_integer(sum / count / out_scale + zero_out, rounding); });
        finisher(std::span<const std::int64_t>(averages), run.outputs[0], at, events);
      });
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
    require_equal_quantization(operation, in, out);
    return prepare_max_pool(windows, in, out, bounds_of(std::get<Pool2dAttributes>(operation.attributes).bounds, out));
  }
  AveragePoolArithmetic average = average_rule(backend, operation, in, out);
  if (average.in_float.method != FloatAverageMethod::absent) return prepare_float_average(average, operation, windows, in, out);
  if (std::get<Pool2dAttributes>(operation.attributes).counted_padding) average.padding = PaddingCount::included;
  // Twice the sum of a window, for the rounding, with its padding.
  const bool small = average.sum.operand.chain.empty() && size_of(in.type) <= 2 && windows.kernel_height * windows.kernel_width < 1 << 13;
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
    const std::int64_t count = last ? 1 : in[axis];
    if (count == 1 && (reduced || in[axis] == 1)) continue;
    std::vector<std::int64_t> next(runs.targets.size() * static_cast<std::size_t>(count));
    auto to = next.begin();
    for (const std::int64_t target : runs.targets) {
      if (reduced) std::fill_n(to, count, target);
      else std::iota(to, to + count, target * in[axis]);
      to += count;
    }
    runs.targets = std::move(next);
  }
  return runs;
}

/// Calls add(index of the sum, code) for every element.
template <class T, class Add>
void add_runs(const MeanRuns& runs, std::span<const T> input, Add&& add) {
  for (std::size_t run = 0; run < runs.targets.size(); ++run) {
    const T* const from = input.data() + run * runs.length;
    const auto first = static_cast<std::size_t>(runs.targets[run]);
    if (runs.summed) {
      for (std::size_t i = 0; i < runs.length; ++i) add(first, from[i]);
    } else {
      for (std::size_t i = 0; i < runs.length; ++i) add(first + i, from[i]);
    }
  }
}

/// Of a mean: its terms and how they are added.
struct MeanSum {
  SumArithmetic rule;
  RescaleOperands terms;
  std::int64_t zero;  ///< what is subtracted
  Settling settling;
};

/// Sums in order, term by term.
template <class T>
std::vector<std::int64_t> sums_in_order(const MeanRuns& runs, std::span<const T> input, const MeanSum& mean, std::size_t count) {
  std::vector<Accumulator> accumulators(count, Accumulator(mean.rule.accumulator, 0));
  add_runs(runs, input,
           [&](std::size_t at, T code) { add_term(mean.rule, static_cast<std::int64_t>(code) - mean.zero, mean.terms, accumulators[at]); });
  std::vector<std::int64_t> sums(count);
  std::transform(accumulators.begin(), accumulators.end(), sums.begin(), [](Accumulator& sum) { return sum.result(); });
  return sums;
}

/// Sums modulo the width of Sum.
template <class Sum, class T>
std::vector<Sum> sums_in_any_order(const MeanRuns& runs, std::span<const T> input, const MeanSum& mean, std::size_t count) {
  using Unsigned = std::make_unsigned_t<Sum>;
  const auto zero = static_cast<Unsigned>(mean.zero);
  std::vector<Sum> sums(count, 0);
  add_runs(runs, input, [&](std::size_t at, T code) {
    sums[at] = static_cast<Sum>(static_cast<Unsigned>(sums[at]) + (static_cast<Unsigned>(code) - zero));
  });
  if (mean.settling == Settling::once) {
    for (Sum& sum : sums) sum = static_cast<Sum>(narrow(std::int64_t{sum}, mean.rule.accumulator.bits, mean.rule.accumulator.overflow));
  }
  return sums;
}

template <class Sum>
Executor mean_executor(MeanRuns runs, const MeanSum& mean, Finisher finisher) {
  return [=, runs = std::move(runs), finisher = std::move(finisher)](const Execution& run) {
    const auto count = static_cast<std::size_t>(run.outputs[0].element_count());
    with_integers(*run.inputs[0], [&]<class T>() {
      const auto input = run.inputs[0]->values<T>();
      if (mean.settling == Settling::at_every_term) {
        const std::vector<std::int64_t> sums = sums_in_order<T>(runs, input, mean, count);
        finisher(std::span<const std::int64_t>(sums), run.outputs[0], 0, run.events);
      } else {
        const std::vector<Sum> sums = sums_in_any_order<Sum, T>(runs, input, mean, count);
        finisher(std::span<const Sum>(sums), run.outputs[0], 0, run.events);
      }
    });
  };
}

Executor prepare_reduced(const Model& model, const Operation& operation, const SumArithmetic& rule, CountIn counted) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  if (!exists(rule)) throw_unsupported(operation, "the backend has no " + std::string(name_of(operation.kind)));
  const std::int64_t count = in.shape.element_count() / out.shape.element_count();
  RescaleOperands operands =
      Average(rule, in.quantization.scale(), out.quantization.scale(), count, operands_for({}, out, range_of(out.type))).operands();
  if (counted == CountIn::multiplier) operands.scale = fold_count(operands.scale, count);
  require_held(operation, rule.output.scale, operands.scale);
  MeanSum mean{rule, term_operands(rule, in.quantization.scale(), out.quantization.scale(), count),
               centred_by(rule.centring, in.quantization.zero_point()), settling_of(rule, largest_sum(in, count))};
  require_whole_sums(operation, rule, mean.terms);
  MeanRuns runs = mean_runs(in.shape, std::get<MeanAttributes>(operation.attributes).axes);
  const Chain& chain = output_chain(operation, rule.output.chain);
  const bool modulo_32 = rule.accumulator.bits == 32 && rule.accumulator.overflow == Overflow::wrap;
  if (modulo_32 && mean.settling != Settling::at_every_term) {
    mean.settling = Settling::none;
    return mean_executor<std::int32_t>(std::move(runs), mean, Finisher(chain, {operands}, 32));
  }
  return mean_executor<std::int64_t>(std::move(runs), mean, Finisher(chain, {operands}, width_of_sums(rule.accumulator)));
}

}  // namespace

Executor prepare_mean(const Model& model, const Operation& operation, const Backend& backend) {
  const MeanArithmetic& rule = mean_arithmetic_of(model, operation, backend);
  return prepare_reduced(model, operation, rule.sum, rule.count);
}

Executor prepare_reduce_sum(const Model& model, const Operation& operation, const Backend& backend) {
  return prepare_reduced(model, operation, backend.reduce_sum, CountIn::ratio);
}

}  // namespace lastbit
