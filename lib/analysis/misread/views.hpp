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
struct View {
  std::string cause;
  std::vector<std::size_t> order;  ///< of the file's axes, each a number of the model's; empty: the model's order
  std::int64_t inverted = 0;       ///< bit that is inverted
};

/// Those that change something.
[[nodiscard]] std::vector<View> views_of(const ModelTensor& tensor);

/// What the codes would be, had they been read in that way.
[[nodiscard]] Codes seen(const View& view, const ModelTensor& tensor, const Codes& codes);

/// What the shape of its file says of a tensor: empty where it may be the model's, with samples in front, flattened, or without sizes of 1.
[[nodiscard]] std::string cause_in_shape(const Shape& stored, const Shape& shape);

}  // namespace lastbit
