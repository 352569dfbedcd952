// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lastbit/model.hpp"

namespace lastbit {

/// A model of any format that can be read: .tflite by its file identifier, else the JSON format. Throws Error naming the file.
[[nodiscard]] Model read_model(const std::filesystem::path& path);

}  // namespace lastbit
