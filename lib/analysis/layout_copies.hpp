// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// An .onnx file holds images as NCHW, and the layers of its model stand between transpositions. What a dump has on one side of such a
// transposition is known on the other.
#pragma once

#include <string>

#include "lastbit/model.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {

/// The dump with every tensor that a transposition makes of one that it holds, or of which it holds what a transposition makes.
[[nodiscard]] NamedTrace with_layout_copies(const Model& model, NamedTrace dump);

/// What the user's file calls a tensor: of an image the name of its copy in the file's layout.
[[nodiscard]] std::string name_in_file(const Model& model, std::int32_t tensor);

}  // namespace lastbit
