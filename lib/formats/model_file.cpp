// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/io/model_file.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "formats/file.hpp"
#include "formats/kept_part.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/onnx.hpp"
#include "lastbit/io/tflite.hpp"

namespace lastbit {

Model read_model(const std::filesystem::path& path, const ModelOptions& options) {
  if (path.extension() == ".onnx") return read_onnx(path, {.constants = options.constants, .shapes = options.shapes, .cut = options.cut});
  const auto bytes = read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const bool is_tflite = path.extension() == ".tflite" || text.substr(0, 8).ends_with("TFL3");
  if (!options.constants.empty() || (!options.shapes.empty() && !is_tflite))
    throw Error(ErrorCode::bad_input, path.string(), "only .onnx files take constants of inputs, and they and .tflite files shapes");
  if (is_tflite) return parse_tflite(bytes, path.string(), options.cut, options.shapes);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (path.extension() != ".json" && (first == std::string_view::npos || text[first] != '{')) {
    throw Error(ErrorCode::malformed_file, path.string(), "neither a .tflite file, an .onnx file nor a JSON model");
  }
  Model model = parse_json_model(text, path.parent_path(), path.string());
  return options.cut.is_whole() ? model : cut_model(std::move(model), options.cut, path.string());
}

}  // namespace lastbit
