// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a command reads the model that it is given.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "lastbit/model.hpp"

namespace lastbit::tool {

/// Declares `--shape NAME=1x3x224x224`, `--bind NAME=FILE.npy`, `--from TENSOR` and `--to TENSOR`.
void add_model_options(Command& command);

/// "NAME=1x3x224x224". Throws Error.
[[nodiscard]] std::pair<std::string, Shape> named_shape_from(const std::string& text);

/// A model, or the part of it, with the shapes and constants that were given.
[[nodiscard]] Model read_given_model(const std::string& file);

/// Those options as they were given, for another command: "--shape", "x=1x3x224x224", …
[[nodiscard]] std::vector<std::string> given_model_words();

}  // namespace lastbit::tool
