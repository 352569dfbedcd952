// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// cast between float16 and float32; AscendQuant and AscendDequant.
//
//   quantize    v = x * s, or (x * r) * r; v = v + zero point; rounded to an integer and saturated to the type. s = 1/scale and
//               r = sqrt(1/scale) are constants of the precision of the steps, and so is x. NaN and infinities give the bound on their side
//   dequantize  float32(q - zero point) * s in float32, then converted; s is the float32 scale cut to its leading bits
#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/counted_parts.hpp"
#include "engine/float16/prepare.hpp"
#include "engine/float16/vectors.hpp"
#include "engine/operands.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t values_per_part = units_per_part(0.5);

/// A finite positive float with only its leading significant bits.
float leading_bits(float value, int bits) {
  const std::uint32_t mask = ~((std::uint32_t{1} << (24 - bits)) - 1);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & mask);
}

std::int64_t to_integer(float value, Rounding rounding, IntegerRange range) {
  if (!std::isfinite(value)) return std::signbit(value) ? range.min : range.max;
  return std::clamp(round_to_integer(value, rounding), range.min, range.max);
}

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
  const bool twice = rules.quantize.factor == ScaleFactor::square_root_twice;
  const double inverse = 1 / output.quantization.scale();
  return [=, factor = twice ? std::sqrt(inverse) : inverse, zero = static_cast<double>(output.quantization.zero_point()),
          range = range_of(output.type)](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    const Tensor& in = *run.inputs[0];
    std::vector<std::int64_t> codes(static_cast<std::size_t>(in.element_count()));
    with_steps(rules.quantize.steps, rounder, [&](const auto& steps) {
      const auto scale = steps.constant(factor), offset = steps.constant(zero);
      static_cast<void>(rounder.take_left());
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const auto x = in.type() == ElementType::float32 ? steps.rounded(in.values<float>()[i]) : steps.from(in.values<Float16>()[i]);
        auto value = steps.product(x, scale);
        if (twice) value = steps.product(value, scale);
        codes[i] = to_integer(steps.real(steps.sum(value, offset)), rules.quantize.rounding, range);
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
      const float scale = leading_bits(static_cast<float>(quantization.scale(channel)), rules.dequantize.scale_bits);
      out[i] = rounder.converted(static_cast<float>(centred) * scale);
      counter.next();
    }
  };
}

}  // namespace lastbit
