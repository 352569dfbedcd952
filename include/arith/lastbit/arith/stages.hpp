// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every stage: StageKind in stages/stage.hpp is the list, stages/<kind>.hpp describes each.
#pragma once

#include <array>
#include <utility>

#include "lastbit/arith/stages/absolute.hpp"
#include "lastbit/arith/stages/add_converter_offset.hpp"
#include "lastbit/arith/stages/add_half.hpp"
#include "lastbit/arith/stages/add_half_by_sign.hpp"
#include "lastbit/arith/stages/add_offset.hpp"
#include "lastbit/arith/stages/add_zero_point.hpp"
#include "lastbit/arith/stages/clamp.hpp"
#include "lastbit/arith/stages/clamp_accumulator.hpp"
#include "lastbit/arith/stages/clamp_to_type.hpp"
#include "lastbit/arith/stages/divide.hpp"
#include "lastbit/arith/stages/doubling_high_multiply.hpp"
#include "lastbit/arith/stages/float_scale.hpp"
#include "lastbit/arith/stages/float_scale_with_zero_point.hpp"
#include "lastbit/arith/stages/multiply.hpp"
#include "lastbit/arith/stages/multiply_by_converter.hpp"
#include "lastbit/arith/stages/narrow.hpp"
#include "lastbit/arith/stages/pwl.hpp"
#include "lastbit/arith/stages/relu.hpp"
#include "lastbit/arith/stages/scale_below_zero.hpp"
#include "lastbit/arith/stages/segments.hpp"
#include "lastbit/arith/stages/shift_left.hpp"
#include "lastbit/arith/stages/shift_left_by.hpp"
#include "lastbit/arith/stages/shift_right.hpp"
#include "lastbit/arith/stages/shift_right_by_sign.hpp"
#include "lastbit/arith/stages/shift_right_with_zero_point.hpp"
#include "lastbit/arith/stages/table.hpp"
#include "lastbit/arith/stages/two_term_shift.hpp"

namespace lastbit {

/// function.template operator()<StageOf<kind>>() for each kind, the results as an array in the order of StageKind.
template <class Function>
constexpr auto for_each_stage(Function&& function) {
  return [&]<std::size_t... index>(std::index_sequence<index...>) {
    return std::array{function.template operator()<StageOf<static_cast<StageKind>(index)>>()...};
  }
  (std::make_index_sequence<stage_kinds>{});
}

/// function.template operator()<StageOf<kind>>() for one kind.
template <class Function>
constexpr void with_stage(StageKind kind, Function&& function) {
  [&]<std::size_t... index>(std::index_sequence<index...>) {
    static_cast<void>(
        ((kind == static_cast<StageKind>(index) && (function.template operator()<StageOf<static_cast<StageKind>(index)>>(), true)) || ...));
  }
  (std::make_index_sequence<stage_kinds>{});
}

/// The stage in the steps of the machine; false where the machine lacks one of them.
template <class Machine>
constexpr bool run(const Stage& stage, Machine& machine) {
  bool done = false;
  with_stage(stage.kind, [&]<class Described>() { done = Described::run(machine, stage); });
  return done;
}

inline constexpr auto stage_facts = for_each_stage([]<class Described>() { return Described::facts; });

[[nodiscard]] constexpr const StageFacts& facts_of(const Stage& stage) { return stage_facts[static_cast<std::size_t>(stage.kind)]; }
[[nodiscard]] constexpr ScaleUse scale_of(const Stage& stage) { return facts_of(stage).scale(stage); }

}  // namespace lastbit
