// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// resize: the nearest value on every backend, bilinear interpolation where the backend has it.
#include "lastbit/op/resize.hpp"

#include <cmath>
#include <span>
#include <vector>

#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/resize_axes.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {

ResizeAxes resize_axes(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<ResizeAttributes>(operation.attributes);
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  const Shape& out = model.tensor(operation.outputs[0]).shape;
  const auto axis = [&](std::size_t i) {
    return ResizeAxis{in[i + 1], out[i + 1], attributes.coordinates, attributes.scales ? (*attributes.scales)[i] : 0.0};
  };
  return {in[0], in[3], axis(0), axis(1)};
}

Executor prepare_nearest_resize(const Model& model, const Operation& operation, NearestCoordinate coordinate) {
  const ResizeAxes axes = resize_axes(model, operation);
  const Rounding rounding = std::get<ResizeAttributes>(operation.attributes).nearest;
  const bool same = axes.height.in == axes.height.out && axes.width.in == axes.width.out;
  const bool copies = same && coordinate == NearestCoordinate::float_quotient;
  const auto places = [&](const ResizeAxis& axis) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < axis.out; ++i) indices.push_back(copies ? i : nearest_index(axis, i, rounding, coordinate));
    return indices;
  };
  const std::vector<std::int64_t> rows = places(axes.height), columns = places(axes.width);
  return [=](const Execution& run) {
    const auto pixel_bytes = static_cast<std::size_t>(axes.channels) * size_of(run.inputs[0]->type());
    const auto from = run.inputs[0]->bytes();
    auto to = run.outputs[0].bytes().begin();
    for (std::int64_t n = 0; n < axes.batch; ++n) {
      for (const std::int64_t y : rows) {
        for (const std::int64_t x : columns) {
          const auto pixel = static_cast<std::size_t>((n * axes.height.in + y) * axes.width.in + x);
          to = std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(pixel * pixel_bytes), pixel_bytes, to);
        }
      }
    }
  };
}

namespace {

/// Each output value by combine(taps of its row, of its column, the four values [row][column]), in the order of memory.
template <class Tap, class Combine>
void each_interpolation(const ResizeAxes& axes, const std::vector<Tap>& rows, const std::vector<Tap>& columns,
                        std::span<const std::int64_t> values, const Combine& combine) {
  for (std::int64_t n = 0; n < axes.batch; ++n) {
    const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      return values[static_cast<std::size_t>(((n * axes.height.in + y) * axes.width.in + x) * axes.channels + c)];
    };
    for (const Tap& row : rows) {
      for (const Tap& column : columns) {
        for (std::int64_t c = 0; c < axes.channels; ++c) {
          combine(row, column, at(row.first, column.first, c), at(row.first, column.second, c), at(row.second, column.first, c),
                  at(row.second, column.second, c));
        }
      }
    }
  }
}

template <class Tap, class Function>
std::vector<Tap> taps_of(const ResizeAxis& axis, const Function& tap) {
  std::vector<Tap> taps;
  for (std::int64_t i = 0; i < axis.out; ++i) taps.push_back(tap(axis, i));
  return taps;
}

void store_outputs(const Execution& run, const std::vector<std::int64_t>& out) {
  if (run.events != nullptr) run.events->outputs += static_cast<std::int64_t>(out.size());
  store(out, run.outputs[0]);
}

Executor prepare_on_grid(const ResizeAxes& axes, const ResizeArithmetic& rule, std::int64_t zero_point) {
  const auto tap = [&](const ResizeAxis& axis, std::int64_t i) { return linear_tap(rule, axis, i); };
  return [=, rows = taps_of<LinearTap>(axes.height, tap), columns = taps_of<LinearTap>(axes.width, tap)](const Execution& run) {
    const auto values = centred(*run.inputs[0], zero_point);
    std::vector<std::int64_t> out;
    out.reserve(static_cast<std::size_t>(run.outputs[0].element_count()));
    each_interpolation(axes, rows, columns, values, [&](const LinearTap& row, const LinearTap& column, auto... codes) {
      out.push_back(zero_point + interpolate(rule, row, column, codes...));
    });
    store_outputs(run, out);
  };
}

/// The two pixels of a linear interpolation in float32.
struct FloatTap {
  std::int64_t first = 0, second = 0;
  float near = 1, far = 0;  ///< weights of the first and the second
};

/// Steps 2 and 3 of float_….
FloatTap float_tap(const ResizeAxis& axis, std::int64_t index) noexcept {
  const auto i = static_cast<float>(index);
  float at = i * float_scale(axis);
  if (has_half_pixels(axis)) {
    const float middle = (i + 0.5F) * float_scale(axis);
    at = middle - 0.5F;
  }
  const auto whole = [&](float value) { return std::clamp<std::int64_t>(static_cast<std::int64_t>(value), 0, axis.in - 1); };
  const std::int64_t first = whole(std::floor(at));
  const float far = at - static_cast<float>(first);
  return {first, whole(std::ceil(at)), 1.0F - far, far};
}

/// Step 4 of float_…, before the sum is truncated.
float interpolate(ResizeMethod method, const FloatTap& row, const FloatTap& column, float upper_left, float upper_right, float lower_left,
                  float lower_right) noexcept {
  if (method == ResizeMethod::float_by_row)
    return upper_left * row.near * column.near + lower_left * row.far * column.near + upper_right * row.near * column.far +
           lower_right * row.far * column.far + 0.5F;
  return upper_left * (row.near * column.near) + upper_right * (row.near * column.far) + lower_left * (row.far * column.near) +
         lower_right * (row.far * column.far) + 0.5F;
}

Executor prepare_in_float(const ResizeAxes& axes, ResizeMethod method, ElementType type) {
  return [=, rows = taps_of<FloatTap>(axes.height, float_tap), columns = taps_of<FloatTap>(axes.width, float_tap),
          range = range_of(type)](const Execution& run) {
    const auto values = centred(*run.inputs[0], 0);
    std::vector<std::int64_t> out;
    out.reserve(static_cast<std::size_t>(run.outputs[0].element_count()));
    each_interpolation(axes, rows, columns, values, [&](const FloatTap& row, const FloatTap& column, auto... codes) {
      const float sum = interpolate(method, row, column, static_cast<float>(codes)...);
      out.push_back(std::clamp(static_cast<std::int64_t>(sum), range.min, range.max));
    });
    store_outputs(run, out);
  };
}

}  // namespace

Executor prepare_resize(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  const ResizeArithmetic& rule = resize_of(model, operation, backend);
  if (rule.other_quantization == OtherQuantization::refused) require_equal_quantization(operation, in, out);
  if (std::get<ResizeAttributes>(operation.attributes).mode == ResizeMode::nearest)
    return prepare_nearest_resize(model, operation, rule.nearest);
  const bool differs = in.type == ElementType::uint8 && rule.method_uint8 != ResizeMethod::absent;
  const ResizeMethod method = differs ? rule.method_uint8 : rule.method;
  if (method == ResizeMethod::absent) throw_unsupported(operation, "the backend has no bilinear interpolation");
  const ResizeAxes axes = resize_axes(model, operation);
  if (method != ResizeMethod::fixed_point) return prepare_in_float(axes, method, out.type);
  return prepare_on_grid(axes, rule, in.quantization.present() ? centred_by(rule.centring, in.quantization.zero_point()) : 0);
}

}  // namespace lastbit
