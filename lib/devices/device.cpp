// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/device.hpp"

#include "lastbit/registry.hpp"

namespace lastbit {

Device::Device(const Backend& own) {
  name = title = "own backend";
  backend = own;
}

SpecSheet Device::named(std::string_view name_or_file) { return find_backend(name_or_file); }

}  // namespace lastbit
