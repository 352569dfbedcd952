// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The folders of backends/, in the order of the list in backends/CMakeLists.txt.
#pragma once

#include <span>
#include <string_view>

#include "devices/sheet_table.hpp"

namespace lastbit {

struct Vendor {
  std::string_view name;  ///< of its folder, and of its page in docs/backends/
  std::span<const SheetRow> (*sheets)();
};

[[nodiscard]] std::span<const Vendor> vendors();

}  // namespace lastbit
