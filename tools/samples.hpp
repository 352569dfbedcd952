// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Samples of a network's inputs on disk.
#pragma once

#include <string>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit::tool {

/// One list of tensors per sample, in the order of the model's inputs; at most `most` samples (0: all). What `inputs` may be: see
/// model_inputs.hpp. Throws Error naming the file: unreadable, of another type or size, not finite.
[[nodiscard]] std::vector<std::vector<Tensor>> read_samples(const Model& model, const std::vector<std::string>& inputs, std::int64_t most);

}  // namespace lastbit::tool
