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

/// Inputs by name to results by name, all int64 but for comparison against any integer type. Throws Error(bad_input) for an unknown
/// primitive, a missing input, or arrays of different sizes.
[[nodiscard]] NamedTensors run_primitive(std::string_view name, const Backend& backend, const NamedTensors& inputs);

}  // namespace lastbit
