// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// quantize, dynamic_quantize, dequantize, requantize (and relu, relu6, relu_n1_to_1, clip as operations of their own), concat.
#include "lastbit/op/quantize.hpp"

#include <algorithm>

#include "emulator/finisher.hpp"
#include "emulator/operands.hpp"
#include "emulator/ops/prepare.hpp"
#include "lastbit/op/dynamic_quantize.hpp"

namespace lastbit {

Executor prepare_quantize(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  return [rule = backend.quantize, quantization = output.quantization, channels = ChannelIndex(output),
          range = range_of(output.type)](const Execution& run) {
    const auto real = run.inputs[0]->values<float>();
    std::vector<std::int64_t> out(real.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t channel = channels(i);
      out[i] = quantize(rule, real[i], static_cast<float>(quantization.scale(channel)), quantization.zero_point(channel), range);
    }
    store(out, run.outputs[0]);
  };
}

Executor prepare_dynamic_quantize(const Model&, const Operation& operation, const Backend& backend) {
  if (backend.dynamic_quantize.method == DynamicQuantizeMethod::absent) throw_unsupported(operation, "the backend has no such arithmetic");
  return [rule = backend.dynamic_quantize, codes = backend.quantize](const Execution& run) {
    const auto real = run.inputs[0]->values<float>();
    const DynamicScale found = dynamic_scale(rule, real);
    std::vector<std::int64_t> out(real.size());
    std::transform(real.begin(), real.end(), out.begin(),
                   [&](float value) { return quantize(codes, value, found.scale, found.zero_point, range_of(ElementType::uint8)); });
    store(out, run.outputs[0]);
    run.outputs[1].values<float>()[0] = found.scale;
    run.outputs[2].values<std::uint8_t>()[0] = found.zero_point;
  };
}

Executor prepare_dequantize(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  return [rule = backend.dequantize, quantization = input.quantization, channels = ChannelIndex(input)](const Execution& run) {
    const auto values = centred(*run.inputs[0], 0);
    const auto out = run.outputs[0].values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t channel = channels(i);
      out[i] = dequantize(rule, values[i] - quantization.zero_point(channel), quantization.scale(channel));
    }
  };
}

namespace {

Activation activation_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::relu: return Activation::relu;
    case OperationKind::relu6: return Activation::relu6;
    case OperationKind::relu_n1_to_1: return Activation::relu_n1_to_1;
    default: return Activation::none;
  }
}

/// Two 8-bit types with one scale and zero points 128 apart: the same real values, so the codes move over unchanged.
bool is_retyping(const ModelTensor& from, const ModelTensor& to) {
  return size_of(from.type) == 1 && size_of(to.type) == 1 && from.quantization.scale() == to.quantization.scale() &&
         from.quantization.zero_point() - to.quantization.zero_point() == range_of(from.type).min - range_of(to.type).min;
}

/// The requantisation of one input to the output's scale.
Finisher requantizer(const Operation& operation, const Backend& backend, const ModelTensor& input, const ModelTensor& output,
                     IntegerRange range) {
  if (backend.requantize.chain.empty()) throw_unsupported(operation, "the backend has no requantisation");
  const ScaleEncoding& encoding = backend.requantize.scale;
  const double real = effective_scale(encoding.arithmetic, input.quantization.scale(), 1.0, output.quantization.scale());
  RescaleOperands operands = operands_for(encode(encoding, real), output, range);
  operands.data_bits = bits_of(input.type);
  return Finisher(output_chain(operation, backend.requantize.chain), {operands}, bits_of(input.type) + 1);
}

Executor rescaled_between(const Model& model, const Operation& operation, const Backend& backend, IntegerRange bounds) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const bool retypes = operation.kind == OperationKind::requantize && is_retyping(input, output);
  return [finisher = retypes ? Finisher({add_zero_point(), clamp()}, {operands_for({}, output, bounds)}, bits_of(input.type) + 1)
                             : requantizer(operation, backend, input, output, bounds),
          zero = input.quantization.zero_point()](const Execution& run) {
    auto values = centred(*run.inputs[0], zero);
    finisher(values, run.events);
    store(values, run.outputs[0]);
  };
}

}  // namespace

Executor prepare_requantize(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  return rescaled_between(model, operation, backend, bounds_of(activation_of(operation.kind), output));
}

Executor prepare_clip(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const IntegerRange bounds = bounds_of(std::get<ClipAttributes>(operation.attributes).bounds, output);
  if (model.tensor(operation.inputs[0]).quantization != output.quantization) return rescaled_between(model, operation, backend, bounds);
  return [bounds](const Execution& run) {
    auto values = centred(*run.inputs[0], 0);
    for (auto& value : values) value = std::clamp(value, bounds.min, bounds.max);
    store(values, run.outputs[0]);
  };
}

namespace {

/// One input of a concatenation, code by code.
std::vector<std::int64_t> concat_codes(ConcatMethod method, const Backend& backend, const Tensor& input, const Quantization& from,
                                       const ModelTensor& output) {
  const Quantization& to = output.quantization;
  const auto out_scale = static_cast<float>(to.scale());
  const IntegerRange range = range_of(output.type);
  auto codes = centred(input, 0);
  if (from.scale() == to.scale() && from.zero_point() == to.zero_point()) return codes;
  const ScaleAndBias line = scale_and_bias(static_cast<float>(from.scale()), from.zero_point(), out_scale);
  for (auto& code : codes) {
    code = method == ConcatMethod::scale_and_bias
               ? std::clamp(apply(line, code) + to.zero_point(), range.min, range.max)
               : quantize(backend.quantize, dequantize(backend.dequantize, code - from.zero_point(), from.scale()), out_scale,
                          to.zero_point(), range);
  }
  return codes;
}

}  // namespace

Executor prepare_concat(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const auto& attributes = std::get<ConcatAttributes>(operation.attributes);
  const ConcatMethod method = output.type == ElementType::uint8 ? backend.concat.method_uint8 : backend.concat.method;
  if (method == ConcatMethod::absent) throw_unsupported(operation, "the backend cannot concatenate this type");
  const IntegerRange range = bounds_of(attributes.activation, output);
  std::vector<Quantization> from;
  std::vector<Finisher> rescalers;
  for (const auto index : operation.inputs) {
    if (method == ConcatMethod::rescaled) rescalers.push_back(requantizer(operation, backend, model.tensor(index), output, range));
    if (method == ConcatMethod::copy) require_equal_quantization(operation, model.tensor(index), output);
    from.push_back(model.tensor(index).quantization);
  }
  const auto rank = static_cast<std::int64_t>(output.shape.rank());
  const auto axis = static_cast<std::size_t>(attributes.axis < 0 ? attributes.axis + rank : attributes.axis);
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= output.shape[i];
  return [=](const Execution& run) {
    const std::int64_t row = run.outputs[0].element_count() / outer;
    std::vector<std::int64_t> out(static_cast<std::size_t>(run.outputs[0].element_count()));
    std::int64_t at = 0;
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      auto codes = method == ConcatMethod::rescaled ? centred(*run.inputs[i], from[i].zero_point())
                                                    : concat_codes(method, backend, *run.inputs[i], from[i], output);
      if (method == ConcatMethod::rescaled) rescalers[i](codes, run.events);
      const std::int64_t part = static_cast<std::int64_t>(codes.size()) / outer;
      for (std::int64_t o = 0; o < outer; ++o) {
        std::transform(codes.begin() + o * part, codes.begin() + (o + 1) * part, out.begin() + o * row + at,
                       [&](std::int64_t code) { return std::clamp(code, range.min, range.max); });
      }
      at += part;
    }
    store(out, run.outputs[0]);
  };
}

}  // namespace lastbit
