// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/graph.hpp"

#include <algorithm>
#include <utility>

#include "lastbit/dequantize.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/shape.hpp"
#include "model/movement.hpp"
#include "model/operation_view.hpp"

namespace lastbit::onnx_format {

bool is_image(const Shape& plain) { return plain.rank() == 3 || plain.rank() == 4; }

Shape image_shape(const Shape& plain) {
  if (plain.rank() == 3) return {plain[0], 1, plain[2], plain[1]};
  return {plain[0], plain[2], plain[3], plain[1]};
}

std::size_t image_axis(std::size_t axis, std::size_t rank) {
  if (axis == 0) return 0;
  if (axis == 1) return 3;
  return rank == 3 ? 2 : axis - 1;
}

// Values.

ValueId Graph::find(const std::string& name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? no_value : found->second;
}

ValueId Graph::value(const std::string& name) {
  const auto [at, added] = ids_.emplace(name, static_cast<ValueId>(values_.size()));
  if (!added) return at->second;
  if (!is_printable(name)) fail(ErrorCode::malformed_file, "the name of a tensor is not printable text");
  budget_.spend(2 * name.size(), place_);
  values_.emplace_back().name = name;
  return at->second;
}

ValueId Graph::hidden_value(const std::string& name, ElementType type, Shape shape, Quantization quantization) {
  Value hidden;
  hidden.name = name;
  hidden.known = true;
  hidden.type = type;
  hidden.shape = std::move(shape);
  hidden.quantization = std::move(quantization);
  values_.push_back(std::move(hidden));
  return static_cast<ValueId>(values_.size() - 1);
}

const Tensor* Graph::constant(ValueId id) const {
  const Value& value = (*this)[id];
  if (value.constant) return &*value.constant;
  if (value.plain == absent_tensor || !tensor(value.plain).constant) return nullptr;
  return &*tensor(value.plain).constant;
}

void Graph::set_constant(ValueId id, Tensor values) {
  Value& value = (*this)[id];
  value.known = true;
  value.type = values.type();
  value.shape = values.shape();
  value.constant = std::move(values);
}

void Graph::require_channels(const Shape& shape, const Quantization& quantization) const {
  if (!quantization.per_channel()) return;
  const auto axis = static_cast<std::size_t>(quantization.axis);
  if (quantization.axis >= 0 && axis < shape.rank() && shape[axis] == static_cast<std::int64_t>(quantization.scales.size())) return;
  fail(ErrorCode::bad_quantization, std::to_string(quantization.scales.size()) + " scales along axis " + std::to_string(quantization.axis) +
                                        " of shape " + shape.text());
}

void Graph::set_quantization(ValueId id, const Quantization& quantization) {
  Value& value = (*this)[id];
  require_channels(value.shape, quantization);
  if (value.quantization == quantization) return;
  if (value.constant) {  // each use of a constant has its own meaning
    value.quantization = quantization;
    value.plain = value.image = absent_tensor;
    return;
  }
  if (value.quantization.present()) {
    fail(ErrorCode::bad_quantization, "'" + value.name + "' was given another scale or zero point before");
  }
  value.quantization = quantization;
  for (std::int32_t index : {value.plain, value.image}) {
    while (index != absent_tensor && !tensor(index).quantization.present()) {
      builder_.model.tensors[static_cast<std::size_t>(index)].quantization = quantization;
      const std::int32_t writer = writers_[static_cast<std::size_t>(index)];
      if (writer == no_writer) break;
      const Operation& operation = builder_.model.operations[static_cast<std::size_t>(writer)];
      const bool is_moved =
          is_movement(operation.kind) || operation.kind == OperationKind::max_pool2d || operation.kind == OperationKind::clip;
      if (!is_moved || quantization.per_channel())
        fail(ErrorCode::unsupported_operation, "'" + value.name + "' was computed without a scale; it cannot be given one afterwards");
      index = operation.inputs.front();
    }
  }
}

// Tensors.

std::string Graph::unused_name(const std::string& wanted) {
  budget_.spend(2 * wanted.size(), place_);
  std::string name = wanted;
  int& copies = name_copies_[wanted];
  while (!tensor_names_.insert(name).second) name = wanted + " " + std::to_string(++copies + 1);
  return name;
}

std::int32_t Graph::add_tensor(const std::string& name, ElementType type, Shape shape, Quantization quantization) {
  const auto count = checked_element_count(shape.sizes(), type);
  if (shape.rank() > largest_rank) fail(ErrorCode::malformed_file, "more than " + std::to_string(largest_rank) + " dimensions");
  if (!count || *count * static_cast<std::int64_t>(size_of(type)) > largest_tensor_bytes)
    fail(ErrorCode::malformed_file, "tensor '" + name + "' has a size below 1 or is larger than 2^31 bytes: " + shape.text());
  writers_.push_back(no_writer);
  return builder_.tensor({unused_name(name), type, std::move(shape), std::move(quantization)});
}

std::int32_t Graph::add_constant(const std::string& name, Tensor values, Quantization quantization) {
  budget_.spend(values.bytes().size(), place_);
  const std::int32_t index = add_tensor(name, values.type(), values.shape(), std::move(quantization));
  builder_.model.tensors[static_cast<std::size_t>(index)].constant = std::move(values);
  return index;
}

std::int32_t Graph::plain(ValueId id) {
  Value& value = (*this)[id];
  if (value.plain != absent_tensor) return value.plain;
  if (value.constant) return value.plain = add_constant(value.name, *value.constant, value.quantization);
  if (value.quantized == no_value) fail(ErrorCode::malformed_file, "'" + value.name + "' is read before it is computed");
  if (const Tensor* const codes = constant(value.quantized))
    return value.plain = add_constant(value.name, dequantized(*codes, value.quantization));
  const std::int32_t source = plain(value.quantized);
  const std::int32_t target = begin_plain(id);
  emit(OperationKind::dequantize, {source}, {target});
  return target;
}

std::int32_t Graph::image(ValueId id) {
  if ((*this)[id].image != absent_tensor) return (*this)[id].image;
  const std::int32_t source = plain(id);
  const std::string name = (*this)[id].name;
  std::int32_t companion = source;
  if (tensor(source).shape.rank() == 3) {
    companion = transposed(source, {0, 2, 1}, name + " (NWC)");
    companion = reshaped(companion, image_shape(tensor(source).shape), name + " (NHWC)");
  } else {
    companion = transposed(source, {0, 2, 3, 1}, name + " (NHWC)");
  }
  return (*this)[id].image = companion;
}

std::int32_t Graph::transposed(std::int32_t index, std::vector<std::int64_t> permutation, const std::string& name) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t axis : permutation) sizes.push_back(tensor(index).shape[static_cast<std::size_t>(axis)]);
  Quantization quantization = tensor(index).quantization;
  if (quantization.per_channel()) {
    const auto moved = std::find(permutation.begin(), permutation.end(), quantization.axis);
    quantization.axis = std::distance(permutation.begin(), moved);
  }
  const std::int32_t target = add_tensor(name, tensor(index).type, Shape(std::move(sizes)), std::move(quantization));
  state_merged(target, tensor(index).merged);
  emit(OperationKind::transpose, {index}, {target}, TransposeAttributes{std::move(permutation)});
  return target;
}

std::int32_t Graph::reshaped(std::int32_t index, Shape shape, const std::string& name) {
  Quantization quantization = tensor(index).quantization;
  if (quantization.per_channel()) {  // the axis is found again by its size and by what lies before it
    const auto before = [](const Shape& sizes, std::size_t axis) {
      std::int64_t count = 1;
      for (std::size_t i = 0; i < axis; ++i) count *= sizes[i];
      return count;
    };
    const auto from = static_cast<std::size_t>(quantization.axis);
    const std::int64_t size = tensor(index).shape[from], lead = before(tensor(index).shape, from);
    std::size_t to = 0;
    while (to < shape.rank() && (shape[to] != size || before(shape, to) != lead)) ++to;
    if (to == shape.rank()) fail(ErrorCode::unsupported_operation, "'" + name + "' loses the axis of its scales");
    quantization.axis = static_cast<std::int64_t>(to);
  }
  const std::int32_t target = add_tensor(name, tensor(index).type, std::move(shape), std::move(quantization));
  state_merged(target, tensor(index).merged);
  emit(OperationKind::reshape, {index}, {target});
  return target;
}

// Operations.

std::int32_t Graph::begin_plain(ValueId id) {
  const Value& value = (*this)[id];
  const std::int32_t index =
      add_tensor(value.name, value.type, value.shape, value.quantized == no_value ? value.quantization : Quantization{});
  state_merged(index, value.merged);
  return (*this)[id].plain = index;
}

std::int32_t Graph::begin_image(ValueId id) {
  const Value& value = (*this)[id];
  Quantization quantization = value.quantization;
  if (quantization.per_channel())
    quantization.axis = static_cast<std::int64_t>(image_axis(static_cast<std::size_t>(quantization.axis), value.shape.rank()));
  const std::int32_t index = add_tensor(value.name + " (NHWC)", value.type, image_shape(value.shape), std::move(quantization));
  state_merged(index, value.merged);
  return (*this)[id].image = index;
}

void Graph::finish_image(ValueId id) {
  const Value value = (*this)[id];
  std::int32_t source = value.image;
  if (value.shape.rank() == 3) {
    source = reshaped(source, {value.shape[0], value.shape[2], value.shape[1]}, value.name + " (NWC)");
    (*this)[id].plain = transposed(source, {0, 2, 1}, value.name);
  } else {
    (*this)[id].plain = transposed(source, {0, 3, 1, 2}, value.name);
  }
}

void Graph::emit(OperationKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs, Attributes attributes,
                 Statement stated) {
  std::string name = tensor(outputs.front()).name;
  if (name.empty()) name = std::string(name_of(kind));
  budget_.spend(name.size() + (inputs.size() + outputs.size()) * sizeof(std::int32_t), place_);
  builder_.operation(kind, std::move(name), std::move(inputs), std::move(outputs), std::move(attributes));
  builder_.model.operations.back().stated = is_movement(kind) ? Statement::on_codes : stated;
  for (const std::int32_t output : builder_.model.operations.back().outputs)
    writers_[static_cast<std::size_t>(output)] = static_cast<std::int32_t>(builder_.model.operations.size() - 1);
  check_last_operation();
  fold_last_operation();
}

void Graph::name_node(std::size_t first, const std::string& name) {
  std::vector<Operation>& operations = builder_.model.operations;
  if (name.empty() || !is_printable(name) || operations.size() <= first) return;
  std::size_t named = operations.size() - 1;
  const auto source_of = [&](const Operation& copy) { return is_movement(copy.kind) ? copy.inputs.front() : absent_tensor; };
  for (std::int32_t source = source_of(operations[named]); source != absent_tensor; source = source_of(operations[named])) {
    const std::int32_t writer = writers_[static_cast<std::size_t>(source)];
    const bool is_copy = is_layout_copy(tensor(operations[named].outputs.front()).name, tensor(source).name);
    if (!is_copy || writer == no_writer || static_cast<std::size_t>(writer) < first) break;
    named = static_cast<std::size_t>(writer);
  }
  budget_.spend(name.size(), place_);
  operations[named].name = name;
}

void Graph::check_last_operation() const {
  const OperationView operation(builder_.model, builder_.model.operations.size() - 1, place_);
  check_types(operation);
  check_shapes(operation);
}

/// What moves only constants is a constant.
void Graph::fold_last_operation() {
  const Operation& operation = builder_.model.operations.back();
  const auto is_constant = [&](std::int32_t index) { return tensor(index).constant.has_value(); };
  if (!is_movement(operation.kind) || !std::all_of(operation.inputs.begin(), operation.inputs.end(), is_constant)) return;
  std::vector<const Tensor*> inputs;
  for (const std::int32_t index : operation.inputs) inputs.push_back(&*tensor(index).constant);
  std::vector<Tensor> outputs;
  for (const std::int32_t index : operation.outputs) {
    budget_.spend(static_cast<std::size_t>(tensor(index).shape.element_count()) * size_of(tensor(index).type), place_);
    outputs.emplace_back(tensor(index).type, tensor(index).shape);
  }
  prepare_movement(builder_.model, operation)(inputs, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    builder_.model.tensors[static_cast<std::size_t>(operation.outputs[i])].constant = std::move(outputs[i]);
    writers_[static_cast<std::size_t>(operation.outputs[i])] = no_writer;
  }
  builder_.model.operations.pop_back();
}

void Graph::add_input(ValueId id) { builder_.model.inputs.push_back(begin_plain(id)); }
void Graph::add_output(ValueId id) { builder_.model.outputs.push_back(plain(id)); }

void Graph::drop_unused_constants() {
  std::vector<bool> used(builder_.model.tensors.size(), false);
  const auto each_index = [&](auto&& visit) {
    for (auto* list : {&builder_.model.inputs, &builder_.model.outputs}) std::for_each(list->begin(), list->end(), visit);
    for (Operation& operation : builder_.model.operations)
      for (auto* list : {&operation.inputs, &operation.outputs}) std::for_each(list->begin(), list->end(), visit);
  };
  each_index([&](std::int32_t& index) {
    if (index != absent_tensor) used[static_cast<std::size_t>(index)] = true;
  });
  std::vector<std::int32_t> moved(builder_.model.tensors.size(), absent_tensor);
  std::vector<ModelTensor> kept;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    moved[i] = static_cast<std::int32_t>(kept.size());
    kept.push_back(std::move(builder_.model.tensors[i]));
  }
  builder_.model.tensors = std::move(kept);
  each_index([&](std::int32_t& index) {
    if (index != absent_tensor) index = moved[static_cast<std::size_t>(index)];
  });
}

Model Graph::finish(std::string name) {
  builder_.model.name = std::move(name);
  drop_unused_constants();
  validate(builder_.model, where_);
  return std::move(builder_.model);
}

}  // namespace lastbit::onnx_format
