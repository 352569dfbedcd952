// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of one operation as a call of lastbit/core.hpp.
#pragma once

#include <optional>
#include <span>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

/// What the core computes; nothing where no call of it says the layer. Throws Error where the call refuses it.
[[nodiscard]] std::optional<Tensor> by_core(const Model& model, const Backend& backend, std::span<const Tensor> inputs);

/// The same by the form whose device is a constant; nothing for devices other than vipnano_v8 and tflite_double, and
/// for data and weights of other types than one of 8 bits.
[[nodiscard]] std::optional<Tensor> by_constant(const Model& model, const std::string& device, std::span<const Tensor> inputs);

}  // namespace lastbit::test
