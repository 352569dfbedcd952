// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `--html FILE`: what a command found, as a page for a browser.
#pragma once

#include <filesystem>
#include <string>

#include "command_line.hpp"
#include "report/document.hpp"

namespace lastbit::tool {

/// What stands in every report: the program's version, and the words that it was started with.
void remember_command(const std::string& version, int count, const char* const* words);
/// "lastbit compare 'my model.tflite'", as a shell reads it.
[[nodiscard]] std::string command_text(int count, const char* const* words);

Option add_html_option(Command& command, std::filesystem::path& file);

/// With the command that made it.
void write_html(Document page, const std::filesystem::path& file);

}  // namespace lastbit::tool
