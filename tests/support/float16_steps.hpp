// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elementary float16 steps from their definition, half to even: the exact result of two patterns, the neighbouring pattern, and what stands in
// place of an overflow. Finite operands; built on float16_oracle.hpp alone.
#pragma once

#include <random>
#include <vector>

#include "lastbit/model.hpp"
#include "support/float16_oracle.hpp"

namespace lastbit::test {

enum class Mode { saturation, infinity };

struct HalfOracle {
  Mode mode;

  [[nodiscard]] Float16 settled(Float16 ieee) const {
    const bool overflow = ieee.bits % 0x8000 == 0x7C00;
    return overflow && mode == Mode::saturation ? Float16{static_cast<std::uint16_t>(ieee.bits - 1)} : ieee;
  }
  /// ±numerator / denominator * 2^-24.
  [[nodiscard]] Float16 of(bool negative, Int128 numerator, Int128 denominator) const {
    if (numerator == 0) return {static_cast<std::uint16_t>(negative ? 0x8000 : 0)};
    return settled(float16_nearby(negative, numerator, denominator, Rounding::half_even));
  }
  [[nodiscard]] Float16 of(Dyadic value) const {
    if (value.significand == 0) return {};
    return settled(float16_nearby(value, Rounding::half_even));
  }
  [[nodiscard]] Float16 sum(Float16 a, Float16 b) const {
    const Int128 exact = float16_units(a) + float16_units(b);
    if (exact == 0) return {static_cast<std::uint16_t>(a.bits == 0x8000 && b.bits == 0x8000 ? 0x8000 : 0)};
    return of(exact < 0, magnitude(exact), 1);
  }
  [[nodiscard]] Float16 opposite(Float16 a) const { return {static_cast<std::uint16_t>(a.bits ^ 0x8000)}; }
  [[nodiscard]] Float16 product(Float16 a, Float16 b) const {
    const Int128 exact = magnitude(float16_units(a) * float16_units(b));
    return of((a.bits ^ b.bits) >= 0x8000, exact, two_to_the(24));
  }
  [[nodiscard]] Float16 quotient(Float16 a, Float16 b) const {
    return of((a.bits ^ b.bits) >= 0x8000, magnitude(float16_units(a)) * two_to_the(24), magnitude(float16_units(b)));
  }
};

inline double real_of(Float16 value) { return static_cast<double>(float16_units(value)) * 0x1p-24; }
inline Float16 half(double value) { return HalfOracle{Mode::infinity}.of(dyadic(value)); }

inline Tensor halves(const Shape& shape, const std::vector<Float16>& values) { return Tensor::from<Float16>(shape, values); }

/// A model of one quantize or dequantize operation.
inline Model conversion(OperationKind kind, const Tensor& input, const Quantization& in, ElementType type, const Quantization& out) {
  Model model;
  model.tensors = {{"input", input.type(), input.shape(), in, {}}, {"output", type, input.shape(), out, {}}};
  model.operations = {{kind, "tested", {0}, {1}, {}}};
  model.inputs = {0};
  model.outputs = {1};
  validate(model, "test");
  return model;
}

/// Every finite pattern.
inline std::vector<Float16> finite_halves() {
  std::vector<Float16> all;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    if (bits % 0x8000 < 0x7C00) all.push_back({static_cast<std::uint16_t>(bits)});
  }
  return all;
}

inline std::vector<Float16> random_halves(std::size_t count, std::mt19937& random, double largest) {
  std::vector<Float16> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(half((static_cast<double>(random() % 20001) / 10000 - 1) * largest));
  return values;
}

}  // namespace lastbit::test
