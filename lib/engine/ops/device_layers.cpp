// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// pwl, sum_pool2d, fused_conv2d and recurrent.
#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "engine/finisher.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/conv_layer.hpp"
#include "engine/ops/layer_parts.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/parallel.hpp"
#include "lastbit/arith/pwl.hpp"
#include "lastbit/op/recurrent.hpp"
#include "lastbit/op/sum_pool.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

/// A piecewise-linear function (arith/pwl.hpp) and the width of its result.
class PwlFunction {
 public:
  PwlFunction() = default;
  PwlFunction(const Operation& operation, const ModelTensor& table, const PwlArithmetic& rule, ElementType type)
      : operation_(operation), overflow_(rule.output_overflow), bits_(bits_of(type)) {
    if (rule.method == PwlMethod::absent) throw_unsupported(operation, "the backend has no piecewise-linear function");
    const auto records = table.constant->values<std::int32_t>();
    std::vector<PwlSegment> segments;
    for (std::size_t i = 0; i < records.size(); i += 3)
      segments.push_back(pwl_segment(records[i], static_cast<std::int16_t>(records[i + 1]), static_cast<std::int16_t>(records[i + 2])));
    table_ = PwlTable(std::move(segments));
  }

  /// Says how many values left the width.
  std::int64_t operator()(std::span<std::int64_t> values) const {
    if (table_.empty()) return 0;
    std::int64_t moved = 0;
    for (std::int64_t& value : values) {
      const std::int64_t exact = table_(static_cast<std::int32_t>(value));
      value = narrow(exact, bits_, overflow_);
      moved += value != exact ? 1 : 0;
    }
    return moved;
  }

  void operator()(std::span<std::int64_t> values, Events* events) const {
    if (table_.empty()) return;
    require_32_bits(operation_, values);
    std::mutex adding;
    for_each_part(static_cast<std::int64_t>(values.size()), grain, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t moved = (*this)(values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
      count(moved, last - first, events, adding);
    });
  }

  /// Of a tensor, into another.
  void operator()(const Tensor& input, Tensor& output, Events* events) const {
    std::mutex adding;
    for_each_part(input.element_count(), grain, [&](std::int64_t first, std::int64_t last) {
      std::array<std::int64_t, 512> block;
      std::int64_t moved = 0;
      for (std::int64_t at = first; at < last; at += static_cast<std::int64_t>(block.size())) {
        const auto size = static_cast<std::size_t>(std::min<std::int64_t>(last - at, static_cast<std::int64_t>(block.size())));
        const std::span<std::int64_t> values = std::span(block).first(size);
        widen(input, static_cast<std::size_t>(at), values);
        moved += (*this)(values);
        store(values, output, static_cast<std::size_t>(at));
      }
      count(moved, last - first, events, adding);
    });
  }

 private:
  static constexpr std::int64_t grain = units_per_part(5);

  static void widen(const Tensor& tensor, std::size_t first, std::span<std::int64_t> values) {
    visit_element_type(tensor.type(), [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const auto from = tensor.values<T>().subspan(first, values.size());
        std::copy(from.begin(), from.end(), values.begin());
      }
    });
  }

  void count(std::int64_t moved, std::int64_t values, Events* events, std::mutex& adding) const {
    if (events == nullptr || table_.empty()) return;
    const std::scoped_lock lock(adding);
    events->saturated_outputs += moved;
    events->outputs += values;
  }

  Operation operation_;
  PwlTable table_;
  Overflow overflow_ = Overflow::saturate;
  int bits_ = 32;
};

/// Step 2 of op/sum_pool.hpp by `reduce(value so far, next value)`, for every window and channel.
template <class Reduce>
std::vector<std::int64_t> pool_windows(const ConvShape& windows, WindowOrder order, Reduce&& reduce) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(windows.out_count()));
  for (std::int64_t n = 0; n < windows.batch; ++n) {
    for (std::int64_t y = 0; y < windows.out_height; ++y) {
      for (std::int64_t x = 0; x < windows.out_width; ++x) {
        for (std::int64_t c = 0; c < windows.in_channels; ++c) {
          out.push_back(reduce([&](auto&& visit) { each_window_value(windows, {n, y, x, c}, order, visit); }));
        }
      }
    }
  }
  return out;
}

std::vector<std::int64_t> largest_in_windows(const ConvShape& windows, std::span<const std::int64_t> values) {
  return pool_windows(windows, WindowOrder::rows_outermost, [&](auto&& each_value) {
    std::int64_t largest = std::numeric_limits<std::int64_t>::min();
    each_value([&](std::size_t i) { largest = std::max(largest, values[i]); });
    return largest;
  });
}

std::vector<std::int64_t> sums_of_windows(const ConvShape& windows, std::span<const std::int64_t> values, const AccumulatorRule& rule,
                                          WindowOrder order, Events* events) {
  return pool_windows(windows, order, [&](auto&& each_value) {
    Accumulator sum(rule, 0);
    each_value([&](std::size_t i) { sum.add(values[i]); });
    const std::int64_t result = sum.result();
    if (events != nullptr) events->accumulator_overflows += sum.overflow_count();
    return result;
  });
}

void bound(std::span<std::int64_t> values, IntegerRange range, Events* events) {
  for (std::int64_t& value : values) {
    const std::int64_t bounded = std::clamp(value, range.min, range.max);
    if (events != nullptr && bounded != value) ++events->saturated_outputs;
    value = bounded;
  }
}

/// Pooling by sum (op/sum_pool.hpp), ready to run.
class SumPool {
 public:
  SumPool() = default;
  SumPool(const Operation& operation, const SumPoolArithmetic& rule, const ModelTensor& in, const ModelTensor& out,
          const OutputBounds& bounds)
      : order_(rule.order), sum_(sum_of_windows(rule, bits_of(out.type))) {
    if (!exists(sum_)) throw_unsupported(operation, "the backend has no pooling by sum");
    zero_ = centred_by(sum_.centring, in.quantization.zero_point());
    const LayerQuantities layer = one_operand(scale_of(in), 1, scale_of(out));
    terms_.scale = encode(sum_.operand.scale, effective_scale(sum_.operand, layer));
    if (!sum_.operand.chain.empty()) require_held(operation, sum_.operand.scale, terms_.scale);
    finisher_ = Finisher(output_chain(operation, sum_.output.chain, bounds),
                         layer_operands(operation, sum_.output.scale, {effective_scale(sum_.output, layer)}, out, bounds),
                         width_of_sums(sum_.accumulator));
  }

  /// Of codes.
  [[nodiscard]] std::vector<std::int64_t> operator()(const ConvShape& windows, std::vector<std::int64_t> values, Events* events) const {
    for (std::int64_t& value : values) value = finish(sum_.operand.chain, value - zero_, terms_);
    std::vector<std::int64_t> sums = sums_of_windows(windows, values, sum_.accumulator, order_, events);
    finisher_(sums, events);
    return sums;
  }

 private:
  static double scale_of(const ModelTensor& tensor) { return tensor.quantization.present() ? tensor.quantization.scale() : 1; }

  WindowOrder order_ = WindowOrder::rows_outermost;
  SumArithmetic sum_{};
  std::int64_t zero_ = 0;
  RescaleOperands terms_{};
  Finisher finisher_;
};

}  // namespace

Executor prepare_pwl(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const PwlFunction function(operation, model.tensor(operation.inputs[1]), backend.pwl, output.type);
  return [function](const Execution& run) { function(*run.inputs[0], run.outputs[0], run.events); };
}

Executor prepare_sum_pool(const Model& model, const Operation& operation, const Backend& backend) {
  const OutputBounds& bounds = std::get<Pool2dAttributes>(operation.attributes).bounds;
  return [windows = pool_shape_of(model, operation),
          pool = SumPool(operation, backend.sum_pool, model.tensor(operation.inputs[0]), model.tensor(operation.outputs[0]), bounds)](
             const Execution& run) { store(pool(windows, centred(*run.inputs[0], 0), run.events), run.outputs[0]); };
}

namespace {

/// Every sum of a layer, [batch, out_height, out_width, out_channels].
std::vector<std::int64_t> all_sums(const Convolution& convolution, const Tensor& tensor, const Execution& run) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(convolution.shape().out_count()));
  convolution.sums(conv_input(tensor, {}), sums, run.events, run.routes);
  return sums;
}

/// Weights and bias as they are; the sums go on as sums.
ConvLayer plain_layer(const Model& model, const Operation& operation, const ConvShape& shape, const ConvArithmetic& arithmetic,
                      const ModelTensor* bias, const ModelTensor* multiplier) {
  const ModelTensor& weights = model.tensor(operation.inputs[1]);
  require_plain_data(operation, model);
  if (applies_scale(arithmetic.sum)) throw_unsupported(operation, "the backend rescales its sums, which this layer takes as they are");
  require_constant(operation, &weights);
  require_constant(operation, bias);
  require_whole_vectors(operation, arithmetic.sum.accumulator, shape.kernel_width * shape.in_channels);
  ConvLayer layer{.shape = shape,
                  .arithmetic = arithmetic,
                  .weights = std::vector<std::int16_t>(static_cast<std::size_t>(weights.shape.element_count())),
                  .bias = bias == nullptr ? std::vector<std::int64_t>{} : centred(*bias->constant, 0),
                  .multipliers = multipliers_of(operation, multiplier, arithmetic),
                  .operands = {},
                  .zero_points = {},
                  .input_type = model.tensor(operation.inputs[0]).type,
                  .largest_input = largest_centred(model.tensor(operation.inputs[0]))};
  if (!arithmetic.sum.operand.chain.empty()) layer.term_operands.emplace_back();
  centre<std::int16_t>(*weights.constant, {}, layer.weights.size(), layer.weights);
  return layer;
}

/// The windows of the pool over the sums.
ConvShape windows_over(const Model& model, const Operation& operation, const ConvShape& sums) {
  const auto& attributes = std::get<FusedConv2dAttributes>(operation.attributes);
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  return {.batch = sums.batch,
          .in_height = sums.out_height,
          .in_width = sums.out_width,
          .in_channels = sums.out_channels,
          .out_height = out[1],
          .out_width = out[2],
          .out_channels = out[3],
          .kernel_height = attributes.pool_filter.height,
          .kernel_width = attributes.pool_filter.width,
          .stride_height = attributes.pool_stride.height,
          .stride_width = attributes.pool_stride.width};
}

/// A fused layer, ready to run.
struct FusedLayer {
  Operation operation;
  Convolution convolution;
  PoolKind pool;
  ConvShape windows;
  PwlFunction function;
  AccumulatorRule accumulator;  ///< of the convolution by itself
  FusedConvArithmetic rule;
  SumPool sum_pool;  ///< read by activation_then_pool
  ElementType type;  ///< of the output

  void operator()(const Execution& run) const {
    std::vector<std::int64_t> values = all_sums(convolution, *run.inputs[0], run);
    if (rule.order == FusedOrder::pool_then_activation) {
      AccumulatorRule plain = rule.sum;  // vectors add products, not the sums of a pool
      plain.partial = {};
      if (pool == PoolKind::max) values = largest_in_windows(windows, values);
      if (pool == PoolKind::sum) values = sums_of_windows(windows, values, plain, WindowOrder::rows_outermost, run.events);
      for (std::int64_t& value : values) {
        const std::int64_t exact = std::exchange(value, narrow(value, accumulator.bits, accumulator.overflow));
        if (run.events != nullptr && value != exact) ++run.events->accumulator_overflows;
      }
      function(values, run.events);
    } else {
      function(values, run.events);
      if (pool == PoolKind::max) values = largest_in_windows(windows, values);
      if (pool == PoolKind::sum) values = summed(std::move(values), run.events);
      else bound(values, range_of(type), run.events);
    }
    require_32_bits(operation, values);
    store(values, run.outputs[0]);
  }

 private:
  /// The outputs have been counted where they were activated.
  [[nodiscard]] std::vector<std::int64_t> summed(std::vector<std::int64_t> values, Events* events) const {
    Events of_pool;
    values = sum_pool(windows, std::move(values), &of_pool);
    of_pool.outputs = 0;
    if (events != nullptr) *events += of_pool;
    return values;
  }
};

}  // namespace

ConvShape fused_shape(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<FusedConv2dAttributes>(operation.attributes);
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  const Shape& weights = model.tensor(operation.inputs[1]).shape;
  const Extent2d image{in[1], in[2]}, filter{weights[1], weights[2]};
  const Extent2d places = window_count(attributes.padding, image, filter, attributes.stride);
  const ResolvedPadding padding = resolve_padding(attributes.padding, image, filter, attributes.stride);
  return {.batch = in[0],
          .in_height = image.height,
          .in_width = image.width,
          .in_channels = in[3],
          .out_height = places.height,
          .out_width = places.width,
          .out_channels = weights[0],
          .kernel_height = filter.height,
          .kernel_width = filter.width,
          .stride_height = attributes.stride.height,
          .stride_width = attributes.stride.width,
          .pad_top = padding.top,
          .pad_left = padding.left};
}

ConvLayer fused_sums(const Model& model, const Operation& operation, const Backend& backend) {
  const FusedConvArithmetic& rule = backend.fused_conv;
  if (rule.order == FusedOrder::absent) throw_unsupported(operation, "the backend has no convolution fused with pool and activation");
  ConvArithmetic arithmetic = select_arithmetic(model, operation, backend.conv);
  if (!arithmetic.sum.operand.chain.empty()) throw_unsupported(operation, "a fused layer takes its products as they are");
  if (rule.order == FusedOrder::pool_then_activation) arithmetic.sum.accumulator = rule.sum;
  return plain_layer(model, operation, fused_shape(model, operation), arithmetic, input_tensor(model, operation, bias_input), nullptr);
}

ConvShape fused_windows(const Model& model, const Operation& operation) {
  return windows_over(model, operation, fused_shape(model, operation));
}

Executor prepare_fused_convolution(const Model& model, const Operation& operation, const Backend& backend) {
  const FusedConvArithmetic& rule = backend.fused_conv;
  Convolution convolution = convolution_of(fused_sums(model, operation, backend));
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const PoolKind pool = std::get<FusedConv2dAttributes>(operation.attributes).pool;
  SumPool sum_pool;
  if (pool == PoolKind::sum && rule.order == FusedOrder::activation_then_pool)
    sum_pool = SumPool(operation, backend.sum_pool, output, output, {});
  const ModelTensor* const table = input_tensor(model, operation, fused_pwl_input);
  return FusedLayer{operation,
                    std::move(convolution),
                    pool,
                    fused_windows(model, operation),
                    table == nullptr ? PwlFunction() : PwlFunction(operation, *table, backend.pwl, output.type),
                    select_arithmetic(model, operation, backend.conv).sum.accumulator,
                    rule,
                    std::move(sum_pool),
                    output.type};
}

ConvLayer recurrent_sums(const Model& model, const Operation& operation, const Backend& backend) {
  const std::int64_t inputs = model.tensor(operation.inputs[0]).shape[1], outputs = model.tensor(operation.outputs[0]).shape[1];
  return plain_layer(model, operation, recurrent_shape(inputs, outputs), select_arithmetic(model, operation, backend.recurrent),
                     input_tensor(model, operation, recurrent_bias_input), input_tensor(model, operation, recurrent_multiplier_input));
}

Executor prepare_recurrent(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const std::int64_t rows = input.shape[0], inputs = input.shape[1], outputs = output.shape[1];
  const std::int64_t delay = model.tensor(operation.inputs[recurrent_feedback_input]).shape[0];
  const PwlFunction function(operation, model.tensor(operation.inputs[recurrent_pwl_input]), backend.pwl, output.type);
  ConvLayer layer = recurrent_sums(model, operation, backend);
  layer.input_type = ElementType::int16;  // joined from the input and earlier outputs
  const Convolution convolution = convolution_of(std::move(layer));
  return [=](const Execution& run) {
    const std::vector<std::int64_t> x = centred(*run.inputs[0], 0), given = centred(*run.inputs[recurrent_feedback_input], 0);
    std::vector<std::int64_t> activations, sums(static_cast<std::size_t>(outputs));
    std::vector<std::int16_t> joined(static_cast<std::size_t>(inputs + outputs));
    for (std::int64_t n = 0; n < rows; ++n) {
      const EarlierOutput earlier = earlier_output(n, delay);
      const std::int64_t* const h = (earlier.is_given ? given : activations).data() + earlier.row * outputs;
      const auto narrow_16 = [](std::int64_t value) { return static_cast<std::int16_t>(value); };
      std::transform(x.data() + n * inputs, x.data() + (n + 1) * inputs, joined.begin(), narrow_16);
      std::transform(h, h + outputs, joined.begin() + inputs, narrow_16);
      convolution.sums(conv_input(std::span<const std::int16_t>(joined)), sums, run.events, run.routes);
      if (run.outputs.size() > 1) store(sums, run.outputs[1], static_cast<std::size_t>(n * outputs));
      function(sums, run.events);
      activations.insert(activations.end(), sums.begin(), sums.end());
    }
    store(activations, run.outputs[0]);
  };
}

}  // namespace lastbit
