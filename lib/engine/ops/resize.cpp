// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// resize: the nearest value on every backend, bilinear interpolation in integers where the backend has it.
#include "lastbit/op/resize.hpp"

#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/resize_axes.hpp"

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

Executor prepare_nearest_resize(const Model& model, const Operation& operation) {
  const ResizeAxes axes = resize_axes(model, operation);
  const Rounding rounding = std::get<ResizeAttributes>(operation.attributes).nearest;
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t y = 0; y < axes.height.out; ++y) rows.push_back(nearest_index(axes.height, y, rounding));
  for (std::int64_t x = 0; x < axes.width.out; ++x) columns.push_back(nearest_index(axes.width, x, rounding));
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

Executor prepare_bilinear(const ResizeAxes& axes, const ResizeArithmetic& rule, std::int64_t zero_point) {
  std::vector<LinearTap> rows, columns;
  for (std::int64_t y = 0; y < axes.height.out; ++y) rows.push_back(linear_tap(rule, axes.height, y));
  for (std::int64_t x = 0; x < axes.width.out; ++x) columns.push_back(linear_tap(rule, axes.width, x));
  return [=](const Execution& run) {
    const auto values = centred(*run.inputs[0], zero_point);
    std::vector<std::int64_t> out;
    out.reserve(static_cast<std::size_t>(run.outputs[0].element_count()));
    for (std::int64_t n = 0; n < axes.batch; ++n) {
      const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        return values[static_cast<std::size_t>(((n * axes.height.in + y) * axes.width.in + x) * axes.channels + c)];
      };
      for (const LinearTap& row : rows) {
        for (const LinearTap& column : columns) {
          for (std::int64_t c = 0; c < axes.channels; ++c) {
            out.push_back(zero_point + interpolate(rule, row, column, at(row.first, column.first, c), at(row.first, column.second, c),
                                                   at(row.second, column.first, c), at(row.second, column.second, c)));
          }
        }
      }
    }
    if (run.events != nullptr) run.events->outputs += static_cast<std::int64_t>(out.size());
    store(out, run.outputs[0]);
  };
}

}  // namespace

Executor prepare_resize(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  require_equal_quantization(operation, in, out);
  if (std::get<ResizeAttributes>(operation.attributes).mode == ResizeMode::nearest) return prepare_nearest_resize(model, operation);
  if (backend.resize.method == ResizeMethod::absent) throw_unsupported(operation, "the backend has no bilinear interpolation");
  const std::int64_t zero_point = in.quantization.present() ? in.quantization.zero_point() : 0;
  return prepare_bilinear(resize_axes(model, operation), backend.resize, zero_point);
}

}  // namespace lastbit
