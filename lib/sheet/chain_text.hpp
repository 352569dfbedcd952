// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A chain and its scale as text for a human reader.
#pragma once

#include <string>

#include "lastbit/rules.hpp"

namespace lastbit {

[[nodiscard]] std::string text(NamedEnum auto value) { return std::string(name_of(value)); }
[[nodiscard]] inline std::string text(int value) { return std::to_string(value); }

/// "sat16(value)"
[[nodiscard]] std::string narrowed(Overflow overflow, int bits, const std::string& value);

/// "double"
[[nodiscard]] std::string computed_in(ScaleArithmetic arithmetic);

/// The chain as one expression of what it starts with.
[[nodiscard]] std::string expression(const RescaleRule& rule, const std::string& start);

/// What the chain's M and e, or s, stand for; nothing for a chain without a scale.
[[nodiscard]] std::string scale_line(const RescaleRule& rule, const std::string& ratio);

}  // namespace lastbit
