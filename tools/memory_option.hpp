// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How much memory a command may need.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "command_line.hpp"

namespace lastbit::tool {

/// What the machine has free, or the control groups of the process leave it, where that is less; nothing where neither says. `root` holds proc/ and sys/.
[[nodiscard]] std::optional<std::size_t> free_memory(const std::filesystem::path& root);

/// Without --max-memory: what is free as the process begins, less a tenth. No limit where the machine does not say.
void limit_to_free_memory();

/// Where tensors lay others will lie: what is given back to the system is cleared page by page when it is asked for again, a fifth of a comparison's time.
void keep_freed_memory();

/// Declares `--max-memory BYTES`.
void add_memory_option(Command& command);

/// "512M", "1.5G", "4096", with or without "B" or "iB": K, M, G and T are powers of 1024. Throws Error.
[[nodiscard]] std::size_t bytes_from(const std::string& text);

}  // namespace lastbit::tool
