// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ways in which a tensor is read that is none of the model's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/misread/golden_layers.hpp"

namespace lastbit {

/// A way to read the file of a tensor, and what was wrong if that is the right one.
struct CodeView {
  std::string cause;
  std::vector<std::size_t> order;            ///< of the file's axes, each a number of the model's; empty: the model's order
  std::int64_t inverted = 0;                 ///< bit that is inverted
  std::optional<std::size_t> mirrored = {};  ///< axis that runs backwards
};

/// Those that change something.
[[nodiscard]] std::vector<CodeView> views_of(const ModelTensor& tensor);
/// Those with an axis that runs backwards: what may be in the data as well.
[[nodiscard]] std::vector<CodeView> mirrored_views_of(const ModelTensor& tensor);

/// Every value by so many places further on than it belongs, with `at_the_ends` where none is known.
[[nodiscard]] Codes moved_back(const Codes& codes, std::int64_t places, const Codes& at_the_ends);
/// By how many places the codes that are expected stand further on, of those up to 16 and of whole rows of channels: where one fits best.
[[nodiscard]] std::optional<std::int64_t> places_moved(const Codes& expected, const Codes& codes, const ModelTensor& tensor);

/// What the codes would be, had they been read in that way.
[[nodiscard]] Codes seen(const CodeView& view, const ModelTensor& tensor, const Codes& codes);

/// What the shape of its file says of a tensor: empty where it may be the model's, with samples in front, flattened, or without sizes of 1.
[[nodiscard]] std::string cause_in_shape(const Shape& stored, const Shape& shape);

}  // namespace lastbit
