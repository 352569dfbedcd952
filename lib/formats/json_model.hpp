// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model from parsed JSON, for files that hold models among other things.
#pragma once

#include <filesystem>

#include "formats/json.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

using OrderedJson = nlohmann::ordered_json;

[[nodiscard]] Model model_from_json(const JsonView& json, const std::filesystem::path& directory);

/// The values of {"type", "shape", "data"}.
[[nodiscard]] Tensor tensor_from_json(const JsonView& json);

/// Attributes of one operation: the defaults, and what `json` replaces. `data_type` is the type of the first input.
[[nodiscard]] Attributes attributes_from_json(OperationKind kind, const JsonView& json, ElementType data_type);
/// The same as an object that attributes_from_json reads back.
[[nodiscard]] OrderedJson attributes_to_json(OperationKind kind, const Attributes& attributes);

}  // namespace lastbit
