// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Parts of a comparison as JSON, for whoever reports one.
#pragma once

#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/json_value.hpp"

namespace lastbit {

[[nodiscard]] JsonValue json_of(const TensorDifference& d);
[[nodiscard]] JsonValue json_of(const std::vector<Assumption>& assumptions);
[[nodiscard]] JsonValue json_of(const DumpMatch& match);
[[nodiscard]] JsonValue json_of(const std::vector<OutputAgreement>& outputs);

}  // namespace lastbit
