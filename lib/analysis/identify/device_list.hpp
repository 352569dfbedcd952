// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Many devices.
#pragma once

#include <cstddef>
#include <functional>

#include "lastbit/backend.hpp"

namespace lastbit {

/// Devices by number, each made when it is looked at: thousands would not fit into memory.
struct DeviceList {
  std::size_t count = 0;
  std::function<Backend(std::size_t)> at{};
};

}  // namespace lastbit
