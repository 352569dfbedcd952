// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/operation_rules.hpp"

#include <algorithm>

#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

bool has_per_channel_weights(const Model& model, const Operation& operation) {
  return operation.inputs.size() > 1 && model.tensor(operation.inputs[1]).quantization.per_channel();
}

bool keeps_quantization(const Model& model, const Operation& operation) {
  return model.tensor(operation.inputs[0]).quantization == model.tensor(operation.outputs[0]).quantization;
}

bool has_type(const Model& model, const Operation& operation, ElementType type) {
  const auto is_it = [&](std::int32_t index) { return index != absent_tensor && model.tensor(index).type == type; };
  return std::any_of(operation.inputs.begin(), operation.inputs.end(), is_it) ||
         std::any_of(operation.outputs.begin(), operation.outputs.end(), is_it);
}

bool all_float32(const Model& model, const Operation& operation) {
  const auto is_it = [&](std::int32_t index) { return index == absent_tensor || model.tensor(index).type == ElementType::float32; };
  return std::all_of(operation.inputs.begin(), operation.inputs.end(), is_it) &&
         std::all_of(operation.outputs.begin(), operation.outputs.end(), is_it);
}

/// Of an operation on float16 tensors.
std::vector<std::string> float16_prefixes(OperationKind kind) {
  using enum OperationKind;
  switch (kind) {
    case conv2d:
    case depthwise_conv2d:
    case transposed_conv2d:
    case fully_connected:
    case matmul: return {"float16.cube", "float16.conversion"};
    case average_pool2d: return {"float16.average_pool", "float16.sum", "float16.product", "float16.conversion"};
    case global_average_pool:
    case mean: return {"float16.mean", "float16.sum", "float16.product", "float16.conversion"};
    case add:
    case sub: return {"float16.sum"};
    case add_n: return {"float16.add_n", "float16.sum"};
    case mul:
    case leaky_relu:
    case prelu: return {"float16.product"};
    case quantize:
    case dequantize:
    case hard_swish:
    case logistic:
    case OperationKind::tanh:
    case softmax:
      return {"float16." + std::string(name_of(kind)), "float16.sum", "float16.product", "float16.quotient", "float16.conversion"};
    case max_pool2d:
    case relu:
    case relu6:
    case relu_n1_to_1:
    case clip:
    case OperationKind::exp:
    case cast: return {"float16.conversion"};
    default: return {};  // data movement, concat
  }
}

std::string requantize_member(const Model& model, const Operation& operation, const Backend& backend) {
  return &requantization_of(model, operation, backend) == &backend.requantize ? "requantize" : "requantize_16bit";
}

}  // namespace

const RescaleRule& requantization_of(const Model& model, const Operation& operation, const Backend& backend) {
  const bool wide = size_of(model.tensor(operation.outputs[0]).type) == 2 && !backend.requantize_16bit.chain.empty();
  return wide ? backend.requantize_16bit : backend.requantize;
}

void add_once(std::vector<Guess>& guesses, const Guess& guess) {
  if (std::find(guesses.begin(), guesses.end(), guess) == guesses.end()) guesses.push_back(guess);
}

std::pair<std::string_view, const ConvArithmetic*> conv_arithmetic_of(const Model& model, const Operation& operation,
                                                                      const ConvByType& by_type) {
  const ElementType data = model.tensor(operation.inputs[0]).type, weights = model.tensor(operation.inputs[1]).type;
  const auto has = [](const ConvArithmetic& arithmetic) { return !arithmetic.rescale.chain.empty(); };
  if (size_of(data) == 1 && size_of(weights) == 2 && has(by_type.i8_weights16)) return {"i8_weights16", &by_type.i8_weights16};
  if (size_of(data) == 2 && size_of(weights) == 1 && has(by_type.i16_weights8)) return {"i16_weights8", &by_type.i16_weights8};
  if (data == ElementType::uint8 && has(by_type.u8)) return {"u8", &by_type.u8};
  if (size_of(data) == 1) return {"i8", &by_type.i8};
  const bool has_bias = operation.inputs.size() > 2 && operation.inputs[2] != absent_tensor;
  const bool plain = operation.kind == OperationKind::conv2d || operation.kind == OperationKind::depthwise_conv2d;
  const bool wide = has_bias ? model.tensor(operation.inputs[2]).type == ElementType::int64 : !plain && has(by_type.i16_bias64);
  if (wide) return {"i16_bias64", &by_type.i16_bias64};
  return {"i16_bias32", &by_type.i16_bias32};
}

const AddArithmetic& add_arithmetic_of(const Operation& operation, const Backend& backend) {
  if (operation.kind == OperationKind::add_n) return backend.add_n;
  return operation.kind == OperationKind::sub ? backend.sub : backend.add;
}

std::pair<std::string_view, const SumArithmetic*> sum_arithmetic_of(const Model& model, const Operation& operation,
                                                                    const AddArithmetic& rules) {
  if (std::get<ElementwiseAttributes>(operation.attributes).power_of_two_scales) return {"i16_power_of_two", &rules.i16_power_of_two};
  if (rules.in_float.method != FloatSumMethod::absent) return {"in_float", nullptr};
  const ModelTensor &input = model.tensor(operation.inputs[0]), &output = model.tensor(operation.outputs[0]);
  const auto is_above_one = [&] {
    const double out = output.quantization.scale();
    for (std::size_t c = 0; c < std::max<std::size_t>(1, input.quantization.scales.size()); ++c) {
      if (effective_scale(rules.above_one.output, one_operand(input.quantization.scale(c), 1, out)) > 1) return true;
    }
    return false;
  };
  if (!rules.above_one.output.chain.empty() && is_above_one()) return {"above_one", &rules.above_one};
  const std::size_t size = size_of(output.type) > 2 ? size_of(input.type) : size_of(output.type);
  if (size == 2) return {"i16", &rules.i16};
  return {"i8", &rules.i8};
}

std::string rule_prefix(const Model& model, const Operation& operation, const Backend& backend) {
  using enum OperationKind;
  const auto member = [&](std::string_view name, const ConvByType& by_type) {
    return std::string(name) + "." + std::string(conv_arithmetic_of(model, operation, by_type).first);
  };
  switch (operation.kind) {
    case conv2d: return member("conv", backend.conv);
    case depthwise_conv2d: return member("depthwise_conv", backend.depthwise_conv);
    case transposed_conv2d: return member("transposed_conv", backend.transposed_conv);
    case fully_connected: return member("fully_connected", backend.fully_connected);
    case matmul: return member("matmul", backend.matmul);
    case fused_conv2d: return member("conv", backend.conv);
    case recurrent: return member("recurrent", backend.recurrent);
    case sum_pool2d: return "sum_pool";
    case average_pool2d: return "average_pool";
    case resize: return std::get<ResizeAttributes>(operation.attributes).mode == ResizeMode::bilinear ? "resize" : "";
    case requantize:
    case relu:
    case relu6:
    case relu_n1_to_1: return requantize_member(model, operation, backend);
    case clip: return keeps_quantization(model, operation) ? "" : requantize_member(model, operation, backend);
    case add:
    case sub:
    case add_n: {
      const auto [type, rule] = sum_arithmetic_of(model, operation, add_arithmetic_of(operation, backend));
      return std::string(name_of(operation.kind)) + "." + std::string(type);
    }
    case global_average_pool:
    case mean:
    case mul:
    case concat:
    case quantize:
    case dequantize:
    case leaky_relu:
    case prelu:
    case hard_swish:
    case logistic:
    case OperationKind::tanh:
    case dynamic_quantize:
    case OperationKind::exp:
    case svdf:
    case lstm:
    case pwl:
    case softmax:
    case argmax: return std::string(name_of(operation.kind));
    case cast:
    case max_pool2d:
    case pad:
    case reshape:
    case squeeze:
    case transpose:
    case slice:
    case strided_slice:
    case split: break;
  }
  return {};
}

std::vector<std::string> rule_prefixes(const Model& model, const Operation& operation, const Backend& backend) {
  if (backend.domain == Domain::real) return {};
  const bool quantizes = operation.kind == OperationKind::quantize && backend.float16.method != Float16Method::absent;
  if (quantizes || has_type(model, operation, ElementType::float16)) return float16_prefixes(operation.kind);
  if (is_movement(operation.kind) || operation.kind == OperationKind::cast) return {};
  if (all_float32(model, operation)) return {"float32"};
  const std::string prefix = rule_prefix(model, operation, backend);
  std::vector<std::string> prefixes;
  if (!prefix.empty()) prefixes.push_back(prefix);
  if (operation.kind == OperationKind::recurrent) prefixes.emplace_back("pwl");
  if (operation.kind == OperationKind::fused_conv2d) {
    prefixes.emplace_back("fused_conv");
    if (operation.inputs.size() > fused_pwl_input && operation.inputs[fused_pwl_input] != absent_tensor) prefixes.emplace_back("pwl");
    const bool sums = std::get<FusedConv2dAttributes>(operation.attributes).pool == PoolKind::sum;
    if (sums && backend.fused_conv.order == FusedOrder::activation_then_pool) prefixes.emplace_back("sum_pool");
  }
  return prefixes;
}

std::vector<Guess> guesses_of(const Model& model, const Operation& operation, const SpecSheet& sheet) {
  std::vector<Guess> guesses;
  const std::vector<std::string> prefixes = rule_prefixes(model, operation, sheet.backend);
  const bool per_tensor = !has_per_channel_weights(model, operation);
  for (const RuleText& rule : list_rules(sheet.backend)) {
    const auto is_read = [&](const std::string& prefix) {
      return (rule.path == prefix || rule.path.starts_with(prefix + ".")) && !(per_tensor && rule.path == prefix + ".per_channel");
    };
    if (std::none_of(prefixes.begin(), prefixes.end(), is_read)) continue;
    const Evidence* const evidence = evidence_for(sheet, rule.path);
    if (evidence == nullptr) {
      add_once(guesses, {rule.path, "no evidence given"});
    } else if (evidence->level == EvidenceLevel::guess) {
      add_once(guesses, {evidence->rule, evidence->source});
    }
  }
  return guesses;
}

std::vector<Guess> guesses_of(const Model& model, const SpecSheet& sheet) {
  std::vector<Guess> all;
  for (const Operation& operation : model.operations) {
    for (const Guess& guess : guesses_of(model, operation, sheet)) add_once(all, guess);
  }
  return all;
}

}  // namespace lastbit
