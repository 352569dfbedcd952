// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What comparisons run, for those who need the runs as well.
#pragma once

#include <span>

#include "lastbit/compare.hpp"

namespace lastbit {

/// The float path that --golden measures both sides against.
[[nodiscard]] const SpecSheet& golden_sheet();

/// Every tensor of a run, without events.
[[nodiscard]] NamedTrace run_all(const Emulator& emulator, const SpecSheet& sheet, std::span<const Tensor> inputs, int threads);

/// Side b beside a dump, which has run: all three outlive the comparison.
struct DumpedRun {
  const Emulator& emulator;
  const NamedTrace& trace;
  std::span<const Tensor> inputs;
};

/// compare_with_dump(), of a run that is at hand.
[[nodiscard]] CompareReport compare_dump_with_run(const Model& model, const NamedTrace& dump, const SpecSheet& b, const DumpedRun& run,
                                                  const CompareOptions& options = {});

}  // namespace lastbit
