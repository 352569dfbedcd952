// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which sums each operation has.
#include <algorithm>
#include <map>
#include <utility>

#include "analysis/prove/elementwise.hpp"
#include "analysis/prove/sums.hpp"
#include "engine/finisher.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/layer_parts.hpp"
#include "lastbit/op/lstm.hpp"
#include "lastbit/op/pool.hpp"
#include "lastbit/op/sum_pool.hpp"
#include "lastbit/operation_rules.hpp"
#include "model/whole_numbers.hpp"

namespace lastbit {
namespace {

/// What one operation is proven with.
struct Request {
  const Model& model;
  const Operation& operation;
  const Backend& backend;
  const TensorRanges& ranges;

  [[nodiscard]] const ModelTensor& input(std::size_t position) const { return model.tensor(operation.inputs[position]); }
  [[nodiscard]] const ModelTensor& output() const { return model.tensor(operation.outputs[0]); }
  [[nodiscard]] IntegerRange codes(std::size_t position) const { return ranges[static_cast<std::size_t>(operation.inputs[position])]; }
  /// Of an input that the operation replaces as it goes: before and after.
  [[nodiscard]] IntegerRange state_values(std::size_t position, std::size_t output, Centring centring = Centring::own_zero_point) const {
    const IntegerRange before = codes(position), after = ranges[static_cast<std::size_t>(operation.outputs[output])];
    return centred(IntegerRange{std::min(before.min, after.min), std::max(before.max, after.max)},
                   centred_by(centring, input(position).quantization.zero_point()));
  }
  [[nodiscard]] IntegerRange values(std::size_t position) const {
    return centred(codes(position), input(position).quantization.zero_point());
  }
  /// What a rule sums of the first input's codes.
  [[nodiscard]] IntegerRange terms(const SumArithmetic& rule) const { return rule.centring == Centring::nothing ? codes(0) : values(0); }
};

/// The operation's data inputs: values given for some of them, in a row; the rest is real 0.
using Place = std::function<std::vector<Tensor>(std::span<const std::int64_t>)>;
Place place_in(const Request& request, const std::vector<std::pair<std::size_t, std::size_t>>& position_and_count,
               Centring centring = Centring::own_zero_point) {
  std::vector<std::pair<std::int32_t, ModelTensor>> tensors;
  for (const std::int32_t index : request.operation.inputs) {
    const auto known = [&](const auto& entry) { return entry.first == index; };
    if (index != absent_tensor && !request.model.tensor(index).constant && std::ranges::none_of(tensors, known))
      tensors.emplace_back(index, request.model.tensor(index));
  }
  std::vector<std::pair<std::int32_t, std::size_t>> given;
  for (const auto& [position, count] : position_and_count) {
    const std::int32_t index = request.operation.inputs[position];
    if (request.model.tensor(index).constant) return {};
    given.emplace_back(index, count);
  }
  return [tensors, given, centring](std::span<const std::int64_t> values) {
    std::vector<Tensor> inputs;
    for (const auto& [index, tensor] : tensors) {
      const std::int64_t zero = tensor.quantization.zero_point();
      std::vector<std::int64_t> codes(static_cast<std::size_t>(tensor.shape.element_count()), zero);
      std::size_t first = 0;
      for (const auto& [place, count] : given) {
        const std::int64_t subtracted = centred_by(centring, zero);
        if (place == index) std::ranges::transform(values.subspan(first, count), codes.begin(), [&](auto v) { return v + subtracted; });
        first += count;
      }
      store(codes, inputs.emplace_back(tensor.type, tensor.shape));
    }
    return inputs;
  };
}

void place_whole_input(const Request& request, Sums& sums, Centring centring = Centring::own_zero_point) {
  sums.values = static_cast<std::size_t>(request.input(0).shape.element_count());
  sums.place = place_in(request, {{0, sums.values}}, centring);
}

std::string width_path(const Request& request) {
  return rule_prefix(request.model, request.operation, request.backend) + ".accumulator.bits";
}

Sums convolution_sums(const Request& request) {
  ConvLayer layer = conv_layer(request.model, request.operation, request.backend);
  const SumArithmetic rule = layer.arithmetic.sum;
  const bool has_cross_terms = layer.data_term.has_value();  // one input's data then counts twice: no input is made for a sum
  Sums sums = sums_of_layer(std::move(layer), {request.terms(rule)}, width_path(request));
  if (!has_cross_terms) place_whole_input(request, sums, rule.centring);
  return sums;
}

/// A layer whose every weight is 1: windows of a pool.
ConvLayer window_layer(const ConvShape& windows, const SumArithmetic& rule, const RescaleOperands& terms = {}) {
  ConvLayer layer{
      .shape = windows, .arithmetic = {.sum = rule}, .weights = {}, .bias = {}, .multipliers = {}, .operands = {}, .zero_points = {}};
  layer.weights.assign(static_cast<std::size_t>(windows.out_channels * windows.taps()), 1);
  if (!rule.operand.chain.empty()) layer.term_operands = {terms};
  return layer;
}

/// Rows of weights times one vector each; row r reads part r / (rows / parts) of the values.
ConvLayer rows_layer(std::vector<std::int64_t> weights, std::int64_t rows, std::int64_t parts, const SumArithmetic& rule,
                     std::vector<RescaleOperands> term_operands = {}) {
  ConvLayer layer = window_layer({}, rule);
  layer.term_operands = std::move(term_operands);
  const std::int64_t terms = static_cast<std::int64_t>(weights.size()) / rows;
  layer.shape = {.in_channels = terms * parts, .out_channels = rows, .groups = parts};
  layer.weights.resize(weights.size());
  std::ranges::transform(weights, layer.weights.begin(), [](std::int64_t w) { return static_cast<std::int16_t>(narrow_exact(w, 16)); });
  return layer;
}

/// Where the order of terms does not matter, what the sum comes to.
SumArithmetic of_averages(SumArithmetic rule) {
  if (is_order_independent(rule.accumulator)) rule.accumulator.when = NarrowingPoint::at_end;
  return rule;
}

/// Terms of one range that each pass a chain, so many at most.
Sums sums_of_terms(const SumArithmetic& rule, const RescaleOperands& terms, const IntegerRange& range, std::int64_t count) {
  const std::vector<RescaleOperands> operands = rule.operand.chain.empty() ? std::vector<RescaleOperands>{} : std::vector{terms};
  Sums sums = sums_of_layer(rows_layer(std::vector<std::int64_t>(static_cast<std::size_t>(count), 1), 1, 1, of_averages(rule), operands),
                            {range}, "");
  sums.layer.reset();  // its inputs are not those of the operation
  return sums;
}

RescaleOperands average_terms(const Request& request, const SumArithmetic& rule, std::int64_t count) {
  return term_operands(rule, request.input(0).quantization.scale(), request.output().quantization.scale(), count);
}

std::vector<Sums> average_sums(const Request& request) {
  const AveragePoolArithmetic& rule = average_pool_of(request.operation, request.backend);
  if (!exists(rule.sum) || rule.in_float.method != FloatAverageMethod::absent) return {};
  const ConvShape shape = pool_shape_of(request.model, request.operation);
  if (!rule.sum.operand.chain.empty()) {  // what padding adds passes the chain as well
    const std::int64_t count = shape.kernel_height * shape.kernel_width;
    const std::int64_t outside = rule.sum.centring == Centring::nothing ? request.input(0).quantization.zero_point() : 0;
    const IntegerRange inside = request.terms(rule.sum);
    return {sums_of_terms(rule.sum, average_terms(request, rule.sum, count), {std::min(inside.min, outside), std::max(inside.max, outside)},
                          count)};
  }
  if (rule.padding == PaddingCount::edge_repeated)
    return {sums_of_terms(rule.sum, {}, request.terms(rule.sum), shape.kernel_height * shape.kernel_width)};
  ConvLayer windows = window_layer(shape, of_averages(rule.sum));
  if (rule.sum.centring != Centring::nothing) windows.zero_points = request.input(0).quantization.zero_points;
  Sums sums = sums_of_layer(std::move(windows), {request.terms(rule.sum)}, "");
  sums.has_width = rule.sum.accumulator.bits < 64;
  place_whole_input(request, sums, rule.sum.centring);
  return {sums};
}

/// Over the pixels of an image it is a pool; over other axes it is a row of values.
std::vector<Sums> mean_sums(const Request& request) {
  const bool is_mean = request.operation.kind == OperationKind::mean;
  const SumArithmetic& rule =
      is_mean ? mean_arithmetic_of(request.model, request.operation, request.backend).sum : request.backend.reduce_sum;
  if (!exists(rule)) return {};
  const Shape& in = request.input(0).shape;
  std::vector<std::int64_t> axes = std::get<MeanAttributes>(request.operation.attributes).axes;
  for (std::int64_t& axis : axes) axis += axis < 0 ? static_cast<std::int64_t>(in.rank()) : 0;
  std::ranges::sort(axes);
  const std::int64_t count = in.element_count() / request.output().shape.element_count();
  if (rule.operand.chain.empty() && in.rank() == 4 && axes == std::vector<std::int64_t>{1, 2}) {
    const ConvShape image{.batch = in[0],
                          .in_height = in[1],
                          .in_width = in[2],
                          .in_channels = in[3],
                          .out_channels = in[3],
                          .kernel_height = in[1],
                          .kernel_width = in[2],
                          .groups = in[3]};
    ConvLayer windows = window_layer(image, of_averages(rule));
    if (rule.centring != Centring::nothing) windows.zero_points = request.input(0).quantization.zero_points;
    Sums sums = sums_of_layer(std::move(windows), {request.terms(rule)}, "");
    place_whole_input(request, sums, rule.centring);
    return {sums};
  }
  return {sums_of_terms(rule, average_terms(request, rule, count), request.terms(rule), count)};
}

std::string sum_pool_path(const Request& request) {
  return std::string("sum_pool.") + (size_of(request.output().type) == 1 ? "i8" : "wide") + ".accumulator.bits";
}

std::vector<Sums> sum_pool_sums(const Request& request) {
  const SumArithmetic& rule = sum_of_windows(request.backend.sum_pool, bits_of(request.output().type));
  if (!exists(rule)) return {};
  Sums sums = sums_of_layer(window_layer(pool_shape_of(request.model, request.operation), rule, average_terms(request, rule, 1)),
                            {request.terms(rule)}, sum_pool_path(request));
  sums.layer.reset();  // it may walk its windows by columns; equal terms do not care, steps on data do
  place_whole_input(request, sums, rule.centring);
  return {sums};
}

/// Every factor of a matmul may vary: terms are their products.
std::vector<Sums> matmul_sums(const Request& request) {
  const MatmulArithmetic& arithmetic = select_arithmetic(request.model, request.operation, request.backend.matmul);
  const Shape& a = request.input(0).shape;
  const bool transposed = std::get<MatmulAttributes>(request.operation.attributes).transpose_a;
  const auto terms = static_cast<std::size_t>(a[a.rank() - (transposed ? 2U : 1U)]);
  const Quantization& of_b = request.input(1).quantization;
  IntegerRange right = centred(request.codes(1), of_b.zero_point());
  for (const std::int64_t zero : of_b.zero_points) {
    const IntegerRange other = centred(request.codes(1), zero);
    right = {std::min(right.min, other.min), std::max(right.max, other.max)};
  }
  std::vector<RescaleOperands> operands = matmul_term_operands(request.model, request.operation, request.backend);
  const std::size_t rows = std::max<std::size_t>(1, operands.size());
  if (arithmetic.sum.centring == Centring::nothing) right = request.codes(1);
  Sums sums = sums_of_layer(
      rows_layer(std::vector<std::int64_t>(terms * rows, 1), static_cast<std::int64_t>(rows), 1, arithmetic.sum, std::move(operands)),
      {product(request.terms(arithmetic.sum), right)}, width_path(request));
  sums.layer.reset();
  if (sums_codes(sums.rule)) {
    const std::int64_t zero = centred_by(arithmetic.sum.centring, request.input(0).quantization.zero_point());
    const IntegerRange beyond = product({zero, zero}, right);
    SumRange by_zeros{};  // what zero points of b add to a product of codes
    for (const std::int64_t b_zero : of_b.zero_points)
      by_zeros = hull(by_zeros, SumRange{request.codes(0).min, request.codes(0).max} * b_zero);
    sums.beyond = SumRange{beyond.min, beyond.max} + by_zeros;
  }
  return {sums};
}

std::vector<std::int64_t> row(const Request& request, std::size_t position) { return centred(*request.input(position).constant, 0); }

bool are_constant(const Request& request, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (!request.input(i).constant) return false;
  }
  return true;
}

/// What every channel's finished sum can be.
std::vector<IntegerRange> results_of(const Sums& sums) {
  std::vector<IntegerRange> results(static_cast<std::size_t>(sums.channels));
  std::vector<bool> seen(results.size());
  sums.each([&](const Sum& sum) {
    const SumRange range = bound(sums, sum).result();
    const auto channel = static_cast<std::size_t>(sum.channel);
    IntegerRange& all = results[channel];
    const IntegerRange one{narrow_saturate(range.lower, 64), narrow_saturate(range.upper, 64)};
    all = seen[channel] ? IntegerRange{std::min(all.min, one.min), std::max(all.max, one.max)} : one;
    seen[channel] = true;
  });
  return results;
}

std::vector<Sums> svdf_sums(const Request& request) {
  if (!are_constant(request, 1, 2)) return {};
  const AccumulatorRule& rule = request.backend.svdf.accumulator;
  const std::string path = "svdf.accumulator.bits";
  const std::int64_t filters = request.input(1).shape[0], rank = std::get<SvdfAttributes>(request.operation.attributes).rank;
  Sums features = sums_of_layer(rows_layer(row(request, 1), filters, 1, {.accumulator = rule}), {request.values(0)}, path);
  features.part = "features";
  features.values = static_cast<std::size_t>(request.input(1).shape[1]);
  features.place = place_in(request, {{0, features.values}});
  Sums times = sums_of_layer(rows_layer(row(request, 2), filters, filters, {.accumulator = rule}), {request.state_values(3, 1)}, path);
  times.part = "times";
  ConvLayer filters_added =
      rows_layer(std::vector<std::int64_t>(static_cast<std::size_t>(filters), 1), filters / rank, filters / rank, {.accumulator = rule});
  if (request.operation.inputs.size() > 4 && request.operation.inputs[4] != absent_tensor && are_constant(request, 4, 1))
    filters_added.bias = row(request, 4);
  Sums outputs = sums_of_layer(std::move(filters_added), results_of(times), path);
  outputs.part = "filters";
  for (Sums* sums : {&features, &times, &outputs}) sums->layer.reset();
  return {features, times, outputs};
}

std::vector<Sums> lstm_sums(const Request& request) {
  constexpr std::size_t gates = 4, hidden = 1, input_weights = 3, recurrent_weights = 7, biases = 11;
  if (!are_constant(request, input_weights, 3 * gates)) return {};
  const bool narrow = request.input(0).type == ElementType::int8;
  const GateArithmetic& gate = narrow ? request.backend.lstm.gate_i8 : request.backend.lstm.gate_i16;
  const std::string path = narrow ? "lstm.gate_i8.accumulator.bits" : "lstm.gate_i16.accumulator.bits";
  const auto all_gates = [&](std::size_t first) {
    std::vector<std::int64_t> all;
    for (std::size_t g = first; g < first + gates; ++g) std::ranges::copy(row(request, g), std::back_inserter(all));
    return all;
  };
  const std::int64_t rows = static_cast<std::int64_t>(gates) * request.input(input_weights).shape[0];
  const auto terms = [&](std::size_t data, std::size_t first) {  // one for each row
    std::vector<RescaleOperands> all;
    const double in = request.input(data).quantization.scale();
    for (std::size_t g = first; g < first + gates && !gate.sum.operand.chain.empty(); ++g) {
      const LayerQuantities layer = one_operand(in, request.input(g).quantization.scale(), lstm_gate_scale);
      const EncodedScale scale = encode(gate.sum.operand.scale, effective_scale(gate.sum.operand, layer));
      const IntegerRange bounds = range_of(ElementType::int16);
      all.insert(all.end(), static_cast<std::size_t>(rows) / gates, RescaleOperands{.scale = scale, .min = bounds.min, .max = bounds.max});
    }
    return all;
  };
  ConvLayer of_input = rows_layer(all_gates(input_weights), rows, 1, gate.sum, terms(0, input_weights));
  of_input.bias = all_gates(biases);
  of_input.arithmetic.bias = gate.bias;
  Sums from_input = sums_of_layer(std::move(of_input), {request.terms(gate.sum)}, path);
  from_input.part = "from input";
  from_input.values = static_cast<std::size_t>(request.input(input_weights).shape[1]);
  from_input.place = place_in(request, {{0, from_input.values}}, gate.sum.centring);
  Sums from_hidden = sums_of_layer(rows_layer(all_gates(recurrent_weights), rows, 1, gate.sum, terms(hidden, recurrent_weights)),
                                   {request.state_values(hidden, 0, gate.sum.centring)}, path);
  from_hidden.part = "from state";
  for (Sums* sums : {&from_input, &from_hidden}) sums->layer.reset();
  return {from_input, from_hidden};
}

std::vector<Sums> recurrent_sums_of(const Request& request) {
  ConvLayer layer = recurrent_sums(request.model, request.operation, request.backend);
  const auto inputs = static_cast<std::size_t>(request.input(0).shape[1]), outputs = static_cast<std::size_t>(request.output().shape[1]);
  std::vector<IntegerRange> ranges(inputs, request.values(0));
  ranges.resize(inputs + outputs, request.state_values(recurrent_feedback_input, 0));
  Sums sums = sums_of_layer(std::move(layer), std::move(ranges), width_path(request));
  sums.layer.reset();
  sums.values = inputs + outputs;
  sums.place = place_in(request, {{0, inputs}, {recurrent_feedback_input, outputs}});
  return {sums};
}

/// The sums under one window of the pool behind a convolution, as one sum of inputs with the weights that meet each of them.
void each_pooled_sum(const ConvLayer& layer, const ConvShape& windows, const VisitSum& visit) {
  std::vector<SumTerm> terms;
  for (std::int64_t o = 0; o < layer.shape.out_channels; ++o) {
    for (std::int64_t i = 0; i < windows.out_height * windows.out_width; ++i) {
      const ConvIndex at{0, i / windows.out_width, i % windows.out_width, o};
      std::map<std::size_t, std::int64_t> weights;
      Int128 bias = 0;
      each_window_value(windows, at, WindowOrder::rows_outermost, [&](std::size_t offset) {
        const ConvIndex place = output_at(layer.shape, static_cast<std::int64_t>(offset));
        bias += bias_at_output(layer.shape, place, layer.bias);
        for (const ConvTerm& term : terms_of(layer, place)) weights[term.input] += layer.weights[term.weight];
      });
      terms.clear();
      for (const auto& [input, weight] : weights) terms.push_back({input, weight});
      const std::int64_t index = i * windows.out_channels + o;
      visit({.channel = o,
             .index = index,
             .terms = terms,
             .runs = {},
             .bias = {bias, bias},
             .lowest_bias_index = index,
             .highest_bias_index = index});
    }
  }
}

/// What the device narrows behind the pool and before the activation.
Sums pooled_sums(const Request& request, const Sums& sums, PoolKind pool) {
  const auto [member, arithmetic] = conv_arithmetic_of(request.model, request.operation, request.backend.conv);
  Sums pooled = sums;
  pooled.part = "pooled";
  const AccumulatorRule& accumulator = arithmetic->sum.accumulator;
  pooled.rule = {.bits = accumulator.bits, .overflow = accumulator.overflow, .when = NarrowingPoint::at_end};
  pooled.rule_path = "conv." + std::string(member) + ".accumulator.bits";
  pooled.layer.reset();
  if (pool != PoolKind::sum) return pooled;  // the largest sum of a window is one of them
  const ConvShape windows = fused_windows(request.model, request.operation);
  pooled.each = [layer = sums.layer, windows](const VisitSum& visit) { each_pooled_sum(*layer, windows, visit); };
  return pooled;
}

std::vector<Sums> fused_sums_of(const Request& request) {
  const PoolKind pool = std::get<FusedConv2dAttributes>(request.operation.attributes).pool;
  const bool pools_first = request.backend.fused_conv.order == FusedOrder::pool_then_activation;
  Sums sums = sums_of_layer(fused_sums(request.model, request.operation, request.backend), {request.values(0)},
                            pools_first ? "fused_conv.sum.bits" : width_path(request));
  place_whole_input(request, sums);
  std::vector<Sums> all{sums};
  if (pools_first) all.push_back(pooled_sums(request, sums, pool));
  else if (pool == PoolKind::sum) {
    const bool activates = input_tensor(request.model, request.operation, fused_pwl_input) != nullptr;
    const SumArithmetic& rule = sum_of_windows(request.backend.sum_pool, bits_of(request.output().type));
    all.push_back(sums_of_layer(window_layer(fused_windows(request.model, request.operation), rule, term_operands(rule, 1, 1, 1)),
                                activates ? std::vector{range_of(request.output().type)} : results_of(sums), sum_pool_path(request)));
    all.back().part = "pooled";
  }
  for (Sums& each : all) each.layer.reset();  // steps are followed in the operation as a whole
  return all;
}

}  // namespace

std::vector<Sums> sums_of(const Model& model, const Operation& operation, const Backend& backend, const TensorRanges& ranges) {
  const Request request{model, operation, backend, ranges};
  const auto is_real_tensor = [&](std::int32_t index) { return index != absent_tensor && !is_integer(model.tensor(index).type); };
  if (std::ranges::any_of(operation.inputs, is_real_tensor) || std::ranges::any_of(operation.outputs, is_real_tensor)) return {};
  if (computes_in_float32(operation, backend) || is_on_whole_numbers(model, operation)) return {};
  if (is_conv_layer(operation.kind)) return {convolution_sums(request)};
  switch (operation.kind) {
    case OperationKind::matmul: return matmul_sums(request);
    case OperationKind::average_pool2d:
    case OperationKind::global_average_pool: return average_sums(request);
    case OperationKind::mean:
    case OperationKind::reduce_sum: return mean_sums(request);
    case OperationKind::sum_pool2d: return sum_pool_sums(request);
    case OperationKind::add:
    case OperationKind::add_n:
    case OperationKind::sub: return elementwise_sums(model, operation, backend, ranges);
    case OperationKind::svdf: return svdf_sums(request);
    case OperationKind::lstm: return lstm_sums(request);
    case OperationKind::recurrent: return recurrent_sums_of(request);
    case OperationKind::fused_conv2d: return fused_sums_of(request);
    default: return {};
  }
}

}  // namespace lastbit
