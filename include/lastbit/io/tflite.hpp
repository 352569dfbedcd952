// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Lite (LiteRT) networks.
//
// Tensor i of the model is tensor i of the file's only subgraph; constant shapes, axes and paddings become attributes. Where one operator
// of the file is two operations here (a strided slice that drops dimensions), the tensor between them follows after those of the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "lastbit/model.hpp"

namespace lastbit {

/// A validated model. Throws Error naming the file, and the operator or tensor.
[[nodiscard]] Model read_tflite(const std::filesystem::path& path);

/// The same from memory; `where` names the bytes in messages.
[[nodiscard]] Model parse_tflite(std::span<const std::byte> bytes, std::string_view where);

}  // namespace lastbit
