// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where N2D2 cuts off the outputs of a layer: 1000 candidates max * (1 - k / 1000), k = 0 … 999, over min(2^n * 64, 65536) bins; the largest of
// equals. Source: src/Histogram.cpp, read; how the divergence spreads and smooths is the published procedure of thresholds.hpp, an assumption here.
#pragma once

#include <cstddef>

#include "lastbit/quantizer.hpp"

namespace lastbit::n2d2 {

/// Neighbouring bins joined: the same histogram with fewer of them.
[[nodiscard]] Histogram with_bins(const Histogram& histogram, std::size_t bins);

/// Least mean squared error of codes up to `levels` at the threshold, every value counted as the middle of its bin.
[[nodiscard]] double mse_clipping(const Histogram& magnitudes, double levels);

/// Least divergence of what `levels` codes leave of the bins within the threshold.
[[nodiscard]] double kl_clipping(const Histogram& magnitudes, std::size_t levels);

}  // namespace lastbit::n2d2
