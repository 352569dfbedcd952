// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of which a file stores only some values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lastbit/tensor.hpp"
#include "tflite_subset_generated.h"

namespace lastbit::tflite_format {

/// Where each of so many stored values lies in the tensor, which has zeros elsewhere; or what is wrong with the description.
/// Levels are the tensor's dimensions and, inside of them, those of a block, in the order of `traversal_order`. A dense level has all its places, a
/// compressed one those that `array_indices` lists from `array_segments[p]` to `array_segments[p + 1]`, p the place in the level before.
[[nodiscard]] std::variant<std::vector<std::int64_t>, std::string> places_of_stored_values(const SparsityParameters& sparsity,
                                                                                           const Shape& shape, std::size_t count);

}  // namespace lastbit::tflite_format
