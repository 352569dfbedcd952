// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Single rules applied to whole arrays (docs/case-format.md, "primitive").
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lastbit/backend.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// Rules that the backend does not state, by name: "rounding" to "half_even".
using PrimitiveParameters = std::map<std::string, std::string, std::less<>>;

/// Inputs by name to results by name, all int64 but for comparison against any integer type. Throws Error(bad_input) for an unknown
/// primitive, a missing input, arrays of different sizes, or a parameter that is missing, unknown or has an unknown value.
[[nodiscard]] NamedTensors run_primitive(std::string_view name, const Backend& backend, const NamedTensors& inputs,
                                         const PrimitiveParameters& parameters);

}  // namespace lastbit
