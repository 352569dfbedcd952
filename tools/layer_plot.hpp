// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The picture of a report: a bar for every layer.
#pragma once

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "lastbit/advise.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/migrate.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/sweep.hpp"
#include "plot.hpp"

namespace lastbit::tool {

/// What the report's table tells of each layer, with the same numbers and in the same order; names too long for an axis are cut in the middle.
[[nodiscard]] Plot plot_of(const CompareReport& report);
[[nodiscard]] Plot plot_of(const ExplainReport& report);
[[nodiscard]] Plot plot_of(const DumpReport& report);
[[nodiscard]] Plot plot_of(const Certificate& certificate);
[[nodiscard]] Plot plot_of(const NetworkMigration& migration);
[[nodiscard]] Plot plot_of(const DeviceMigration& migration);
[[nodiscard]] Plot plot_of(const ProveReport& report);
[[nodiscard]] Plot plot_of(const AdviseReport& report);
[[nodiscard]] Plot plot_of(const QuantizationReport& report);
[[nodiscard]] Plot plot_of(const SweepReport& report);

/// Where a picture is asked for.
template <class Report>
void draw_if_asked(const Report& report, const std::filesystem::path& picture) {
  if (!picture.empty()) draw(plot_of(report), picture);
}

}  // namespace lastbit::tool
