// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of things in messages.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace lastbit {

/// "1 sample", "2 samples".
[[nodiscard]] std::string counted(std::integral auto count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

}  // namespace lastbit
