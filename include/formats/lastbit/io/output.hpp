// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which files this process may write over. No output ever follows a link.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace lastbit {

/// anything: as a process begins.
/// no_input: no file that the process has read since it said so, by whatever name.
/// own_kind: nor a file that does not begin as what is written, with the same eight bytes; an empty one may be replaced. Everything that lastbit
/// writes begins alike for each kind of file, so its own outputs are recognised and others are not.
enum class Replacing : std::uint8_t { anything, no_input, own_kind };

void set_replacing(Replacing rule) noexcept;

/// Writes a file, whole or not at all. Throws Error naming it where it cannot be written, is a link, or may not be replaced.
void write_text_file(const std::filesystem::path& path, std::string_view text);

/// With --force (Replacing::no_input): removes what an earlier run wrote beside the outputs of this one and this one does not: a file that is no link
/// and was not read. Otherwise, and where it cannot be removed, it stays.
void remove_older(const std::filesystem::path& path) noexcept;

/// Makes a folder and those above it; one that is there stays. Throws Error naming it where it cannot be made.
void create_folder(const std::filesystem::path& folder);

}  // namespace lastbit
