// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Codes as a runtime that fuses holds them, where they are not those of the file: of two pairs of QuantizeLinear and DequantizeLinear that it made
// one, in another scale and zero point; of int8 that it made uint8, 128 more.
#pragma once

#include <optional>

#include "engine/executor.hpp"

namespace lastbit {

/// The model with ModelTensor::merged and quantization exchanged where there is a merged one; nothing if there is none, or the device does not fuse.
[[nodiscard]] std::optional<Model> with_merged_pairs(const Model& model, Fusion fusion);

/// Whether an operation that moves or picks codes, as they are, now stands between two meanings of them.
[[nodiscard]] bool moves_between_scales(const Model& model, const Operation& operation);
/// What it moves or picks, dequantised by the one and quantised by the other.
[[nodiscard]] Executor prepare_between_scales(const Model& model, const Operation& operation, const Backend& backend);

/// Where the code itself, and not its distance from the zero point, goes into a rounding, 128 more can be another result.
[[nodiscard]] bool computes_as_uint8(const Operation& operation, const Backend& backend);
/// The operation on uint8 codes, for int8 ones.
[[nodiscard]] Executor prepare_as_uint8(const Model& model, const Operation& operation, const Backend& backend);

}  // namespace lastbit
