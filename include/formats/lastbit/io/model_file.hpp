// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network from a file of any format that is read, told apart by its content.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "lastbit/io/cut.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// What a file leaves open, and which part of its network is read.
struct ModelOptions {
  /// What an .onnx file may leave open, by the names of its inputs: see OnnxOptions; of a .tflite file the shapes. JSON leaves nothing open.
  std::map<std::string, Tensor, std::less<>> constants;
  std::map<std::string, Shape, std::less<>> shapes;
  Cut cut{};  ///< what of the network is read
};

/// A model of any format that can be read: .onnx by its name, .tflite by its name or file identifier, else the JSON format. Throws Error
/// naming the file.
[[nodiscard]] Model read_model(const std::filesystem::path& path, const ModelOptions& options = {});

}  // namespace lastbit
