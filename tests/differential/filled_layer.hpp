// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A random layer of a kind, with values for its inputs.
#pragma once

#include <optional>
#include <vector>

#include "differential/layer_maker.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"

namespace lastbit::test {

struct FilledLayer {
  Model model;  ///< of one operation
  std::vector<Tensor> inputs;
};

/// Nothing where the choices do not make a layer that the backend has.
inline std::optional<FilledLayer> filled_layer(OperationKind kind, const Backend& backend, Choices& choose) try {
  auto model = make_layer(kind, backend, choose);
  if (!model || !check(*model, backend).empty()) return std::nullopt;
  FilledLayer layer{std::move(*model), {}};
  for (const auto input : layer.model.inputs)
    layer.inputs.push_back(random_values(layer.model.tensor(input).type, layer.model.tensor(input).shape, choose));
  return layer;
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace lastbit::test
