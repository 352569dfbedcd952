// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What goes along one axis: argmax, argmin, cumsum, top_k. Indices are floats, as every tensor of the golden path is.
#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/float/real.hpp"

namespace lastbit {
namespace {

/// Where the values of one position lie: `first` of it and so on in steps of `inner`.
struct Axis {
  std::size_t length = 1, inner = 1;

  Axis(const Shape& shape, std::int64_t axis) : length(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)])) {
    for (auto later = static_cast<std::size_t>(axis) + 1; later < shape.rank(); ++later) inner *= static_cast<std::size_t>(shape[later]);
  }
  /// The first of position `i` in a tensor whose axis has `of` values.
  [[nodiscard]] std::size_t first(std::size_t i, std::size_t of) const { return i / inner * inner * of + i % inner; }
};

Axis axis_of(const Model& model, const Operation& operation, std::int64_t axis) { return {model.tensor(operation.inputs[0]).shape, axis}; }

/// NaN comes last.
bool is_before(float a, float b, bool smallest) {
  if (a != a || b != b) return a == a;
  return smallest ? a < b : a > b;
}

}  // namespace

/// The first of the largest values, or of the smallest.
Executor prepare_real_argmax(const Model& model, const Operation& operation) {
  const Axis axis = axis_of(model, operation, std::get<ArgmaxAttributes>(operation.attributes).axis);
  return [axis, smallest = operation.kind == OperationKind::argmin](const Execution& run) {
    const auto values = run.inputs[0]->values<float>();
    const auto out = run.outputs[0].values<float>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t first = axis.first(i, axis.length);
      std::size_t best = 0;
      for (std::size_t k = 1; k < axis.length; ++k) {
        const float value = values[first + k * axis.inner], found = values[first + best * axis.inner];
        if (smallest ? value < found : value > found) best = k;
      }
      out[i] = static_cast<float>(best);
    }
  };
}

Executor prepare_real_cumsum(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<CumsumAttributes>(operation.attributes);
  return [axis = axis_of(model, operation, attributes.axis), exclusive = attributes.exclusive,
          reverse = attributes.reverse](const Execution& run) {
    const auto values = run.inputs[0]->values<float>();
    const auto out = run.outputs[0].values<float>();
    for (std::size_t i = 0; i < out.size() / axis.length; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < axis.length; ++k) {
        const std::size_t at = axis.first(i, axis.length) + (reverse ? axis.length - 1 - k : k) * axis.inner;
        const double before = sum;
        sum += double{values[at]};
        out[at] = static_cast<float>(exclusive ? before : sum);
      }
    }
  };
}

Executor prepare_real_top_k(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<TopKAttributes>(operation.attributes);
  const auto count = static_cast<std::size_t>(model.tensor(operation.outputs[0]).shape[static_cast<std::size_t>(attributes.axis)]);
  return [axis = axis_of(model, operation, attributes.axis), count, smallest = attributes.smallest](const Execution& run) {
    const auto values = run.inputs[0]->values<float>();
    const auto found = run.outputs[0].values<float>(), places = run.outputs[1].values<float>();
    std::vector<std::size_t> order(axis.length);
    for (std::size_t i = 0; i < values.size() / axis.length; ++i) {
      const std::size_t from = axis.first(i, axis.length), to = axis.first(i, count);
      const auto value = [&](std::size_t place) { return values[from + place * axis.inner]; };
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return is_before(value(a), value(b), smallest); });
      for (std::size_t k = 0; k < count; ++k) {
        found[to + k * axis.inner] = value(order[k]);
        places[to + k * axis.inner] = static_cast<float>(order[k]);
      }
    }
  };
}

}  // namespace lastbit
