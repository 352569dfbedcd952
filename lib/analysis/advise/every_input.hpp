// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The network on both sides, layer by layer, for every input: certify's walk, where the device may lack layers.
#pragma once

#include "analysis/certify/certifier.hpp"
#include "analysis/certify/every_code.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

/// The device with a for what it lacks.
[[nodiscard]] inline SpecSheet with_fallback(SpecSheet device, const SpecSheet& a) {
  if (device.backend.elsewhere.empty()) device.backend.elsewhere = Placements({{a, {}}});
  return device;
}

}  // namespace lastbit
