// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which change of a backend makes it compute a dump: one and the same for every layer that reads the rules changed.
#pragma once

#include <vector>

#include "analysis/explain/part.hpp"
#include "lastbit/explain.hpp"

namespace lastbit {

/// Completes the verdicts of `report`, one for each of `judges`, and says whether one device can have made the dump.
void search_changes(const std::vector<PartJudge>& judges, const Backend& backend, DumpReport& report);

}  // namespace lastbit
