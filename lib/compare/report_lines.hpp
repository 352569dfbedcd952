// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the text reports say of a comparison below or within their tables. Lines end in a newline; nothing where there is nothing to say.
#pragma once

#include <string>
#include <vector>

#include "lastbit/compare.hpp"

namespace lastbit {

/// "equal", "0.07%"
[[nodiscard]] std::string differing_text(const TensorDifference& d);
/// "+1", in LSB; "real" where real values were compared, nothing where none differs.
[[nodiscard]] std::string largest_text(const TensorDifference& d);

/// "'a', 'b'": the first five, and how many more there are.
[[nodiscard]] std::string first_of(const std::vector<std::string>& names);

/// How the files of the dump were read.
[[nodiscard]] std::string reading_lines(const CompareReport& report);
/// How much of the network the dump holds; nothing where it has every tensor.
[[nodiscard]] std::string match_lines(const CompareReport& report);
[[nodiscard]] std::string misread_lines(const CompareReport& report);
/// How often the answers are the same; `against` says whose, if that is not clear.
[[nodiscard]] std::string output_lines(const CompareReport& report, const std::string& against = {});
[[nodiscard]] std::string partial_lines(const CompareReport& report);
[[nodiscard]] std::string assumption_lines(const CompareReport& report);

/// What a view of the layers goes by.
[[nodiscard]] ViewedLayer viewed(const LayerDifference& layer);

}  // namespace lastbit
