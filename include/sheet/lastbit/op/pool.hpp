// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pooling over windows of one channel.
//
// Contract, for the n values inside the image under one window (a window holds at least one):
//   max:     the largest value, then the layer's bounds.
//   average: 1. S = the sum of the values less their zero point, or of the values as they are (`centring` nothing), each through the `operand`
//               chain, by the rule's accumulator; with PaddingCount::included, and of a layer with
//               counted_padding, every tap outside counts as the zero point, and n is the full window; with PaddingCount::edge_repeated it
//               counts as the nearest value inside, and n is the full window;
//            2. the `output` chain of the rule, whose ratio and `divide` stage may name the count n; zero point and bounds included. With
//               AverageScales::of_width_then_height the ratio's count is the window's width, and the converter multiplies by what the same rule makes
//               of its height.
//   average, in_float: 1. S = the sum of float(in scale * float(x - zero point)) in float32, in the order of the window, row by row; padding that
//               counts adds nothing; 2. float(float(float(S / n) / out scale) + zero point), rounded to an integer, zero point and bounds.
// |S| < 2^16 * n fits 64 bits for every n a reader admits.
// Shapes: input [batch, height, width, channels]; output [batch, rows, columns, channels], a place for every window; global_average_pool
//   [batch, 1, 1, channels] or [batch, channels].
// Units: max: codes as they are; average: codes, in and out with scales of their own, of one quantisation where output_scale is of_input,
//   of one scale where it is scale_of_input.
// Errors: bad_attribute for a window without a value, shape_mismatch; unsupported_operation where the device has no such pool, and where
//   the quantisations differ in what output_scale wants shared.
// Sources: TFLite integer_ops/pooling.h (division half away from zero); ONNX Runtime qlgavgpool and qlinear_pool.cc (in_float); Horizon's HBDK Python layer
// (rescaled by 1 / n; the older form by a fixed-point reciprocal); docs/backends for the others.
#pragma once

#include <cstdint>
#include <optional>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/backend.hpp"

namespace lastbit {

/// What the operand chain of step 1 takes, where there is one.
[[nodiscard]] constexpr RescaleOperands term_operands(const SumArithmetic& rule, double in, double out, std::int64_t count) {
  return {.scale = encode(rule.operand.scale, effective_scale(rule.operand, one_operand(in, 1, out, count))), .count = count};
}

/// Steps 1 and 2 for a sum over `inside` taps of the image in a window that counts `count`; the output's zero point and bounds in `output`.
class Average {
 public:
  /// `in`, `out`: scales of input and output; `registers` in place of what the rule makes of them.
  constexpr Average(const SumArithmetic& rule, double in, double out, std::int64_t count, RescaleOperands output = {},
                    const std::optional<EncodedScale>& registers = {})
      : rule_(&rule), operands_(output) {
    operands_.scale = registers ? *registers : encode(rule.output.scale, effective_scale(rule.output, one_operand(in, 1, out, count)));
    operands_.count = count;
  }
  [[nodiscard]] constexpr const RescaleOperands& operands() const noexcept { return operands_; }
  /// Of a sum as step 1 leaves it.
  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t sum) const { return finish(rule_->output.chain, sum, operands_); }

 private:
  const SumArithmetic* rule_;
  RescaleOperands operands_;
};

/// Step 2 of a window of so many values, so wide and so high.
[[nodiscard]] constexpr RescaleOperands average_operands(const AveragePoolArithmetic& rule, double in, double out, std::int64_t count,
                                                         std::int64_t width, std::int64_t height, const RescaleOperands& output,
                                                         const std::optional<EncodedScale>& registers = {}) noexcept {
  if (rule.scales == AverageScales::of_count) return Average(rule.sum, in, out, count, output, registers).operands();
  RescaleOperands operands = Average(rule.sum, in, out, width, output, registers).operands();
  const EncodedScale second = Average(rule.sum, in, out, height).operands().scale;
  operands.converter = {0, second.multiplier, second.fraction_bits - second.exponent};
  operands.count = count;
  return operands;
}

/// What is added to the sum of the codes inside a window before it is narrowed.
[[nodiscard]] constexpr std::int64_t centring_of(const SumArithmetic& rule, std::int64_t zero_point, std::int64_t inside,
                                                 std::int64_t count) noexcept {
  return rule.centring == Centring::nothing ? (count - inside) * zero_point : -inside * zero_point;
}

}  // namespace lastbit
