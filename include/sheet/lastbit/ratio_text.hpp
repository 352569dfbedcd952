// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ratios as rules of a sheet: "in*weight/out", "larger_in/out*2^-19", "1/count".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/arith/ratio.hpp"

namespace lastbit {

/// What is above, what is below, the power of two; "1" for an empty product.
[[nodiscard]] std::string text_of(const Ratio& ratio);

/// Nothing where the text is not of that form.
[[nodiscard]] std::optional<Ratio> ratio_from(std::string_view text);

/// Ratios that are easily taken for this one: half and twice, and another operand's scale.
[[nodiscard]] std::vector<Ratio> ratios_beside(const Ratio& ratio);

}  // namespace lastbit
