// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "sheet/named_rules.hpp"

#include "lastbit/backend.hpp"

namespace lastbit {
namespace {

constexpr Ratio per_count{{}, {Quantity::count, Quantity::one}};

constexpr RescaleRule reciprocal_16{{.arithmetic = ScaleArithmetic::f64,
                                     .significant_bits = 16,
                                     .rounding = Rounding::floor,
                                     .normalization = Normalization::one_to_two,
                                     .min_exponent = -62,
                                     .max_exponent = 62},
                                    {stage::multiply(), stage::shift_right(Rounding::half_even), stage::clamp()},
                                    per_count};

[[nodiscard]] constexpr AveragePoolArithmetic fixed_reciprocal(std::uint8_t fraction_bits, const Chain& chain) {
  return {.padding = PaddingCount::included,
          .output_scale = OutputScale::of_input,
          .sum = {.centring = Centring::nothing,
                  .operand = {},
                  .accumulator = {.bits = 32, .overflow = Overflow::wrap, .when = NarrowingPoint::at_end},
                  .output = {{.arithmetic = ScaleArithmetic::f64,
                              .significant_bits = fraction_bits,
                              .rounding = Rounding::half_up,
                              .normalization = Normalization::fixed_point,
                              .min_exponent = 0,
                              .max_exponent = 0},
                             chain,
                             per_count}}};
}
constexpr AveragePoolArithmetic fixed_reciprocal_9 =
    fixed_reciprocal(9, {stage::multiply(), stage::shift_right_by(9, Rounding::floor), stage::clamp()});
constexpr AveragePoolArithmetic fixed_reciprocal_9_4 = fixed_reciprocal(
    13, {stage::shift_right_by(4, Rounding::floor), stage::multiply(), stage::shift_right_by(9, Rounding::floor), stage::clamp()});

}  // namespace

std::span<const NamedRules> named_rules() {
  static constexpr NamedRules all[] = {
      {"reciprocal_16", &typeid(RescaleRule), &reciprocal_16, "times the 16 leading bits of 1/count, truncated; the product half to even"},
      {"fixed_reciprocal", &typeid(AveragePoolArithmetic), &fixed_reciprocal_9, "sum * K >> 9, K = max(1, half_up(2^9 / count))"},
      {"fixed_reciprocal_4", &typeid(AveragePoolArithmetic), &fixed_reciprocal_9_4,
       "(sum >> 4) * K >> 9, K = max(1, half_up(2^13 / count))"},
  };
  return all;
}

}  // namespace lastbit
