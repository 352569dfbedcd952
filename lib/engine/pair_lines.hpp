// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations on two codes of 8 bits whose output is nearly a straight function of them: 65,536 pairs are all that there is, so lines between whose
// roundings the outputs lie (engine/kernels/lines.hpp) are tried on every one.
#pragma once

#include "engine/executor.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// `exact`, which makes each output of one code of either input, whatever their number; by lines of about these slopes once as many outputs were
/// computed as finding them costs (at once while a ScopedEagerLines lives), where no events are counted. `exact` itself where there are none.
[[nodiscard]] Executor by_pair_lines(Executor exact, const Model& model, const Operation& operation, double slope_a, double slope_b);

}  // namespace lastbit
