// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/operation_rules.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "lastbit/error.hpp"
#include "lastbit/op/arithmetic_by_type.hpp"
#include "lastbit/rules.hpp"
#include "model/operation_signature.hpp"
#include "model/whole_numbers.hpp"
#include "sheet/assumed_rules.hpp"
#include "sheet/delegated.hpp"

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

}  // namespace

const RescaleRule& requantization_of(const Model& model, const Operation& operation, const Backend& backend) {
  using enum OperationKind;
  const bool rectifies = operation.kind == relu || operation.kind == relu6 || operation.kind == relu_n1_to_1;
  if (rectifies && !backend.relu.chain.empty()) return backend.relu;
  if (is_left(model, operation, backend)) return backend.left.requantize;
  const bool to_32bit = size_of(model.tensor(operation.outputs[0]).type) == 4;
  if (to_32bit && !backend.requantize_to_32bit.chain.empty()) return backend.requantize_to_32bit;
  const auto is_wide = [&](std::int32_t index) { return size_of(model.tensor(index).type) == 2; };
  const bool wide = is_wide(operation.inputs[0]) || is_wide(operation.outputs[0]);
  return wide && !backend.requantize_16bit.chain.empty() ? backend.requantize_16bit : backend.requantize;
}

const QuantizeArithmetic& quantization_by(const Backend& backend, const std::string& where) {
  if (backend.quantize.division != ScaleDivision::absent) return backend.quantize;
  throw Error(ErrorCode::unsupported_operation, where, "real values; the backend has no quantize, so integers must be given");
}

void add_once(std::vector<Assumption>& assumptions, const Assumption& assumption) {
  if (std::find(assumptions.begin(), assumptions.end(), assumption) == assumptions.end()) assumptions.push_back(assumption);
}

bool computes_in_float32(const Operation& operation, const Backend& backend) {
  switch (operation.stated) {
    case Statement::on_codes: return false;
    case Statement::fusible:
    case Statement::fusible_as_uint8: return backend.fusion == Fusion::none;
    case Statement::fusible_by_option: return backend.fusion == Fusion::none || backend.fusion == Fusion::by_default;
    case Statement::not_fusible: break;
  }
  return backend.fusion != Fusion::every;
}

namespace {

ProductTypes product_types_of(const Model& model, const Operation& operation) {
  const ModelTensor &data = model.tensor(operation.inputs[0]), &weights = model.tensor(operation.inputs[1]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const bool has_bias = operation.inputs.size() > 2 && operation.inputs[2] != absent_tensor;
  ProductTypes types{.data_16bit = size_of(data.type) == 2,
                     .data_unsigned = data.type == ElementType::uint8,
                     .weights_16bit = size_of(weights.type) == 2,
                     .weights_unsigned = weights.type == ElementType::uint8,
                     .has_bias = has_bias,
                     .bias_64bit = has_bias && model.tensor(operation.inputs[2]).type == ElementType::int64,
                     .per_channel = has_per_channel_weights(model, operation)};
  if (operation.kind != OperationKind::conv2d && operation.kind != OperationKind::depthwise_conv2d) return types;
  types.delivers_sums = output.type == ElementType::int32;
  const bool is_depthwise = operation.kind == OperationKind::depthwise_conv2d || weights.shape.back() == 1;
  types.one_to_one = is_depthwise && data.shape.back() == output.shape.back();
  return types;
}

}  // namespace

std::pair<std::string_view, const ConvArithmetic*> conv_arithmetic_of(const Model& model, const Operation& operation,
                                                                      const ConvByType& by_type) {
  const ConvMember& chosen = conv_members[conv_member_of(by_type, product_types_of(model, operation))];
  return {chosen.name, &(by_type.*chosen.member)};
}

std::pair<std::string_view, const MatmulArithmetic*> matmul_arithmetic_of(const Model& model, const Operation& operation,
                                                                          const MatmulByType& by_type) {
  const MatmulMember& chosen = matmul_members[matmul_member_of(by_type, product_types_of(model, operation))];
  return {chosen.name, &(by_type.*chosen.member)};
}

namespace {

bool has_several_scales(const Quantization& weights) {
  return std::ranges::adjacent_find(weights.scales, std::not_equal_to<>()) != weights.scales.end();
}

}  // namespace

std::pair<std::string_view, const DynamicArithmetic*> dynamic_arithmetic_of(const Model& model, const Operation& operation,
                                                                            const DynamicByLayer& by_layer) {
  if (operation.kind == OperationKind::fully_connected) return {"fully_connected", &by_layer.fully_connected};
  if (operation.kind == OperationKind::depthwise_conv2d) return {"depthwise_conv", &by_layer.depthwise_conv};
  if (operation.kind != OperationKind::conv2d) return {"", nullptr};
  const ModelTensor& weights = model.tensor(operation.inputs[1]);
  if (weights.shape.back() != model.tensor(operation.inputs[0]).shape.back()) return {"conv_grouped", &by_layer.conv_grouped};
  if (has_several_scales(weights.quantization)) return {"conv_per_channel", &by_layer.conv_per_channel};
  return {"conv", &by_layer.conv};
}

const AddArithmetic& add_arithmetic_of(const Operation& operation, const Backend& backend) {
  if (operation.kind == OperationKind::add_n) return backend.add_n;
  return operation.kind == OperationKind::sub ? backend.sub : backend.add;
}

std::pair<std::string_view, const SumArithmetic*> sum_arithmetic_of(const Model& model, const Operation& operation,
                                                                    const Backend& backend) {
  const AddArithmetic& rules = add_arithmetic_of(operation, backend);
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
  if (!rules.above_one.output.chain.empty() && output.quantization.present() && is_above_one()) return {"above_one", &rules.above_one};
  const std::size_t size = size_of(output.type) > 2 ? size_of(input.type) : size_of(output.type);
  if (size == 2) return {"i16", &rules.i16};
  if (!is_left(model, operation, backend)) return {"i8", &rules.i8};
  return {"left", operation.kind == OperationKind::sub ? &backend.left.sub : &backend.left.add};
}

const AveragePoolArithmetic& average_pool_of(const Operation& operation, const Backend& backend) {
  const AveragePoolArithmetic& planar = backend.planar_average_pool;
  if (std::get<Pool2dAttributes>(operation.attributes).planar && exists(planar.sum)) return planar;
  return operation.kind == OperationKind::global_average_pool ? backend.global_average_pool : backend.average_pool;
}

const MeanArithmetic& mean_arithmetic_of(const Model& model, const Operation& operation, const Backend& backend) {
  return is_left(model, operation, backend) ? backend.left.mean : backend.mean;
}

const RescaleRule& mul_of(const Model& model, const Operation& operation, const Backend& backend) {
  return is_left(model, operation, backend) ? backend.left.mul : backend.mul;
}

const ResizeArithmetic& resize_of(const Model& model, const Operation& operation, const Backend& backend) {
  return is_left(model, operation, backend) ? backend.left.resize : backend.resize;
}

const FunctionArithmetic& leaky_relu_of(const Model& model, const Operation& operation, const Backend& backend) {
  return is_left(model, operation, backend) ? backend.left.leaky_relu : backend.leaky_relu;
}

const FunctionArithmetic& logistic_of(const Model& model, const Operation& operation, const Backend& backend) {
  return is_left(model, operation, backend) ? backend.left.logistic : backend.logistic;
}

const FunctionArithmetic& tanh_of(const Model& model, const Operation& operation, const Backend& backend) {
  return is_left(model, operation, backend) ? backend.left.tanh : backend.tanh;
}

namespace {

/// "left.mean", or "mean".
std::string of_delegated(const Model& model, const Operation& operation, const Backend& backend) {
  return (is_left(model, operation, backend) ? "left." : "") + std::string(name_of(operation.kind));
}

/// "conv.i8"
std::string of_products(std::string_view name, const ConvByType& by_type, const Model& model, const Operation& operation) {
  return std::string(name) + "." + std::string(conv_arithmetic_of(model, operation, by_type).first);
}

std::string of_average(const Model&, const Operation& operation, const Backend& backend) {
  if (&average_pool_of(operation, backend) == &backend.planar_average_pool) return "planar_average_pool";
  return operation.kind == OperationKind::global_average_pool ? "global_average_pool" : "average_pool";
}

std::string of_matmul(const Model& model, const Operation& operation, const Backend& backend) {
  return "matmul." + std::string(matmul_arithmetic_of(model, operation, backend.matmul).first);
}

std::string of_sum(const Model& model, const Operation& operation, const Backend& backend) {
  const auto [type, rule] = sum_arithmetic_of(model, operation, backend);
  if (type == "left") return of_delegated(model, operation, backend);
  return std::string(name_of(operation.kind)) + "." + std::string(type);
}

std::string of_requantization(const Model& model, const Operation& operation, const Backend& backend) {
  const RescaleRule& rule = requantization_of(model, operation, backend);
  if (&rule == &backend.relu) return "relu";
  if (&rule == &backend.left.requantize) return "left.requantize";
  if (&rule == &backend.requantize_to_32bit) return "requantize_to_32bit";
  return &rule == &backend.requantize ? "requantize" : "requantize_16bit";
}

std::string of_clip(const Model& model, const Operation& operation, const Backend& backend) {
  return keeps_quantization(model, operation) ? "" : of_requantization(model, operation, backend);
}

std::string of_blocks(const Model&, const Operation& operation, const Backend&) {
  return std::string(name_of(operation.kind)) + "." + std::string(name_of(std::get<BlockAttributes>(operation.attributes).format));
}

std::string of_resize(const Model& model, const Operation& operation, const Backend& backend) {
  const bool bilinear = std::get<ResizeAttributes>(operation.attributes).mode == ResizeMode::bilinear;
  return of_delegated(model, operation, backend) + (bilinear ? "" : ".coordinates");
}

/// What a kind of operation reads of a sheet: `rules` alone, or, of convolutions, a member for each type of data, or what a function says; and its
/// rules below "float16" where tensors are. One that has none moves data, or picks or converts values as they are.
struct OperationRules {
  OperationKind kind;
  std::string_view rules{};
  ConvByType Backend::*products = nullptr;
  std::string (*choose)(const Model&, const Operation&, const Backend&) = nullptr;
  std::array<std::string_view, 5> float16{};
};

using enum OperationKind;

constexpr auto operation_rules = std::to_array<OperationRules>({
    {.kind = conv2d, .rules = "conv", .products = &Backend::conv, .float16 = {"cube", "conversion"}},
    {.kind = depthwise_conv2d, .rules = "depthwise_conv", .products = &Backend::depthwise_conv, .float16 = {"cube", "conversion"}},
    {.kind = transposed_conv2d, .rules = "transposed_conv", .products = &Backend::transposed_conv, .float16 = {"cube", "conversion"}},
    {.kind = fully_connected, .rules = "fully_connected", .products = &Backend::fully_connected, .float16 = {"cube", "conversion"}},
    {.kind = matmul, .choose = of_matmul, .float16 = {"cube", "conversion"}},
    {.kind = max_pool2d, .rules = "max_pool", .float16 = {"conversion"}},
    {.kind = average_pool2d, .choose = of_average, .float16 = {"average_pool", "sum", "product", "conversion"}},
    {.kind = global_average_pool, .choose = of_average, .float16 = {"mean", "sum", "product", "conversion"}},
    {.kind = mean, .choose = of_delegated, .float16 = {"mean", "sum", "product", "conversion"}},
    {.kind = add, .choose = of_sum, .float16 = {"sum"}},
    {.kind = sub, .choose = of_sum, .float16 = {"sum"}},
    {.kind = mul, .choose = of_delegated, .float16 = {"product"}},
    {.kind = concat, .rules = "concat"},
    {.kind = pad},
    {.kind = reshape},
    {.kind = squeeze},
    {.kind = transpose},
    {.kind = slice},
    {.kind = strided_slice},
    {.kind = split},
    {.kind = quantize, .rules = "quantize", .float16 = {"quantize", "sum", "product", "quotient", "conversion"}},
    {.kind = dequantize, .rules = "dequantize", .float16 = {"dequantize", "sum", "product", "quotient", "conversion"}},
    {.kind = requantize, .choose = of_requantization},
    {.kind = relu, .choose = of_requantization, .float16 = {"conversion"}},
    {.kind = relu6, .choose = of_requantization, .float16 = {"conversion"}},
    {.kind = relu_n1_to_1, .choose = of_requantization, .float16 = {"conversion"}},
    {.kind = leaky_relu, .choose = of_delegated, .float16 = {"product"}},
    {.kind = prelu, .rules = "prelu", .float16 = {"product"}},
    {.kind = hard_swish, .rules = "hard_swish", .float16 = {"hard_swish", "sum", "product", "quotient", "conversion"}},
    {.kind = logistic, .choose = of_delegated, .float16 = {"logistic", "sum", "product", "quotient", "conversion"}},
    {.kind = OperationKind::tanh, .choose = of_delegated, .float16 = {"tanh", "sum", "product", "quotient", "conversion"}},
    {.kind = softmax, .rules = "softmax", .float16 = {"softmax", "sum", "product", "quotient", "conversion"}},
    {.kind = clip, .choose = of_clip, .float16 = {"conversion"}},
    {.kind = dynamic_quantize, .rules = "dynamic_quantize"},
    {.kind = cast, .float16 = {"conversion"}},
    {.kind = add_n, .choose = of_sum, .float16 = {"add_n", "sum", "conversion"}},
    {.kind = OperationKind::exp, .rules = "exp", .float16 = {"conversion"}},
    {.kind = resize, .choose = of_resize},
    {.kind = svdf, .rules = "svdf"},
    {.kind = lstm, .rules = "lstm"},
    {.kind = pwl, .rules = "pwl"},
    {.kind = sum_pool2d, .rules = "sum_pool"},
    {.kind = fused_conv2d, .rules = "conv", .products = &Backend::conv},
    {.kind = recurrent, .rules = "recurrent", .products = &Backend::recurrent},
    {.kind = argmax, .rules = "argmax"},
    {.kind = bitwise_or, .rules = "bitwise"},
    {.kind = bitwise_xor, .rules = "bitwise"},
    {.kind = gather},
    {.kind = maximum, .rules = "extreme"},
    {.kind = minimum, .rules = "extreme"},
    {.kind = OperationKind::div},
    {.kind = OperationKind::pow},
    {.kind = reduce_sum, .rules = "reduce_sum"},
    {.kind = reduce_max, .rules = "extreme"},
    {.kind = reduce_min, .rules = "extreme"},
    {.kind = OperationKind::abs, .rules = "abs"},
    {.kind = neg},
    {.kind = OperationKind::log},
    {.kind = OperationKind::sqrt},
    {.kind = rsqrt},
    {.kind = OperationKind::erf},
    {.kind = less},
    {.kind = less_or_equal},
    {.kind = equal},
    {.kind = OperationKind::select},
    {.kind = elu},
    {.kind = OperationKind::floor},
    {.kind = log_softmax},
    {.kind = l2_normalization, .rules = "l2_normalization"},
    {.kind = argmin, .rules = "argmax"},
    {.kind = cumsum},
    {.kind = detection_postprocess, .rules = "detection"},
    {.kind = top_k},
    {.kind = round_half_even},
    {.kind = OperationKind::truncate},
    {.kind = floor_div},
    {.kind = block_quantize, .choose = of_blocks},
    {.kind = block_matmul, .choose = of_blocks},
});
static_assert(is_row_of_each_kind(operation_rules), "rules_read_by indexes the table by kind");

const OperationRules& rules_read_by(const Operation& operation) { return operation_rules[static_cast<std::size_t>(operation.kind)]; }

std::vector<std::string> float16_prefixes(const Operation& operation) {
  std::vector<std::string> prefixes;
  for (const std::string_view name : rules_read_by(operation).float16) {
    if (!name.empty()) prefixes.push_back("float16." + std::string(name));
  }
  return prefixes;
}

}  // namespace

std::string rule_prefix(const Model& model, const Operation& operation, const Backend& backend) {
  if (is_hybrid(model, operation)) return "dynamic." + std::string(dynamic_arithmetic_of(model, operation, backend.dynamic).first);
  const OperationRules& row = rules_read_by(operation);
  if (row.products != nullptr) return of_products(row.rules, backend.*row.products, model, operation);
  return row.choose != nullptr ? row.choose(model, operation, backend) : std::string(row.rules);
}

namespace {

/// A method that goes by the rules of another operation reads those.
void add_rules_of_concat(const Model& model, const Operation& operation, const Backend& backend, std::vector<std::string>& prefixes) {
  const bool is_uint8 = model.tensor(operation.outputs[0]).type == ElementType::uint8;
  const ConcatMethod method = is_uint8 ? backend.concat.method_uint8 : backend.concat.method;
  if (method == ConcatMethod::rescaled) prefixes.push_back(of_requantization(model, operation, backend));
  if (method != ConcatMethod::dequantize) return;
  prefixes.emplace_back("quantize");
  prefixes.emplace_back("dequantize");
}

}  // namespace

std::vector<std::string> rule_prefixes(const Model& model, const Operation& operation, const Backend& backend) {
  if (backend.domain == Domain::real) return {};
  if (is_of_blocks(operation.kind)) return {rule_prefix(model, operation, backend)};
  const bool quantizes = operation.kind == OperationKind::quantize && backend.float16.method != Float16Method::absent;
  if (quantizes || has_type(model, operation, ElementType::float16)) return float16_prefixes(operation);
  if (is_movement(operation.kind) || operation.kind == OperationKind::cast || is_on_whole_numbers(model, operation)) return {};
  const bool detects = operation.kind == OperationKind::detection_postprocess && backend.detection != Detection::absent;
  if (all_float32(model, operation) && !detects) return {"float32"};
  if (is_hybrid(model, operation)) {
    const std::string_view layer = dynamic_arithmetic_of(model, operation, backend.dynamic).first;
    return layer.empty() ? std::vector<std::string>{} : std::vector{"dynamic." + std::string(layer)};
  }
  if (computes_in_float32(operation, backend)) return {"fusion", "float32", "dequantize", "quantize"};
  const std::string prefix = rule_prefix(model, operation, backend);
  std::vector<std::string> prefixes;
  if (!prefix.empty()) {
    prefixes.push_back(prefix);
    if (may_be_left(operation, backend)) prefixes.emplace_back("delegated");
  }
  if (operation.kind == OperationKind::recurrent) prefixes.emplace_back("pwl");
  if (operation.kind == OperationKind::fused_conv2d) {
    prefixes.emplace_back("fused_conv");
    if (operation.inputs.size() > fused_pwl_input && operation.inputs[fused_pwl_input] != absent_tensor) prefixes.emplace_back("pwl");
    const bool sums = std::get<FusedConv2dAttributes>(operation.attributes).pool == PoolKind::sum;
    if (sums && backend.fused_conv.order == FusedOrder::activation_then_pool) prefixes.emplace_back("sum_pool");
  }
  if (operation.kind == OperationKind::concat) add_rules_of_concat(model, operation, backend, prefixes);
  if (operation.kind == OperationKind::dynamic_quantize) prefixes.emplace_back("quantize");
  return prefixes;
}

AssumedRules::AssumedRules(const SpecSheet& sheet) {
  const std::vector<RuleText> rules = list_rules(sheet.backend);
  for (const RuleText& rule : rules) {
    const Evidence* const evidence = evidence_for(sheet, rule.path);
    if (evidence == nullptr) rules_.push_back({rule.path, {rule.path, "no evidence given"}});
    else if (evidence->level == EvidenceLevel::assumption) rules_.push_back({rule.path, {evidence->rule, evidence->source}});
  }
  for (const OpenPoint& point : sheet.open) {
    if (!point.program.empty()) continue;
    for (const RuleText& rule : rules)
      if (covers(point.rule, rule.path)) rules_.push_back({rule.path, {point.rule, point.what}, point.when});
  }
}

std::vector<Assumption> AssumedRules::read_by(const Model& model, const Operation& operation, const Backend& backend) const {
  return rules_.empty() ? std::vector<Assumption>{} : read_by(model, operation, rule_prefixes(model, operation, backend));
}

std::vector<Assumption> AssumedRules::read_by(const Model& model, const Operation& operation,
                                              const std::vector<std::string>& prefixes) const {
  std::vector<Assumption> assumptions;
  const bool per_tensor = !has_per_channel_weights(model, operation);
  for (const AssumedRule& rule : rules_) {
    const auto is_read = [&rule, per_tensor](const std::string& prefix) {
      return (rule.path == prefix || rule.path.starts_with(prefix + ".")) && !(per_tensor && rule.path == prefix + ".per_channel");
    };
    if (std::any_of(prefixes.begin(), prefixes.end(), is_read) && is_met(rule.when, model, operation))
      add_once(assumptions, rule.assumption);
  }
  return assumptions;
}

std::vector<Assumption> assumptions_of(const Model& model, const Operation& operation, const SpecSheet& sheet) {
  return AssumedRules(sheet).read_by(model, operation, sheet.backend);
}

std::vector<Assumption> assumptions_of(const Model& model, const SpecSheet& sheet) {
  std::vector<Assumption> all;
  const AssumedRules assumed(sheet);
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    const Placement* const elsewhere = placement_by_name(model, i, sheet.backend);
    const auto assumptions =
        elsewhere != nullptr ? assumptions_of(model, operation, elsewhere->sheet) : assumed.read_by(model, operation, sheet.backend);
    for (const Assumption& assumption : assumptions) add_once(all, assumption);
  }
  return all;
}

}  // namespace lastbit
