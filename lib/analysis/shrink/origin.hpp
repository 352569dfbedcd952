// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lastbit/shrink.hpp"

namespace lastbit {

/// "layer 0, conv2d 'conv1' of 'digits/model.json', sample 0, value 182": where a case comes from.
[[nodiscard]] std::string origin_of(const ShrunkCase& shrunk);

}  // namespace lastbit
