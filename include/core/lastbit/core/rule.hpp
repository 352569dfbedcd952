// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A device as a call's policy: a constant, of which the compiler makes code of its own, or a value. Both have the same members, so that each operation
// is written once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/core/arrays.hpp"
#include "lastbit/tensor.hpp"
#include "lastbit/window.hpp"

namespace lastbit {

/// What a layer's output is: its quantisation, and what bounds it.
struct OutputOptions {
  double scale = 0;  ///< must be stated
  std::int64_t zero_point = 0;
  Activation activation = Activation::none;
};

namespace core {

/// The type's own range.
template <Code T>
inline constexpr std::int64_t least_code = std::numeric_limits<T>::min();
template <Code T>
inline constexpr std::int64_t largest_code = std::numeric_limits<T>::max();

/// A chain that is known to the compiler: one stage after the other, no list at run time.
template <Chain chain>
[[nodiscard]] constexpr std::int64_t finish(std::int64_t accumulator, const RescaleOperands& operands) {
  ExactMachine machine({accumulator, 0}, operands);
  [&]<std::size_t... stage>(std::index_sequence<stage...>) {
    static_cast<void>((StageOf<chain.stages[stage].kind>::run(machine, chain.stages[stage]) && ...));
  }
  (std::make_index_sequence<chain.size>{});
  return narrow_saturate(machine.at().value, 64);
}

/// A rule of a device that is given at run time.
template <class Arithmetic>
struct GivenRule {
  const Arithmetic* rule;
  [[nodiscard]] constexpr const Arithmetic& operator()() const { return *rule; }
};

/// A rule of a constant: `Get` is a lambda without captures that returns it.
template <class Get>
struct KnownRule {
  [[nodiscard]] constexpr const auto& operator()() const { return Get{}(); }
};
template <class Rule>
inline constexpr bool is_known = std::is_empty_v<Rule>;

/// The value behind a chain of the rule, which `chain_of` returns.
template <class Rule, class ChainOf>
[[nodiscard]] constexpr std::int64_t finish_by(const Rule& rule, ChainOf chain_of, std::int64_t value, const RescaleOperands& operands) {
  if constexpr (is_known<Rule>) return finish<ChainOf{}(Rule{}())>(value, operands);
  else return finish(chain_of(rule()), value, operands);
}

/// A device that is given at run time.
struct GivenDevice {
  const Backend* device;
  [[nodiscard]] constexpr const Backend& backend() const { return *device; }
  /// What `get` returns of the device, as a rule.
  template <class Get>
  [[nodiscard]] constexpr auto rule(Get get) const {
    return GivenRule<std::remove_cvref_t<decltype(get(*device))>>{&get(*device)};
  }
};

/// A device that is a constant of the program.
template <const Backend& device>
struct KnownDevice {
  [[nodiscard]] static constexpr const Backend& backend() { return device; }
  template <class Get>
  [[nodiscard]] static constexpr auto rule(Get) {
    constexpr auto get = []() -> const auto& { return Get{}(device); };
    return KnownRule<std::remove_const_t<decltype(get)>>{};
  }
};

[[noreturn]] inline void refuse(std::string_view operation, const std::string& what) {
  throw Error(ErrorCode::unsupported_operation, std::string(operation), what);
}
/// In a constant expression a false condition does not compile.
constexpr void require(bool holds, std::string_view operation, const char* what) {
  if (!holds) refuse(operation, what);
}

/// Throws where a device has no such codes.
template <Code T>
constexpr void require_coding(const Backend& device, std::string_view operation, std::int64_t zero_point) {
  require(device.domain == Domain::integer, operation, "the golden float path computes no codes: call golden::");
  if (sizeof(T) == 2) require(zero_point == 0, operation, "16-bit codes need zero point 0");
  require(device.coding == Coding::affine || zero_point == 0, operation, "the device has only zero point 0");
  require(device.coding != Coding::symmetric || std::is_signed_v<T>, operation, "the device has signed codes");
  require(zero_point >= least_code<T> && zero_point <= largest_code<T>, operation, "the zero point is no code of the type");
}

/// An activation's bounds as codes of the output: real bounds rounded half away from zero.
template <Code T>
[[nodiscard]] constexpr IntegerRange bounds_of(const OutputOptions& out) {
  IntegerRange bounds{least_code<T>, largest_code<T>};
  const auto code = [&out](float real) {
    return out.zero_point + round_to_integer(real / static_cast<float>(out.scale), Rounding::half_away);
  };
  const auto raise = [&](float real) { bounds.min = std::max(bounds.min, code(real)); };
  const auto lower = [&](float real) { bounds.max = std::min(bounds.max, code(real)); };
  switch (out.activation) {
    case Activation::none:
    case Activation::absolute: break;  // a stage of its own
    case Activation::relu: raise(0); break;
    case Activation::relu6: raise(0), lower(6); break;
    case Activation::relu_n1_to_1: raise(-1), lower(1); break;
  }
  bounds.max = std::max(bounds.min, bounds.max);
  return bounds;
}

/// What an activation makes of negative values where the chain has a stage for it.
[[nodiscard]] constexpr Rectifier rectifier_of(Activation activation) {
  if (activation == Activation::absolute) return Rectifier::magnitude;
  return activation == Activation::relu || activation == Activation::relu6 ? Rectifier::at_zero : Rectifier::none;
}

/// What a layer brings to the output's chain, but for the scale.
template <Code T>
[[nodiscard]] constexpr RescaleOperands output_operands(const OutputOptions& out) {
  const IntegerRange bounds = bounds_of<T>(out);
  return {.zero_point = out.zero_point,
          .min = bounds.min,
          .max = bounds.max,
          .rectifier = rectifier_of(out.activation),
          .output_bits = 8 * static_cast<int>(sizeof(T)),
          .storage_min = least_code<T>,
          .storage_max = largest_code<T>};
}

[[nodiscard]] constexpr bool has_stage(const Chain& chain, StageKind kind) {
  return std::any_of(chain.begin(), chain.end(), [kind](const Stage& stage) { return stage.kind == kind; });
}

/// Throws where a chain does not give a layer's output, or lacks what the layer asks of it.
constexpr void require_output_chain(const Chain& chain, std::string_view operation, Activation activation) {
  require(!chain.empty(), operation, "the device has no such arithmetic");
  for (const Stage& stage : chain) {
    require(!facts_of(stage).needs_values, operation, "a stage of the device's chain reads values that only a network brings");
    require(stage.kind != StageKind::segments && stage.kind != StageKind::shift_right_by_sign, operation,
            "the device's output is stated in registers, which no call of the core brings");
  }
  require(facts_of(chain.stages[chain.size - 1U]).bounds_output, operation, "the device's chain does not end in clamp or clamp_to_type");
  require(activation != Activation::absolute || has_stage(chain, StageKind::absolute), operation,
          "the device's chain has no stage absolute");
  const bool rectified = activation == Activation::absolute || (activation == Activation::relu && has_stage(chain, StageKind::relu));
  require(!ends_in(chain, StageKind::clamp_to_type) || activation == Activation::none || rectified, operation,
          "the device's chain has no stage for this activation");
}

/// A scale as the device's registers hold it. Throws Error(unsupported_operation) for one that they cannot.
[[nodiscard]] constexpr EncodedScale held_scale(const ScaleEncoding& rule, std::string_view operation, double real, double largest) {
  const EncodedScale encoded = encode(rule, real, largest);
  require(holds(rule, encoded), operation, "the device can only shift, and the scale is no power of two that it has");
  return encoded;
}

/// Throws where the output's scale is not stated.
constexpr void require_scale(const OutputOptions& out, std::string_view operation) {
  require(out.scale > 0, operation, "the output's scale is not stated");
}

}  // namespace core
}  // namespace lastbit
