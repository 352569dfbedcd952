// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/held_codes.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "engine/converted_input.hpp"
#include "engine/float32/prepare.hpp"
#include "lastbit/one_operation.hpp"
#include "model/movement.hpp"

namespace lastbit {

std::optional<Model> with_merged_pairs(const Model& model, Fusion fusion) {
  const bool merges = fusion == Fusion::by_default || fusion == Fusion::by_option;
  const auto is_merged = [](const ModelTensor& tensor) { return tensor.merged.has_value(); };
  if (!merges || std::ranges::none_of(model.tensors, is_merged)) return std::nullopt;
  Model own = model;
  for (ModelTensor& tensor : own.tensors)
    if (tensor.merged) std::swap(tensor.quantization, *tensor.merged);
  return own;
}

namespace {

std::shared_ptr<Model> extracted(const Model& model, const Operation& operation) {
  return std::make_shared<Model>(extract_operation(model, static_cast<std::size_t>(&operation - model.operations.data())));
}

}  // namespace

bool moves_between_scales(const Model& model, const Operation& operation) {
  if (!is_movement(operation.kind) && operation.kind != OperationKind::max_pool2d) return false;
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  return std::ranges::any_of(operation.outputs, [&](std::int32_t index) {
    const ModelTensor& output = model.tensor(index);
    return (input.merged || output.merged) && input.quantization != output.quantization;
  });
}

Executor prepare_between_scales(const Model& model, const Operation& operation, const Backend& backend) {
  const Quantization from = model.tensor(operation.inputs[0]).quantization;
  std::vector<Quantization> to;
  for (const std::int32_t output : operation.outputs) to.push_back(model.tensor(output).quantization);
  auto alone = extracted(model, operation);
  for (ModelTensor& tensor : alone->tensors) {
    tensor.quantization = from;
    tensor.merged.reset();
  }
  Executor move = prepare_integer(*alone, alone->operations.front(), backend);
  return [alone = std::shared_ptr<const Model>(std::move(alone)), move = std::move(move), from, to = std::move(to),
          to_real = backend.dequantize, to_codes = backend.quantize](const Execution& run) {
    move(run);
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] != from) quantize_by(to_codes, dequantized_by(to_real, run.outputs[i], from), to[i], run.outputs[i]);
    }
  };
}

bool computes_as_uint8(const Operation& operation, const Backend& backend) {
  using enum OperationKind;
  const bool by_code = operation.kind == add || operation.kind == mul || operation.kind == average_pool2d || operation.kind == softmax;
  return by_code && operation.stated == Statement::fusible_as_uint8 && backend.fusion == Fusion::by_default;
}

namespace {

constexpr std::int64_t offset = 128;

/// 128 more, or less: the other half of the byte's codes.
Tensor with_other_sign(const Tensor& codes, ElementType type) {
  Tensor other(type, codes.shape());
  std::ranges::transform(codes.bytes(), other.bytes().begin(), [](std::byte code) { return code ^ std::byte{offset}; });
  return other;
}

/// The operation alone; its bounds let every code pass, or it were not fusible.
std::shared_ptr<const Model> as_uint8(const Model& model, const Operation& operation) {
  auto alone = extracted(model, operation);
  for (ModelTensor& tensor : alone->tensors) {
    if (tensor.type != ElementType::int8) continue;
    tensor.type = ElementType::uint8;
    tensor.quantization.zero_points = {tensor.quantization.zero_point() + offset};
    if (tensor.constant) tensor.constant = with_other_sign(*tensor.constant, ElementType::uint8);
  }
  Operation& only = alone->operations.front();
  only.stated = Statement::on_codes;
  std::visit(
      []<class T>(T& attributes) {
        if constexpr (requires { attributes.bounds; }) attributes.bounds = {};
      },
      only.attributes);
  return alone;
}

}  // namespace

Executor prepare_as_uint8(const Model& model, const Operation& operation, const Backend& backend) {
  const auto alone = as_uint8(model, operation);
  return [alone, executor = prepare_integer(*alone, alone->operations.front(), backend)](const Execution& run) {
    std::vector<Tensor> inputs, outputs;
    std::vector<const Tensor*> given;
    inputs.reserve(run.inputs.size());
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      const ModelTensor& wanted = alone->tensor(alone->operations.front().inputs[i]);
      if (!wanted.constant) inputs.push_back(with_other_sign(*run.inputs[i], ElementType::uint8));
      given.push_back(wanted.constant ? &*wanted.constant : &inputs.back());
    }
    for (const Tensor& output : run.outputs) outputs.emplace_back(ElementType::uint8, output.shape());
    executor({given, outputs, run.events});
    for (std::size_t i = 0; i < outputs.size(); ++i) run.outputs[i] = with_other_sign(outputs[i], ElementType::int8);
  };
}

}  // namespace lastbit
