// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The one place that names every rule. `each_rule(object, visit)` calls visit(name, member) for each member of a rule structure; printing,
// comparing, JSON, settings and the search of rules are all written on top of it.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lastbit/arith/float16.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

// Names of enumerators, in the order of the enumeration.
constexpr auto names_of(Domain) { return std::to_array<std::string_view>({"integer", "real"}); }
constexpr auto names_of(Rounding) {
  return std::to_array<std::string_view>(
      {"floor", "ceil", "toward_zero", "half_up", "half_down", "half_away", "half_toward_zero", "half_even", "to_odd"});
}
constexpr auto names_of(Overflow) { return std::to_array<std::string_view>({"wrap", "saturate", "exact"}); }
constexpr auto names_of(Float16Overflow) {
  return std::to_array<std::string_view>({"infinity", "saturate", "all_ones", "all_ones_below_2_17"});
}
constexpr auto names_of(Float16TopExponent) { return std::to_array<std::string_view>({"infinity_nan", "ordinary"}); }
constexpr auto names_of(Float16ZeroDivision) { return std::to_array<std::string_view>({"ieee", "unsigned_zero"}); }
constexpr auto names_of(NarrowingPoint) { return std::to_array<std::string_view>({"every_add", "every_tile", "at_end"}); }
constexpr auto names_of(ScaleArithmetic) { return std::to_array<std::string_view>({"f64", "f32"}); }
constexpr auto names_of(Normalization) { return std::to_array<std::string_view>({"half_to_one", "one_to_two", "layer"}); }
constexpr auto names_of(MultiplierCarry) { return std::to_array<std::string_view>({"renormalize", "saturate"}); }
constexpr auto names_of(MultiplierForm) { return std::to_array<std::string_view>({"any", "power_of_two", "power_of_two_plus_one"}); }
constexpr auto names_of(StageKind) {
  return std::to_array<std::string_view>({"shift_left", "multiply", "doubling_high_multiply", "two_term_shift", "shift_right",
                                          "float_scale", "narrow", "relu", "add_zero_point", "clamp", "table", "pwl", "add_half", "clip",
                                          "saturate", "shift_right_with_zero_point", "float_scale_with_zero_point"});
}
constexpr auto names_of(ShiftAmount) {
  return std::to_array<std::string_view>({"remaining", "negative_exponent", "constant", "fraction", "excess", "rest"});
}
constexpr auto names_of(BiasAt) { return std::to_array<std::string_view>({"accumulator_start", "accumulator_end"}); }
constexpr auto names_of(PerChannelLowering) { return std::to_array<std::string_view>({"native", "requantized_to_tensor", "float_scale"}); }
constexpr auto names_of(PartialMethod) { return std::to_array<std::string_view>({"absent", "consecutive_terms"}); }
constexpr auto names_of(PartialTail) { return std::to_array<std::string_view>({"exact", "one_sum", "dropped"}); }
constexpr auto names_of(RowMultiplier) { return std::to_array<std::string_view>({"absent", "of_terms"}); }
constexpr auto names_of(SumPoolMethod) { return std::to_array<std::string_view>({"absent", "running"}); }
constexpr auto names_of(WindowOrder) { return std::to_array<std::string_view>({"rows_outermost", "columns_outermost"}); }
constexpr auto names_of(PwlMethod) { return std::to_array<std::string_view>({"absent", "shifted_segments"}); }
constexpr auto names_of(FusedOrder) { return std::to_array<std::string_view>({"absent", "pool_then_activation", "activation_then_pool"}); }
constexpr auto names_of(DivisionMethod) {
  return std::to_array<std::string_view>({"absent", "exact", "reciprocal", "float_scale", "rescaled", "fixed_reciprocal"});
}
constexpr auto names_of(OutputScale) { return std::to_array<std::string_view>({"own", "of_input"}); }
constexpr auto names_of(PaddingCount) { return std::to_array<std::string_view>({"excluded", "included"}); }
constexpr auto names_of(MeanMethod) { return std::to_array<std::string_view>({"absent", "count_in_multiplier", "scale_per_count"}); }
constexpr auto names_of(AddMethod) {
  return std::to_array<std::string_view>(
      {"absent", "aligned_operands", "weighted_sum", "float_sum", "convolution_8bit", "common_scale", "equal_scales"});
}
constexpr auto names_of(ConvolutionBias) { return std::to_array<std::string_view>({"product_rounded", "factor_rounded"}); }
constexpr auto names_of(MulMethod) { return std::to_array<std::string_view>({"absent", "rescaled", "float_product"}); }
constexpr auto names_of(ConcatMethod) {
  return std::to_array<std::string_view>({"absent", "copy", "scale_and_bias", "dequantize", "rescaled"});
}
constexpr auto names_of(ScaleDivision) { return std::to_array<std::string_view>({"divide", "multiply_by_inverse", "divide_in_double"}); }
constexpr auto names_of(ZeroPointAt) { return std::to_array<std::string_view>({"after_rounding", "before_rounding"}); }
constexpr auto names_of(OutOfRange) { return std::to_array<std::string_view>({"saturate", "int32_min"}); }
constexpr auto names_of(DynamicQuantizeMethod) { return std::to_array<std::string_view>({"absent", "unsigned_range"}); }
constexpr auto names_of(FunctionMethod) { return std::to_array<std::string_view>({"absent", "rescaled", "fixed_point", "float_table"}); }
constexpr auto names_of(StepPrecision) { return std::to_array<std::string_view>({"float16", "float32"}); }
constexpr auto names_of(SumOrder) {
  return std::to_array<std::string_view>({"sequential", "pairwise", "blocks_sequential", "blocks_pairwise", "blocks_exact"});
}
constexpr auto names_of(TermOrder) { return std::to_array<std::string_view>({"kernel_then_channel", "channel_block_then_kernel"}); }
constexpr auto names_of(MeanScaling) { return std::to_array<std::string_view>({"before_sum", "after_sum"}); }
constexpr auto names_of(LogisticBound) { return std::to_array<std::string_view>({"none", "log_of_largest"}); }
constexpr auto names_of(ScaleFactor) { return std::to_array<std::string_view>({"once", "square_root_twice"}); }
constexpr auto names_of(Float16Method) { return std::to_array<std::string_view>({"absent", "stepwise"}); }
constexpr auto names_of(Float32Operations) { return std::to_array<std::string_view>({"absent", "golden"}); }
constexpr auto names_of(Coding) { return std::to_array<std::string_view>({"affine", "symmetric"}); }
constexpr auto names_of(ResizeMethod) { return std::to_array<std::string_view>({"absent", "fixed_point"}); }
constexpr auto names_of(ResizeGrid) { return std::to_array<std::string_view>({"coordinate", "start_and_step"}); }
constexpr auto names_of(FusedActivation) { return std::to_array<std::string_view>({"ignored", "applied"}); }
constexpr auto names_of(LstmMethod) { return std::to_array<std::string_view>({"absent", "sigmoid_table"}); }
constexpr auto names_of(ArgmaxMethod) { return std::to_array<std::string_view>({"absent", "first_maximum", "last_maximum"}); }
constexpr auto names_of(RunningMaximum) { return std::to_array<std::string_view>({"per_position", "carried_over"}); }
constexpr auto names_of(SingleChannel) { return std::to_array<std::string_view>({"zero", "upper_half"}); }
constexpr auto names_of(EvidenceLevel) {
  return std::to_array<std::string_view>({"hardware", "vendor_code", "vendor_source", "document", "thread", "guess"});
}

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  names_of(value);
};

template <NamedEnum E>
[[nodiscard]] constexpr std::string_view name_of(E value) {
  constexpr auto count = names_of(E{}).size();
  const auto index = static_cast<std::size_t>(value);
  return index < count ? names_of(E{})[index] : std::string_view("?");
}

template <NamedEnum E>
[[nodiscard]] constexpr std::optional<E> enumerator_from(std::string_view name) {
  const auto names = names_of(E{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

template <class Self, class T>
concept ConstOr = std::same_as<std::remove_const_t<Self>, T>;

template <ConstOr<TermsByGroup> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  constexpr std::string_view names[largest_group] = {"1", "2", "3", "4", "5", "6", "7", "8"};
  for (std::size_t i = 0; i < largest_group; ++i) visit(names[i], self.terms[i]);
}
template <ConstOr<PartialSums> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("terms", self.terms);
  visit("vector", self.vector);
  visit("tail", self.tail);
}
template <ConstOr<AccumulatorRule> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("bits", self.bits);
  visit("overflow", self.overflow);
  visit("when", self.when);
  visit("tile", self.tile);
  visit("partial", self.partial);
}
template <ConstOr<ScaleEncoding> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("arithmetic", self.arithmetic);
  visit("significant_bits", self.significant_bits);
  visit("rounding", self.rounding);
  visit("normalization", self.normalization);
  visit("form", self.form);
  visit("min_exponent", self.min_exponent);
  visit("max_exponent", self.max_exponent);
  visit("carry", self.carry);
}
/// Only the members that the stage's kind reads; the kind comes first.
template <ConstOr<Stage> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("kind", self.kind);
  const StageKind kind = self.kind;
  const bool narrows =
      kind == StageKind::shift_left || kind == StageKind::narrow || kind == StageKind::two_term_shift || kind == StageKind::add_half;
  const bool multiplies = kind == StageKind::multiply || kind == StageKind::doubling_high_multiply;
  if (narrows || multiplies) visit("bits", self.bits);
  if (narrows) visit("overflow", self.overflow);
  const bool rounds = kind == StageKind::multiply ? self.bits > 0 : kind == StageKind::doubling_high_multiply;
  if (rounds || shifts_right(kind) || scales_in_float(kind)) visit("rounding", self.rounding);
  if (scales_in_float(kind)) visit("arithmetic", self.arithmetic);
  if (!shifts_right(kind) && kind != StageKind::add_half) return;
  visit("amount", self.amount);
  if (self.amount == ShiftAmount::constant || self.amount == ShiftAmount::excess) visit("constant", self.constant);
  if (self.amount == ShiftAmount::excess || self.amount == ShiftAmount::rest) visit("limit", self.limit);
}
template <ConstOr<RescaleRule> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("scale", self.scale);
  visit("chain", self.chain);
}
template <ConstOr<ConvArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("accumulator", self.accumulator);
  visit("bias", self.bias);
  visit("row_multiplier", self.row_multiplier);
  visit("per_channel", self.per_channel);
  visit("bias_bits", self.bias_bits);
  visit("bias_rounding", self.bias_rounding);
  visit("rescale", self.rescale);
}
template <ConstOr<ConvByType> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("i8", self.i8);
  visit("u8", self.u8);
  visit("i16_bias32", self.i16_bias32);
  visit("i16_bias64", self.i16_bias64);
  visit("i8_weights16", self.i8_weights16);
  visit("i16_weights8", self.i16_weights8);
}
template <ConstOr<SumPoolArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("order", self.order);
  visit("bits_8bit", self.bits_8bit);
  visit("bits", self.bits);
  visit("overflow", self.overflow);
}
template <ConstOr<PwlArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("output_overflow", self.output_overflow);
}
template <ConstOr<FusedConvArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("order", self.order);
  visit("sum", self.sum);
}
template <ConstOr<AveragePoolArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("rounding", self.rounding);
  visit("padding", self.padding);
  visit("reciprocal_bits", self.reciprocal_bits);
  visit("reciprocal_rounding", self.reciprocal_rounding);
  visit("reciprocal_shift", self.reciprocal_shift);
  visit("sum_shift", self.sum_shift);
  visit("output_scale", self.output_scale);
  visit("rescale", self.rescale);
}
template <ConstOr<MeanArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("rescale", self.rescale);
}
template <ConstOr<AddArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("left_shift_8bit", self.left_shift_8bit);
  visit("left_shift_16bit", self.left_shift_16bit);
  visit("operand", self.operand);
  visit("output", self.output);
  visit("convolution_bias", self.convolution_bias);
  visit("weight_bits", self.weight_bits);
  visit("rounding", self.rounding);
  visit("sum_overflow", self.sum_overflow);
  visit("output_16bit", self.output_16bit);
  visit("output_above_one", self.output_above_one);
}
template <ConstOr<ArgmaxArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("running_maximum", self.running_maximum);
  visit("single_channel", self.single_channel);
}
template <ConstOr<MulArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("rescale", self.rescale);
  visit("rounding", self.rounding);
}
template <ConstOr<ConcatArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("method_uint8", self.method_uint8);
}
template <ConstOr<QuantizeArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("division", self.division);
  visit("rounding", self.rounding);
  visit("zero_point", self.zero_point);
  visit("out_of_range", self.out_of_range);
}
template <ConstOr<DynamicQuantizeArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("rounding", self.rounding);
}
template <ConstOr<DequantizeArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("arithmetic", self.arithmetic);
}
template <ConstOr<FunctionArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("rescale", self.rescale);
  visit("rounding", self.rounding);
}
template <ConstOr<ResizeArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("grid", self.grid);
  visit("fraction_bits", self.fraction_bits);
  visit("grid_rounding", self.grid_rounding);
  visit("rounding", self.rounding);
}
template <ConstOr<Float16Rules> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("rounding", self.rounding);
  visit("overflow", self.overflow);
  visit("top_exponent", self.top_exponent);
  visit("zero_division", self.zero_division);
}
template <ConstOr<SumRule> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("precision", self.precision);
  visit("order", self.order);
  visit("block", self.block);
}
template <ConstOr<CubeArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("sum", self.sum);
  visit("terms", self.terms);
  visit("bias", self.bias);
}
template <ConstOr<Float16Mean> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("sum", self.sum);
  visit("scaling", self.scaling);
}
template <ConstOr<Float16Logistic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("steps", self.steps);
  visit("bound", self.bound);
}
template <ConstOr<Float16Function> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("steps", self.steps);
}
template <ConstOr<Float16Softmax> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("exponential", self.exponential);
  visit("sum", self.sum);
}
template <ConstOr<Float16Quantize> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("steps", self.steps);
  visit("factor", self.factor);
  visit("rounding", self.rounding);
}
template <ConstOr<Float16Dequantize> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("scale_bits", self.scale_bits);
}
template <ConstOr<Float16Arithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("conversion", self.conversion);
  visit("sum", self.sum);
  visit("product", self.product);
  visit("quotient", self.quotient);
  visit("cube", self.cube);
  visit("add_n", self.add_n);
  visit("mean", self.mean);
  visit("average_pool", self.average_pool);
  visit("logistic", self.logistic);
  visit("tanh", self.tanh);
  visit("hard_swish", self.hard_swish);
  visit("softmax", self.softmax);
  visit("quantize", self.quantize);
  visit("dequantize", self.dequantize);
}
template <ConstOr<SvdfArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("accumulator", self.accumulator);
  visit("state_i8", self.state_i8);
  visit("state_i16", self.state_i16);
  visit("output", self.output);
  visit("activation", self.activation);
}
template <ConstOr<GateArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("accumulator", self.accumulator);
  visit("bias", self.bias);
  visit("rescale", self.rescale);
}
template <ConstOr<LstmArithmetic> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("method", self.method);
  visit("gate_i8", self.gate_i8);
  visit("gate_i16", self.gate_i16);
  visit("sum", self.sum);
  visit("cell", self.cell);
  visit("clip_rounding", self.clip_rounding);
  visit("output", self.output);
}
template <ConstOr<Backend> Self>
constexpr void each_rule(Self& self, auto&& visit) {
  visit("domain", self.domain);
  visit("coding", self.coding);
  visit("conv", self.conv);
  visit("depthwise_conv", self.depthwise_conv);
  visit("transposed_conv", self.transposed_conv);
  visit("fully_connected", self.fully_connected);
  visit("matmul", self.matmul);
  visit("recurrent", self.recurrent);
  visit("fused_conv", self.fused_conv);
  visit("pwl", self.pwl);
  visit("sum_pool", self.sum_pool);
  visit("average_pool", self.average_pool);
  visit("global_average_pool", self.global_average_pool);
  visit("mean", self.mean);
  visit("add", self.add);
  visit("sub", self.sub);
  visit("mul", self.mul);
  visit("concat", self.concat);
  visit("quantize", self.quantize);
  visit("dequantize", self.dequantize);
  visit("dynamic_quantize", self.dynamic_quantize);
  visit("requantize", self.requantize);
  visit("requantize_16bit", self.requantize_16bit);
  visit("leaky_relu", self.leaky_relu);
  visit("prelu", self.prelu);
  visit("hard_swish", self.hard_swish);
  visit("logistic", self.logistic);
  visit("tanh", self.tanh);
  visit("softmax", self.softmax);
  visit("exp", self.exp);
  visit("resize", self.resize);
  visit("float16", self.float16);
  visit("float32", self.float32);
  visit("svdf", self.svdf);
  visit("lstm", self.lstm);
  visit("argmax", self.argmax);
}

/// A structure of rules (a Chain is a list of Stages and handled as such).
template <class T>
concept RuleStructure = std::is_class_v<std::remove_const_t<T>> && !std::same_as<std::remove_const_t<T>, Chain>;

/// One rule: its path ("conv.i8.rescale.chain.2.rounding") and its value as text ("half_even", "32").
struct RuleText {
  std::string path;
  std::string value;
  friend bool operator==(const RuleText&, const RuleText&) = default;
};

/// Every rule that decides a result, in the order of each_rule: of a structure only the members its method reads, of an absent operation
/// only the rule that says so. The length of a chain appears as "….chain.size".
[[nodiscard]] std::vector<RuleText> list_rules(const Backend& backend);

/// Replaces one rule, read or not. In a path `*` stands for any text within one component: "*.i8.per_channel" replaces the rule in every
/// operation that exists. Throws Error(unknown_rule) naming the path, or the value and the values allowed.
void set_rule(Backend& backend, std::string_view path, std::string_view value);

/// A rule in which two backends differ; empty text where one of them has no such rule. Of an operation that only one of them has, only
/// the rule that says so is listed.
struct RuleDifference {
  std::string path;
  std::string a;
  std::string b;
};
[[nodiscard]] std::vector<RuleDifference> diff_backends(const Backend& a, const Backend& b);

/// Whether `pattern` names `path` or one of its ancestors; `*` as in set_rule.
[[nodiscard]] bool covers(std::string_view pattern, std::string_view path);

/// The evidence that speaks for a rule: the entry whose pattern covers it with the most components, or nullptr.
[[nodiscard]] const Evidence* evidence_for(const SpecSheet& sheet, std::string_view path);

/// The human-readable sheet: per operation the formula with its widths, then evidence and source, then settings.
[[nodiscard]] std::string describe(const SpecSheet& sheet);

/// The backend file format (docs/own-device.md): writing and reading back gives the same sheet.
[[nodiscard]] std::string backend_to_json(const SpecSheet& sheet);
[[nodiscard]] SpecSheet backend_from_json(std::string_view text, std::string_view where);

}  // namespace lastbit
