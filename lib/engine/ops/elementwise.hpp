// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What operations on two broadcast operands share.
#pragma once

#include <algorithm>

#include "engine/code_reader.hpp"
#include "engine/counted_parts.hpp"
#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"
#include "lastbit/op/add.hpp"

namespace lastbit {

/// The scales and zero points of add, sub or add_n; of operands with a scale per channel that of `channel`.
[[nodiscard]] SumLayer sum_layer_of(const Model& model, const Operation& operation, std::size_t channel);

/// Whether a sum or a product goes out as it is: int32 without a scale.
[[nodiscard]] bool delivers_sums(const ModelTensor& output);
/// What delivers it. Throws Error(unsupported_operation) for a layer with bounds, or a sum of more than 32 bits.
[[nodiscard]] Finisher sum_finisher(const Operation& operation, const ModelTensor& output, const OutputBounds& bounds, int width);
/// What mul's chain scales by.
[[nodiscard]] double product_scale(const RescaleRule& rule, const ModelTensor& a, const ModelTensor& b, const ModelTensor& output);
/// Throws Error(unsupported_operation) unless the output has the scale of a sum that nothing rescales.
void require_scale_of(const Operation& operation, double scale, const ModelTensor& output);

/// One operand: its codes spread over the output, and what each becomes before the two meet.
struct Operand {
  CodeReader codes;
  Finisher finisher;
  std::int64_t largest = 0;  ///< magnitude of a centred code
};

struct Pair {
  Operand a, b;
  bool narrow = true;  ///< both of codes that are 32-bit integers when centred
};

/// Both operands centred on these zero points.
[[nodiscard]] Pair pair_of(const Model& model, const Operation& operation, std::int64_t a_zero, std::int64_t b_zero);

/// combine(values of a, values of b, where the results go, how many), then the finisher. `Value` holds operands and results.
template <class Value, class Combine>
Executor pairwise_in(Pair pair, Finisher finisher, Combine combine) {
  constexpr std::int64_t values_per_part = units_per_part(0.7);
  return [pair = std::move(pair), finisher = std::move(finisher), combine = std::move(combine)](const Execution& run) {
    Tensor& output = run.outputs[0];
    for_each_counted_part(run.events, output.element_count(), values_per_part, [&](std::int64_t first, std::int64_t last, Events* events) {
      Value a[kernels::finish_block]{}, b[kernels::finish_block]{}, gathered[2 * kernels::finish_block];
      for (auto at = static_cast<std::size_t>(first); at < static_cast<std::size_t>(last); at += kernels::finish_block) {
        const std::size_t count = std::min(kernels::finish_block, static_cast<std::size_t>(last) - at);
        const auto values = [&](const Operand& operand, const Tensor& tensor, Value* to) {
          operand.finisher(operand.codes.read(tensor, at, count, gathered), tensor.type(), count, to, sizeof(Value), nullptr);
        };
        values(pair.a, *run.inputs[0], a);
        values(pair.b, *run.inputs[1], b);
        combine(a, b, a, count);
        finisher(std::span<const Value>(a, count), output, at, events);
      }
    });
  };
}

/// Whether the float kernels give the codes: they hold integers from 2^30 on, which no bound of 16 bits tells from others.
[[nodiscard]] inline bool has_float_codes(const ModelTensor& output, Rounding rounding) {
  return size_of(output.type) <= 2 && rounding != Rounding::to_odd;
}

/// Two operands of 32 bits combined in float32, then bounded.
[[nodiscard]] Executor in_float(Pair pair, kernels::CombineInFloat kernel, const kernels::FloatPair& floats, const ModelTensor& output,
                                IntegerRange range);

}  // namespace lastbit
