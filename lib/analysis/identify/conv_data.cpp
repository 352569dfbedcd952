// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/conv_data.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "engine/operands.hpp"
#include "lastbit/error.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

/// A rule that every layer can be prepared with; only its scale arithmetic is looked at.
ConvArithmetic plain_arithmetic(ScaleArithmetic arithmetic, PerChannelLowering lowering, bool multiplies_rows) {
  const ScaleEncoding scale{.arithmetic = arithmetic,
                            .significant_bits = 31,
                            .rounding = Rounding::half_away,
                            .normalization = Normalization::half_to_one,
                            .min_exponent = -2000,
                            .max_exponent = 127};
  return {
      .sum = {.accumulator = {.bits = 64, .overflow = Overflow::exact, .when = NarrowingPoint::at_end},
              .output = {scale,
                         {stage::clamp_accumulator(), stage::add_offset(), stage::scale_below_zero(32, Rounding::floor), stage::multiply(),
                          stage::shift_right(Rounding::floor), stage::add_converter_offset(), stage::multiply_by_converter(32),
                          stage::shift_right_by_converter(Rounding::floor), stage::add_zero_point(), stage::clamp()}}},
      .bias = BiasAt::accumulator_start,
      .row_multiplier = multiplies_rows ? RowMultiplier::of_terms : RowMultiplier::absent,
      .per_channel = lowering};
}

ConvLayer prepared(const Model& model, const Operation& operation, ScaleArithmetic arithmetic, PerChannelLowering lowering) {
  const bool multiplies_rows = operation.inputs.size() > multiplier_input && operation.inputs[multiplier_input] != absent_tensor;
  return conv_layer(model, operation, backend_of(plain_arithmetic(arithmetic, lowering, multiplies_rows)));
}

template <class T>
bool is_same_span(std::span<T> a, std::span<T> b) {
  return a.data() == b.data() && a.size() == b.size();
}

bool are_same_but_for_scale(const RescaleOperands& a, const RescaleOperands& b) {
  const auto& [a_scale, a_zero_point, a_min, a_max, a_rectifier, a_table, a_pwl, a_segments, a_data_bits, a_output_bits, a_clip,
               a_storage_min, a_storage_max, a_count, a_offset, a_converter, a_below_zero] = a;
  return a_zero_point == b.zero_point && a_min == b.min && a_max == b.max && a_rectifier == b.rectifier && a_table.first == b.table.first &&
         is_same_span(a_table.values, b.table.values) && is_same_span(a_pwl, b.pwl) && is_same_span(a_segments, b.segments) &&
         a_data_bits == b.data_bits && a_output_bits == b.output_bits && a_clip == b.clip && a_storage_min == b.storage_min &&
         a_storage_max == b.storage_max && a_count == b.count && a_offset == b.offset && a_converter == b.converter &&
         a_below_zero == b.below_zero;
}

int bits_for(Int128 magnitude) {
  int bits = 1;
  while (bits < 100 && (Int128{1} << (bits - 1)) <= magnitude) ++bits;
  return bits;
}

const Operation& only_operation(const Model& model) {
  if (model.operations.size() != 1) throw Error(ErrorCode::bad_input, model.name, "is not a layer of one operation");
  return model.operations[0];
}

}  // namespace

Backend backend_of(const ConvArithmetic& arithmetic) {
  const ConvByType by_type{
      .i8 = arithmetic, .i16_bias32 = arithmetic, .i16_bias64 = arithmetic, .i8_weights16 = arithmetic, .i16_weights8 = arithmetic};
  Backend backend = no_rules;
  backend.conv = backend.depthwise_conv = backend.transposed_conv = backend.fully_connected = by_type;
  return backend;
}

const ConvArithmetic* arithmetic_in(const Model& layer, const Backend& backend) {
  const Operation& operation = only_operation(layer);
  switch (operation.kind) {
    case OperationKind::depthwise_conv2d: return conv_arithmetic_of(layer, operation, backend.depthwise_conv).second;
    case OperationKind::transposed_conv2d: return conv_arithmetic_of(layer, operation, backend.transposed_conv).second;
    case OperationKind::fully_connected: return conv_arithmetic_of(layer, operation, backend.fully_connected).second;
    default: return conv_arithmetic_of(layer, operation, backend.conv).second;
  }
}

std::int64_t comparable_at(const Tensor& tensor, std::int64_t index) {
  if (tensor.type() != ElementType::float32) return tensor.integer_at(index);
  return std::bit_cast<std::int32_t>(tensor.values<float>()[static_cast<std::size_t>(index)]);
}

std::vector<std::int64_t> comparables_of(const Tensor& tensor) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = comparable_at(tensor, static_cast<std::int64_t>(i));
  return values;
}

ChannelScales::ChannelScales(std::span<const ConvLayer> layers, std::vector<ScaleRegister> registers)
    : registers_(std::move(registers)), operands_(layers.front().operands) {
  for (const ConvLayer& layer : layers) {
    std::vector<double>& scales = real_.emplace_back();
    for (const RescaleOperands& each : layer.operands) scales.push_back(each.scale.real_f64);
    largest_.push_back(scales.empty() ? 0 : *std::max_element(scales.begin(), scales.end()));
  }
  if (!operands_.empty() &&
      std::ranges::all_of(operands_, [&](const RescaleOperands& each) { return are_same_but_for_scale(each, operands_[0]); }))
    operands_.resize(1);
}

EncodedScale ChannelScales::encoded_one(const ScaleEncoding& encoding, std::size_t channel) const {
  const auto arithmetic = static_cast<std::size_t>(encoding.arithmetic);
  if (registers_.empty()) return encode(encoding, real_[arithmetic][channel], largest_[arithmetic]);
  const ScaleRegister& stated = registers_[registers_.size() == 1 ? 0 : channel];
  return as_registers(encoding, stated.multiplier, stated.shift, real_[arithmetic][channel]);
}

bool ChannelScales::is_held(const ScaleEncoding& encoding, const EncodedScale& scale) const {
  return registers_.empty() ? holds(encoding, scale) : fits_width(scale.multiplier, encoding.significant_bits + 1);
}

std::optional<RescaleOperands> ChannelScales::operands(std::int64_t channel, const ScaleEncoding& encoding) const {
  const EncodedScale scale = encoded_one(encoding, index(channel));
  if (!is_held(encoding, scale)) return std::nullopt;
  RescaleOperands operands = operands_[operands_.size() == 1 ? 0 : index(channel)];
  operands.scale = scale;
  return operands;
}

const ChannelScales::Encoded& ChannelScales::find(const ScaleEncoding& encoding, std::size_t number) const {
  const std::scoped_lock lock(known_->finding);
  const auto [at, fresh] = known_->all.try_emplace(number);
  Encoded& found = at->second;
  if (!fresh) return found;
  const std::size_t channels = real_[static_cast<std::size_t>(encoding.arithmetic)].size();
  for (std::size_t c = 0; c < channels; ++c) found.scales.push_back(encoded_one(encoding, c));
  found.held = std::ranges::all_of(found.scales, [&](const EncodedScale& scale) { return is_held(encoding, scale); });
  if (number < known_->by_number.size()) known_->by_number[number].store(&found, std::memory_order_release);
  return found;
}

const std::vector<EncodedScale>* ChannelScales::encoded(const ScaleEncoding& encoding, std::size_t number) const {
  const Encoded* const known = number < known_->by_number.size() ? known_->by_number[number].load(std::memory_order_acquire) : nullptr;
  const Encoded& found = known != nullptr ? *known : find(encoding, number);
  return found.held ? &found.scales : nullptr;
}

std::vector<RescaleOperands> ChannelScales::all(const std::vector<EncodedScale>& scales) const {
  std::vector<RescaleOperands> list;
  for (std::size_t c = 0; c < scales.size(); ++c) list.push_back(operands(static_cast<std::int64_t>(c), scales));
  return list;
}

ConvVariant::ConvVariant(const Model& model, const Operation& operation, PerChannelLowering lowering)
    : layer_(prepared(model, operation, ScaleArithmetic::f64, lowering)), given_bias_(layer_.bias) {
  std::vector<ConvLayer> layers;
  for (std::size_t i = 0; i < names_of(ScaleArithmetic{}).size(); ++i)
    layers.push_back(prepared(model, operation, static_cast<ScaleArithmetic>(i), lowering));
  scales_ = ChannelScales(layers, bounds_of(operation).registers);
}

const std::vector<std::int64_t>& ConvVariant::bias(const SumRules& rules) const {
  const auto [at, fresh] = biases_.try_emplace({rules.bias_bits, rules.bias_rounding});
  if (fresh) {
    for (const std::int64_t value : given_bias_) at->second.push_back(stored_bias(value, rules.bias_bits, rules.bias_rounding));
  }
  return at->second;
}

void ConvVariant::set_input(std::vector<std::int32_t> input) {
  input_ = std::move(input);
  terms_.assign(static_cast<std::size_t>(layer_.shape.out_count()), {});
}

const ConvVariant::Terms& ConvVariant::terms(std::int64_t index) const {
  Terms& known = terms_[static_cast<std::size_t>(index)];
  if (known.magnitude >= 0) return known;
  const ConvIndex at = output_at(layer_.shape, index);
  known.magnitude = 0;
  for (const ConvTerm& term : terms_of(layer_, at)) {
    const std::int64_t product = std::int64_t{input_[term.input]} * layer_.weights[term.weight] * layer_.multiplier(at.o);
    known.sum += product;
    known.magnitude += std::abs(product);
  }
  return known;
}

std::int64_t ConvVariant::sum(const SumRules& rules, std::int64_t index) const {
  const ConvIndex at = output_at(layer_.shape, index);
  const AccumulatorRule& rule = rules.accumulator;
  const std::vector<std::int64_t>& stored = bias(rules);
  if (!has_partial_sums(rule)) {
    const Terms& known = terms(index);
    const Int128 offset = bias_at_output(layer_.shape, at, stored);
    const Int128 exact = offset + known.sum;
    if (bits_for(known.magnitude + (offset < 0 ? -offset : offset)) <= rule.bits) return static_cast<std::int64_t>(exact);
    if (is_order_independent(rule)) return narrow(exact, rule.bits, rule.overflow);
  }
  layer_.bias = stored;
  layer_.arithmetic.sum.accumulator = rule;
  layer_.arithmetic.bias = rules.bias;
  return accumulate(layer_, input_, at).result();
}

int ConvVariant::bits(std::int64_t index) const {
  const Int128 offset = bias_at_output(layer_.shape, output_at(layer_.shape, index), given_bias_);
  return bits_for(terms(index).magnitude + (offset < 0 ? -offset : offset));
}

ConvData::ConvData(const IdentifyPair& pair, std::vector<std::int64_t> chosen) : outputs(std::move(chosen)) {
  const Operation& operation = only_operation(pair.layer);
  variants.emplace_back(pair.layer, operation, PerChannelLowering::native);
  if (pair.layer.tensor(operation.inputs[1]).quantization.per_channel())
    variants.emplace_back(pair.layer, operation, PerChannelLowering::requantized_to_tensor);
  if (pair.inputs.size() != 1) throw Error(ErrorCode::bad_input, pair.name, "one input is needed");
  const auto wanted = pair.layer.tensor(operation.inputs[0]).shape.element_count();
  const std::int64_t count = variants[0].layer().shape.out_count();
  if (pair.inputs[0].element_count() != wanted || pair.output.element_count() != count) {
    throw Error(ErrorCode::shape_mismatch, pair.name,
                std::to_string(pair.inputs[0].element_count()) + " input and " + std::to_string(pair.output.element_count()) +
                    " output values; the layer has " + std::to_string(wanted) + " and " + std::to_string(count));
  }
  if (outputs.empty()) {
    outputs.resize(static_cast<std::size_t>(count));
    std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
  }
  for (const std::int64_t index : outputs) expected.push_back(pair.output.integer_at(index));
  for (ConvVariant& variant : variants) variant.set_input(centred_input(variant.layer(), pair.inputs[0]));
}

SpaceScope scope_of(const IdentifyPair& pair) {
  const Operation& operation = only_operation(pair.layer);
  const ModelTensor& input = pair.layer.tensor(operation.inputs[0]);
  const ModelTensor& weights = pair.layer.tensor(operation.inputs[1]);
  const auto& zero_points = weights.quantization.zero_points;
  const ConvLayer layer = prepared(pair.layer, operation, ScaleArithmetic::f64, PerChannelLowering::native);
  const bool clips = std::any_of(layer.operands.begin(), layer.operands.end(), [](const auto& each) { return each.clip != no_clip; });
  const bool rectifies =
      std::any_of(layer.operands.begin(), layer.operands.end(), [](const auto& each) { return each.rectifier == Rectifier::at_zero; });
  return {.sums_only = layer.delivers_sums(),
          .per_channel = pair.layer.tensor(operation.inputs[1]).quantization.per_channel(),
          .wide_data = size_of(input.type) == 2,
          .sums_codes = input.type == ElementType::uint8 && weights.type == ElementType::int8 &&
                        std::ranges::all_of(zero_points, [](std::int64_t zero) { return zero == 0; }),
          .clips = clips,
          .rectifies = rectifies,
          .multiplies = !bounds_of(operation).registers.empty(),
          .converts = !bounds_of(operation).converter.empty()};
}

}  // namespace lastbit
