// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/tflite_shapes.hpp"

#include <algorithm>

namespace lastbit::tflite_format {
namespace {

/// The position of the input that says nothing but the output's shape, which the output tensor has already; or a negative number.
std::int64_t shape_position(BuiltinOperator code) {
  switch (code) {
    case BuiltinOperator::TRANSPOSE_CONV: return 0;
    case BuiltinOperator::RESHAPE:
    case BuiltinOperator::EXPAND_DIMS:
    case BuiltinOperator::BROADCAST_TO:
    case BuiltinOperator::RESIZE_BILINEAR:
    case BuiltinOperator::RESIZE_NEAREST_NEIGHBOR: return 1;
    default: return -1;
  }
}

class Uses {
 public:
  explicit Uses(std::size_t tensors) : as_data_(tensors, false), as_shape_(tensors, false) {}

  void data(std::int32_t tensor) { mark(as_data_, tensor); }
  void shape(std::int32_t tensor) { mark(as_shape_, tensor); }
  [[nodiscard]] bool is_data(std::int32_t tensor) const { return marked(as_data_, tensor); }
  [[nodiscard]] bool is_shape(std::int32_t tensor) const { return marked(as_shape_, tensor); }

 private:
  static bool marked(const std::vector<bool>& marks, std::int32_t tensor) {
    return tensor >= 0 && static_cast<std::size_t>(tensor) < marks.size() && marks[static_cast<std::size_t>(tensor)];
  }
  static void mark(std::vector<bool>& marks, std::int32_t tensor) {
    if (tensor >= 0 && static_cast<std::size_t>(tensor) < marks.size()) marks[static_cast<std::size_t>(tensor)] = true;
  }
  std::vector<bool> as_data_, as_shape_;
};

}  // namespace

std::vector<bool> operators_for_shapes(const SubGraph& graph, const std::vector<BuiltinOperator>& codes) {
  Uses uses(graph.tensors() == nullptr ? 0 : graph.tensors()->size());
  if (graph.outputs() != nullptr)
    for (const std::int32_t output : *graph.outputs()) uses.data(output);
  std::vector<bool> only_shapes(codes.size(), false);
  for (std::size_t i = codes.size(); i-- > 0;) {
    const Operator& operation = *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto *inputs = operation.inputs(), *outputs = operation.outputs();
    if (outputs != nullptr) {
      only_shapes[i] = std::any_of(outputs->begin(), outputs->end(), [&](std::int32_t output) { return uses.is_shape(output); }) &&
                       std::none_of(outputs->begin(), outputs->end(), [&](std::int32_t output) { return uses.is_data(output); });
    }
    for (flatbuffers::uoffset_t position = 0; inputs != nullptr && position < inputs->size(); ++position) {
      if (only_shapes[i] || shape_position(codes[i]) == position) uses.shape(inputs->Get(position));
      else uses.data(inputs->Get(position));
    }
  }
  return only_shapes;
}

}  // namespace lastbit::tflite_format
