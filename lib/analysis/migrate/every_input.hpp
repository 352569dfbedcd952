// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the changes of matched layers do for every input.
#pragma once

#include <vector>

#include "analysis/migrate/layer_changes.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/migrate.hpp"

namespace lastbit {

/// A version as it is run.
struct RunnableVersion {
  const Emulator& emulator;
  const SpecSheet& sheet;
};

/// Fills `certificate` of each of the layers, whose changes are known.
void decide_for_every_input(const RunnableVersion& before, const RunnableVersion& after, std::vector<MigratedLayer>& layers,
                            const MigrateOptions& options);

}  // namespace lastbit
