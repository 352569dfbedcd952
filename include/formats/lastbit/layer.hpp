// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation with its tensors, without a model file: what `lastbit layer` runs. The JSON form is described in docs/case-format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/device.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// How the images and weights of convolutions, pools and the like stand in the user's arrays. Everything else stands as it is.
///   channels_last:  images NHWC, weights as in model.hpp
///   channels_first: images NCHW; weights OIHW, of a depthwise convolution [C*multiplier,1,kh,kw], of a transposed one [I,O,kh,kw]
enum class LayerLayout : std::uint8_t { channels_last, channels_first };

/// An array as the user has it, and what it is to be in the layer.
struct LayerOperand {
  std::string name;
  Tensor values;
  std::optional<ElementType> type{};  ///< absent: that of the values
  Quantization quantization{};        ///< without axis: it follows from the operation
  bool constant = false;              ///< part of the layer, not an input of a run
};

/// One operation, its tensors and its output, in the user's own layout.
struct LayerDescription {
  OperationKind kind = OperationKind::conv2d;
  Attributes attributes;
  LayerLayout layout = LayerLayout::channels_last;
  std::vector<std::optional<LayerOperand>> operands;  ///< in the operation's order
  std::int64_t outputs = 1;
  std::optional<ElementType> output_type{};
  Quantization output_quantization{};
  std::optional<Shape> output_shape{};  ///< where it does not follow from the inputs, in the user's layout
  std::optional<Shape> shown_shape{};   ///< of the output in the user's arrays; absent: it follows from the layout
  std::string backend{};                ///< the one that the description names, or empty
  bool one_dimensional = false;         ///< windows slide along one axis: arrays without a height
};

/// A model of one operation, and the inputs to run it with, both channels last.
struct Layer {
  /// How an input of the model is made of the user's array: its axes in this order, of this shape before.
  struct UsersArray {
    Shape given, complete;                  ///< as the user has it; with the axes that it lacks
    std::vector<std::int64_t> permutation;  ///< of the complete one; empty: as it is
  };
  Model model;
  std::vector<Tensor> inputs;
  std::vector<std::int64_t> output_permutation;  ///< to the user's layout; empty: as it is
  std::optional<Shape> output_shape;             ///< after that; absent: as it is
  std::vector<UsersArray> users_inputs;          ///< of every input
};

/// Throws Error naming `where` and the place in it. Files are relative to `directory`.
[[nodiscard]] LayerDescription parse_layer(std::string_view json, const std::filesystem::path& directory, std::string_view where);
/// The same with arrays that `array` gives by the names that the description has for its files.
[[nodiscard]] LayerDescription parse_layer_of_arrays(std::string_view json, const std::function<Tensor(const std::string& file)>& array,
                                                     std::string_view where);
[[nodiscard]] LayerDescription read_layer(const std::filesystem::path& path);

/// The model, validated, for run() with its inputs. Shapes follow from the operands, a kind's rule for them from model.hpp; scales and zero points are those of
/// the description, in real units per code. Integers change their type where every value fits. Real values of an integer type are rounded by the backend's rule for
/// real inputs (op/quantize.hpp), a bias by the product of the scales of input and weights. Throws Error where something does not fit.
[[nodiscard]] Layer make_layer(const LayerDescription& description, const Device& device);

/// The model with the operations around it that take the user's arrays and give the output as the user would write it; the same where it does.
[[nodiscard]] Model model_of_users_arrays(const Layer& layer);

/// A tensor of the model's output as the user would write it.
[[nodiscard]] Tensor in_users_layout(const Layer& layer, const Tensor& output);

/// The array with its axes in another order: axis i of the result is axis permutation[i] of the tensor.
[[nodiscard]] Tensor permuted(const Tensor& tensor, const std::vector<std::int64_t>& permutation);

}  // namespace lastbit
