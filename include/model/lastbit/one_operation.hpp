// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation of a network by itself.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit {

/// The model that consists of one operation of `model`: its data tensors become inputs and outputs.
[[nodiscard]] Model extract_operation(const Model& model, std::size_t operation);

/// What that model is fed with, out of the tensors of the whole network by their index (as in Trace); each input once, present in `tensors`.
[[nodiscard]] std::vector<Tensor> inputs_of(const Model& model, std::size_t operation, std::span<const std::optional<Tensor>> tensors);

/// What every report calls an operation, a layer: the name of its output; its own where the output has none.
[[nodiscard]] std::string layer_name(const Model& model, std::size_t operation);
/// "conv2d 'its layer_name'": where a message is about.
[[nodiscard]] std::string layer_place(const Model& model, std::size_t operation);

/// Whether a name is that of an ONNX tensor in the file's own layout, and `source` that of the image that it is a copy of: "x" of "x (NHWC)".
[[nodiscard]] bool is_layout_copy(std::string_view name, std::string_view source);

/// The operation that a user means: by its number, counted from 0 in the model's order; the name of an output, or its own (of an .onnx, the
/// node's); or, as reports shorten names, "~" and an end that only one has, or the last part of "a;b;c". Of a tensor that is an image's copy in the
/// file's layout, what computes the image. Throws Error(bad_input, where) with the nearest names.
[[nodiscard]] std::size_t operation_called(const Model& model, std::string_view name, const std::string& where);

/// The operations from `first` to before `end`.
struct OperationRange {
  std::size_t first, end;
  [[nodiscard]] bool holds(std::size_t operation) const { return first <= operation && operation < end; }
};

/// The one that is called so; without a name, all.
[[nodiscard]] OperationRange operations_called(const Model& model, const std::optional<std::string>& name, const std::string& where);

}  // namespace lastbit
