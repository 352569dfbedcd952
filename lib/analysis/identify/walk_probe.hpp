// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers on which devices that a walk from sheet to sheet has left differ.
#pragma once

#include <optional>
#include <vector>

#include "analysis/identify/probe.hpp"

namespace lastbit {

/// Layers like the pair's, on which the devices differ; none that one of them refuses. With free weights scales, zero points, constants, windows,
/// padding and bounds are their own, else the layer stays and gets inputs: those at which the devices are proven to differ (walk_proof.hpp), where they are
/// proven to be anything. Nothing where none was found.
[[nodiscard]] std::optional<DesignedProbe> design_walk_probe(const std::vector<Backend>& devices, const IdentifyPair& like,
                                                             const ProbeOptions& options);

}  // namespace lastbit
