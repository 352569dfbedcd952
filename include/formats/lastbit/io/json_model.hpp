// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The project's own model format, described in docs/case-format.md.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lastbit/model.hpp"

namespace lastbit {

/// A validated model. Throws Error naming the file and the place in it.
[[nodiscard]] Model read_json_model(const std::filesystem::path& path);

/// The same from memory: `directory` is where its .npy files lie, `where` names the text in messages.
[[nodiscard]] Model parse_json_model(std::string_view text, const std::filesystem::path& directory, std::string_view where);

/// Replaces the file. Constants of more than 256 values go to .npy files beside it, "<stem>.<tensor>.npy". Tensors must have names of their own.
/// Throws Error(unreadable_file | bad_input).
void write_json_model(const std::filesystem::path& path, const Model& model);

/// The same as text that needs no other file. Throws Error(bad_input), also for constants that are infinite or NaN.
[[nodiscard]] std::string json_model_text(const Model& model);

}  // namespace lastbit
