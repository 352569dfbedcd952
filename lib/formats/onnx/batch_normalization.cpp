// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A BatchNormalization that only a convolution feeds: y = (conv(x) - mean) * f + offset with f = scale / sqrt(variance + epsilon) is the
// convolution with every weight of channel c times f[c], and bias (b[c] - mean[c]) * f[c] + offset[c].
#include <algorithm>
#include <cmath>

#include "formats/onnx/operators.hpp"

namespace lastbit::onnx_format {
namespace {

ValueId hidden_constant(Graph& graph, const std::string& name, Tensor values) {
  graph.budget().spend(values.bytes().size(), graph.place());
  const ValueId id = graph.hidden_value(name, values.type(), values.shape(), {});
  graph.set_constant(id, std::move(values));
  return id;
}

}  // namespace

bool is_foldable(const NodeReader& convolution, const NodeReader& normalization) {
  const auto constant = [](const NodeReader& node, std::size_t position) {
    if (!node.has_input(position)) return static_cast<const Tensor*>(nullptr);
    const Tensor* const found = node.graph().constant(node.input_id(position));
    return found != nullptr && found->type() == ElementType::float32 ? found : nullptr;
  };
  const Tensor* const weights = constant(convolution, 1);
  const bool training =
      normalization.integer("training_mode", 0) != 0 || (normalization.opset() < 7 && normalization.integer("is_test", 0) == 0);
  if (weights == nullptr || weights->shape().rank() < 3 || training) return false;
  if (convolution.has_input(2) && constant(convolution, 2) == nullptr) return false;
  for (std::size_t i = 1; i < 5; ++i) {
    const Tensor* const values = constant(normalization, i);
    if (values == nullptr || values->element_count() != weights->shape()[0]) return false;
  }
  for (std::size_t i = 1; i < normalization.output_count(); ++i)
    if (normalization.has_output(i)) return false;
  return !convolution.has_input(2) || constant(convolution, 2)->element_count() == weights->shape()[0];
}

NodeOperands fold_batch_normalization(const NodeReader& convolution, const NodeReader& normalization) {
  const auto scale = normalization.constant_reals(1), offset = normalization.constant_reals(2), mean = normalization.constant_reals(3),
             variance = normalization.constant_reals(4);
  const double epsilon = normalization.real("epsilon", static_cast<double>(1e-5F));
  Tensor weights = convolution.constant(1);
  Tensor bias(ElementType::float32, {static_cast<std::int64_t>(scale.size())});
  const std::vector<double> own = convolution.has_input(2) ? convolution.constant_reals(2) : std::vector<double>(scale.size(), 0.0);
  const std::size_t inner = weights.values<float>().size() / scale.size();
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + epsilon);
    for (float& weight : weights.values<float>().subspan(c * inner, inner)) weight = static_cast<float>(double{weight} * factor);
    bias.values<float>()[c] = static_cast<float>((own[c] - mean[c]) * factor + offset[c]);
  }
  Graph& graph = convolution.graph();
  const std::string name = normalization.output().name;
  const ValueId folded_weights = hidden_constant(graph, convolution.input(1).name + " (normalised)", std::move(weights));
  const ValueId folded_bias = hidden_constant(graph, name + " (bias)", std::move(bias));
  return {.inputs = {convolution.input_id(0), folded_weights, folded_bias}, .outputs = {normalization.output_id()}, .bounds = {}};
}

}  // namespace lastbit::onnx_format
