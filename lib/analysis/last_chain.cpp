// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/last_chain.hpp"

#include <algorithm>

#include "engine/broadcast.hpp"
#include "engine/geometry.hpp"
#include "engine/operands.hpp"
#include "engine/ops/conv_layer.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/requantize.hpp"
#include "engine/ops/window_sums.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/op/pool.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

/// A layer with its inputs.
struct Request {
  const Model& model;
  const Operation& operation;
  const Backend& backend;
  std::span<const Tensor* const> inputs;

  [[nodiscard]] const ModelTensor& in(std::size_t i) const { return model.tensor(operation.inputs[i]); }
  [[nodiscard]] const ModelTensor& out() const { return model.tensor(operation.outputs[0]); }
  [[nodiscard]] const Tensor& values(std::size_t i) const { return in(i).constant ? *in(i).constant : *inputs[i]; }
  [[nodiscard]] std::int64_t code(std::size_t input, std::int64_t at) const { return values(input).integer_at(at); }
};

LastChain with_channels(const Chain& chain, std::vector<RescaleOperands> operands, std::vector<std::int64_t> sums) {
  LastChain last{chain, std::move(operands), {}, std::move(sums)};
  for (std::size_t i = 0; i < last.sums.size(); ++i) last.operands_of.push_back(i % last.operands.size());
  return last;
}

std::optional<LastChain> of_convolution(const Request& request) {
  const ConvLayer layer = conv_layer(request.model, request.operation, request.backend);
  if (layer.delivers_sums()) return std::nullopt;
  return with_channels(layer.arithmetic.sum.output.chain, layer.operands,
                       LayerSums(layer).all(conv_input(*request.inputs[0], layer.zero_points)));
}

std::vector<std::vector<std::int64_t>> offsets_of(const Request& request) {
  std::vector<std::vector<std::int64_t>> offsets;
  for (std::size_t i = 0; i < request.operation.inputs.size(); ++i)
    offsets.push_back(broadcast_offsets(request.in(i).shape, request.out().shape));
  return offsets;
}

std::optional<LastChain> of_sum(const Request& request) {
  const SumArithmetic* const rule = sum_arithmetic_of(request.model, request.operation, request.backend).second;
  if (rule == nullptr || delivers_sums(request.out())) return std::nullopt;
  std::size_t channels = 1;
  for (std::size_t i = 0; i < request.operation.inputs.size(); ++i) channels = std::max(channels, request.in(i).quantization.scales.size());
  std::vector<ResolvedSum> resolved;
  std::vector<double> scales;
  for (std::size_t c = 0; c < channels; ++c) {
    resolved.push_back(resolve(*rule, sum_layer_of(request.model, request.operation, c)));
    scales.push_back(resolved.back().output_scale);
  }
  const auto offsets = offsets_of(request);
  std::vector<std::int64_t> sums, codes(offsets.size());
  for (std::size_t at = 0; at < offsets[0].size(); ++at) {
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = request.code(i, offsets[i][at]);
    sums.push_back(sum_of(*rule, resolved[at % channels], codes));
  }
  const OutputBounds& bounds = std::get<ElementwiseAttributes>(request.operation.attributes).bounds;
  return with_channels(rule->output.chain, layer_operands(request.operation, rule->output.scale, scales, request.out(), bounds),
                       std::move(sums));
}

std::optional<LastChain> of_product(const Request& request) {
  if (delivers_sums(request.out())) return std::nullopt;
  const RescaleRule& rule = mul_of(request.model, request.operation, request.backend);
  const auto offsets = offsets_of(request);
  std::vector<std::int64_t> products;
  for (std::size_t at = 0; at < offsets[0].size(); ++at) {
    products.push_back((request.code(0, offsets[0][at]) - request.in(0).quantization.zero_point()) *
                       (request.code(1, offsets[1][at]) - request.in(1).quantization.zero_point()));
  }
  const double scale = product_scale(rule, request.in(0), request.in(1), request.out());
  const OutputBounds& bounds = std::get<ElementwiseAttributes>(request.operation.attributes).bounds;
  return with_channels(rule.chain, layer_operands(request.operation, rule.scale, {scale}, request.out(), bounds), std::move(products));
}

std::optional<LastChain> of_average(const Request& request) {
  const AveragePoolArithmetic& rule = average_pool_of(request.operation, request.backend);
  if (rule.in_float.method != FloatAverageMethod::absent) return std::nullopt;
  const ModelTensor &in = request.in(0), &out = request.out();
  const OutputBounds& bounds = std::get<Pool2dAttributes>(request.operation.attributes).bounds;
  RescaleOperands output = operands_for({}, out, bounds_of(bounds, out));
  output.rectifier = rectifier_of(bounds.activation);
  const std::optional<EncodedScale> registers = one_register(request.operation, rule.sum.output.scale, bounds);
  const auto outputs = static_cast<std::size_t>(out.shape.element_count());
  LastChain last{rule.sum.output.chain, {}, {}, std::vector<std::int64_t>(outputs)};
  std::vector<std::int64_t> counts(outputs);
  const ConvShape windows = pool_shape_of(request.model, request.operation);
  const WindowSums sums(rule, windows, in, out);
  const auto keep = [&](std::span<std::int64_t> channels, const Window& window, std::size_t at, Events*) {
    std::ranges::copy(channels, last.sums.begin() + static_cast<std::ptrdiff_t>(at));
    std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(at), channels.size(), sums.count(window));
  };
  sums.each<std::int64_t>(request.values(0), nullptr, keep);
  for (const std::int64_t count : counts) {
    const auto known = std::ranges::find(last.operands, count, &RescaleOperands::count);
    last.operands_of.push_back(static_cast<std::size_t>(known - last.operands.begin()));
    if (known == last.operands.end())
      last.operands.push_back(average_operands(rule, in.quantization.scale(), out.quantization.scale(), count, windows.kernel_width,
                                               windows.kernel_height, output, registers));
  }
  return last;
}

std::optional<LastChain> of_requantization(const Request& request) {
  const bool copies = request.operation.kind == OperationKind::clip && request.in(0).quantization == request.out().quantization;
  if (copies || (request.operation.kind == OperationKind::requantize && is_retyping(request.in(0), request.out()))) return std::nullopt;
  const RescaleRule& rule = requantization_of(request.model, request.operation, request.backend);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < request.out().shape.element_count(); ++i)
    values.push_back(request.code(0, i) - request.in(0).quantization.zero_point());
  return with_channels(rule.chain, requantize_operands(request.operation, rule, request.in(0), request.out(), bounds_of(request.operation)),
                       std::move(values));
}

std::optional<LastChain> of_concatenation(const Request& request) {
  const ConcatArithmetic& concat = request.backend.concat;
  if ((request.out().type == ElementType::uint8 ? concat.method_uint8 : concat.method) != ConcatMethod::rescaled) return std::nullopt;
  const RescaleRule& rule = requantization_of(request.model, request.operation, request.backend);
  const auto& attributes = std::get<ConcatAttributes>(request.operation.attributes);
  const auto outputs = static_cast<std::size_t>(request.out().shape.element_count());
  LastChain last{rule.chain, {}, std::vector<std::size_t>(outputs), std::vector<std::int64_t>(outputs)};
  std::int64_t outer = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(attributes.axis); ++axis) outer *= request.out().shape[axis];
  const std::int64_t row = request.out().shape.element_count() / outer;
  std::int64_t before = 0;  // in a row
  for (std::size_t i = 0; i < request.operation.inputs.size(); ++i) {
    last.operands.push_back(
        requantize_operands(request.operation, rule, request.in(i), request.out(), {.activation = attributes.activation})[0]);
    const std::int64_t part = request.in(i).shape.element_count() / outer;
    for (std::int64_t at = 0; at < outer * part; ++at) {
      const auto to = static_cast<std::size_t>(at / part * row + before + at % part);
      last.sums[to] = request.code(i, at) - request.in(i).quantization.zero_point();
      last.operands_of[to] = i;
    }
    before += part;
  }
  return last;
}

bool has_integers_only(const Request& request) {
  for (std::size_t i = 0; i < request.operation.inputs.size(); ++i) {
    if (request.operation.inputs[i] != absent_tensor && !is_integer(request.in(i).type)) return false;
  }
  return is_integer(request.out().type);
}

}  // namespace

std::optional<LastChain> last_chain(const Model& model, std::size_t operation, const Backend& backend,
                                    std::span<const Tensor* const> inputs) {
  const Request request{model, model.operations[operation], backend, inputs};
  if (backend.domain == Domain::real || !has_integers_only(request) || !check(extract_operation(model, operation), backend).empty())
    return std::nullopt;
  using enum OperationKind;
  switch (request.operation.kind) {
    case conv2d:
    case depthwise_conv2d:
    case transposed_conv2d:
    case fully_connected: return of_convolution(request);
    case add:
    case sub:
    case add_n: return of_sum(request);
    case mul: return of_product(request);
    case average_pool2d:
    case global_average_pool: return of_average(request);
    case requantize:
    case relu:
    case relu6:
    case relu_n1_to_1:
    case clip: return of_requantization(request);
    case concat: return of_concatenation(request);
    default: return std::nullopt;
  }
}

std::vector<AppliedScale> applied_scales(const Model& layer, const Device& device, std::span<const Tensor> inputs) {
  const Backend& backend = device.backend;
  std::vector<const Tensor*> given;
  for (const std::int32_t index : layer.operations[0].inputs) {
    const auto place = std::ranges::find(layer.inputs, index);
    given.push_back(place == layer.inputs.end() ? nullptr : &inputs[static_cast<std::size_t>(place - layer.inputs.begin())]);
  }
  Chain chain;
  std::vector<RescaleOperands> operands;
  const bool is_integer_domain = backend.domain != Domain::real && has_integers_only({layer, layer.operations[0], backend, given});
  if (is_integer_domain && is_conv_layer(layer.operations[0].kind) && check(layer, backend).empty()) {  // without its sums
    ConvLayer sums = conv_layer(layer, layer.operations[0], backend);
    chain = sums.arithmetic.sum.output.chain;
    operands = std::move(sums.operands);
  } else if (std::optional<LastChain> last = last_chain(layer, 0, backend, given)) {
    chain = last->chain;
    operands = std::move(last->operands);
  }
  std::vector<AppliedScale> scales;
  if (!applies_scale(chain)) return scales;
  for (const RescaleOperands& each : operands) {
    const EncodedScale& scale = each.scale;
    AppliedScale shown{.real = scale.real_f64, .in_float = !reads_multiplier(chain)};
    if (!shown.in_float) shown.multiplier = scale.multiplier, shown.shift = scale.fraction_bits - scale.exponent;
    scales.push_back(shown);
  }
  if (std::ranges::adjacent_find(scales, std::ranges::not_equal_to{}) == scales.end() && !scales.empty()) scales.resize(1);
  return scales;
}

}  // namespace lastbit
