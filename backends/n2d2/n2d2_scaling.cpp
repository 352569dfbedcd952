// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backends/n2d2_scaling.hpp"

namespace lastbit::n2d2 {
namespace {

/// The smallest e with 2^-e <= scale.
int exponent_below(double scale) { return static_cast<int>(std::ceil(std::log2(1.0 / scale))); }

double corrected(double precision) { return precision >= kept_precision && precision <= 1 ? 1.0 : 1.0 / precision; }

}  // namespace

PrintedScaling printed_scaling(double previous, double activation, double bias, double quant) {
  const double global = activation / bias;
  return {global, previous / global / quant};
}

std::int64_t largest_code(int bits, CodeSign sign) {
  return sign == CodeSign::is_unsigned ? (std::int64_t{1} << bits) - 1 : (std::int64_t{1} << (bits - 1)) - 1;
}

double quant_factor(int bits, CodeSign input, CodeSign output) {
  return static_cast<double>(largest_code(bits, CodeSign::is_signed)) * static_cast<double>(largest_code(bits, input)) /
         static_cast<double>(largest_code(bits, output));
}

SingleShift single_shift_for(double scale) {
  SingleShift found{exponent_below(scale)};
  found.precision = std::ldexp(1.0, -found.shift) / scale;
  if (found.precision < kept_precision) {
    --found.shift;
    found.precision *= 2;
  }
  found.weight_factor = corrected(found.precision);
  return found;
}

DoubleShift double_shift_for(double scale) {
  DoubleShift found{exponent_below(scale)};
  found.precision = std::ldexp(1.0, -found.first) / scale;
  if (found.precision == 1) return {found.first + 1, found.first + 1, 1, 1};
  found.second = exponent_below(scale * (1 - found.precision));
  double term = std::ldexp(1.0, -found.second) / scale;
  if (found.precision + term < kept_precision) {
    --found.second;
    term *= 2;
  }
  found.precision += term;
  found.weight_factor = corrected(found.precision);
  return found;
}

int fixed_fraction_bits(int bits, double largest) {
  const double limit = std::ldexp(1.0, bits) - 1;
  return std::min(static_cast<int>(std::floor(std::log2(limit / largest))), 50);
}

FixedMultiplier fixed_multiplier_for(double scale, int fraction_bits) {
  return {round_to_integer(std::ldexp(scale, fraction_bits), Rounding::half_away), fraction_bits};
}

double printed_factor(double scale) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", scale);
  return std::strtod(text, nullptr);
}

}  // namespace lastbit::n2d2
