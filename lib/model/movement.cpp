// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Contract: every output element is one input element, bit for bit, or the padding value; no arithmetic. Each operation is a block of
// elements read with one layout and written with another.
#include "model/movement.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "lastbit/error.hpp"
#include "model/strided_loop.hpp"

namespace lastbit {
namespace {

Movement copies(StridedLoop<2> loop) {
  return [loop = std::move(loop)](std::span<const Tensor* const> inputs, std::span<Tensor> outputs) {
    copy_block(loop, size_of(inputs[0]->type()), inputs[0]->bytes().data(), outputs[0].bytes().data());
  };
}

Movement prepare_transpose(const Shape& from, const Shape& to, const TransposeAttributes& attributes) {
  const auto strides = row_major_strides(from.sizes());
  StridedLayout source;
  for (const std::int64_t axis : attributes.permutation) source.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  return copies(StridedLoop<2>(to.sizes(), {source, row_major(to)}));
}

Movement prepare_slice(const Shape& from, const Shape& to, const SliceAttributes& attributes) {
  StridedLayout source = row_major(from);
  for (std::size_t axis = 0; axis < from.rank(); ++axis) {
    source.offset += attributes.begin[axis] * source.strides[axis];
    if (!attributes.strides.empty() && to[axis] > 1) source.strides[axis] *= attributes.strides[axis];
  }
  return copies(StridedLoop<2>(to.sizes(), {source, row_major(to)}));
}

Movement prepare_split(const Model& model, const Operation& operation, const Shape& from) {
  const std::size_t axis = static_cast<std::size_t>(std::get<SplitAttributes>(operation.attributes).axis);
  std::vector<StridedLoop<2>> parts;
  StridedLayout source = row_major(from);
  for (const std::int32_t output : operation.outputs) {
    const Shape& part = model.tensor(output).shape;
    parts.emplace_back(part.sizes(), std::array<StridedLayout, 2>{source, row_major(part)});
    source.offset += part[axis] * source.strides[axis];
  }
  return [parts = std::move(parts)](std::span<const Tensor* const> inputs, std::span<Tensor> outputs) {
    const Tensor& input = *inputs[0];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      copy_block(parts[i], size_of(input.type()), input.bytes().data(), outputs[i].bytes().data());
    }
  };
}

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// One element of the padding: the stated value, or what stands for zero.
std::vector<std::byte> padding_element(const ModelTensor& input, const PadAttributes& attributes) {
  const std::int64_t value = attributes.value.value_or(input.quantization.zero_point());
  return visit_element_type(input.type, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) return bytes_of(static_cast<T>(attributes.real_value.value_or(static_cast<double>(value))));
    else if constexpr (std::is_same_v<T, Float16>)
      return bytes_of(to_float16(attributes.real_value.value_or(static_cast<double>(value)), Float16Rules{}));
    else return bytes_of(static_cast<T>(value));
  });
}

/// The element again and again: what is written so far is what is copied next.
void fill(std::span<std::byte> to, const std::vector<std::byte>& element) {
  std::memcpy(to.data(), element.data(), element.size());
  for (std::size_t done = element.size(); done < to.size(); done *= 2)
    std::memcpy(to.data() + done, to.data(), std::min(done, to.size() - done));
}

Movement prepare_pad(const ModelTensor& input, const Shape& to, const PadAttributes& attributes) {
  StridedLayout target = row_major(to);
  for (std::size_t axis = 0; axis < to.rank(); ++axis) target.offset += attributes.paddings[axis][0] * target.strides[axis];
  const Movement copy = copies(StridedLoop<2>(input.shape.sizes(), {row_major(input.shape), target}));
  return [copy, element = padding_element(input, attributes)](std::span<const Tensor* const> inputs, std::span<Tensor> outputs) {
    fill(outputs[0].bytes(), element);
    copy(inputs, outputs);
  };
}

}  // namespace

Movement prepare_movement(const Model& model, const Operation& operation) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const Shape& to = model.tensor(operation.outputs[0]).shape;
  const Attributes& attributes = operation.attributes;
  switch (operation.kind) {
    case OperationKind::pad: return prepare_pad(input, to, std::get<PadAttributes>(attributes));
    case OperationKind::reshape:
    case OperationKind::squeeze: return copies(StridedLoop<2>(to.sizes(), {row_major(to), row_major(to)}));
    case OperationKind::transpose: return prepare_transpose(input.shape, to, std::get<TransposeAttributes>(attributes));
    case OperationKind::slice:
    case OperationKind::strided_slice: return prepare_slice(input.shape, to, std::get<SliceAttributes>(attributes));
    case OperationKind::split: return prepare_split(model, operation, input.shape);
    default: throw Error(ErrorCode::unsupported_operation, operation.name, std::string(name_of(operation.kind)) + " moves no data");
  }
}

}  // namespace lastbit
