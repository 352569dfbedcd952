// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// cast between float16 and float32; AscendQuant and AscendDequant (op/float16_quantize.hpp).
#include <algorithm>

#include "engine/counted_parts.hpp"
#include "engine/float16/prepare.hpp"
#include "engine/float16/vectors.hpp"
#include "engine/operands.hpp"
#include "lastbit/op/float16_quantize.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t values_per_part = units_per_part(0.5);

void store_integers(std::span<const std::int64_t> values, Tensor& tensor) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      std::transform(values.begin(), values.end(), tensor.values<T>().begin(), [](std::int64_t value) { return static_cast<T>(value); });
    }
  });
}

}  // namespace

Executor prepare_float16_cast(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  const bool from_float32 = model.tensor(operation.inputs[0]).type == ElementType::float32;
  const bool to_float32_type = model.tensor(operation.outputs[0]).type == ElementType::float32;
  const kernels::HalfKernels* const half = half_kernels({&rules.conversion});
  return [=](const Execution& run) {
    const auto part = [&](std::int64_t first, std::int64_t last, Events* events) {
      Float16Rounder rounder(rules);
      OutputCounter counter(rounder, events);
      const auto count = static_cast<std::size_t>(last - first);
      const auto halves = [&](const Tensor& tensor) { return tensor.values<Float16>().data() + first; };
      const auto out = [&] { return run.outputs[0].values<Float16>().data() + first; };
      if (from_float32 && to_float32_type) {  // which moves them
        std::copy_n(run.inputs[0]->values<float>().data() + first, count, run.outputs[0].values<float>().data() + first);
        counter.skip(count);
      } else if (from_float32) {
        const float* const in = run.inputs[0]->values<float>().data() + first;
        each_half(
            half, count, counter, [&](std::size_t i, std::size_t left) { return half->from_float(in + i, patterns(out() + i), left); },
            [&](std::size_t i) { out()[i] = rounder.cast(in[i]); });
      } else if (to_float32_type) {
        const Float16* const in = halves(*run.inputs[0]);
        float* const to = run.outputs[0].values<float>().data() + first;
        each_half(
            half, count, counter, [&](std::size_t i, std::size_t left) { return half->to_float(patterns(in + i), to + i, left); },
            [&](std::size_t i) { to[i] = rounder.real(in[i]); });
      } else {
        pass_values(half, rounder, counter, nullptr, halves(*run.inputs[0]), out(), count);
      }
    };
    for_each_counted_part(run.events, run.outputs[0].element_count(), values_per_part, part);
  };
}

Executor prepare_float16_quantize(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  const Float16Quantization of{rules.quantize, output.quantization.scale(), output.quantization.zero_point(), range_of(output.type)};
  return [rules, of](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const Tensor& in = *run.inputs[0];
    std::vector<std::int64_t> codes(static_cast<std::size_t>(in.element_count()));
    with_steps(rules.quantize.steps, rounder, [&]<class Steps>(const Steps& steps) {
      const Float16Quantizer<Steps> quantized(steps, of);
      static_cast<void>(rounder.take_left());
      for (std::size_t i = 0; i < codes.size(); ++i) {
        codes[i] = in.type() == ElementType::float32 ? quantized(in.values<float>()[i]) : quantized(in.values<Float16>()[i]);
        counter.next();
      }
    });
    store_integers(codes, run.outputs[0]);
  };
}

Executor prepare_float16_dequantize(const Model& model, const Operation& operation, const Float16Arithmetic& rules) {
  return [rules, quantization = model.tensor(operation.inputs[0]).quantization,
          channels = ChannelIndex(model.tensor(operation.inputs[0]))](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const auto out = run.outputs[0].values<Float16>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t channel = channels(i);
      const std::int64_t centred = run.inputs[0]->integer_at(static_cast<std::int64_t>(i)) - quantization.zero_point(channel);
      out[i] = float16_dequantize(rounder, rules.dequantize, centred, quantization.scale(channel));
      counter.next();
    }
  };
}

}  // namespace lastbit
