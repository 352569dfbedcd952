// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Paddings as the .tflite format has them.
#pragma once

#include <optional>

#include "lastbit/model.hpp"

namespace lastbit {

/// `same` or `valid`, where the padding is the one or the other; nothing else can stand in a .tflite file.
[[nodiscard]] std::optional<PaddingMode> named_padding(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride,
                                                       Extent2d dilation);

}  // namespace lastbit
