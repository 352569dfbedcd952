// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/shrink/layer_case.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "lastbit/advise.hpp"

namespace lastbit {

std::optional<std::size_t> LayerCase::place_among_inputs(std::int32_t which) const {
  const auto found = std::ranges::find(layer.inputs, which);
  if (found == layer.inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - layer.inputs.begin());
}

const Tensor* LayerCase::values(std::int32_t which) const {
  if (which == absent_tensor) return nullptr;
  if (tensor(which).constant) return &*tensor(which).constant;
  const auto place = place_among_inputs(which);
  return place ? &inputs[*place] : nullptr;
}

Tensor* LayerCase::values(std::int32_t which) {
  if (which == absent_tensor) return nullptr;
  if (tensor(which).constant) return &tensor(which).constant.edit();
  const auto place = place_among_inputs(which);
  return place ? &inputs[*place] : nullptr;
}

std::int64_t offset_of(const Shape& shape, const std::vector<std::int64_t>& at) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) offset = offset * shape[axis] + at[axis];
  return offset;
}

void pick(LayerCase& layer, std::int32_t tensor, Shape shape, const std::vector<std::int64_t>& offsets) {
  if (Tensor* const values = layer.values(tensor)) {
    Tensor picked(values->type(), shape);
    const std::size_t size = size_of(values->type());
    for (std::size_t i = 0; i < offsets.size(); ++i)
      std::memcpy(picked.bytes().data() + i * size, values->bytes().data() + static_cast<std::size_t>(offsets[i]) * size, size);
    *values = std::move(picked);
  }
  layer.tensor(tensor).shape = std::move(shape);
}

void pick_scales(LayerCase& layer, std::int32_t tensor, const std::vector<std::int64_t>& channels) {
  Quantization& quantization = layer.tensor(tensor).quantization;
  if (!quantization.per_channel()) return;
  Quantization picked{{}, {}, channels.size() == 1 ? 0 : quantization.axis};
  for (const std::int64_t channel : channels) {
    picked.scales.push_back(quantization.scale(static_cast<std::size_t>(channel)));
    if (!quantization.zero_points.empty()) picked.zero_points.push_back(quantization.zero_point(static_cast<std::size_t>(channel)));
  }
  quantization = std::move(picked);
}

void keep(LayerCase& layer, std::int32_t tensor, std::size_t axis, const std::vector<std::int64_t>& indices) {
  const Shape shape = layer.tensor(tensor).shape;
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes[axis] = static_cast<std::int64_t>(indices.size());
  const Shape kept(std::move(sizes));
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(kept.element_count()));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    std::vector<std::int64_t> at = coordinates(kept, static_cast<std::int64_t>(i));
    at[axis] = indices[static_cast<std::size_t>(at[axis])];
    offsets[i] = offset_of(shape, at);
  }
  pick(layer, tensor, kept, offsets);
  if (layer.tensor(tensor).quantization.axis == static_cast<std::int64_t>(axis)) pick_scales(layer, tensor, indices);
}

std::vector<std::int64_t> counting(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

namespace {

void separate_inputs(LayerCase& layer) {
  std::set<std::int32_t> seen;
  for (std::int32_t& index : layer.operation().inputs) {
    if (index == absent_tensor || seen.insert(index).second) continue;
    const auto copy = static_cast<std::int32_t>(layer.layer.tensors.size());
    if (!layer.tensor(index).constant) {
      layer.inputs.emplace_back(*layer.values(index));
      layer.layer.inputs.push_back(copy);
    }
    layer.layer.tensors.emplace_back(layer.tensor(index));
    index = copy;
  }
}

/// "x", "weights", "bias", "y": what the operation has at each place.
void name_tensors(LayerCase& layer) {
  const bool sum = is_sum_of_taps(layer.operation().kind);
  std::size_t inputs = 0, constants = 0, outputs = 0;
  for (std::size_t i = 0; i < layer.operation().inputs.size(); ++i) {
    if (!layer.has_input(i)) continue;
    ModelTensor& tensor = layer.tensor(layer.input_tensor(i));
    const std::string number = inputs == 0 ? "" : std::to_string(inputs + 1);
    if (sum && i == 1) tensor.name = "weights";
    else if (sum && i == bias_input) tensor.name = "bias";
    else if (sum && i == multiplier_input) tensor.name = "multiplier";
    else if (tensor.constant) tensor.name = "constant" + (constants++ == 0 ? std::string() : std::to_string(constants));
    else tensor.name = "x" + number, ++inputs;
  }
  for (const std::int32_t index : layer.operation().outputs) {
    layer.tensor(index).name = "y" + (outputs == 0 ? std::string() : std::to_string(outputs + 1));
    ++outputs;
  }
  layer.operation().name = layer.tensor(layer.output_tensor()).name;
}

/// Leaves out the tensors that the operation does not read or write.
void prune(LayerCase& layer) {
  std::vector<std::int32_t> number(layer.layer.tensors.size(), absent_tensor);
  std::vector<ModelTensor> tensors;
  const auto renumber = [&](std::vector<std::int32_t>& list) {
    for (std::int32_t& index : list) {
      if (index == absent_tensor) continue;
      std::int32_t& to = number[static_cast<std::size_t>(index)];
      if (to == absent_tensor) {
        to = static_cast<std::int32_t>(tensors.size());
        tensors.push_back(std::move(layer.tensor(index)));
      }
      index = to;
    }
  };
  Operation& operation = layer.operation();
  while (!operation.inputs.empty() && operation.inputs.back() == absent_tensor) operation.inputs.pop_back();
  for (auto* list : {&operation.inputs, &operation.outputs, &layer.layer.inputs, &layer.layer.outputs}) renumber(*list);
  layer.layer.tensors = std::move(tensors);
}

std::int64_t count_nonzero(const ModelTensor& tensor, const Tensor& values) {
  std::int64_t count = 0;
  if (is_integer(tensor.type)) {
    const bool per_channel = tensor.quantization.per_channel();
    const auto axis = static_cast<std::size_t>(tensor.quantization.axis);
    for (std::int64_t i = 0; i < values.element_count(); ++i) {
      const std::int64_t channel = per_channel ? coordinates(values.shape(), i)[axis] : 0;
      count += values.integer_at(i) != tensor.quantization.zero_point(static_cast<std::size_t>(channel)) ? 1 : 0;
    }
    return count;
  }
  const std::size_t size = lastbit::size_of(tensor.type);
  for (std::size_t at = 0; at < values.bytes().size(); at += size) {
    const auto element = values.bytes().subspan(at, size);
    count += std::any_of(element.begin(), element.end(), [](std::byte byte) { return byte != std::byte{0}; }) ? 1 : 0;
  }
  return count;
}

}  // namespace

void tidy(LayerCase& layer) {
  separate_inputs(layer);
  prune(layer);
  name_tensors(layer);
  layer.layer.name = "shrunk";
}

CaseSize size_of(const LayerCase& layer) {
  CaseSize size;
  const OperationKind kind = layer.operation().kind;
  if (is_sum_of_taps(kind) || kind == OperationKind::matmul)
    size.multiply_accumulates = multiply_accumulates(layer.layer, layer.operation());
  for (std::size_t i = 0; i < layer.layer.inputs.size(); ++i) {
    size.elements += layer.inputs[i].element_count();
    size.nonzero += count_nonzero(layer.tensor(layer.layer.inputs[i]), layer.inputs[i]);
  }
  for (const ModelTensor& tensor : layer.layer.tensors)
    if (tensor.constant) size.nonzero += count_nonzero(tensor, *tensor.constant);
  return size;
}

bool is_sum_of_taps(OperationKind kind) {
  using enum OperationKind;
  return kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected;
}

OutputBounds* bounds_of(Operation& operation) {
  return std::visit(
      []<class T>(T& attributes) -> OutputBounds* {
        if constexpr (requires { attributes.bounds; }) return &attributes.bounds;
        else return nullptr;
      },
      operation.attributes);
}

}  // namespace lastbit
