// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX networks (.onnx): float models, models with QuantizeLinear/DequantizeLinear pairs, and models of quantised operators.
//
// Every tensor of the file that is computed keeps its name and its shape, NCHW for images. Operations on images run on companions in this
// library's layout, named "x (NHWC)", from which the tensor of the file is made by a transpose. A float operator between
// DequantizeLinear and QuantizeLinear becomes one operation on the quantised tensors; the floats in between are not computed then.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lastbit/io/cut.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// What an .onnx file leaves open.
struct OnnxOptions {
  /// Values of graph inputs, by name: they are read as constants. What an operator needs to know while it is read (axes, scales, the condition
  /// of an If) may be an input in the file, and has a value only so.
  std::map<std::string, Tensor, std::less<>> constants;
  /// Shapes of graph inputs, by name, where the file leaves sizes open. An open batch needs none: it is 1.
  std::map<std::string, Shape, std::less<>> shapes;
  /// What of the graph is read, by the names of its values. What it begins with has the shape that the file states, or that the nodes before give
  /// it, or one of `shapes`.
  Cut cut{};
};

/// A validated model. Throws Error naming the file, and the node or tensor. Data outside the file is read from files below its folder.
[[nodiscard]] Model read_onnx(const std::filesystem::path& path, const OnnxOptions& options = {});

/// The same from memory; `where` names the bytes in messages. Data outside the file is refused.
[[nodiscard]] Model parse_onnx(std::span<const std::byte> bytes, std::string_view where, const OnnxOptions& options = {});

/// One serialised tensor (the TensorProto message), as recorded beside test models.
[[nodiscard]] Tensor parse_onnx_tensor(std::span<const std::byte> bytes, std::string_view where);

}  // namespace lastbit
