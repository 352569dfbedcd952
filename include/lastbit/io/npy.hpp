// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files, versions 1.0 to 3.0, little-endian, of the types of ElementType.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// Fortran order is turned into row-major order. Throws Error(unreadable_file | malformed_file) naming the file.
[[nodiscard]] Tensor read_npy(const std::filesystem::path& path);

/// The same from memory; `where` names the bytes in messages.
[[nodiscard]] Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where);

/// Version 1.0, row-major. Throws Error(unreadable_file).
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace lastbit
