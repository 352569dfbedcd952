// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "differential/choices.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit::test {

/// Values of one manner: tiny ones, all that the type has, its ends and zero, a part of its range, or one end everywhere. Of floats every bit
/// pattern can occur.
[[nodiscard]] Tensor random_values(ElementType type, const Shape& shape, Choices& choose);

/// Absent sums nothing: small values, or, for some or all of the channels, values that almost fill an accumulator.
[[nodiscard]] Tensor random_bias(ElementType type, std::int64_t channels, Choices& choose);

}  // namespace lastbit::test
