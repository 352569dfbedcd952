// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backend.hpp"

namespace lastbit {

constexpr Backend no_rules{};

}  // namespace lastbit
