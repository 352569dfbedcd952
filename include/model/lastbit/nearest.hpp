// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// For a name that is unknown: what was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastbit {

/// The name that was probably meant, or none: few letters must be changed, added or left out. A pattern means none.
[[nodiscard]] std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names);

/// Several, nearest first: those few letters away, then those that contain the text or are contained in it, whatever the case.
[[nodiscard]] std::vector<std::string_view> nearest_names(std::string_view name, std::span<const std::string_view> names,
                                                          std::size_t most = 3);

/// "; did you mean 'a', 'b' or 'c'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string_view> names);
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> names);

}  // namespace lastbit
