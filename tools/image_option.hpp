// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How images become inputs.
#pragma once

#include "command_line.hpp"
#include "lastbit/io/image.hpp"

namespace lastbit::tool {

/// Declares `--mean`, `--std`, `--resize` and `--channels`.
void add_image_options(Command& command);

/// What was given. Throws Error naming the option.
[[nodiscard]] ImageOptions given_image_options();

/// The first of the options that was given, such as "--mean"; empty: none.
[[nodiscard]] std::string given_image_option();

}  // namespace lastbit::tool
