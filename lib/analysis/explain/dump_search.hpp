// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which change of a backend makes it compute a dump: one and the same for every layer that reads the rules changed.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analysis/explain/part.hpp"
#include "lastbit/explain.hpp"

namespace lastbit {

/// Completes the verdicts of `report`, one for each of `judges`, and says whether one device can have made the dump. `on_progress` as in
/// ExplainOptions: changes of single rules that were tried.
void search_changes(const std::vector<PartJudge>& judges, const Backend& backend, DumpReport& report,
                    const std::function<void(std::size_t done, std::size_t all)>& on_progress);

}  // namespace lastbit
