// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// quantize, dynamic_quantize, dequantize, requantize (and relu, relu6, relu_n1_to_1, clip as operations of their own), concat.
#include "lastbit/op/quantize.hpp"
#include "engine/with_integers.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "engine/code_map.hpp"
#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/ops/requantize.hpp"
#include "engine/parallel.hpp"
#include "lastbit/op/dynamic_quantize.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t values_per_part = units_per_part(2);
constexpr const char* no_such_arithmetic = "the backend has no such arithmetic";

void require_quantize(const Operation& operation, const Backend& backend) {
  if (backend.quantize.division == ScaleDivision::absent) throw_unsupported(operation, no_such_arithmetic);
}
void require_dequantize(const Operation& operation, const Backend& backend) {
  if (backend.dequantize.arithmetic == DequantizeProduct::absent) throw_unsupported(operation, no_such_arithmetic);
}

/// One scale, in float32, by the vectors of the path; value by value where one is NaN or far out of range.
class VectorQuantizer {
 public:
  VectorQuantizer(const QuantizeArithmetic& rule, const ModelTensor& output)
      : rule_(rule),
        scale_(static_cast<float>(output.quantization.scale())),
        zero_point_(output.quantization.zero_point()),
        range_(range_of(output.type)),
        path_(&kernels::selected_path()) {
    const bool adds_before = rule.zero_point == ZeroPointAt::before_rounding;
    const bool divides = rule.division == ScaleDivision::divide;
    floats_ = {divides, divides ? scale_ : 1.0F / scale_, adds_before ? static_cast<float>(zero_point_) : 0.0F,
               float_rounding(rule.rounding)};
    constexpr auto limit = static_cast<std::int64_t>(kernels::float_code_limit);
    bound_ = Finisher({stage::clamp()}, {operands_for({}, output, range_)}, FinisherInput{-limit, limit, adds_before ? 0 : -zero_point_});
  }

  [[nodiscard]] static bool serves(const QuantizeArithmetic& rule, const ModelTensor& output) {
    return rule.division != ScaleDivision::divide_in_double && rule.rounding != Rounding::to_odd && !output.quantization.per_channel() &&
           size_of(output.type) <= 2;
  }

  template <class T>
  void operator()(std::span<const float> in, std::span<T> out) const {
    std::int32_t codes[kernels::finish_block];
    for (std::size_t i = 0; i < in.size();) {
      const std::size_t count = std::min(kernels::finish_block, in.size() - i);
      const std::size_t done = path_->float_codes->codes(floats_, in.data() + i, codes, count);
      bound_(codes, ElementType::int32, done, out.data() + i, sizeof(T), nullptr);
      i += done;
      if (done == count) continue;
      for (const std::size_t end = std::min(in.size(), i + path_->finish_lanes); i < end; ++i)
        out[i] = static_cast<T>(quantize(rule_, in[i], scale_, zero_point_, range_));
    }
  }

 private:
  QuantizeArithmetic rule_;
  float scale_;
  std::int64_t zero_point_;
  IntegerRange range_;
  const kernels::Path* path_;
  kernels::FloatToCode floats_;
  Finisher bound_;
};

/// Calls body(first, last) for parts of an integer tensor's values, with their type.
template <class Body>
void each_integer_part(const Tensor& tensor, Body&& body) {
  with_integers(tensor, [&]<class T>() {
    for_each_part(tensor.element_count(), values_per_part, [&](std::int64_t first, std::int64_t last) {
      body.template operator()<T>(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
    });
  });
}

Executor quantize_by_vectors(const QuantizeArithmetic& rule, const ModelTensor& output) {
  return [quantizer = VectorQuantizer(rule, output)](const Execution& run) {
    each_integer_part(run.outputs[0], [&]<class T>(std::size_t first, std::size_t last) {
      quantizer(run.inputs[0]->values<float>().subspan(first, last - first), run.outputs[0].values<T>().subspan(first, last - first));
    });
  };
}

}  // namespace

Executor prepare_quantize(const Model& model, const Operation& operation, const Backend& backend) {
  require_quantize(operation, backend);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  if (VectorQuantizer::serves(backend.quantize, output)) return quantize_by_vectors(backend.quantize, output);
  return [rule = backend.quantize, quantization = output.quantization, channels = ChannelIndex(output),
          range = range_of(output.type)](const Execution& run) {
    const auto real = run.inputs[0]->values<float>();
    each_integer_part(run.outputs[0], [&]<class T>(std::size_t first, std::size_t last) {
      const auto out = run.outputs[0].values<T>();
      for (std::size_t i = first; i < last; ++i) {
        const std::size_t channel = channels(i);
        out[i] = static_cast<T>(
            quantize(rule, real[i], static_cast<float>(quantization.scale(channel)), quantization.zero_point(channel), range));
      }
    });
  };
}

Executor prepare_dynamic_quantize(const Model&, const Operation& operation, const Backend& backend) {
  if (backend.dynamic_quantize.method == DynamicQuantizeMethod::absent) throw_unsupported(operation, no_such_arithmetic);
  require_quantize(operation, backend);
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
  require_dequantize(operation, backend);
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const auto real = [rule = backend.dequantize, quantization = input.quantization](std::int64_t code, std::size_t channel) {
    return dequantize(rule, code - quantization.zero_point(channel), quantization.scale(channel));
  };
  std::vector<float> table;  // by the low 8 bits of the code
  if (size_of(input.type) == 1 && !input.quantization.per_channel()) {
    const IntegerRange range = range_of(input.type);
    table.resize(256);
    for (std::int64_t code = range.min; code <= range.max; ++code) table[static_cast<std::uint8_t>(code)] = real(code, 0);
  }
  return [real, table = std::move(table), channels = ChannelIndex(input)](const Execution& run) {
    const auto out = run.outputs[0].values<float>();
    each_integer_part(*run.inputs[0], [&]<class T>(std::size_t first, std::size_t last) {
      const auto codes = run.inputs[0]->values<T>();
      for (std::size_t i = first; i < last; ++i) {
        if (table.empty()) out[i] = real(static_cast<std::int64_t>(codes[i]), channels(i));
        else out[i] = table[static_cast<std::uint8_t>(codes[i])];
      }
    });
  };
}

bool is_retyping(const ModelTensor& from, const ModelTensor& to) {
  return !from.quantization.per_channel() && size_of(from.type) == 1 && size_of(to.type) == 1 &&
         from.quantization.scale() == to.quantization.scale() &&
         from.quantization.zero_point() - to.quantization.zero_point() == range_of(from.type).min - range_of(to.type).min;
}

std::vector<RescaleOperands> requantize_operands(const Operation& operation, const RescaleRule& rule, const ModelTensor& input,
                                                 const ModelTensor& output, const OutputBounds& bounds) {
  auto operands = layer_operands(operation, rule.scale, scales_to(rule, input.quantization, output), output, bounds);
  for (RescaleOperands& channel : operands) channel.data_bits = bits_of(input.type);
  return operands;
}

namespace {

FinisherInput codes_of(const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  return {range.min, range.max, tensor.quantization.zero_point()};
}

/// The requantisation of one input's codes to the output's scale.
Finisher requantizer(const Operation& operation, const RescaleRule& rule, const ModelTensor& input, const ModelTensor& output,
                     const OutputBounds& bounds) {
  if (rule.chain.empty()) throw_unsupported(operation, "the backend has no requantisation");
  const Chain& chain = output_chain(operation, rule.chain, bounds);
  return Finisher(chain, requantize_operands(operation, rule, input, output, bounds), codes_of(input));
}

Executor rescaled_between(const Model& model, const Operation& operation, const Backend& backend) {
  const OutputBounds bounds = bounds_of(operation);
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const bool retypes = operation.kind == OperationKind::requantize && is_retyping(input, output);
  return [finisher = retypes ? Finisher({stage::add_zero_point(), stage::clamp()}, {operands_for({}, output, bounds_of(bounds, output))},
                                        codes_of(input))
                             : requantizer(operation, requantization_of(model, operation, backend), input, output, bounds)](
             const Execution& run) { finisher(*run.inputs[0], run.outputs[0], run.events); };
}

}  // namespace

Executor prepare_requantize(const Model& model, const Operation& operation, const Backend& backend) {
  return rescaled_between(model, operation, backend);
}

Executor prepare_clip(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const OutputBounds& attributes = std::get<ClipAttributes>(operation.attributes).bounds;
  if (model.tensor(operation.inputs[0]).quantization != output.quantization) return rescaled_between(model, operation, backend);
  const IntegerRange range = range_of(output.type);
  return [finisher =
              Finisher({stage::clamp()}, {operands_for({}, output, bounds_of(attributes, output))}, FinisherInput{range.min, range.max})](
             const Execution& run) { finisher(*run.inputs[0], run.outputs[0], nullptr); };
}

namespace {

/// What a concatenation makes of one code of an input; nothing where codes stay as they are.
std::optional<CodeMap> concat_codes(ConcatMethod method, const Backend& backend, const ModelTensor& input, const ModelTensor& output,
                                    IntegerRange bounds) {
  const Quantization from = input.quantization, to = output.quantization;
  const IntegerRange range = range_of(output.type);
  const bool same = from.scale() == to.scale() && from.zero_point() == to.zero_point();
  if (same && bounds == range && input.type == output.type) return std::nullopt;
  const auto out_scale = static_cast<float>(to.scale());
  const ScaleAndBias line = scale_and_bias(static_cast<float>(from.scale()), from.zero_point(), out_scale);
  return CodeMap(input.type, [=, quantizer = backend.quantize, dequantizer = backend.dequantize](std::int64_t code) {
    if (!same) {
      code = method == ConcatMethod::scale_and_bias
                 ? std::clamp(apply(line, code) + to.zero_point(), range.min, range.max)
                 : quantize(quantizer, dequantize(dequantizer, code - from.zero_point(), from.scale()), out_scale, to.zero_point(), range);
    }
    return std::clamp(code, bounds.min, bounds.max);
  });
}

}  // namespace

Executor prepare_concat(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const auto& attributes = std::get<ConcatAttributes>(operation.attributes);
  const ConcatMethod method = output.type == ElementType::uint8 ? backend.concat.method_uint8 : backend.concat.method;
  if (method == ConcatMethod::absent) throw_unsupported(operation, "the backend cannot concatenate this type");
  if (method == ConcatMethod::dequantize) {
    require_dequantize(operation, backend);
    require_quantize(operation, backend);
  }
  const IntegerRange range = bounds_of(attributes.activation, output);
  std::vector<std::optional<CodeMap>> maps;
  std::vector<Finisher> rescalers;
  for (const auto index : operation.inputs) {
    const ModelTensor& input = model.tensor(index);
    if (method == ConcatMethod::copy) require_equal_quantization(operation, input, output);
    if (method == ConcatMethod::rescaled)
      rescalers.push_back(
          requantizer(operation, requantization_of(model, operation, backend), input, output, {.activation = attributes.activation}));
    else maps.push_back(concat_codes(method, backend, input, output, range));
  }
  const auto rank = static_cast<std::int64_t>(output.shape.rank());
  const auto axis = static_cast<std::size_t>(attributes.axis < 0 ? attributes.axis + rank : attributes.axis);
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(output.shape[i]);
  return [=](const Execution& run) {
    Tensor& out = run.outputs[0];
    const std::size_t row = out.bytes().size() / outer;
    std::size_t at = 0;
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      const Tensor* input = run.inputs[i];
      Tensor mapped;
      if (!rescalers.empty() || maps[i]) {
        mapped = Tensor(out.type(), input->shape());
        if (!rescalers.empty()) rescalers[i](*input, mapped, run.events);
        else (*maps[i])(*input, mapped);
        input = &mapped;
      }
      const std::size_t part = input->bytes().size() / outer;
      for (std::size_t o = 0; o < outer; ++o) std::memcpy(out.bytes().data() + o * row + at, input->bytes().data() + o * part, part);
      at += part;
    }
  };
}

}  // namespace lastbit
