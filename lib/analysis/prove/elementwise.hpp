// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/prove/sums.hpp"

namespace lastbit {

/// The one sum of add, sub and add_n, of operands as the device has scaled them.
[[nodiscard]] std::vector<Sums> elementwise_sums(const Model& model, const Operation& operation, const Backend& backend,
                                                 const TensorRanges& ranges);

}  // namespace lastbit
