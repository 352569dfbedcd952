// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/tflite_paddings.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/io/tflite.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {

std::optional<PaddingMode> named_padding(const Padding2d& padding, Extent2d in, Extent2d filter, Extent2d stride, Extent2d dilation) {
  if (padding.mode != PaddingMode::explicit_sizes) return padding.mode;
  const ResolvedPadding sizes{padding.top, padding.bottom, padding.left, padding.right};
  const Extent2d windows = window_count(padding, in, filter, stride, dilation);
  for (const PaddingMode mode : {PaddingMode::valid, PaddingMode::same}) {
    Padding2d named;
    named.mode = mode;
    if (resolve_padding(named, in, filter, stride, dilation) == sizes && window_count(named, in, filter, stride, dilation) == windows)
      return mode;
  }
  return std::nullopt;
}

namespace {

Extent2d image_of(const ModelTensor& tensor) { return {tensor.shape[1], tensor.shape[2]}; }

/// The padding of a layer that a pad can take over; nothing where none needs it, or where a pad would not do: an average that leaves padding out.
Padding2d* padding_to_move(const Model& model, Operation& operation) {
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  if (operation.kind == OperationKind::conv2d || operation.kind == OperationKind::depthwise_conv2d) {
    auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
    const Extent2d filter = image_of(model.tensor(operation.inputs[1]));
    const bool is_named = named_padding(attributes.padding, image_of(in), filter, attributes.stride, attributes.dilation).has_value();
    return is_named || attributes.cross_terms ? nullptr : &attributes.padding;
  }
  if (operation.kind != OperationKind::max_pool2d && operation.kind != OperationKind::average_pool2d) return nullptr;
  auto& attributes = std::get<Pool2dAttributes>(operation.attributes);
  const bool takes_pads = operation.kind == OperationKind::max_pool2d || attributes.counted_padding;
  const bool is_named = named_padding(attributes.padding, image_of(in), attributes.filter, attributes.stride, {1, 1}).has_value();
  return is_named || !takes_pads || attributes.partial_windows != PartialWindows::dropped ? nullptr : &attributes.padding;
}

/// What padding is to a layer: the zero point, or below every value.
void set_padding_value(const Operation& layer, const ModelTensor& in, PadAttributes& pad) {
  if (layer.kind != OperationKind::max_pool2d) return;
  if (is_integer(in.type)) pad.value = range_of(in.type).min;
  else pad.real_value = std::numeric_limits<float>::lowest();
}

}  // namespace

Model with_pads(Model model) {
  std::vector<Operation> operations;
  for (Operation& operation : model.operations) {
    Padding2d* const padding = padding_to_move(model, operation);
    if (padding != nullptr) {
      ModelTensor padded = model.tensor(operation.inputs[0]);
      const Extent2d image = image_of(padded);
      PadAttributes pad{
          .paddings = {{0, 0}, {padding->top, padding->bottom}, {padding->left, padding->right}, {0, 0}}, .value = {}, .real_value = {}};
      set_padding_value(operation, padded, pad);
      padded.name = model.tensor(operation.outputs[0]).name + "/padded";
      padded.shape = {padded.shape[0], image.height + padding->top + padding->bottom, image.width + padding->left + padding->right,
                      padded.shape[3]};
      padded.constant = {};
      if (auto* const pool = std::get_if<Pool2dAttributes>(&operation.attributes)) pool->counted_padding = false;
      *padding = {};
      padding->mode = PaddingMode::valid;
      const auto index = static_cast<std::int32_t>(model.tensors.size());
      operations.push_back({.kind = OperationKind::pad,
                            .name = padded.name,
                            .inputs = {std::exchange(operation.inputs[0], index)},
                            .outputs = {index},
                            .attributes = std::move(pad)});
      model.tensors.push_back(std::move(padded));
    }
    operations.push_back(std::move(operation));
  }
  model.operations = std::move(operations);
  return model;
}

}  // namespace lastbit
