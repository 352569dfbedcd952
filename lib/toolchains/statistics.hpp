// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Gathering TensorStatistics: ranges, then histograms within them.
#pragma once

#include <span>

#include "lastbit/quantizer.hpp"

namespace lastbit {

void add_range(TensorStatistics& statistics, std::span<const float> values);
void merge_range(TensorStatistics& into, const TensorStatistics& other);

/// Empty histograms over the statistics' range.
void prepare_histograms(TensorStatistics& statistics, int bins);
/// A value within the histogram's range: bin floor((value - min) / (max - min) * bins), the last one for max; the first one of a point.
void add(Histogram& histogram, double value);
void add_counts(TensorStatistics& statistics, std::span<const float> values);

}  // namespace lastbit
