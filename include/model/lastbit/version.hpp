// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which library was linked.
#pragma once

#include <string_view>

/// Everything that lastbit declares.
namespace lastbit {

/// "major.minor.patch" of the library that was linked.
[[nodiscard]] std::string_view version();

}  // namespace lastbit
