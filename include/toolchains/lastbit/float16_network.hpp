// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A float network in float16: how far its values are from the largest of float16, which operations have to stay in float32, and the model
// with casts between the two.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/device.hpp"
#include "lastbit/model.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit {

inline constexpr double largest_float16 = 65504;
/// From here on a magnitude rounds, half to even, beyond the largest float16.
inline constexpr double first_beyond_float16 = 65520;

/// log2(65504 / largest magnitude): so many bits a tensor may grow before it leaves float16; negative: it has left. Infinite for zeros.
[[nodiscard]] double float16_headroom(double largest_magnitude);

/// The first tensor, in the order of computation, whose values leave float16: a constant or output of `operation`, or an input of the model.
struct LeavingTensor {
  std::int32_t tensor = 0;
  std::optional<std::size_t> operation{};
};
[[nodiscard]] std::optional<LeavingTensor> first_leaving_float16(const Model& model, const Calibration& calibration);

/// Operations, by their position in the model.
using OperationSet = std::vector<bool>;

/// The model with float16 tensors: an operation of `kept` reads and writes float32, every other float16. Tensors keep their names and take the
/// type of the operation that writes them; inputs of the model stay float32. Where a reader needs the other type, a cast makes
/// "NAME (float16)" or "NAME (float32)" once. Constants are converted by `conversion`.
[[nodiscard]] Model float16_network(const Model& model, const OperationSet& kept, const Float16Rules& conversion);

/// The smallest set of operations to keep in float32 so that no value leaves float16 over the samples: those that read or write a tensor
/// with a value beyond it, and those that pass through such a value on the way to their output (a partial sum, say), as the backend counts
/// them. Each one is needed: without it, a value leaves. Operations that the backend has not in float16 are kept as well.
[[nodiscard]] OperationSet smallest_float32_set(const Model& model, const Device& device, const Calibration& calibration,
                                                std::span<const std::vector<Tensor>> samples);

/// The operations that the backend has not in float16.
[[nodiscard]] OperationSet without_float16(const Model& model, const Device& device);

}  // namespace lastbit
