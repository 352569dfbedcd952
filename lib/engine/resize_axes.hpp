// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a resizing works on, for integers and reals alike.
#pragma once

#include "engine/executor.hpp"
#include "lastbit/op/resize.hpp"

namespace lastbit {

struct ResizeAxes {
  std::int64_t batch, channels;
  ResizeAxis height, width;
};

[[nodiscard]] ResizeAxes resize_axes(const Model& model, const Operation& operation);

/// Copies the nearest values, of any element type.
[[nodiscard]] Executor prepare_nearest_resize(const Model& model, const Operation& operation,
                                              NearestCoordinate coordinate = NearestCoordinate::exact);

}  // namespace lastbit
