// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/folding.hpp"

#include <algorithm>
#include <cmath>

#include "lastbit/op/quantize.hpp"

namespace lastbit::onnx_format {

/// What the branches of a node read, and give on.
void Uses::add_readers_inside(const onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    for (const auto& inner : attribute.g().node()) {
      for (const std::string& name : inner.input()) readers_[name].push_back(outside);
      add_readers_inside(inner);
    }
    for (const auto& output : attribute.g().output()) readers_[output.name()].push_back(outside);
  }
}

Uses::Uses(const onnx::GraphProto& graph) {
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).input())
      if (!name.empty()) readers_[name].push_back(i);
    for (const std::string& name : graph.node(i).output()) writers_.emplace(name, i);
    add_readers_inside(graph.node(i));
  }
  for (const auto& output : graph.output()) readers_[output.name()].push_back(outside);
}

std::optional<int> Uses::only_reader(const std::string& name) const {
  const auto found = readers_.find(name);
  if (found == readers_.end() || found->second.size() != 1 || found->second.front() < 0) return std::nullopt;
  return found->second.front();
}

bool Uses::is_read_once(const std::string& name) const {
  const auto found = readers_.find(name);
  return found != readers_.end() && found->second.size() == 1;
}

std::optional<int> Uses::writer(const std::string& name) const {
  const auto found = writers_.find(name);
  return found == writers_.end() ? std::nullopt : std::optional(found->second);
}

NodeOperands Folder::plain_operands(int node) const {
  NodeOperands operands;
  for (const std::string& name : source_.node(node).input()) {
    const ValueId id = name.empty() ? no_value : graph_.find(name);
    operands.inputs.push_back(id != no_value && graph_[id].empty ? no_value : id);
  }
  for (const std::string& name : source_.node(node).output()) operands.outputs.push_back(name.empty() ? no_value : graph_.find(name));
  return operands;
}

bool Folder::is(int node, std::string_view name) const {
  const auto& source = source_.node(node);
  return source.op_type() == name && (source.domain().empty() || source.domain() == "ai.onnx" || source.domain() == microsoft);
}

/// The integers that the QuantizeLinear after a value makes of it, with a Relu or Clip in between if that is allowed.
std::optional<Folder::Target> Folder::target_of(const std::string& name, bool through_activation) const {
  const auto next = uses_.only_reader(name);
  if (!next) return std::nullopt;
  const auto& source = source_.node(*next);
  if (through_activation && (is(*next, "Relu") || is(*next, "Clip"))) {
    if (source.output_size() != 1 || source.input_size() < 1 || source.input(0) != name) return std::nullopt;
    auto target = target_of(source.output(0), false);
    if (!target) return std::nullopt;
    const auto bounds = bounds_from(*next, *target);
    if (!bounds) return std::nullopt;
    target->bounds = *bounds;
    target->nodes.push_back(*next);
    return target;
  }
  if (!is(*next, "QuantizeLinear") || source.output_size() != 1 || source.input_size() < 2 || source.input(0) != name) return std::nullopt;
  const NodeReader node = reader(*next);
  const auto is_constant = [&](std::size_t position) {
    return node.has_input(position) && graph_.constant(node.input_id(position)) != nullptr;
  };
  if (!is_constant(1) || (node.has_input(2) && !is_constant(2)) || !node.has_output(0)) return std::nullopt;
  Target target;
  target.value = node.output_id();
  target.type = type_of_zero_point(node, 2);
  target.quantization = quantization_from(node, 1, 2);
  target.nodes.push_back(*next);
  if (target.quantization.per_channel() || node.integer("block_size", 0) != 0) return std::nullopt;
  return target;
}

std::optional<OutputBounds> Folder::bounds_from(int activation, const Target& target) const {
  OutputBounds bounds;
  if (is(activation, "Relu")) {
    bounds.activation = Activation::relu;
    return bounds;
  }
  const NodeReader node = reader(activation);
  for (std::size_t i = 1; i < node.input_count(); ++i)
    if (node.has_input(i) && (graph_.constant(node.input_id(i)) == nullptr || graph_[node.input_id(i)].type != ElementType::float32))
      return std::nullopt;
  const auto [low, high] = clip_bounds(node);
  if (!(low <= high)) return std::nullopt;
  const auto code = [&](float value) {
    return quantize(standard_quantize, value, static_cast<float>(target.quantization.scale()), target.quantization.zero_point(),
                    range_of(target.type));
  };
  bounds.clamp = IntegerRange{code(low), code(high)};
  return bounds;
}

/// Weights with scales along the axis of their outputs, and a bias that counts in input scale * weight scale.
bool Folder::takes_weights(int node, const NodeOperands& operands) const {
  const Value &data = graph_[operands.inputs[0]], &weights = graph_[operands.inputs[1]];
  const auto rank = static_cast<std::int64_t>(weights.shape.rank());
  if (weights.quantization.per_channel()) {
    if (is(node, "ConvTranspose")) return false;
    const bool last = is(node, "MatMul") || (is(node, "Gemm") && reader(node).integer("transB", 0) == 0);
    if (weights.quantization.axis != (last ? rank - 1 : 0)) return false;
  }
  const bool has_bias = operands.inputs.size() > 2 && operands.inputs[2] != no_value;
  const double alpha = is(node, "Gemm") ? reader(node).real("alpha", 1) : 1;  // of the products alone
  if (alpha != 1 && (has_bias || !(alpha > 0) || graph_.constant(weights.quantized) == nullptr)) return false;
  if (!has_bias) return true;
  const Value& bias = graph_[operands.inputs[2]];
  const Value& codes = graph_[bias.quantized];
  if (codes.type != ElementType::int32 || graph_.constant(bias.quantized) == nullptr) return false;
  const auto channels = std::max(bias.quantization.scales.size(), weights.quantization.scales.size());
  for (std::size_t c = 0; c < channels; ++c) {
    constexpr double tolerance = 1e-5;  // the exporter's float32 product
    const double expected = data.quantization.scale() * weights.quantization.scale(std::min(c, weights.quantization.scales.size() - 1));
    const double stated = bias.quantization.scale(std::min(c, bias.quantization.scales.size() - 1));
    if (std::abs(stated - expected) > tolerance * expected ||
        bias.quantization.zero_point(std::min(c, bias.quantization.zero_points.size() - 1)) != 0)
      return false;
  }
  return true;
}

bool Folder::takes_inputs(int node, const Operator& op, const NodeOperands& operands) const {
  const std::size_t count = std::min(op.data_inputs, operands.inputs.size());
  if (count == 0 || operands.inputs[0] == no_value) return false;
  const bool has_weights = is(node, "Conv") || is(node, "ConvTranspose") || is(node, "MatMul") || is(node, "Gemm");
  for (std::size_t i = 0; i < count; ++i) {
    if (operands.inputs[i] == no_value) continue;
    const Value& value = graph_[operands.inputs[i]];
    if (value.quantized == no_value) return false;
    const ElementType type = graph_[value.quantized].type;
    const bool is_bias = has_weights && i == 2;
    if (!is_bias && type != ElementType::int8 && type != ElementType::uint8 && type != ElementType::int16) return false;
    if (value.quantization.per_channel() && !(has_weights && i > 0)) return false;
  }
  return !has_weights || (operands.inputs.size() > 1 && operands.inputs[1] != no_value && takes_weights(node, operands));
}

namespace {

/// The operators that ONNX Runtime 1.30 has a form of on codes for, and puts in the place of DequantizeLinear, operator, QuantizeLinear.
enum class CodeForm : std::uint8_t { always, not_of_int8_by_default };
struct FusedOperator {
  std::string_view name;
  CodeForm form = CodeForm::always;
};
constexpr FusedOperator fused_operators[] = {{"AveragePool"},
                                             {"LeakyRelu"},
                                             {"GlobalAveragePool"},
                                             {"Sigmoid"},
                                             {"Softmax"},
                                             {"Add"},
                                             {"Mul"},
                                             {"Concat"},
                                             {"Gemm"},
                                             {"Conv", CodeForm::not_of_int8_by_default},
                                             {"MatMul", CodeForm::not_of_int8_by_default}};

/// Whether quantising implies the bounds: no code stands for what they keep out.
bool is_redundant(const OutputBounds& bounds, IntegerRange codes, std::int64_t zero_point) {
  if (bounds.activation == Activation::relu) return zero_point == codes.min;
  return !bounds.clamp || (bounds.clamp->min <= codes.min && bounds.clamp->max >= codes.max);
}

}  // namespace

/// Where it does not take int8 codes as they are, ONNX Runtime first makes uint8 of those that one QuantizeLinear writes for one
/// DequantizeLinear, core/optimizer/qdq_transformer/qdq_s8_to_u8.cc; a DequantizeLinear of many readers it has made many before.
ElementType Folder::type_by_default(ValueId codes, ElementType type) const {
  const std::string& name = graph_[codes].name;
  const auto writer = uses_.writer(name), reader = uses_.only_reader(name);
  const bool is_pair = writer && reader && is(*writer, "QuantizeLinear") && is(*reader, "DequantizeLinear") &&
                       uses_.is_read_once(source_.node(*reader).output(0));
  return type == ElementType::int8 && is_pair ? ElementType::uint8 : type;
}

/// The same of what a node reads. Behind one of these operators, which DequantizeLinear is brought past, it makes a pair first,
/// core/optimizer/qdq_transformer/qdq_propagation.cc.
ElementType Folder::input_type_by_default(int node, std::size_t position, ValueId codes) const {
  constexpr std::string_view passed[] = {"Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"};
  const std::string& real = source_.node(node).input(static_cast<int>(position));
  const auto writer = uses_.writer(real);
  const bool has_passed = writer && std::ranges::any_of(passed, [&](std::string_view name) { return is(*writer, name); });
  const ElementType type = graph_[codes].type;
  return has_passed && type == ElementType::int8 && uses_.is_read_once(real) ? ElementType::uint8 : type_by_default(codes, type);
}

/// As ONNX Runtime decides, core/optimizer/qdq_transformer/selectors_actions: by operator, types and activation.
Statement Folder::statement_of(int node, const Operator& op, const NodeOperands& operands, const std::vector<Target>& targets) const {
  if (op.folding == Folding::equal) return Statement::on_codes;  // the same either way
  const auto form = std::ranges::find_if(fused_operators, [&](const FusedOperator& fused) { return is(node, fused.name); });
  const ElementType type = graph_[graph_[operands.inputs[0]].quantized].type;
  const Target& target = targets.front();
  if (form == std::end(fused_operators) || size_of(type) != 1 ||
      !is_redundant(target.bounds, range_of(type), graph_[target.value].merged.value_or(target.quantization).zero_point()))
    return Statement::not_fusible;
  const bool multiplies = is(node, "Conv") || is(node, "MatMul") || is(node, "Gemm");
  const bool int8_weights = multiplies && graph_[graph_[operands.inputs[1]].quantized].type == ElementType::int8;
  if (multiplies && type == ElementType::int8 && !int8_weights) return Statement::not_fusible;
  const ElementType held = type_by_default(target.value, target.type);
  const std::size_t data = multiplies ? 1 : std::min(op.data_inputs, operands.inputs.size());
  for (std::size_t i = 0; i < data; ++i) {
    const ValueId codes = operands.inputs[i] == no_value ? no_value : graph_[operands.inputs[i]].quantized;
    if (codes != no_value && input_type_by_default(node, i, codes) != held) return Statement::fusible_by_option;
  }
  if (held != type) return Statement::fusible_as_uint8;
  return form->form == CodeForm::not_of_int8_by_default && held == ElementType::int8 ? Statement::fusible_by_option : Statement::fusible;
}

/// The integers in the place of their dequantised values.
void Folder::read_integers(const Operator& op, NodeOperands& operands) const {
  const std::size_t count = std::min(op.data_inputs, operands.inputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (operands.inputs[i] == no_value) continue;
    const Value value = graph_[operands.inputs[i]];
    operands.inputs[i] = value.quantized;
    const bool is_bias = graph_[value.quantized].type == ElementType::int32;
    graph_.set_quantization(value.quantized, is_bias ? Quantization{} : value.quantization);
  }
}

std::optional<Fold> Folder::between_quantized(int node, const Operator& op) const {
  if (op.folding == Folding::never) return std::nullopt;
  Fold fold{.operands = plain_operands(node), .nodes = {}};
  NodeOperands& operands = fold.operands;
  if (!takes_inputs(node, op, operands)) return std::nullopt;
  const Quantization from = graph_[operands.inputs[0]].quantization;
  const ElementType type = graph_[graph_[operands.inputs[0]].quantized].type;
  std::vector<Target> targets;
  for (const std::string& name : source_.node(node).output()) {
    auto target = target_of(name, op.folding == Folding::bounded);
    if (!target || target->type != type) return std::nullopt;
    if (op.folding == Folding::equal && target->quantization != from) return std::nullopt;
    targets.push_back(std::move(*target));
  }
  if (targets.empty()) return std::nullopt;
  operands.bounds = targets.front().bounds;
  if (is(node, "Clip")) {
    const auto bounds = bounds_from(node, targets.front());
    if (!bounds) return std::nullopt;
    operands.bounds = *bounds;
  }
  operands.stated = statement_of(node, op, operands, targets);
  read_integers(op, operands);
  operands.outputs.clear();
  for (Target& target : targets) {
    Value& value = graph_[target.value];
    value.typed = true;
    value.type = target.type;
    value.quantization = target.quantization;
    operands.outputs.push_back(target.value);
    fold.nodes.insert(fold.nodes.end(), target.nodes.begin(), target.nodes.end());
  }
  operands.folded = true;
  return fold;
}

std::optional<Fold> Folder::with_batch_normalization(int node) const {
  if (!is(node, "Conv") || source_.node(node).output_size() != 1) return std::nullopt;
  const auto next = uses_.only_reader(source_.node(node).output(0));
  if (!next || !is(*next, "BatchNormalization") || source_.node(*next).input_size() != 5) return std::nullopt;
  const NodeReader convolution = reader(node), normalization = reader(*next);
  if (normalization.source().input(0) != source_.node(node).output(0) || !convolution.has_input(0) || !normalization.has_output(0) ||
      !is_foldable(convolution, normalization)) {
    return std::nullopt;
  }
  return Fold{.operands = fold_batch_normalization(convolution, normalization), .nodes = {*next}};
}

}  // namespace lastbit::onnx_format
