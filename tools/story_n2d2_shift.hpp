// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The figures of the N2D2 story: a published log of the export recomputed, one network under every way of scaling, and the sums in which the
// export and the simulator part.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lastbit/backends/n2d2_scaling.hpp"
#include "story.hpp"

namespace lastbit::tool::n2d2_shift {

/// A row of the log as it was published, six digits each.
struct LoggedLayer {
  int layer;
  double previous, activation, bias, quant, global, cell;
  int shift;
  double weight_factor;
};

struct RecomputedLayer {
  LoggedLayer logged;
  n2d2::PrintedScaling figures;
  n2d2::SingleShift single;
  n2d2::DoubleShift twice;
  n2d2::FixedMultiplier fixed;
};
[[nodiscard]] std::vector<RecomputedLayer> recomputed_log();

/// The network quantised for one way of scaling, over all test images.
struct WayFigures {
  std::string backend;
  std::string options;     ///< "4 bits", "per output"
  double top1 = 0;         ///< share of images answered rightly
  double same_answer = 0;  ///< share of images answered as by the float network
  double sqnr_db = 0;      ///< of the last layer against the float network
};
[[nodiscard]] WayFigures float_figures(const Digits& digits);
[[nodiscard]] std::vector<WayFigures> ways(const Digits& digits);

/// The digits network's first layer, four rectified 1x1 convolutions of it and their sum.
[[nodiscard]] Model read_branches(const std::filesystem::path& data);
/// That sum on the export's arithmetic and on the simulator's.
struct SumMismatch {
  std::string way;
  std::int64_t before = 0;  ///< values of all earlier layers that differ
  std::int64_t values = 0, differing = 0;
  std::int64_t smallest = 0, largest = 0;  ///< simulator minus export
};
[[nodiscard]] std::vector<SumMismatch> sum_mismatches(const Digits& digits, const Model& branches);

}  // namespace lastbit::tool::n2d2_shift
