// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Softmax of one row of 8-bit codes by a table of float32 exponentials, as ONNX Runtime's QLinearSoftmax computes it. D: values in a row.
// Contract:
//   1. room = max(0, log(largest float32 / D) - 5) / scale, the logarithm in float32, the rest in double: how far the table is raised, so that a
//      row's sum stays finite. For very short rows and step 4 it does not: there a quotient can be infinite;
//   2. table[k] = float(exp((k - 255 + room) * scale)), k = 0…255, in double but for the result;
//   3. e(x) = table[255 - (max(row) - x)]; sum of e in float32, in the order of the row;
//   4. v = rounding(float(e * floor(float(1 / output scale))) / sum) in float32, as the processor converts it: of signed codes to 32 bits, in which
//      what is not finite, or leaves them, is the least value; of unsigned codes to 64 bits, likewise, of which the low 32 stay;
//   5. y = v + zero point in 32 bits, wrapping, signed or unsigned as the codes are, clamped to the output's type.
// Sources: ONNX Runtime contrib_ops/cpu/quantization/qlinear_softmax.cc for steps 1 to 4; its version 1.30 on x86-64, run, for step 5 of int8
// (the source at hand, of an earlier version, wraps there) and for what is not finite.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/arith/integer.hpp"
#include "lastbit/arith/rounding.hpp"

namespace lastbit {

/// Steps 1 and 2.
[[nodiscard]] inline std::array<float, 256> softmax_float_exponentials(float scale, std::size_t row) {
  constexpr double reserve = 5;
  const float logarithm = std::log(std::numeric_limits<float>::max() / static_cast<float>(row));
  const double room = std::max(0.0, double{logarithm} - reserve) / double{scale};
  std::array<float, 256> table{};
  for (std::size_t k = 0; k < table.size(); ++k)
    table[k] = static_cast<float>(std::exp((static_cast<double>(k) - 255 + room) * double{scale}));
  return table;
}

/// Steps 3 to 5; `steps` is floor(float(1 / output scale)). No row is empty.
template <class T>
requires(sizeof(T) == 1 && std::integral<T>) void softmax_row_by_exponentials(std::span<const T> in, std::span<T> out,
                                                                              const std::array<float, 256>& table, float steps,
                                                                              std::int64_t zero_point, Rounding rounding) {
  const int top = *std::max_element(in.begin(), in.end());
  const auto exponential = [&](T code) { return table[static_cast<std::size_t>(255 - (top - int{code}))]; };
  float sum = 0;
  for (const T code : in) sum += exponential(code);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float share = exponential(in[i]) * steps;  // rounded by itself
    const float quotient = share / sum;
    constexpr bool is_signed = std::is_signed_v<T>;
    std::int64_t value = is_signed ? std::numeric_limits<std::int32_t>::min() : 0;
    if (quotient < (is_signed ? 0x1p31F : 0x1p63F)) value = round_to_integer(quotient, rounding);
    const std::int64_t wrapped = narrow_wrap(value, 32) + zero_point;
    const std::int64_t code = is_signed ? narrow_wrap(wrapped, 32) : static_cast<std::int64_t>(static_cast<std::uint32_t>(wrapped));
    out[i] = static_cast<T>(std::clamp<std::int64_t>(code, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
}

}  // namespace lastbit
