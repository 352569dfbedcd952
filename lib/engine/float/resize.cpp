// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/resize_axes.hpp"

#include <cmath>
#include <vector>

#include "engine/float/real.hpp"

namespace lastbit {
namespace {

struct RealTap {
  std::int64_t first, second;
  double weight;  ///< of the second
};

std::vector<RealTap> taps_of(const ResizeAxis& axis) {
  std::vector<RealTap> taps;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double at = std::clamp(source_coordinate(axis, i), 0.0, static_cast<double>(axis.in - 1));
    const auto first = static_cast<std::int64_t>(std::floor(at));
    taps.push_back({first, std::min(first + 1, axis.in - 1), at - static_cast<double>(first)});
  }
  return taps;
}

}  // namespace

Executor prepare_real_resize(const Model& model, const Operation& operation) {
  if (std::get<ResizeAttributes>(operation.attributes).mode == ResizeMode::nearest) return prepare_nearest_resize(model, operation);
  const ResizeAxes axes = resize_axes(model, operation);
  return [axes, rows = taps_of(axes.height), columns = taps_of(axes.width)](const Execution& run) {
    const auto values = run.inputs[0]->values<float>();
    auto out = run.outputs[0].values<float>().begin();
    for (std::int64_t n = 0; n < axes.batch; ++n) {
      const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        return double{values[static_cast<std::size_t>(((n * axes.height.in + y) * axes.width.in + x) * axes.channels + c)]};
      };
      for (const RealTap& row : rows) {
        for (const RealTap& column : columns) {
          for (std::int64_t c = 0; c < axes.channels; ++c) {
            const double upper = at(row.first, column.first, c) * (1 - column.weight) + at(row.first, column.second, c) * column.weight;
            const double lower = at(row.second, column.first, c) * (1 - column.weight) + at(row.second, column.second, c) * column.weight;
            *out++ = static_cast<float>(upper * (1 - row.weight) + lower * row.weight);
          }
        }
      }
    }
  };
}

}  // namespace lastbit
