// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lastbit/advise.hpp"

namespace lastbit {

/// Of one sample: the model's outputs, in whatever form.
[[nodiscard]] Agreement agreement_of(const Model& model, const MixedRun& run, std::span<const Tensor> expected,
                                     std::span<const Tensor> found);

}  // namespace lastbit
