// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Codes in blocks with a scale each (op/block_quantize.hpp, op/block_matmul.hpp).
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/parallel.hpp"
#include "lastbit/op/block_matmul.hpp"
#include "lastbit/op/block_quantize.hpp"

namespace lastbit {
namespace {

constexpr auto values_per_block = static_cast<std::size_t>(block_length);

BlockFormat format_of(const Operation& operation) { return std::get<BlockAttributes>(operation.attributes).format; }

[[noreturn]] void throw_without(const Operation& operation) {
  throw_unsupported(operation, "blocks of format " + std::string(name_of(format_of(operation))) + ", which the backend does not have");
}

template <class Code>
void quantize_blocks(const BlockQuantizeArithmetic& rule, const BlockCodes& codes, const Execution& run) {
  const std::span<const float> values = run.inputs[0]->values<float>();
  const std::span<Code> out = run.outputs[0].values<Code>();
  const std::span<Float16> scales = run.outputs[1].values<Float16>();
  for_each_part(std::ssize(scales), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto b = static_cast<std::size_t>(first); b < static_cast<std::size_t>(last); ++b) {
      const std::span<const float> block = values.subspan(b * values_per_block, values_per_block);
      const BlockInput input = block_input(rule, codes, block);
      scales[b] = input.scale;
      std::ranges::transform(block, out.subspan(b * values_per_block, values_per_block).begin(),
                             [&](float x) { return static_cast<Code>(block_code(rule, codes, input, x)); });
    }
  });
}

std::vector<float> floats_of(const Tensor& scales) {
  std::vector<float> floats;
  for (const Float16 scale : scales.values<Float16>()) floats.push_back(to_float32(scale));
  return floats;
}

/// Of constants, which are the same in every run.
struct WeightScales {
  std::vector<float> constant;
  [[nodiscard]] std::vector<float> in(const Execution& run) const { return constant.empty() ? floats_of(*run.inputs[3]) : constant; }
};

template <class Code>
void multiply_blocks(const BlockDot<Code>& dot, const WeightScales& constant, const Execution& run) {
  const std::span<float> out = run.outputs[0].values<float>();
  const auto outputs = static_cast<std::size_t>(run.inputs[2]->shape()[0]), blocks = static_cast<std::size_t>(run.inputs[2]->shape()[1]);
  const std::vector<float> data_scales = floats_of(*run.inputs[1]), weight_scales = constant.in(run);
  const std::int8_t* const data = run.inputs[0]->values<std::int8_t>().data();
  const Code* const weights = run.inputs[2]->values<Code>().data();
  for_each_part(std::ssize(out), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto at = static_cast<std::size_t>(first); at < static_cast<std::size_t>(last); ++at) {
      const std::size_t row = at / outputs * blocks, output = at % outputs * blocks;
      out[at] = dot({data + row * values_per_block, data_scales.data() + row},
                    {weights + output * values_per_block, weight_scales.data() + output}, blocks);
    }
  });
}

template <class Code>
Executor multiply(const Model& model, const Operation& operation, const BlockMatmulArithmetic& rule) {
  const ModelTensor& scales = model.tensor(operation.inputs[3]);
  WeightScales constant{scales.constant ? floats_of(*scales.constant) : std::vector<float>{}};
  return [dot = BlockDot<Code>(rule, codes_of(format_of(operation)).zero_point), constant = std::move(constant)](const Execution& run) {
    multiply_blocks(dot, constant, run);
  };
}

}  // namespace

Executor prepare_block_quantize(const Model&, const Operation& operation, const Backend& backend) {
  const bool is_q4 = format_of(operation) == BlockFormat::q4_0;
  const BlockQuantizeArithmetic& rule = is_q4 ? backend.block_quantize.q4_0 : backend.block_quantize.q8_0;
  if (rule.scale == BlockScale::absent) throw_without(operation);
  return [rule, is_q4, codes = codes_of(format_of(operation))](const Execution& run) {
    if (is_q4) quantize_blocks<std::uint8_t>(rule, codes, run);
    else quantize_blocks<std::int8_t>(rule, codes, run);
  };
}

Executor prepare_block_matmul(const Model& model, const Operation& operation, const Backend& backend) {
  const bool is_q4 = format_of(operation) == BlockFormat::q4_0;
  const BlockMatmulArithmetic& rule = is_q4 ? backend.block_matmul.q4_0 : backend.block_matmul.q8_0;
  if (rule.method == BlockMatmulMethod::absent) throw_without(operation);
  return is_q4 ? multiply<std::uint8_t>(model, operation, rule) : multiply<std::int8_t>(model, operation, rule);
}

}  // namespace lastbit
