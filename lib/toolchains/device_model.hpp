// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What quantisers share when they turn a float network into a device's: which tensors have one quantisation, activations into the layers before
// them, constants into codes, biases, bounds. Scales and rounding rules are the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"
#include "toolchains/thresholds.hpp"

namespace lastbit {

/// Sets of tensors that share one quantisation.
class TensorGroups {
 public:
  explicit TensorGroups(std::size_t tensors);
  void join(std::int32_t a, std::int32_t b);
  /// One tensor that stands for the set.
  [[nodiscard]] std::int32_t root(std::int32_t tensor) const;
  /// A tensor more, in a set of its own.
  void add();

 private:
  std::vector<std::int32_t> parent_;
};

/// Whether every output value is one of the first input's (or padding): data movement, max pooling.
[[nodiscard]] bool keeps_values(OperationKind kind);

/// Whether the operation multiplies data with weights and may add a bias: inputs are data, weights, bias.
[[nodiscard]] bool has_weights(OperationKind kind);

/// The axis of the output channels in the weights of such an operation.
[[nodiscard]] std::int64_t channel_axis(OperationKind kind);

/// The smallest range that holds both.
[[nodiscard]] ClippingRange hull(ClippingRange a, ClippingRange b);

/// Of float32 values, the largest magnitude per index of `axis`, or of all of them.
[[nodiscard]] std::vector<double> channel_magnitudes(const Tensor& tensor, std::int64_t axis);
[[nodiscard]] double largest_magnitude(const Tensor& tensor);

/// Codes of float32 values, each by code(index along `axis`, value); without an axis the index is 0. Codes fit the type.
[[nodiscard]] Tensor coded(const Tensor& real, ElementType type, std::optional<std::int64_t> axis,
                           const std::function<std::int64_t(std::size_t, float)>& code);

/// Codes of float32 values by the backend's rule, clamped to `limits`.
[[nodiscard]] Tensor quantized(const Tensor& real, ElementType type, const Quantization& quantization, const QuantizeArithmetic& rule,
                               IntegerRange limits);

/// Gives a tensor its type and quantisation; a constant becomes codes over the whole range of the type.
void set_quantization(ModelTensor& tensor, ElementType type, Quantization quantization, const QuantizeArithmetic& rule);

/// The quantisation in which accumulators count: input scale * weight scale, product in float32 or double, zero point 0; along axis 0.
[[nodiscard]] Quantization accumulator_quantization(const Quantization& input, const Quantization& weights, ScaleArithmetic arithmetic);

/// A bias in the units of the sums: rounding(real / scale) in double, within +-(2^(bits-1) - 1) of the type.
[[nodiscard]] Tensor quantized_bias(const Tensor& real, ElementType type, const Quantization& quantization, Rounding rounding);

/// Every mention of a tensor: inputs, outputs, operations, states.
template <class Visit>
void for_each_mention(Model& model, Visit&& visit) {
  const auto visit_all = [&](std::vector<std::int32_t>& list) {
    for (std::int32_t& tensor : list) {
      if (tensor != absent_tensor) visit(tensor);
    }
  };
  visit_all(model.inputs);
  for (Operation& operation : model.operations) {
    visit_all(operation.inputs);
    visit_all(operation.outputs);
  }
  visit_all(model.outputs);
  for (State& state : model.states) {
    visit(state.before);
    visit(state.after);
  }
}

/// Removes the tensors that nothing mentions; the others keep their order.
void drop_unused_tensors(Model& model);

/// The bounds of an operation that may end in an activation (convolutions, fully connected, sums, products, pools); null for any other.
[[nodiscard]] OutputBounds* fusible_bounds(Operation& operation);

/// What an activation leaves on the layer before it, or nothing: it stays an operation of its own.
using BoundsOfActivation = std::function<std::optional<OutputBounds>(const Operation& layer, const Operation& activation)>;

/// relu, relu6, relu_n1_to_1 and clip as bounds that say the same.
[[nodiscard]] std::optional<OutputBounds> stated_bounds(const Operation& activation);

/// An activation that is the only reader of a layer without one becomes that layer's bounds; the layer then writes the activation's output, and the
/// tensor between is mentioned no more. Tensors keep their indices.
void fuse_activations(Model& model, const BoundsOfActivation& bounds);

/// Bounds and padding values in real units become codes of the operation's output.
void quantize_attributes(Operation& operation, const ModelTensor& output);

}  // namespace lastbit
