// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/version.hpp"

namespace lastbit {

std::string_view version() { return LASTBIT_VERSION; }

}  // namespace lastbit
