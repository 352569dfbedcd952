// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/prove/chains.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "analysis/explain/stages.hpp"
#include "analysis/staircase/pieces.hpp"
#include "engine/finisher.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/conv_chains.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/layer_parts.hpp"
#include "engine/ops/requantize.hpp"
#include "engine/ops/window_sums.hpp"
#include "lastbit/op/add.hpp"
#include "lastbit/op/mean.hpp"
#include "lastbit/op/pool.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/rules.hpp"
#include "model/whole_numbers.hpp"

namespace lastbit {
namespace {

constexpr std::size_t most_pieces = 4096;

bool narrows(const Stage& stage) {
  return (facts_of(stage).reads(stage).overflow && stage.overflow != Overflow::exact) || stage.kind == StageKind::doubling_high_multiply;
}

/// A stage that keeps low bits does so of values that it leaves alone otherwise.
InFlight with_room(const Stage& stage, const InFlight& at, const RescaleOperands& operands) {
  if (facts_of(stage).keeps_low_bits(stage, at.value, operands)) return at;
  UnnarrowedMachine machine(at, operands);
  run(stage, machine);
  return machine.at();
}

InFlight before(const ChainUse& use, std::size_t stage, std::int64_t value) {
  InFlight at{value, 0};
  for (std::size_t i = 0; i < stage; ++i) at = apply(use.chain.stages[i], at, use.operands);
  return at;
}

/// What is delivered of a value, if the stage has room for it.
std::int64_t delivered_with_room(const ChainUse& use, std::size_t stage, std::int64_t value) {
  InFlight at = with_room(use.chain.stages[stage], before(use, stage, value), use.operands);
  for (std::size_t i = stage + 1; i < use.chain.size; ++i) at = apply(use.chain.stages[i], at, use.operands);
  return std::clamp(narrow_saturate(at.value, 64), use.bounds.min, use.bounds.max);
}

/// The value that enters and what the stage makes of it in all its places.
struct Reached {
  std::int64_t entering = 0;
  Int128 value = 0;
};

std::optional<StageProof> proof_at(const ChainUse& use, std::size_t number, const Reached& least, const Reached& most) {
  const Stage& stage = use.chain.stages[number];
  for (const Reached& end : {most, least}) {
    const InFlight at = before(use, number, end.entering);
    const Int128 after = apply(stage, at, use.operands).value;
    if (after == end.value) continue;
    const bool wraps = facts_of(stage).keeps_low_bits(stage, at.value, use.operands) ||
                       (facts_of(stage).reads(stage).overflow && stage.overflow == Overflow::wrap);
    if (!wraps &&
        (!use.saturation_counts || finish(use.chain, end.entering, use.operands) == delivered_with_room(use, number, end.entering)))
      continue;
    return StageProof{.part = use.part,
                      .stage = name_of_stage(stage),
                      .bits = stage.bits,
                      .wraps = wraps,
                      .values = {least.value, most.value},
                      .channel = use.channel,
                      .entering = end.entering,
                      .value = end.value,
                      .narrowed = after};
  }
  return std::nullopt;
}

bool may_keep_low_bits(const Stage& stage, const RescaleOperands& operands) {
  return facts_of(stage).keeps_low_bits(stage, max_of_width(64), operands);
}

}  // namespace

StageFound leaving_stage(const ChainUse& use) {
  Chain prefix;
  for (std::size_t i = 0; i < use.chain.size; ++i) {
    const Stage& stage = use.chain.stages[i];
    if (narrows(stage) || may_keep_low_bits(stage, use.operands)) {
      const auto pieces = monotone_pieces(prefix, use.operands, use.values, most_pieces);
      if (!pieces) return {.proof = {}, .followed = false};
      std::optional<Reached> least, most;
      for (const IntegerRange& piece : *pieces) {
        for (const std::int64_t entering : {piece.min, piece.max}) {
          const Reached reached{entering, with_room(stage, before(use, i, entering), use.operands).value};
          if (!least || reached.value < least->value) least = reached;
          if (!most || reached.value > most->value) most = reached;
        }
      }
      if (auto proof = proof_at(use, i, *least, *most)) return {.proof = std::move(proof)};
    }
    prefix.append(stage);
  }
  return {};
}

namespace {

/// An operation whose chains are followed.
struct FollowedLayer {
  const Model& model;
  const Operation& operation;
  const Backend& backend;
  const TensorRanges& ranges;

  [[nodiscard]] const ModelTensor& input(std::size_t i) const { return model.tensor(operation.inputs[i]); }
  [[nodiscard]] const ModelTensor& output() const { return model.tensor(operation.outputs[0]); }
  [[nodiscard]] IntegerRange values(std::size_t i) const {
    return centred(ranges[static_cast<std::size_t>(operation.inputs[i])], input(i).quantization.zero_point());
  }
};

/// Every element of the data inputs at this code, of others at their zero points; nothing where one of those with a code is a constant.
std::vector<Tensor> filled(const FollowedLayer& followed, std::span<const std::optional<std::int64_t>> codes) {
  std::vector<Tensor> inputs;
  std::vector<std::int32_t> seen;
  for (std::size_t i = 0; i < followed.operation.inputs.size(); ++i) {
    const std::int32_t index = followed.operation.inputs[i];
    if (index == absent_tensor) continue;
    const ModelTensor& tensor = followed.model.tensor(index);
    if (tensor.constant && codes[i]) return {};
    if (tensor.constant || std::ranges::count(seen, index) > 0) continue;
    seen.push_back(index);
    const std::vector<std::int64_t> all(static_cast<std::size_t>(tensor.shape.element_count()),
                                        codes[i].value_or(tensor.quantization.zero_point()));
    store(all, inputs.emplace_back(tensor.type, tensor.shape));
  }
  return inputs;
}

/// As `place` of a chain which this input alone enters.
std::function<std::vector<Tensor>(std::int64_t)> place_at(const FollowedLayer& followed, std::size_t position) {
  return [=](std::int64_t value) {
    std::vector<std::optional<std::int64_t>> codes(followed.operation.inputs.size());
    codes[position] = value + followed.input(position).quantization.zero_point();
    return filled(followed, codes);
  };
}

ChainUse use_of(const FollowedLayer& followed, const Chain& chain, const RescaleOperands& operands, const IntegerRange& values) {
  return {.part = {}, .chain = chain, .operands = operands, .values = values, .bounds = range_of(followed.output().type)};
}

IntegerRange hull_of(std::span<const IntegerRange> results) {
  IntegerRange all = results[0];
  for (const IntegerRange& each : results) all = {std::min(all.min, each.min), std::max(all.max, each.max)};
  return all;
}

/// One of the operands for each channel, or for all.
std::vector<ChainUse> of_channels(const FollowedLayer& followed, const Chain& chain, const std::vector<RescaleOperands>& operands,
                                  std::span<const IntegerRange> results) {
  std::vector<ChainUse> uses;
  for (std::size_t c = 0; c < std::max(operands.size(), results.size()); ++c) {
    uses.push_back(use_of(followed, chain, operands[operands.size() == 1 ? 0 : c], results[results.size() == 1 ? 0 : c]));
    uses.back().channel = static_cast<std::int64_t>(c);
  }
  return uses;
}

std::vector<ChainUse> of_sum(const FollowedLayer& followed, std::span<const IntegerRange> results) {
  const SumArithmetic* const rule = sum_arithmetic_of(followed.model, followed.operation, followed.backend).second;
  if (rule == nullptr || results.empty()) return {};
  const ResolvedSum sum = resolve(*rule, sum_layer_of(followed.model, followed.operation, 0));
  std::vector<ChainUse> uses;
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    uses.push_back(use_of(followed, rule->operand.chain, sum.terms[i].rescale, followed.values(i)));
    uses.back().part = "operand " + std::to_string(i + 1);
    uses.back().saturation_counts = false;
    uses.back().place = place_at(followed, i);
  }
  if (rule->output.chain.empty()) return uses;
  const OutputBounds& bounds = std::get<ElementwiseAttributes>(followed.operation.attributes).bounds;
  const auto operands = layer_operands(followed.operation, rule->output.scale, {sum.output_scale}, followed.output(), bounds);
  uses.push_back(use_of(followed, rule->output.chain, operands[0], results[0]));
  return uses;
}

std::vector<ChainUse> of_product(const FollowedLayer& followed) {
  const RescaleRule& rule = followed.backend.mul;
  const OutputBounds& bounds = std::get<ElementwiseAttributes>(followed.operation.attributes).bounds;
  const double scale = product_scale(rule, followed.input(0), followed.input(1), followed.output());
  const auto operands = layer_operands(followed.operation, rule.scale, {scale}, followed.output(), bounds);
  ChainUse use = use_of(followed, rule.chain, operands[0], product(followed.values(0), followed.values(1)));
  use.place = [=](std::int64_t value) -> std::vector<Tensor> {
    if (followed.operation.inputs[0] == followed.operation.inputs[1]) return {};
    const IntegerRange a = followed.values(0), b = followed.values(1);
    for (const std::int64_t x : {a.min, a.max}) {
      for (const std::int64_t y : {b.min, b.max}) {
        if (x * y == value)
          return filled(followed, std::array<std::optional<std::int64_t>, 2>{x + followed.input(0).quantization.zero_point(),
                                                                             y + followed.input(1).quantization.zero_point()});
      }
    }
    return {};
  };
  return {use};
}

std::vector<ChainUse> of_requantization(const FollowedLayer& followed) {
  const bool keeps = followed.input(0).quantization == followed.output().quantization;
  if ((followed.operation.kind == OperationKind::clip && keeps) ||
      (followed.operation.kind == OperationKind::requantize && is_retyping(followed.input(0), followed.output())))
    return {};
  const RescaleRule& rule = requantization_of(followed.model, followed.operation, followed.backend);
  std::vector<ChainUse> uses;
  for (const RescaleOperands& operands :
       requantize_operands(followed.operation, rule, followed.input(0), followed.output(), bounds_of(followed.operation))) {
    uses.push_back(use_of(followed, rule.chain, operands, followed.values(0)));
    uses.back().channel = static_cast<std::int64_t>(uses.size()) - 1;
    uses.back().place = place_at(followed, 0);
  }
  return uses;
}

std::vector<ChainUse> of_concatenation(const FollowedLayer& followed) {
  const ConcatArithmetic& concat = followed.backend.concat;
  if ((followed.output().type == ElementType::uint8 ? concat.method_uint8 : concat.method) != ConcatMethod::rescaled) return {};
  const RescaleRule& rule = requantization_of(followed.model, followed.operation, followed.backend);
  const Activation activation = std::get<ConcatAttributes>(followed.operation.attributes).activation;
  std::vector<ChainUse> uses;
  for (std::size_t i = 0; i < followed.operation.inputs.size(); ++i) {
    const auto operands = requantize_operands(followed.operation, rule, followed.input(i), followed.output(), {.activation = activation});
    uses.push_back(use_of(followed, rule.chain, operands[0], followed.values(i)));
    uses.back().part = "operand " + std::to_string(i + 1);
    uses.back().place = place_at(followed, i);
  }
  return uses;
}

/// One for every count of values that a window may hold.
std::vector<ChainUse> of_average(const FollowedLayer& followed, std::span<const IntegerRange> results) {
  const bool global = followed.operation.kind == OperationKind::global_average_pool;
  AveragePoolArithmetic rule = global ? followed.backend.global_average_pool : followed.backend.average_pool;
  if (rule.in_float.method != FloatAverageMethod::absent || results.empty()) return {};
  const auto& attributes = std::get<Pool2dAttributes>(followed.operation.attributes);
  if (attributes.counted_padding) rule.padding = PaddingCount::included;
  const ModelTensor &in = followed.input(0), &out = followed.output();
  const auto registers = one_register(followed.operation, rule.sum.output.scale, attributes.bounds);
  RescaleOperands output = operands_for({}, out, bounds_of(attributes.bounds, out));
  output.rectifier = rectifier_of(attributes.bounds.activation);
  const ConvShape windows = pool_shape_of(followed.model, followed.operation);
  std::set<std::int64_t> counts;
  for (std::int64_t y = 0; y < windows.out_height; ++y)
    for (std::int64_t x = 0; x < windows.out_width; ++x) counts.insert(padded_count(rule.padding, windows, window_at(windows, y, x)));
  const IntegerRange all = hull_of(results);
  const bool plain = rule.sum.operand.chain.empty() && rule.sum.centring != Centring::nothing;
  const IntegerRange term = followed.values(0);
  std::vector<ChainUse> uses;
  for (const std::int64_t count : counts) {
    const RescaleOperands operands = average_operands(rule, in.quantization.scale(), out.quantization.scale(), count, windows.kernel_width,
                                                      windows.kernel_height, output, registers);
    uses.push_back(use_of(followed, rule.sum.output.chain, operands, all));
    if (plain) {
      uses.back().values = {std::max(all.min, std::min<std::int64_t>(0, count * term.min)),
                            std::min(all.max, std::max<std::int64_t>(0, count * term.max))};
    }
  }
  return uses;
}

std::vector<ChainUse> of_mean(const FollowedLayer& followed, std::span<const IntegerRange> results) {
  const bool is_mean = followed.operation.kind == OperationKind::mean;
  const MeanArithmetic& mean = mean_arithmetic_of(followed.model, followed.operation, followed.backend);
  const SumArithmetic& rule = is_mean ? mean.sum : followed.backend.reduce_sum;
  if (rule.output.chain.empty() || results.empty()) return {};
  const ModelTensor &in = followed.input(0), &out = followed.output();
  const std::int64_t count = in.shape.element_count() / out.shape.element_count();
  RescaleOperands operands =
      Average(rule, in.quantization.scale(), out.quantization.scale(), count, operands_for({}, out, range_of(out.type))).operands();
  if (is_mean && mean.count == CountIn::multiplier) operands.scale = fold_count(operands.scale, count);
  return of_channels(followed, rule.output.chain, {operands}, results);
}

std::vector<ChainUse> of_matmul(const FollowedLayer& followed, std::span<const IntegerRange> results) {
  const SumArithmetic& rule = select_arithmetic(followed.model, followed.operation, followed.backend.matmul).sum;
  if (delivers_accumulators(followed.output(), rule) || results.empty()) return {};
  const auto operands = chain_operands(followed.operation, rule.output, followed.input(0), followed.input(1).quantization,
                                       followed.output(), output_bounds(followed.operation));
  const IntegerRange all[] = {hull_of(results)};
  return of_channels(followed, chain_of(followed.operation, rule), operands, all);
}

/// A stage of a chain that the operation reads wraps.
bool may_wrap(const FollowedLayer& followed) {
  const std::vector<std::string> prefixes = rule_prefixes(followed.model, followed.operation, followed.backend);
  const auto is_read = [&](const std::string& path) {
    return std::ranges::any_of(prefixes, [&](const std::string& prefix) { return covers(prefix, path); });
  };
  return std::ranges::any_of(list_rules(followed.backend), [&](const RuleText& rule) {
    const bool of_stage = rule.path.find(".chain.") != std::string::npos && rule.path.ends_with(".overflow") && rule.value == "wrap";
    return of_stage && is_read(rule.path);
  });
}

bool is_of_integers(const FollowedLayer& followed) {
  const auto is_it = [&](std::int32_t index) { return index == absent_tensor || is_integer(followed.model.tensor(index).type); };
  return std::ranges::all_of(followed.operation.inputs, is_it) && std::ranges::all_of(followed.operation.outputs, is_it);
}

}  // namespace

std::optional<std::vector<ChainUse>> chains_of(const Model& model, const Operation& operation, const Backend& backend,
                                               const TensorRanges& ranges, const Sums* sums, std::span<const IntegerRange> results) {
  const FollowedLayer followed{model, operation, backend, ranges};
  using Uses = std::vector<ChainUse>;
  if (is_movement(operation.kind) || !is_of_integers(followed) || computes_in_float32(operation, backend) ||
      is_on_whole_numbers(model, operation))
    return Uses{};
  if (is_conv_layer(operation.kind)) {
    const ConvLayer& layer = *sums->layer;
    return layer.delivers_sums() ? Uses{} : of_channels(followed, layer.arithmetic.sum.output.chain, layer.operands, results);
  }
  switch (operation.kind) {
    case OperationKind::add:
    case OperationKind::sub:
    case OperationKind::add_n: return delivers_sums(followed.output()) ? Uses{} : of_sum(followed, results);
    case OperationKind::mul: return delivers_sums(followed.output()) ? Uses{} : of_product(followed);
    case OperationKind::average_pool2d:
    case OperationKind::global_average_pool: return of_average(followed, results);
    case OperationKind::mean:
    case OperationKind::reduce_sum: return of_mean(followed, results);
    case OperationKind::matmul: return of_matmul(followed, results);
    case OperationKind::requantize:
    case OperationKind::relu:
    case OperationKind::relu6:
    case OperationKind::relu_n1_to_1:
    case OperationKind::clip: return of_requantization(followed);
    case OperationKind::concat: return of_concatenation(followed);
    default: return may_wrap(followed) ? std::nullopt : std::optional(Uses{});
  }
}

}  // namespace lastbit
