// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rules by their paths: printing, comparing, replacing, describing, and the backend file. (lib/sheet/rule_types.cpp states every rule once.)
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lastbit/arith/float16.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/error.hpp"

namespace lastbit {

// Names of enumerators, in the order of the enumeration.
constexpr auto names_of(Domain) { return std::to_array<std::string_view>({"integer", "real"}); }
constexpr auto names_of(GoldenRange) { return std::to_array<std::string_view>({"representable", "unbounded"}); }
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
constexpr auto names_of(ScaleArithmetic) {
  return std::to_array<std::string_view>({"f64", "f32", "f32_by_inverse_output", "f32_of_inverses", "f32_of_quotient"});
}
constexpr auto names_of(RoundingStep) { return std::to_array<std::string_view>({"up", "away_from_zero"}); }
constexpr auto names_of(ProductArithmetic) { return std::to_array<std::string_view>({"f64", "f32"}); }
constexpr auto names_of(Quantity) {
  return std::to_array<std::string_view>({"one", "in", "first_in", "larger_in", "unit", "weight", "out", "count"});
}
constexpr auto names_of(Normalization) {
  return std::to_array<std::string_view>(
      {"half_to_one", "one_to_two", "layer", "unit", "unit_of_pair", "fixed_point", "least_error", "largest_below"});
}
constexpr auto names_of(MultiplierCarry) { return std::to_array<std::string_view>({"renormalize", "saturate", "keep", "lost"}); }
constexpr auto names_of(MultiplierAddend) { return std::to_array<std::string_view>({"nothing", "one"}); }
constexpr auto names_of(MultiplierForm) { return std::to_array<std::string_view>({"any", "power_of_two", "power_of_two_plus_one", "odd"}); }
constexpr auto names_of(StageKind) {
  return for_each_stage([]<class Described>() { return Described::facts.name; });
}
constexpr auto former_names_of(StageKind) {
  return for_each_stage([]<class Described>() { return Described::facts.formerly; });
}
constexpr auto names_of(ShiftAmount) {
  return std::to_array<std::string_view>({"remaining", "negative_exponent", "constant", "fraction", "excess", "rest", "converter"});
}
constexpr auto names_of(BiasAt) { return std::to_array<std::string_view>({"accumulator_start", "accumulator_end"}); }
constexpr auto names_of(PerChannelLowering) {
  return std::to_array<std::string_view>({"native", "requantized_to_tensor", "float_scale", "native_unrounded", "refused"});
}
constexpr auto names_of(PartialMethod) {
  return std::to_array<std::string_view>({"absent", "consecutive_terms", "consecutive_codes", "kernel_codes"});
}
constexpr auto names_of(PartialTail) { return std::to_array<std::string_view>({"exact", "one_sum", "dropped"}); }
constexpr auto names_of(CrossTermMethod) { return std::to_array<std::string_view>({"absent", "each_shifted"}); }
constexpr auto names_of(RowMultiplier) { return std::to_array<std::string_view>({"absent", "of_terms"}); }
constexpr auto names_of(WindowOrder) { return std::to_array<std::string_view>({"rows_outermost", "columns_outermost"}); }
constexpr auto names_of(PwlMethod) { return std::to_array<std::string_view>({"absent", "shifted_segments"}); }
constexpr auto names_of(FusedOrder) { return std::to_array<std::string_view>({"absent", "pool_then_activation", "activation_then_pool"}); }
constexpr auto names_of(Extreme) { return std::to_array<std::string_view>({"absent", "of_codes"}); }
constexpr auto names_of(L2Normalization) { return std::to_array<std::string_view>({"absent", "two_roundings", "one_rounding"}); }
constexpr auto names_of(Detection) { return std::to_array<std::string_view>({"absent", "of_reals"}); }
constexpr auto names_of(Bitwise) { return std::to_array<std::string_view>({"absent", "of_codes"}); }
constexpr auto names_of(MaxPool) { return std::to_array<std::string_view>({"absent", "largest_code"}); }
constexpr auto names_of(OutputScale) { return std::to_array<std::string_view>({"own", "of_input", "scale_of_input"}); }
constexpr auto names_of(AverageScales) { return std::to_array<std::string_view>({"of_count", "of_width_then_height"}); }
constexpr auto names_of(PaddingCount) { return std::to_array<std::string_view>({"excluded", "included", "edge_repeated"}); }
constexpr auto names_of(DelegatedData) { return std::to_array<std::string_view>({"absent", "one_8bit_type"}); }
constexpr auto names_of(DelegatedAxes) { return std::to_array<std::string_view>({"any", "image"}); }
constexpr auto names_of(UpperEnd) { return std::to_array<std::string_view>({"excluded", "included"}); }
constexpr auto names_of(CountIn) { return std::to_array<std::string_view>({"ratio", "multiplier"}); }
constexpr auto names_of(Centring) {
  return std::to_array<std::string_view>(
      {"own_zero_point", "nothing", "first_zero_point_product_rounded", "first_zero_point_factor_rounded"});
}
constexpr auto names_of(FloatAverageMethod) { return std::to_array<std::string_view>({"absent", "in_order"}); }
constexpr auto names_of(FloatSumMethod) { return std::to_array<std::string_view>({"absent", "fused", "dequantized"}); }
constexpr auto names_of(ConcatMethod) {
  return std::to_array<std::string_view>({"absent", "copy", "scale_and_bias", "dequantize", "rescaled"});
}
constexpr auto names_of(ScaleDivision) {
  return std::to_array<std::string_view>({"absent", "divide", "multiply_by_inverse", "divide_in_double"});
}
constexpr auto names_of(DequantizeProduct) { return std::to_array<std::string_view>({"absent", "f64", "f32"}); }
constexpr auto names_of(ZeroPointAt) { return std::to_array<std::string_view>({"after_rounding", "before_rounding"}); }
constexpr auto names_of(OutOfRange) { return std::to_array<std::string_view>({"saturate", "int32_min"}); }
constexpr auto names_of(DynamicQuantizeMethod) { return std::to_array<std::string_view>({"absent", "unsigned_range"}); }
constexpr auto names_of(DynamicCodes) { return std::to_array<std::string_view>({"absent", "symmetric", "asymmetric", "by_layer"}); }
constexpr auto names_of(DynamicProduct) {
  return std::to_array<std::string_view>({"scales_first", "input_scale_first", "weight_scale_first"});
}
constexpr auto names_of(BlockScale) { return std::to_array<std::string_view>({"absent", "largest_magnitude", "signed_largest"}); }
constexpr auto names_of(BlockDivision) {
  return std::to_array<std::string_view>({"by_inverse", "by_inverse_of_stored", "by_steps", "divide"});
}
constexpr auto names_of(BlockOffset) {
  return std::to_array<std::string_view>({"nothing", "zero_point", "zero_point_and_half", "fused_zero_point_and_half"});
}
constexpr auto names_of(BlockMatmulMethod) { return std::to_array<std::string_view>({"absent", "in_float32"}); }
constexpr auto names_of(BlockAddition) { return std::to_array<std::string_view>({"product_rounded", "fused"}); }
constexpr auto names_of(LaneOrder) { return std::to_array<std::string_view>({"sequential", "pairwise", "halves"}); }
constexpr auto names_of(LaneJoin) { return std::to_array<std::string_view>({"within_sums", "across_sums"}); }
constexpr auto names_of(FunctionMethod) {
  return std::to_array<std::string_view>({"absent", "rescaled", "fixed_point", "float_table", "float_exponentials", "float_ratio",
                                          "float_table_8bit", "float_table_by_inverse", "float_table_onto_zero_point", "table_entry",
                                          "fixed_point_by_double"});
}
constexpr auto names_of(StepPrecision) { return std::to_array<std::string_view>({"float16", "float32"}); }
constexpr auto names_of(SumOrder) {
  return std::to_array<std::string_view>({"sequential", "pairwise", "blocks_sequential", "blocks_pairwise", "blocks_exact"});
}
constexpr auto names_of(TermOrder) { return std::to_array<std::string_view>({"kernel_then_channel", "channel_block_then_kernel"}); }
constexpr auto names_of(MeanScaling) { return std::to_array<std::string_view>({"before_sum", "after_sum"}); }
constexpr auto names_of(LogisticBound) { return std::to_array<std::string_view>({"none", "log_of_largest"}); }
constexpr auto names_of(ScaleFactor) { return std::to_array<std::string_view>({"once", "square_root_twice"}); }
constexpr auto names_of(Float16Method) { return std::to_array<std::string_view>({"absent", "stepwise"}); }
constexpr auto names_of(Float32Operations) { return std::to_array<std::string_view>({"absent", "golden", "ordered"}); }
constexpr auto names_of(Fusion) { return std::to_array<std::string_view>({"every", "by_option", "by_default", "none"}); }
constexpr auto names_of(Coding) { return std::to_array<std::string_view>({"affine", "symmetric", "zero_based"}); }
constexpr auto names_of(ResizeMethod) {
  return std::to_array<std::string_view>({"absent", "fixed_point", "float_by_row", "float_by_weight"});
}
constexpr auto names_of(ResizeGrid) { return std::to_array<std::string_view>({"coordinate", "start_and_step", "step"}); }
constexpr auto names_of(NearestCoordinate) { return std::to_array<std::string_view>({"exact", "float_scale", "float_quotient"}); }
constexpr auto names_of(OtherQuantization) { return std::to_array<std::string_view>({"refused", "ignored"}); }
constexpr auto names_of(FusedActivation) { return std::to_array<std::string_view>({"ignored", "applied"}); }
constexpr auto names_of(LstmMethod) { return std::to_array<std::string_view>({"absent", "sigmoid_table", "fixed_point"}); }
constexpr auto names_of(ArgmaxMethod) { return std::to_array<std::string_view>({"absent", "first_maximum", "last_maximum"}); }
constexpr auto names_of(RunningMaximum) { return std::to_array<std::string_view>({"per_position", "carried_over"}); }
constexpr auto names_of(SingleChannel) { return std::to_array<std::string_view>({"zero", "upper_half"}); }
constexpr auto names_of(EvidenceLevel) {
  return std::to_array<std::string_view>({"hardware", "vendor_code", "vendor_source", "document", "thread", "assumption"});
}
constexpr auto names_of(LayerCondition) {
  return std::to_array<std::string_view>({"always",
                                          "data_u8",
                                          "data_16bit",
                                          "real_bias",
                                          "data_u8_without_bias",
                                          "grouped",
                                          "channels_beyond_eights",
                                          "channels_beyond_thirty_twos",
                                          "values_beyond_eights",
                                          "values_beyond_sixteens",
                                          "several_rows",
                                          "products_from_512",
                                          "products_from_131073",
                                          "image_mean_of_8bit",
                                          "whole_image",
                                          "equal_quantization",
                                          "stride_beyond_kernel",
                                          "input_left_over",
                                          "single_column_of_16bit",
                                          "up_from_half_pixels",
                                          "softmax",
                                          "float_products"});
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

/// One rule: its path ("conv.i8.output.chain.2.rounding") and its value as text ("half_even", "32").
struct RuleText {
  std::string path;
  std::string value;
  friend bool operator==(const RuleText&, const RuleText&) = default;
};

/// Every rule that decides a result, in the order of backend.hpp: of a structure only the members its method reads, of an absent operation
/// only the rule that says so. The length of a chain appears as "….chain.size".
[[nodiscard]] std::vector<RuleText> list_rules(const Backend& backend);

/// Replaces one rule, read or not; what is then no longer read is forgotten. In a path `*` stands for any text within one component:
/// "*.i8.per_channel" replaces the rule in every operation that exists. Throws Error(unknown_rule) naming the path, or the value and the values
/// allowed.
void set_rule(Backend& backend, std::string_view path, std::string_view value);

/// Throws Error(unknown_rule) naming every rule that decides a result and has not been stated.
void require_stated(const Backend& backend);

/// The paths of values that the backend holds and nothing reads. A sheet has none.
[[nodiscard]] std::vector<std::string> unread_rules(const Backend& backend);

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

/// A line for each rule whose chain makes something else of an accumulator than its ratio says, with the accumulator at which it is furthest off: as much
/// as a step away, for every stage that rounds, from the accumulator times the scale that the encoding holds. Widths do not matter here: no stage narrows.
/// A sum may place its scale elsewhere (operands 20 places up, the output's ratio 2^-19): then the whole of it must make of a code, of a product, or of the
/// sum of a window what the layer means. Files with such rules are refused (registry.hpp).
[[nodiscard]] std::vector<Diagnostic> chains_off_their_ratios(const Backend& backend);

/// The human-readable sheet: per operation the formula with its widths, then evidence and source, then settings.
[[nodiscard]] std::string describe(const SpecSheet& sheet);

/// Its name and title, and what equality with it rests on: rules that are assumed, and its open points; then those of programs to which it is the nearest.
[[nodiscard]] std::string describe_open(const SpecSheet& sheet);

/// Every rule that a sheet can hold, with its values and what they mean: the tables of docs/own-device.md.
[[nodiscard]] std::string rules_page();

/// The backend file format (docs/own-device.md): writing and reading back gives the same sheet. `find` knows the backends that a file may be
/// based on (registry.hpp reads with the built-in ones).
[[nodiscard]] std::string backend_to_json(const SpecSheet& sheet);
[[nodiscard]] SpecSheet backend_from_json(std::string_view text, std::string_view where, SpecSheet (*find)(std::string_view name));

}  // namespace lastbit
