// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether a model is what it was after it has been written to a file and read back.
#pragma once

#include <string>

#include "formats/json_model.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

inline std::string tensor_differences(const ModelTensor& before, const ModelTensor& after) {
  const std::string place = "tensor '" + before.name + "': ";
  if (before.name != after.name) return place + "name; ";
  if (before.type != after.type || before.shape != after.shape) return place + "type or shape; ";
  if (before.quantization != after.quantization) return place + "quantisation; ";
  if (before.constant != after.constant) return place + "values; ";
  return {};
}

/// Empty, or where two networks differ. Tensors have their numbers; of `after` there may be more, and the names of its operations are those of
/// their outputs. Tensors that no operation uses need only be there.
inline std::string differences(const Model& before, const Model& after) {
  std::string text;
  if (before.inputs != after.inputs || before.outputs != after.outputs) text += "inputs or outputs; ";
  if (before.name != after.name) text += "name; ";
  if (before.tensors.size() > after.tensors.size()) return text + "fewer tensors";
  if (before.operations.size() != after.operations.size()) return text + "another number of operations";
  for (std::size_t i = 0; i < before.operations.size(); ++i) {
    const Operation &a = before.operations[i], &b = after.operations[i];
    if (a.inputs != b.inputs || a.outputs != b.outputs || a.kind != b.kind) text += "operation '" + a.name + "'; ";
    else if (attributes_to_json(a.kind, a.attributes) != attributes_to_json(b.kind, b.attributes))
      text += "attributes of '" + a.name + "'; ";
    for (const auto* list : {&a.inputs, &a.outputs}) {
      for (const std::int32_t index : *list)
        if (index != absent_tensor) text += tensor_differences(before.tensor(index), after.tensor(index));
    }
  }
  return text;
}

}  // namespace lastbit::test
