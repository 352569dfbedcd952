// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A board's dump on the command line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "lastbit/dump.hpp"

namespace lastbit::tool {

/// `--dump DIR`, and how it is read: `--names MAP.csv` and `--layout NAME`.
void add_dump_options(Command& command, std::string& dump);
/// Of several layers, one file each.
void add_dump_options(Command& command, std::vector<std::string>& dumps);

/// `--require`: see dump_requirement_from.
Option add_require_option(Command& command, std::string& required);

/// The dump with what the command says of it; `inputs`: what the board was given, if that is said. Writes names.csv where files were matched by
/// their values alone.
[[nodiscard]] NamedTrace read_given_dump(const std::string& folder, const Model& model, std::span<const Tensor> inputs);

inline constexpr const char* layout_meaning =
    "the order in which files hold images: nhwc (of the command layer also weights, OHWI), or nchw (OIHW); of a dump also nc1hwc0, nc4hw4, "
    "nhwc4, nhwc8, nhwc16, nhwc32 or nhwc64. By default a layer's files are nhwc, a dump's what their names and shapes tell";

}  // namespace lastbit::tool
