// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The built-in backends, and backends in files.
#pragma once

#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"

namespace lastbit {

/// Every built-in spec sheet, in the order in which they are listed.
[[nodiscard]] const std::vector<SpecSheet>& builtin_backends();

/// A built-in backend by name or by that of a chip which it alone computes (chips.hpp), or one read from a JSON file (a name that ends in
/// ".json"). Throws Error(unknown_backend).
[[nodiscard]] SpecSheet find_backend(std::string_view name_or_file);

/// The text of a backend file (docs/own-device.md), which may be based on a built-in backend; `where` names it in errors.
[[nodiscard]] SpecSheet backend_from_json(std::string_view text, std::string_view where);

}  // namespace lastbit
