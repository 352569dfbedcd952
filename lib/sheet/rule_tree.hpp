// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Walking the rules of a backend: which operations exist, which members a method reads, and every leaf with its path.
#pragma once

#include <string>
#include <string_view>

#include "lastbit/rules.hpp"

namespace lastbit {

[[nodiscard]] inline std::string join_path(std::string_view prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : std::string(prefix) + "." + std::string(name);
}

// Whether an operation exists on the device.
[[nodiscard]] constexpr bool is_present(const auto&) { return true; }
[[nodiscard]] constexpr bool is_present(const RescaleRule& rule) { return !rule.chain.empty(); }
[[nodiscard]] constexpr bool is_present(const ConvArithmetic& rule) { return is_present(rule.rescale); }
[[nodiscard]] constexpr bool is_present(const ConvByType& rule) {
  return is_present(rule.i8) || is_present(rule.u8) || is_present(rule.i16_bias32) || is_present(rule.i16_bias64) ||
         is_present(rule.i8_weights16) || is_present(rule.i16_weights8);
}
[[nodiscard]] constexpr bool is_present(const PartialSums& rule) { return rule.method != PartialMethod::absent; }
[[nodiscard]] constexpr bool is_present(const SumPoolArithmetic& rule) { return rule.method != SumPoolMethod::absent; }
[[nodiscard]] constexpr bool is_present(const PwlArithmetic& rule) { return rule.method != PwlMethod::absent; }
[[nodiscard]] constexpr bool is_present(const FusedConvArithmetic& rule) { return rule.order != FusedOrder::absent; }
[[nodiscard]] constexpr bool is_present(const AveragePoolArithmetic& rule) { return rule.method != DivisionMethod::absent; }
[[nodiscard]] constexpr bool is_present(const MeanArithmetic& rule) { return rule.method != MeanMethod::absent; }
[[nodiscard]] constexpr bool is_present(const AddArithmetic& rule) { return rule.method != AddMethod::absent; }
[[nodiscard]] constexpr bool is_present(const MulArithmetic& rule) { return rule.method != MulMethod::absent; }
[[nodiscard]] constexpr bool is_present(const ConcatArithmetic& rule) {
  return rule.method != ConcatMethod::absent || rule.method_uint8 != ConcatMethod::absent;
}
[[nodiscard]] constexpr bool is_present(const DynamicQuantizeArithmetic& rule) { return rule.method != DynamicQuantizeMethod::absent; }
[[nodiscard]] constexpr bool is_present(const FunctionArithmetic& rule) { return rule.method != FunctionMethod::absent; }
[[nodiscard]] constexpr bool is_present(const Float16Arithmetic& rule) { return rule.method != Float16Method::absent; }
[[nodiscard]] constexpr bool is_present(const Float32Operations& rule) { return rule != Float32Operations::absent; }
[[nodiscard]] constexpr bool is_present(const ResizeArithmetic& rule) { return rule.method != ResizeMethod::absent; }
[[nodiscard]] constexpr bool is_present(const SvdfArithmetic& rule) { return is_present(rule.output); }
[[nodiscard]] constexpr bool is_present(const GateArithmetic& rule) { return is_present(rule.rescale); }
[[nodiscard]] constexpr bool is_present(const LstmArithmetic& rule) { return rule.method != LstmMethod::absent; }
[[nodiscard]] constexpr bool is_present(const ArgmaxArithmetic& rule) { return rule.method != ArgmaxMethod::absent; }

// Whether the member `name` decides a result, given the other members.
[[nodiscard]] constexpr bool is_read(const auto&, std::string_view) { return true; }
[[nodiscard]] constexpr bool is_read(const Backend& rule, std::string_view name) {
  if (name == "coding" && rule.coding == Coding::affine) return false;  // nothing is refused
  return rule.domain == Domain::integer || name == "domain";
}
[[nodiscard]] constexpr bool is_read(const ScaleEncoding& rule, std::string_view name) {
  return name != "carry" || rule.carry != MultiplierCarry::renormalize;  // the multiplier keeps its value
}
[[nodiscard]] constexpr bool is_read(const AccumulatorRule& rule, std::string_view name) {
  return name != "tile" || rule.when == NarrowingPoint::every_tile;
}
[[nodiscard]] constexpr bool is_read(const PartialSums& rule, std::string_view name) { return is_present(rule) || name == "method"; }
[[nodiscard]] constexpr bool is_read(const SumPoolArithmetic& rule, std::string_view name) { return is_present(rule) || name == "method"; }
[[nodiscard]] constexpr bool is_read(const PwlArithmetic& rule, std::string_view name) { return is_present(rule) || name == "method"; }
[[nodiscard]] constexpr bool is_read(const FusedConvArithmetic& rule, std::string_view name) {
  return name == "order" || rule.order == FusedOrder::pool_then_activation;
}
[[nodiscard]] constexpr bool is_read(const RescaleRule& rule, std::string_view name) { return is_present(rule) || name == "chain"; }
[[nodiscard]] constexpr bool is_read(const ConvArithmetic& rule, std::string_view name) {
  if (name.starts_with("bias_")) return is_present(rule) && rule.bias_bits > 0;
  return is_present(rule) || name == "rescale";
}
[[nodiscard]] constexpr bool is_read(const AveragePoolArithmetic& rule, std::string_view name) {
  if (name == "reciprocal_bits") return rule.method == DivisionMethod::reciprocal;
  if (name == "reciprocal_rounding") return rule.method == DivisionMethod::reciprocal || rule.method == DivisionMethod::fixed_reciprocal;
  if (name == "reciprocal_shift" || name == "sum_shift") return rule.method == DivisionMethod::fixed_reciprocal;
  if (name == "output_scale" || name == "rescale") return rule.method == DivisionMethod::rescaled;
  if (name == "rounding") return is_present(rule) && rule.method != DivisionMethod::rescaled;
  return is_present(rule) || name == "method";
}
[[nodiscard]] constexpr bool is_read(const MeanArithmetic& rule, std::string_view name) { return is_present(rule) || name == "method"; }
[[nodiscard]] constexpr bool is_read(const AddArithmetic& rule, std::string_view name) {
  if (name.starts_with("left_shift") || name == "operand") return rule.method == AddMethod::aligned_operands;
  if (name == "output") {
    return rule.method == AddMethod::aligned_operands || rule.method == AddMethod::convolution_8bit ||
           rule.method == AddMethod::common_scale || rule.method == AddMethod::equal_scales;
  }
  if (name == "sum_overflow") return rule.method == AddMethod::common_scale;
  if (name == "output_16bit" || name == "output_above_one") return rule.method == AddMethod::equal_scales;
  if (name == "convolution_bias") return rule.method == AddMethod::convolution_8bit;
  if (name == "weight_bits") return rule.method == AddMethod::weighted_sum;
  if (name == "rounding") return rule.method == AddMethod::weighted_sum || rule.method == AddMethod::float_sum;
  return true;
}
[[nodiscard]] constexpr bool is_read(const ArgmaxArithmetic& rule, std::string_view name) { return is_present(rule) || name == "method"; }
[[nodiscard]] constexpr bool is_read(const MulArithmetic& rule, std::string_view name) {
  if (name == "rescale") return rule.method == MulMethod::rescaled;
  return name == "method" || rule.method == MulMethod::float_product;
}
[[nodiscard]] constexpr bool is_read(const DynamicQuantizeArithmetic& rule, std::string_view name) {
  return is_present(rule) || name == "method";
}
[[nodiscard]] constexpr bool is_read(const FunctionArithmetic& rule, std::string_view name) {
  if (name == "rescale") return rule.method == FunctionMethod::rescaled || rule.method == FunctionMethod::fixed_point;
  return name == "method" || rule.method == FunctionMethod::float_table;
}
[[nodiscard]] constexpr bool is_read(const SvdfArithmetic& rule, std::string_view name) { return is_present(rule) || name == "output"; }
[[nodiscard]] constexpr bool is_read(const GateArithmetic& rule, std::string_view name) { return is_present(rule) || name == "rescale"; }
[[nodiscard]] constexpr bool is_read(const LstmArithmetic& rule, std::string_view name) { return is_present(rule) || name == "method"; }

[[nodiscard]] constexpr bool is_read(const Float16Arithmetic& rule, std::string_view name) { return is_present(rule) || name == "method"; }
[[nodiscard]] constexpr bool is_read(const SumRule& rule, std::string_view name) { return name != "block" || in_blocks(rule.order); }
[[nodiscard]] constexpr bool is_read(const ResizeArithmetic& rule, std::string_view name) { return is_present(rule) || name == "method"; }

/// every: all rules. existing: not those of absent operations. read: those that decide a result, and those that say what is absent.
enum class Reach { every, existing, read };

template <Reach reach, class Node, class Leaf>
void walk_rules(Node& node, const std::string& path, Leaf& leaf);

template <Reach reach, class Owner, class Member, class Leaf>
void walk_member(Owner& owner, std::string_view name, Member& member, const std::string& path, Leaf& leaf) {
  if constexpr (ConstOr<Member, Chain>) {
    leaf(path + ".size", member, "size", member.size);
    for (std::size_t i = 0; i < member.size; ++i) walk_rules<reach>(member.stages[i], path + "." + std::to_string(i), leaf);
  } else if constexpr (RuleStructure<Member>) {
    if constexpr (reach == Reach::read && ConstOr<Owner, RescaleRule>) {
      if (!applies_scale(owner.chain)) return;
      if (!reads_multiplier(owner.chain)) return leaf(path + ".arithmetic", member, "arithmetic", member.arithmetic);
    }
    walk_rules<reach>(member, path, leaf);
  } else {
    leaf(path, owner, name, member);
  }
}

/// Calls leaf(path, owner, name, member) for every rule within reach, in the order of each_rule.
template <Reach reach, class Node, class Leaf>
void walk_rules(Node& node, const std::string& path, Leaf& leaf) {
  each_rule(node, [&](std::string_view name, auto& member) {
    if (reach == Reach::existing && !is_present(node)) return;
    if (reach == Reach::read && !is_read(node, name)) return;
    walk_member<reach>(node, name, member, join_path(path, name), leaf);
  });
}

template <class E>
requires NamedEnum<E>
[[nodiscard]] std::string rule_text(E value) { return std::string(name_of(value)); }
template <std::integral Integer>
[[nodiscard]] std::string rule_text(Integer value) {
  return std::to_string(value);
}

/// The paths of operations that a backend lacks: "matmul", "conv.i16_bias32".
[[nodiscard]] std::vector<std::string> absent_operations(const Backend& backend);

/// set_rule without the check that widths fit each other, for readers that set many rules and check once.
void replace_rule(Backend& backend, std::string_view pattern, std::string_view value);
/// Throws Error(unknown_rule) if rules that are each valid do not fit each other.
void check_widths(const Backend& backend);

}  // namespace lastbit
