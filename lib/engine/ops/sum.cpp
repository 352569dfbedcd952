// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// add, sub and add_n in integers (op/add.hpp), and in float where the device adds so.
#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "engine/counted_parts.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/output_steps.hpp"
#include "engine/pair_lines.hpp"
#include "lastbit/op/add.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

constexpr int narrowest_sum = 16;  // bits that any sum of codes has; along them a chain is followed for how steep it is
constexpr std::int64_t blocks_per_part = units_per_part(1.2 * kernels::finish_block);

/// A layer's sum, one resolution for all channels or one per channel of operands that have a scale per channel.
class LayerSum {
 public:
  LayerSum(const Model& model, const Operation& operation, const SumArithmetic& rule) : rule_(rule) {
    std::size_t channels = 1;
    for (const auto index : operation.inputs) channels = std::max(channels, model.tensor(index).quantization.scales.size());
    for (std::size_t c = 0; c < channels; ++c) sums_.push_back(resolve(rule, sum_layer_of(model, operation, c)));
    for (const auto index : operation.inputs) inputs_.push_back(&model.tensor(index));
  }

  [[nodiscard]] std::vector<double> output_scales() const {
    std::vector<double> scales;
    for (const ResolvedSum& sum : sums_) scales.push_back(sum.output_scale);
    return scales;
  }
  [[nodiscard]] std::int64_t offset() const { return sums_[0].offset; }
  [[nodiscard]] std::size_t operands() const { return inputs_.size(); }
  [[nodiscard]] bool is_narrow() const {
    return std::all_of(inputs_.begin(), inputs_.end(), [](const ModelTensor* input) { return size_of(input->type) <= 2; });
  }

  /// What the sum multiplies an operand by, where that is all its chain does.
  [[nodiscard]] std::optional<std::int64_t> weight(std::size_t operand) const {
    const ResolvedSum::Term& term = sums_[0].terms[operand];
    const Chain& chain = rule_.operand.chain;
    if (chain.empty()) return term.sign;
    const Stage& first = chain.stages[0];
    if (sums_.size() > 1 || chain.size > 1 || first.kind != StageKind::multiply) return std::nullopt;
    return term.sign * narrow_multiplier(term.rescale.scale, first.bits, first.rounding).multiplier;
  }

  /// The largest magnitude that an operand adds, where a weight is all there is to it; beyond 2^62: no bound.
  [[nodiscard]] Int128 largest(std::size_t operand) const {
    const auto factor = weight(operand);
    if (!factor) return Int128{1} << 100;
    const IntegerRange range = range_of(inputs_[operand]->type);
    const std::int64_t zero = sums_[0].terms[operand].zero_point;
    return std::max(Int128{range.max} - zero, Int128{zero} - range.min) * std::abs(*factor);
  }

  /// Steps 1 and 2 without the sign, or the centring alone where a weight does the rest.
  [[nodiscard]] Finisher finisher(const Operation& operation, std::size_t operand) const {
    const IntegerRange range = range_of(inputs_[operand]->type);
    const FinisherInput input{range.min, range.max, sums_[0].terms[operand].zero_point};
    if (weight(operand)) return Finisher({}, {RescaleOperands{}}, input);
    std::vector<RescaleOperands> channels;
    for (const ResolvedSum& sum : sums_) {
      channels.push_back(sum.terms[operand].rescale);
      require_held(operation, rule_.operand.scale, channels.back().scale);
    }
    return Finisher(rule_.operand.chain, std::move(channels), input);
  }
  [[nodiscard]] std::int64_t sign(std::size_t operand) const { return sums_[0].terms[operand].sign; }

  /// By how much the sum grows with an operand, but for rounding; 0 where that is not known.
  [[nodiscard]] double slope(std::size_t operand) const {
    if (const auto factor = weight(operand)) return static_cast<double>(*factor);
    const ResolvedSum::Term& term = sums_[0].terms[operand];
    const IntegerRange range = range_of(inputs_[operand]->type);
    const auto trends = output_trends(rule_.operand.chain, {{term.rescale}}, {range.min - term.zero_point, range.max - term.zero_point});
    return trends.empty() ? 0 : static_cast<double>(term.sign) * trends[0].slope;
  }

 private:
  const SumArithmetic& rule_;
  std::vector<ResolvedSum> sums_;
  std::vector<const ModelTensor*> inputs_;
};

/// One operand on its way into the sum.
struct WeightedOperand {
  CodeReader codes;
  Finisher finisher;
  std::int64_t weight = 1;
};

/// Where the running sum is narrowed: nowhere, where no sum can leave its width, or where the sum is the accumulator's modulo Value's width.
struct Narrowing {
  std::optional<AccumulatorRule> rule;

  [[nodiscard]] bool acts_after(std::size_t operand, std::size_t operands) const {
    if (!rule) return false;
    const bool last = operand + 1 == operands;
    const bool tile_ends = rule->when == NarrowingPoint::every_tile && (operand + 1) % rule->tile(1) == 0;
    return last || tile_ends || rule->when == NarrowingPoint::every_add;
  }
  template <class Value>
  void operator()(std::span<Value> sums) const {
    for (Value& sum : sums) sum = static_cast<Value>(narrow(std::int64_t{sum}, rule->bits, rule->overflow));
  }
};

template <class Value>
constexpr Value weighted(Value value, std::int64_t weight) {
  using Unsigned = std::make_unsigned_t<Value>;
  return static_cast<Value>(static_cast<Unsigned>(value) * static_cast<Unsigned>(weight));
}
template <class Value>
constexpr Value added(Value a, Value b) {
  using Unsigned = std::make_unsigned_t<Value>;
  return static_cast<Value>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}

/// Operands weighted and summed modulo the width of Value, in blocks of whole rows of the finisher's channels.
template <class Value>
class SumExecutor {
 public:
  SumExecutor(std::vector<WeightedOperand> operands, std::int64_t offset, Narrowing narrowing, Finisher finisher)
      : operands_(std::move(operands)), offset_(offset), narrowing_(narrowing), finisher_(std::move(finisher)) {}

  void operator()(const Execution& run) const {
    Tensor& output = run.outputs[0];
    const auto total = static_cast<std::size_t>(output.element_count());
    const std::size_t row = finisher_.channels(), block = row * std::max<std::size_t>(1, kernels::finish_block / row);
    for_each_counted_part(run.events, static_cast<std::int64_t>((total + block - 1) / block), blocks_per_part,
                          [&](std::int64_t first, std::int64_t last, Events* events) {
                            std::vector<Value> sums(block), values(block), gathered(block * sizeof(std::int64_t) / sizeof(Value));
                            for (auto at = static_cast<std::size_t>(first) * block;
                                 at < static_cast<std::size_t>(last) * block && at < total; at += block) {
                              const std::span<Value> part = std::span(sums).first(std::min(block, total - at));
                              sum_block(run, at, part, values, gathered);
                              finisher_(std::span<const Value>(part), output, at, events);
                            }
                          });
  }

 private:
  void sum_block(const Execution& run, std::size_t at, std::span<Value> sums, std::span<Value> values, std::span<Value> gathered) const {
    const std::int64_t first_weight = operands_[0].weight;
    const auto offset = static_cast<Value>(offset_);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const WeightedOperand& operand = operands_[i];
      const void* const codes = operand.codes.read(*run.inputs[i], at, sums.size(), gathered.data());
      operand.finisher(codes, run.inputs[i]->type(), sums.size(), (i == 0 ? sums : values).data(), sizeof(Value), nullptr);
      const bool narrows_first = narrowing_.acts_after(0, operands_.size());
      if (i == 0 && (operands_.size() == 1 || narrows_first)) {
        for (Value& sum : sums) sum = added(weighted(sum, first_weight), offset);
      } else if (i == 1 && !narrows_first) {
        for (std::size_t j = 0; j < sums.size(); ++j)
          sums[j] = added(added(weighted(sums[j], first_weight), weighted(values[j], operand.weight)), offset);
      } else if (i > 0) {
        for (std::size_t j = 0; j < sums.size(); ++j) sums[j] = added(sums[j], weighted(values[j], operand.weight));
      }
      if (narrowing_.acts_after(i, operands_.size())) narrowing_(sums);
    }
  }

  std::vector<WeightedOperand> operands_;
  std::int64_t offset_;
  Narrowing narrowing_;
  Finisher finisher_;
};

void require_one_quantization(const Model& model, const Operation& operation) {
  const ModelTensor& first = model.tensor(operation.inputs[0]);
  for (const auto index : operation.inputs) {
    const ModelTensor& other = model.tensor(index);
    if (other.quantization == first.quantization) continue;
    throw_unsupported(operation,
                      "'" + first.name + "' and '" + other.name +
                          "' differ in scale or zero point; the backend adds codes of one quantisation (requantize one of them)");
  }
}

Executor integer_sum(const Model& model, const Operation& operation, const SumArithmetic& rule) {
  if (has_partial_sums(rule.accumulator)) throw_unsupported(operation, "sums of whole tensors have no partial sums");
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  if (rule.operand.chain.empty()) require_one_quantization(model, operation);
  if (!delivers_sums(output) && !applies_scale(rule.operand.chain) && !applies_scale(rule.output.chain))
    require_scale_of(operation, model.tensor(operation.inputs[0]).quantization.scale(), output);
  const OutputBounds& bounds = std::get<ElementwiseAttributes>(operation.attributes).bounds;
  const LayerSum layer(model, operation, rule);
  std::vector<WeightedOperand> operands;
  Int128 largest = std::abs(layer.offset());
  for (std::size_t i = 0; i < layer.operands(); ++i) {
    operands.push_back({CodeReader(model.tensor(operation.inputs[i]).shape, output.shape), layer.finisher(operation, i),
                        layer.weight(i).value_or(layer.sign(i))});
    largest += layer.largest(i);
  }
  const AccumulatorRule& accumulator = rule.accumulator;
  const bool proven = largest <= max_of_width(accumulator.bits), fits_32 = largest <= max_of_width(32);
  const bool modulo_32 = accumulator.bits == 32 && accumulator.overflow == Overflow::wrap;
  const bool in_32_bits = layer.is_narrow() && ((proven && fits_32) || modulo_32);
  const int width = proven ? 1 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest))) : width_of_sums(accumulator);
  const Chain chain = output_chain(operation, rule.output.chain, bounds);
  std::vector<RescaleOperands> rescale;
  if (!delivers_sums(output)) rescale = layer_operands(operation, rule.output.scale, layer.output_scales(), output, bounds);
  const auto trends = output_trends(chain, rescale, {min_of_width(narrowest_sum), max_of_width(narrowest_sum)});
  Finisher finisher = delivers_sums(output) ? sum_finisher(operation, output, bounds, width) : Finisher(chain, std::move(rescale), width);
  Narrowing narrowing;
  if (!proven && !in_32_bits && accumulator.overflow != Overflow::exact) narrowing.rule = accumulator;
  std::int64_t offset = layer.offset();
  if (narrowing.rule && accumulator.when != NarrowingPoint::at_end) offset = narrow(offset, accumulator.bits, accumulator.overflow);
  Executor sum;
  if (in_32_bits) sum = SumExecutor<std::int32_t>(std::move(operands), offset, narrowing, std::move(finisher));
  else sum = SumExecutor<std::int64_t>(std::move(operands), offset, narrowing, std::move(finisher));
  if (trends.size() != 1 || layer.operands() != 2) return sum;
  return by_pair_lines(std::move(sum), model, operation, layer.slope(0) * trends[0].slope, layer.slope(1) * trends[0].slope);
}

/// Reals added and quantised again.
Executor dequantized_sum(const Model& model, const Operation& operation, const FloatSumArithmetic& rule, IntegerRange range) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const SumLayer layer = sum_layer_of(model, operation, 0);
  struct Dequantized {
    float scale, fixed;
    [[nodiscard]] float operator()(std::int64_t code) const { return std::fma(scale, static_cast<float>(code), fixed); }
  };
  const auto dequantized = [](const SumLayer::Operand& operand) {
    const auto scale = static_cast<float>(operand.scale);
    return Dequantized{scale, scale * static_cast<float>(-operand.zero_point)};
  };
  const float inverse = 1 / static_cast<float>(layer.out_scale);
  return pairwise_in<std::int64_t>(
      pair_of(model, operation, 0, 0), Finisher({stage::add_zero_point(), stage::clamp()}, {operands_for({}, output, range)}, 64),
      [=, a = dequantized(layer.operands[0]), b = dequantized(layer.operands[1]), sign = static_cast<float>(layer.operands[1].sign),
       rounding = rule.rounding](const std::int64_t* va, const std::int64_t* vb, std::int64_t* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          const float sum = a(va[i]) + sign * b(vb[i]);
          out[i] = round_to_integer(sum * inverse, rounding);
        }
      });
}

/// Raw integers, not centred: the zero points are part of the float constant.
Executor float_sum(const Model& model, const Operation& operation, const FloatSumArithmetic& rule) {
  if (operation.inputs.size() != 2) throw_unsupported(operation, "the backend's sum in float has two operands");
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  if (delivers_sums(output)) throw_unsupported(operation, "the backend's sum in float is no integer that it could deliver");
  const IntegerRange range = bounds_of(std::get<ElementwiseAttributes>(operation.attributes).bounds, output);
  if (rule.method == FloatSumMethod::dequantized) return dequantized_sum(model, operation, rule, range);
  const SumLayer layer = sum_layer_of(model, operation, 0);
  const SumLayer::Operand &a = layer.operands[0], &b = layer.operands[1];
  const FloatSum sum = float_sum_of(static_cast<float>(a.scale), static_cast<float>(b.scale) * static_cast<float>(b.sign),
                                    static_cast<float>(layer.out_scale), static_cast<float>(a.zero_point), static_cast<float>(b.zero_point),
                                    static_cast<float>(output.quantization.zero_point()));
  Pair pair = pair_of(model, operation, 0, 0);
  if (pair.narrow && has_float_codes(output, rule.rounding)) {
    const kernels::FloatPair floats{sum.ratio_a, sum.ratio_b, sum.fixed, float_rounding(rule.rounding)};
    Executor exact = in_float(std::move(pair), kernels::selected_path().float_codes->sum, floats, output, range);
    return by_pair_lines(std::move(exact), model, operation, double{sum.ratio_a}, double{sum.ratio_b});
  }
  Finisher finisher({stage::clamp()}, {operands_for({}, output, range)}, 64);
  return pairwise_in<std::int64_t>(
      std::move(pair), std::move(finisher),
      [=, rounding = rule.rounding](const std::int64_t* va, const std::int64_t* vb, std::int64_t* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          const float inner = std::fma(static_cast<float>(vb[i]), sum.ratio_b, sum.fixed);
          out[i] = round_to_integer(std::fma(static_cast<float>(va[i]), sum.ratio_a, inner), rounding);
        }
      });
}

}  // namespace

SumLayer sum_layer_of(const Model& model, const Operation& operation, std::size_t channel) {
  SumLayer layer;
  const Quantization& output = model.tensor(operation.outputs[0]).quantization;
  if (output.present()) layer.out_scale = output.scale();
  for (const auto index : operation.inputs) {
    const Quantization& quantization = model.tensor(index).quantization;
    const std::size_t own = quantization.scales.size() > 1 ? channel : 0;
    const bool subtracted = operation.kind == OperationKind::sub && !layer.operands.empty();
    layer.operands.push_back({quantization.scale(own), quantization.zero_point(), subtracted ? -1 : 1});
  }
  return layer;
}

Executor prepare_add(const Model& model, const Operation& operation, const Backend& backend) {
  const auto [member, rule] = sum_arithmetic_of(model, operation, backend);
  if (member == "in_float") return float_sum(model, operation, add_arithmetic_of(operation, backend).in_float);
  if (rule->output.chain.empty()) throw_unsupported(operation, "the backend has no such arithmetic (" + std::string(member) + ")");
  return integer_sum(model, operation, *rule);
}

}  // namespace lastbit
