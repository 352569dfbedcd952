// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The assumptions that a verdict rests on: rules without evidence, and open points of sheets (OpenPoint), of the layers that it is about. What is equal by
// rules of which one is assumed is equal if that is so, and no more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/json_value.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {

/// An assumption, and the backend that makes it.
struct BackendAssumption {
  std::string backend;  ///< empty: one of those that a report is about
  Assumption assumption;
  friend bool operator==(const BackendAssumption&, const BackendAssumption&) = default;
};

/// Whether a verdict may rest on assumptions: named, it is no more than "equal if"; accepted, they are taken to hold.
enum class AssumptionsAre : std::uint8_t { named, accepted };

/// Rules of one backend that are assumed for one reason, and how many layers rest on them.
struct SharedAssumption {
  std::string backend;
  std::vector<std::string> rules;
  std::string source;
  std::int64_t layers = 0;
  [[nodiscard]] std::string rules_text() const;  ///< "conv, depthwise_conv of xnnpack"
};

/// Those of every layer, each reason once, in the order in which they come.
[[nodiscard]] std::vector<SharedAssumption> shared_assumptions(std::span<const std::vector<BackendAssumption>> layers);

/// "conv.u8 of vipnano_v8, mean of tflite_double"; of more than a few how many more.
[[nodiscard]] std::string names_text(std::span<const BackendAssumption> assumptions);

/// "Rests on assumptions:" and a line for each; empty where there is none.
[[nodiscard]] std::string to_text(std::span<const SharedAssumption> assumptions);

/// "only if 2 assumptions hold: mean of tflite_double, conv of xnnpack; --accept-assumptions takes them"
[[nodiscard]] std::string only_if(std::span<const SharedAssumption> assumptions);

[[nodiscard]] JsonValue json_of(std::span<const BackendAssumption> assumptions);
[[nodiscard]] JsonValue json_of(std::span<const SharedAssumption> assumptions);

}  // namespace lastbit
