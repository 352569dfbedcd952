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
  return {[loop = std::move(loop)](std::span<const Tensor* const> inputs, std::span<Tensor> outputs, std::int64_t, std::int64_t) {
    copy_block(loop, size_of(inputs[0]->type()), inputs[0]->bytes().data(), outputs[0].bytes().data());
  }};
}

}  // namespace

Movement move_transpose(const Model& model, const Operation& operation) {
  const Shape &from = model.tensor(operation.inputs[0]).shape, &to = model.tensor(operation.outputs[0]).shape;
  const auto strides = row_major_strides(from.sizes());
  StridedLayout source;
  for (const std::int64_t axis : std::get<TransposeAttributes>(operation.attributes).permutation)
    source.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  return copies(StridedLoop<2>(to.sizes(), {source, row_major(to)}));
}

Movement move_slice(const Model& model, const Operation& operation) {
  const auto& attributes = std::get<SliceAttributes>(operation.attributes);
  const Shape &from = model.tensor(operation.inputs[0]).shape, &to = model.tensor(operation.outputs[0]).shape;
  StridedLayout source = row_major(from);
  for (std::size_t axis = 0; axis < from.rank(); ++axis) {
    source.offset += attributes.begin[axis] * source.strides[axis];
    if (!attributes.strides.empty() && to[axis] > 1) source.strides[axis] *= attributes.strides[axis];
  }
  return copies(StridedLoop<2>(to.sizes(), {source, row_major(to)}));
}

Movement move_split(const Model& model, const Operation& operation) {
  const Shape& from = model.tensor(operation.inputs[0]).shape;
  const std::size_t axis = static_cast<std::size_t>(std::get<SplitAttributes>(operation.attributes).axis);
  std::vector<StridedLoop<2>> parts;
  StridedLayout source = row_major(from);
  for (const std::int32_t output : operation.outputs) {
    const Shape& part = model.tensor(output).shape;
    parts.emplace_back(part.sizes(), std::array<StridedLayout, 2>{source, row_major(part)});
    source.offset += part[axis] * source.strides[axis];
  }
  return {[parts = std::move(parts)](std::span<const Tensor* const> inputs, std::span<Tensor> outputs, std::int64_t, std::int64_t) {
    const Tensor& input = *inputs[0];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      copy_block(parts[i], size_of(input.type()), input.bytes().data(), outputs[i].bytes().data());
    }
  }};
}

namespace {

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
      return bytes_of(to_float16(attributes.real_value.value_or(static_cast<double>(value)), ieee_float16));
    else return bytes_of(static_cast<T>(value));
  });
}

/// The element again and again: what is written so far is what is copied next.
void fill(std::span<std::byte> to, const std::vector<std::byte>& element) {
  if (to.empty()) return;
  if (element.size() == 1) return static_cast<void>(std::memset(to.data(), std::to_integer<int>(element[0]), to.size()));
  std::memcpy(to.data(), element.data(), element.size());
  for (std::size_t done = element.size(); done < to.size(); done *= 2)
    std::memcpy(to.data() + done, to.data(), std::min(done, to.size() - done));
}

}  // namespace

Movement move_pad(const Model& model, const Operation& operation) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const Shape& to = model.tensor(operation.outputs[0]).shape;
  const auto& attributes = std::get<PadAttributes>(operation.attributes);
  StridedLayout target = row_major(to);
  for (std::size_t axis = 0; axis < to.rank(); ++axis) target.offset += attributes.paddings[axis][0] * target.strides[axis];
  // Rows lie in the output in the order in which they are copied: what is between one and the next is padding.
  const StridedLoop<2> loop(input.shape.sizes(), {row_major(input.shape), target});
  const auto move = [loop, element = padding_element(input, attributes)](std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                                                                         std::int64_t first, std::int64_t last) {
    const StridedLoop<2> rows = loop.part(first, last);
    const auto place = [&](const std::array<std::int64_t, 2>& at, std::size_t i) {
      return static_cast<std::size_t>(at[i]) * element.size();
    };
    const std::byte* const from = inputs[0]->bytes().data();
    const std::span<std::byte> bytes = outputs[0].bytes();
    const bool is_last = last == loop.outer_size();
    const bool is_run = rows.row_strides()[1] == 1;
    const std::size_t run_bytes = element.size() * static_cast<std::size_t>(is_run ? rows.row_length() : 1);
    std::size_t done = first == 0 ? 0 : place(rows.first_row(), 1);
    rows.each_row([&](std::array<std::int64_t, 2> at) {
      for (std::int64_t run = 0; run < (is_run ? 1 : rows.row_length()); ++run) {
        fill(bytes.subspan(done, place(at, 1) - done), element);
        std::memcpy(bytes.data() + place(at, 1), from + place(at, 0), run_bytes);
        done = place(at, 1) + run_bytes;
        for (std::size_t i = 0; i < at.size(); ++i) at[i] += rows.row_strides()[i];
      }
    });
    const std::size_t end = is_last ? bytes.size() : place(loop.part(last, last).first_row(), 1);
    fill(bytes.subspan(done, end - done), element);
  };
  return {move, loop.outer_size()};
}

namespace {

/// Nearest one that the axis has; NaN counts as 0.
std::vector<std::int64_t> indices_in(const Tensor& tensor, std::int64_t size) {
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(tensor.element_count()));
  const auto last = static_cast<double>(size - 1);
  for (std::int64_t i = 0; i < tensor.element_count(); ++i) {
    if (tensor.type() != ElementType::float32) {
      indices.push_back(std::clamp<std::int64_t>(tensor.integer_at(i), 0, size - 1));
      continue;
    }
    const auto real = double{tensor.values<float>()[static_cast<std::size_t>(i)]};  // of the golden path
    indices.push_back(real > 0 ? static_cast<std::int64_t>(std::min(real, last)) : 0);
  }
  return indices;
}

}  // namespace

Movement move_gather(const Model& model, const Operation& operation) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const auto axis = static_cast<std::size_t>(std::get<GatherAttributes>(operation.attributes).axis);
  std::size_t outer = 1, inner = size_of(input.type);
  for (std::size_t i = 0; i < input.shape.rank(); ++i) {
    if (i < axis) outer *= static_cast<std::size_t>(input.shape[i]);
    if (i > axis) inner *= static_cast<std::size_t>(input.shape[i]);
  }
  return {[=, size = input.shape[axis]](std::span<const Tensor* const> inputs, std::span<Tensor> outputs, std::int64_t, std::int64_t) {
    const std::vector<std::int64_t> indices = indices_in(*inputs[1], size);
    std::byte* to = outputs[0].bytes().data();
    for (std::size_t o = 0; o < outer; ++o) {
      const std::byte* const block = inputs[0]->bytes().data() + o * static_cast<std::size_t>(size) * inner;
      for (const std::int64_t index : indices) {
        std::memcpy(to, block + static_cast<std::size_t>(index) * inner, inner);
        to += inner;
      }
    }
  }};
}

Movement move_all(const Model& model, const Operation& operation) {
  const Shape& to = model.tensor(operation.outputs[0]).shape;
  return copies(StridedLoop<2>(to.sizes(), {row_major(to), row_major(to)}));
}

}  // namespace lastbit
