// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A float network on a device with float16: which tensors can leave it.
#pragma once

#include "lastbit/prove.hpp"

namespace lastbit {

/// Whether the model has real tensors that the backend would compute in float16.
[[nodiscard]] bool is_float16_question(const Model& model, const Backend& backend);

/// `inputs` are needed: they say how large the inputs of the network are.
[[nodiscard]] ProveReport prove_float16(const Model& model, const SpecSheet& sheet, std::span<const Tensor> inputs,
                                        const ProveOptions& options);

}  // namespace lastbit
