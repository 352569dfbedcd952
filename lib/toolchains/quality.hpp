// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How good a quantised network is: it and its float original run over the samples, and every tensor is compared with the one of its name.
#pragma once

#include <span>
#include <vector>

#include "lastbit/quantizer.hpp"

namespace lastbit {

/// Everything of the report but the quantiser's name, its options and notes. `real` is as float_network() makes it.
[[nodiscard]] QuantizationReport quality_of(const Model& real, const Calibration& calibration, const Model& device, const SpecSheet& sheet,
                                            std::span<const std::vector<Tensor>> samples);

}  // namespace lastbit
