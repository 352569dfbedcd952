// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastbit {

/// The bytes of a regular file. Throws Error(unreadable_file).
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& path);
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path);

/// A regular file, for reading. Throws Error(unreadable_file).
[[nodiscard]] std::ifstream open_file(const std::filesystem::path& path);

/// Replaces a file. Throws Error(unreadable_file).
void write_file(const std::filesystem::path& path, std::string_view header, std::span<const std::byte> body);

/// The same so that whatever happens the file holds all of the old text or all of the new one. PATH.new is used on the way.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace lastbit
