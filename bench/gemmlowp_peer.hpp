// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A quantised matrix product by gemmlowp, one thread: output = input [rows, depth] times weights [columns, depth] transposed, plus bias,
// scaled per column by multiplier * 2^(exponent - 31) with TFLite's two roundings, plus zero point. 8-bit data as uint8.
#pragma once

#include <cstdint>
#include <vector>

namespace lastbit::bench {

struct GemmlowpProduct {
  int rows = 0, depth = 0, columns = 0;
  std::vector<std::uint8_t> input, weights;
  std::int32_t input_zero_point = 0, weight_zero_point = 0, output_zero_point = 0;
  std::vector<std::int32_t> bias, multiplier, exponent;
};

void multiply_with_gemmlowp(const GemmlowpProduct& product, std::uint8_t* output);

}  // namespace lastbit::bench
