// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Codes in blocks as the real numbers that they stand in for: scales are not stored in float16, codes are not rounded to integers.
#include <algorithm>
#include <cmath>

#include "engine/float/real.hpp"

namespace lastbit {
namespace {

constexpr auto values_per_block = static_cast<std::size_t>(block_length);

BlockCodes codes_of(const Operation& operation) { return codes_of(std::get<BlockAttributes>(operation.attributes).format); }

/// As the formats define it: q8_0 by the magnitude, q4_0 by the signed value.
double block_scale(std::span<const float> block, const BlockCodes& codes) {
  const double largest = double{*std::ranges::max_element(block, {}, [](float x) { return std::abs(x); })};
  if (codes.zero_point == 0) return std::abs(largest) / static_cast<double>(codes.range.max);
  return largest / static_cast<double>(codes.range.min - codes.zero_point);
}

}  // namespace

Executor prepare_real_block_quantize(const Model&, const Operation& operation) {
  return [codes = codes_of(operation)](const Execution& run) {
    const std::span<const float> values = run.inputs[0]->values<float>();
    const std::span<float> out = run.outputs[0].values<float>(), scales = run.outputs[1].values<float>();
    for (std::size_t b = 0; b < scales.size(); ++b) {
      const std::span<const float> block = values.subspan(b * values_per_block, values_per_block);
      const double scale = block_scale(block, codes);
      scales[b] = static_cast<float>(scale);
      std::ranges::transform(block, out.subspan(b * values_per_block, values_per_block).begin(), [&](float x) {
        return static_cast<float>((scale == 0 ? 0.0 : double{x} / scale) + static_cast<double>(codes.zero_point));
      });
    }
  };
}

Executor prepare_real_block_matmul(const Model&, const Operation& operation) {
  return [zero_point = static_cast<double>(codes_of(operation).zero_point)](const Execution& run) {
    const std::span<const float> data = run.inputs[0]->values<float>(), data_scales = run.inputs[1]->values<float>();
    const std::span<const float> weights = run.inputs[2]->values<float>(), weight_scales = run.inputs[3]->values<float>();
    const std::span<float> out = run.outputs[0].values<float>();
    const auto outputs = static_cast<std::size_t>(run.inputs[2]->shape()[0]), blocks = static_cast<std::size_t>(run.inputs[2]->shape()[1]);
    for (std::size_t at = 0; at < out.size(); ++at) {
      const std::size_t row = at / outputs * blocks, output = at % outputs * blocks;
      double sum = 0;
      for (std::size_t b = 0; b < blocks; ++b) {
        double products = 0;
        for (std::size_t i = 0; i < values_per_block; ++i)
          products += double{data[(row + b) * values_per_block + i]} * (double{weights[(output + b) * values_per_block + i]} - zero_point);
        sum += products * double{data_scales[row + b]} * double{weight_scales[output + b]};
      }
      out[at] = static_cast<float>(sum);
    }
  };
}

}  // namespace lastbit
