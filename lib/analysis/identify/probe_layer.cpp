// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/identify/probe_layer.hpp"

#include <algorithm>

namespace lastbit {
namespace {

IntegerRange centred_range(const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  const std::int64_t zero = tensor.quantization.zero_point();
  return {range.min - zero, range.max - zero};
}

Tensor filled(ElementType type, const Shape& shape, const std::vector<std::int64_t>& values) {
  Tensor tensor(type, shape);
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (std::size_t i = 0; i < values.size(); ++i) tensor.values<T>()[i] = static_cast<T>(values[i]);
    }
  });
  return tensor;
}

ElementType bias_type(const Model& like) {
  const Operation& operation = like.operations[0];
  if (operation.inputs.size() > bias_input && operation.inputs[bias_input] != absent_tensor)
    return like.tensor(operation.inputs[bias_input]).type;
  const bool plain = operation.kind == OperationKind::conv2d || operation.kind == OperationKind::depthwise_conv2d;
  return size_of(like.tensor(operation.inputs[0]).type) == 2 && !plain ? ElementType::int64 : ElementType::int32;
}

bool is_depthwise(const Model& model) { return model.operations[0].kind == OperationKind::depthwise_conv2d; }

constexpr std::size_t large_terms = 2, middle_end = probe_terms - large_terms;

}  // namespace

ProbeFrame::ProbeFrame(const Model& like) : like_(like) {
  const Operation& operation = like.operations[0];
  const ModelTensor& weights = like.tensor(operation.inputs[1]);
  weight_range_ = centred_range(weights);
  per_channel_ = weights.quantization.per_channel();
  // A wide bias has 40 bits in the formats that have it.
  const ElementType bias = bias_type(like);
  bias_range_ = bias == ElementType::int64 ? IntegerRange{-(std::int64_t{1} << 39), (std::int64_t{1} << 39) - 1} : range_of(bias);
  output_bits_ = static_cast<int>(size_of(like.tensor(operation.outputs[0]).type)) * 8;
  const IntegerRange range = centred_range(like.tensor(operation.inputs[0]));
  const std::int64_t largest = range.max > 0 ? range.max : range.min;
  const std::int64_t unit = range.max > 0 ? 1 : -1;
  input_.fill(unit * std::min(std::abs(largest), weight_range_.max - weight_range_.min));
  input_[0] = unit;
  input_[probe_terms - 1] = input_[probe_terms - 2] = largest;
}

void ProbeFrame::aim(ChannelDesign& channel, std::int64_t sum, std::int64_t part, SumPath path, std::mt19937_64& random) const {
  channel.weights.fill(0);
  const auto bounded = [this](std::int64_t weight) { return std::clamp(weight, weight_range_.min, weight_range_.max); };
  if (path != SumPath::straight) {
    const std::int64_t sign = path == SumPath::up_and_down ? 1 : -1;
    const std::int64_t weight = std::min(weight_range_.max, -weight_range_.min) * (input_[probe_terms - 1] > 0 ? sign : -sign);
    channel.weights[probe_terms - 2] = bounded(weight);
    channel.weights[probe_terms - 1] = bounded(-weight);
  }
  const std::int64_t middle = input_[1];
  std::int64_t steps = part / middle;
  for (std::size_t k = 1; k < middle_end; ++k) {
    const bool last = k + 1 == middle_end;
    const auto share = last ? steps : static_cast<std::int64_t>(random() % 3) * steps / static_cast<std::int64_t>(middle_end - k) / 2;
    channel.weights[k] = bounded(share);
    steps -= channel.weights[k];
  }
  std::int64_t terms = 0;
  for (std::size_t k = 1; k < probe_terms; ++k) terms += channel.weights[k] * input_[k];
  channel.weights[0] = bounded((part - terms) * input_[0]);
  terms += channel.weights[0] * input_[0];
  channel.bias = std::clamp(sum - terms, bias_range_.min, bias_range_.max);
}

void ProbeFrame::anchor(ChannelDesign& channel) const {
  channel.weights.fill(0);
  channel.weights[0] = weight_range_.min;
  channel.weights[1] = weight_range_.max;
}

Model ProbeFrame::model(const std::vector<ChannelDesign>& channels) const {
  const Operation& from = like_.operations[0];
  const auto count = static_cast<std::int64_t>(channels.size());
  const auto terms = static_cast<std::int64_t>(probe_terms);
  const bool dense = from.kind == OperationKind::fully_connected, depthwise = is_depthwise(like_);
  const Shape input_shape = dense ? Shape{1, terms} : depthwise ? Shape{1, 1, terms, count} : Shape{1, 1, 1, terms};
  const Shape weight_shape = dense ? Shape{count, terms} : depthwise ? Shape{1, 1, terms, count} : Shape{count, 1, 1, terms};
  const std::int64_t weight_zero = like_.tensor(from.inputs[1]).quantization.zero_point();
  std::vector<std::int64_t> weights(channels.size() * probe_terms), bias;
  Quantization quantization{{}, {}, depthwise ? 3 : 0};
  for (std::size_t c = 0; c < channels.size(); ++c) {
    for (std::size_t k = 0; k < probe_terms; ++k)
      weights[depthwise ? k * channels.size() + c : c * probe_terms + k] = channels[c].weights[k] + weight_zero;
    bias.push_back(channels[c].bias);
    if (!per_channel_ && c > 0) continue;
    quantization.scales.push_back(channels[c].weight_scale);
    quantization.zero_points.push_back(weight_zero);
  }
  const ModelTensor& input = like_.tensor(from.inputs[0]);
  const ModelTensor& output = like_.tensor(from.outputs[0]);
  const ElementType weight_type = like_.tensor(from.inputs[1]).type, of_bias = bias_type(like_);
  const Shape output_shape = dense ? Shape{1, count} : Shape{1, 1, 1, count};
  Model model;
  model.name = "probe";
  model.tensors = {{"input", input.type, input_shape, {{input_scale}, {input.quantization.zero_point()}, 0}, {}},
                   {"weights", weight_type, weight_shape, quantization, filled(weight_type, weight_shape, weights)},
                   {"bias", of_bias, Shape{count}, {}, filled(of_bias, Shape{count}, bias)},
                   {"output", output.type, output_shape, {{output_scale}, {output.quantization.zero_point()}, 0}, {}}};
  model.operations = {{from.kind, "probe", {0, 1, 2}, {3}, default_attributes(from.kind)}};
  model.inputs = {0};
  model.outputs = {3};
  validate(model, "probe");
  return model;
}

IdentifyPair ProbeFrame::layer(const std::vector<ChannelDesign>& channels) const {
  IdentifyPair pair{"probe", model(channels), {}, {}};
  const ModelTensor& input = pair.layer.tensor(0);
  const std::size_t columns = is_depthwise(like_) ? channels.size() : 1;
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < probe_terms * columns; ++i) values.push_back(input_[i / columns] + input.quantization.zero_point());
  pair.inputs.push_back(filled(input.type, input.shape, values));
  pair.output = Tensor(pair.layer.tensor(3).type, pair.layer.tensor(3).shape);
  return pair;
}

}  // namespace lastbit
