// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lastbit/model.hpp"

namespace lastbit {

/// A model of any format that can be read: .onnx by its name, .tflite by its name or file identifier, else the JSON format. Throws Error
/// naming the file.
[[nodiscard]] Model read_model(const std::filesystem::path& path);

}  // namespace lastbit
