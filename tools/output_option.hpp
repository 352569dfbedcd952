// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a command writes.
#pragma once

#include <string>

#include "command_line.hpp"
#include "lastbit/model.hpp"

namespace lastbit::tool {

/// Declares `--force`.
void add_force_option(Command& command);

/// Throws Error where the name does not end as a model that can be written.
void require_model_name(const std::string& option, const std::string& file);
/// As its name ends: .json, with .npy files beside it for large constants, or .tflite.
void write_model(const std::string& file, const Model& model);

}  // namespace lastbit::tool
