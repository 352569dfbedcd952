// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The graph of an .onnx file while it is written: its tensors, and the ways from codes to real values and back.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/fuzz_against/layout.hpp"
#include "analysis/fuzz_against/onnx_message.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

using Names = std::vector<std::string>;

class OnnxGraph {
 public:
  explicit OnnxGraph(const Model& model) : model_(model) {}

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const ModelTensor& tensor(std::int32_t index) const { return model_.tensor(index); }
  [[nodiscard]] static Shape file_shape(const Shape& shape) { return shape.rank() == 4 ? permuted(shape, channels_first) : shape; }
  [[nodiscard]] static std::int64_t file_axis(std::int64_t axis, std::size_t rank);

  void node(const onnx_message::Node& node) { graph_.message(1, node.message()); }
  /// An initializer, once under each name.
  std::string constant(const std::string& name, const Tensor& values);
  std::string fresh(const std::string& name) { return name + "_" + std::to_string(++count_); }

  /// Codes; of a constant, in this layout instead of that of its rank.
  std::string codes(std::int32_t index, const std::optional<Permutation>& order = {});
  std::string scale(std::int32_t index);
  std::string zero(std::int32_t index);
  /// Real values; of a constant in this layout, with scales along this axis.
  std::string dequantized(std::int32_t index, const std::optional<Permutation>& order = {}, std::int64_t axis = 0);
  /// A bias in the scale of the products, as exporters state it.
  std::string dequantized_bias(const Operation& operation);
  /// A real value through an activation.
  std::string activated(const std::string& real, Activation activation);
  /// Real values to the codes of the operation's output.
  void to_codes(const Operation& operation, const std::string& real);
  /// A node, the activation of the operation behind it, and that to codes.
  void quantized(const Operation& operation, const onnx_message::Node& real_node, const std::string& real);

  /// The activation that stands behind the operation. Throws Error for other bounds.
  [[nodiscard]] static Activation activation_of(const Operation& operation);
  [[noreturn]] static void refuse(const Operation& operation, const std::string& what);

  /// The whole file.
  [[nodiscard]] std::string finished();

 private:
  [[nodiscard]] onnx_message::Message info(std::int32_t index) const;

  const Model& model_;
  onnx_message::Message graph_;
  std::set<std::string> written_;
  std::int64_t count_ = 0;
};

}  // namespace lastbit
