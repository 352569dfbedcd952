// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// cast between float16 and float32; AscendQuant and AscendDequant.
//
//   quantize    v = x * s, or (x * r) * r; v = v + zero point; rounded to an integer and saturated to the type. s = 1/scale and
//               r = sqrt(1/scale) are constants of the precision of the steps, and so is x. NaN and infinities give the bound on their side
//   dequantize  float32(q - zero point) * s in float32, then converted; s is the float32 scale cut to its leading bits
#include <bit>
#include <cmath>

#include "emulator/float16/prepare.hpp"
#include "emulator/float16/steps.hpp"
#include "emulator/operands.hpp"

namespace lastbit {
namespace {

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
  return [=](const Execution& run) {
    Float16Rounder rounder(rules);
    OutputCounter counter(rounder, run.events);
    for (std::int64_t at = 0; at < run.outputs[0].element_count(); ++at) {
      const auto i = static_cast<std::size_t>(at);
      if (from_float32) run.outputs[0].values<Float16>()[i] = rounder.cast(run.inputs[0]->values<float>()[i]);
      else if (to_float32_type) run.outputs[0].values<float>()[i] = rounder.real(run.inputs[0]->values<Float16>()[i]);
      else run.outputs[0].values<Float16>()[i] = rounder.passed(run.inputs[0]->values<Float16>()[i]);
      counter.next();
    }
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
