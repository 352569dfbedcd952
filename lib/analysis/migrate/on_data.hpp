// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Both versions of a network on data.
#pragma once

#include <span>

#include "analysis/migrate/every_input.hpp"
#include "analysis/migrate/layer_changes.hpp"
#include "lastbit/migrate.hpp"

namespace lastbit {

/// Runs both; fills `on_data` of the layers and the agreement of the outputs. `inputs` are those of the version before.
void compare_on_data(const RunnableVersion& before, const RunnableVersion& after, const BothNetworks& both, std::span<const Tensor> inputs,
                     int threads, NetworkMigration& migration);

}  // namespace lastbit
