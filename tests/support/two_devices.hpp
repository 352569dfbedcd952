// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A dump that no one device made: the first operations of a network are computed by one, the others by another that goes on from there.
#pragma once

#include <optional>
#include <vector>

#include "lastbit/one_operation.hpp"
#include "lastbit/trace.hpp"

namespace lastbit::test {

inline NamedTrace dump_of_two(const Model& model, const SpecSheet& first, const SpecSheet& second, std::size_t operations_of_first,
                              const std::vector<Tensor>& inputs) {
  NamedTrace dump = run_named(model, first, inputs);
  std::vector<std::optional<Tensor>> known(model.tensors.size());
  for (const NamedTensor& tensor : dump.tensors) known[static_cast<std::size_t>(tensor.index)] = tensor.values;
  for (std::size_t i = operations_of_first; i < model.operations.size(); ++i) {
    const Model layer = extract_operation(model, i);
    const Trace trace = run(layer, second.backend, inputs_of(model, i, known));
    for (std::size_t k = 0; k < layer.outputs.size(); ++k)
      known[static_cast<std::size_t>(model.operations[i].outputs[k])] = trace.tensors[static_cast<std::size_t>(layer.outputs[k])];
  }
  for (NamedTensor& tensor : dump.tensors) tensor.values = *known[static_cast<std::size_t>(tensor.index)];
  return dump;
}

/// The model's inputs and outputs, and nothing in between.
inline NamedTrace ends_of(const Model& model, NamedTrace dump) {
  std::erase_if(dump.tensors, [&](const NamedTensor& tensor) {
    const auto is_it = [&](std::int32_t index) { return index == tensor.index; };
    return std::none_of(model.inputs.begin(), model.inputs.end(), is_it) && std::none_of(model.outputs.begin(), model.outputs.end(), is_it);
  });
  return dump;
}

}  // namespace lastbit::test
