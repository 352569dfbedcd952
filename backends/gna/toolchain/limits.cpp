// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gna/toolchain/network.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::gna {
namespace {

using enum OperationKind;

class Checker {
 public:
  Checker(const FloatNetwork& network, const Limits& limits) : network_(network), limits_(limits) {}

  std::vector<Diagnostic> run() {
    const auto& operations = network_.model().operations;
    std::vector<bool> taken(operations.size(), false);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Operation& operation = operations[i];
      if (is_layer(operation.kind)) {
        const FusedLayer fused = network_.fused_layer_from(i);
        check_layer(operation, fused);
        for (const std::size_t member : fused.members) taken[member] = true;
      } else if (!taken[i]) {
        check_other(operation);
      }
    }
    return std::move(problems_);
  }

 private:
  void check_other(const Operation& operation) {
    if (operation.kind == max_pool2d) return refuse(operation, "a pool must follow a convolution");
    if (!is_movement(operation.kind) && operation.kind != concat && !is_activation(operation.kind)) {
      refuse(operation, "the device has no such operation");
    } else if (operation.kind == concat && std::get<ConcatAttributes>(operation.attributes).activation != Activation::none) {
      refuse(operation, "a concat has no activation");
    }
  }

  void refuse(const Operation& operation, const std::string& message) {
    problems_.push_back({ErrorCode::unsupported_operation, std::string(name_of(operation.kind)) + " '" + operation.name + "'",
                         message + " (" + limits_.generation + ")"});
  }

  void require(const Operation& operation, const std::string& what, std::int64_t value, const Range& range) {
    const std::string allowed = std::to_string(range.least) + " to " + std::to_string(range.most) +
                                (range.multiple > 1 ? ", a multiple of " + std::to_string(range.multiple) : "");
    if (value < range.least || value > range.most || value % range.multiple != 0)
      refuse(operation, what + " " + std::to_string(value) + "; the device takes " + allowed);
  }

  /// Filled up with zeros.
  void require_padded(const Operation& operation, const std::string& what, std::int64_t value, const Range& range) {
    const std::int64_t filled = (value + range.multiple - 1) / range.multiple * range.multiple;
    require(operation, what, std::max(filled, range.least), range);
  }

  void check_layer(const Operation& layer, const FusedLayer& fused) {
    if (!network_.is_constant(layer, 1) ||
        (layer.inputs.size() > 2 && layer.inputs[2] != absent_tensor && !network_.is_constant(layer, 2))) {
      return refuse(layer, "weights and bias must be constants");
    }
    const Shape &in = network_.shape(layer.inputs[0]), &weights = network_.shape(layer.inputs[1]);
    if (layer.kind == fully_connected) {
      require_padded(layer, "inputs", weights[1], limits_.dense_inputs);
      require(layer, "vectors", in.element_count() / weights[1], {1, limits_.dense_rows, 1});
      return;
    }
    const auto& attributes = std::get<Conv2dAttributes>(layer.attributes);
    if (attributes.dilation != Extent2d{}) refuse(layer, "dilated convolution");
    if (weights[3] != in[3]) refuse(layer, "a convolution in groups");
    if (in[0] != 1) refuse(layer, "a batch of " + std::to_string(in[0]));
    if (network_.is_line(layer)) check_line(layer, weights, fused);
    else check_plane(layer, in, weights, fused);
  }

  void check_line(const Operation& layer, const Shape& weights, const FusedLayer& fused) {
    require(layer, "filters", weights[0], limits_.line_filters);
    require_padded(layer, "coefficients of a filter", weights[2] * weights[3], limits_.line_coefficients);
    if (fused.pool == nullptr) return;
    const auto& pool = std::get<Pool2dAttributes>(fused.pool->attributes);
    require(*fused.pool, "window", pool.filter.width, limits_.line_pool);
    require(*fused.pool, "step", pool.stride.width, limits_.line_pool);
    check_pool(*fused.pool, pool);
  }

  void check_plane(const Operation& layer, const Shape& in, const Shape& weights, const FusedLayer& fused) {
    if (!limits_.two_dimensional) return refuse(layer, "a two-dimensional convolution; the device has one-dimensional ones (height 1)");
    require(layer, "height", in[1], limits_.height);
    require(layer, "width", in[2], limits_.width);
    require(layer, "channels", in[3], limits_.channels);
    require(layer, "filters", weights[0], limits_.filters);
    require(layer, "kernel height", weights[1], limits_.kernel);
    require(layer, "kernel width", weights[2], limits_.kernel);
    if (fused.pool == nullptr) return;
    const auto& pool = std::get<Pool2dAttributes>(fused.pool->attributes);
    if (pool.filter.height != pool.filter.width) refuse(*fused.pool, "a window that is not square");
    require(*fused.pool, "window", pool.filter.width, limits_.pool);
    check_pool(*fused.pool, pool);
  }

  /// The device adds windows that reach beyond the end; a float network has them, or they are cut off again, but none that begin before it.
  void check_pool(const Operation& pool, const Pool2dAttributes& attributes) {
    const Shape& in = network_.shape(pool.inputs[0]);
    const ResolvedPadding padding = resolve_padding(attributes.padding, {in[1], in[2]}, attributes.filter, attributes.stride);
    if (padding.top != 0 || padding.left != 0) refuse(pool, "padding before the image");
    if (attributes.bounds != OutputBounds{}) refuse(pool, "an activation behind the pool");
  }

  const FloatNetwork& network_;
  const Limits& limits_;
  std::vector<Diagnostic> problems_;
};

}  // namespace

std::vector<Diagnostic> beyond_limits(const FloatNetwork& network, const Limits& limits) { return Checker(network, limits).run(); }

}  // namespace lastbit::gna
