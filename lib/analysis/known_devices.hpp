// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is known to compute a layer: the built-in backends, and whatever differs from one of them in a single rule.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/explain/part.hpp"

namespace lastbit {

/// A built-in backend, as it is or with one rule changed.
struct KnownDevice {
  std::string backend;
  std::optional<RuleChange> change;
};

/// Whether `accepts` takes what some built-in backend makes of the layer, which has one operation. Each way to compute it is asked once.
[[nodiscard]] bool some_builtin(const Model& layer, std::span<const Tensor> inputs, const std::function<bool(const Integers&)>& accepts);

/// The first that computes just these codes, the built-in backends as they are before any other; nothing where none does.
[[nodiscard]] std::optional<KnownDevice> known_device_of(const Model& layer, const std::vector<Tensor>& inputs, const Integers& codes);

}  // namespace lastbit
