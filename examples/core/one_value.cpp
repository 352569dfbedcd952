// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One accumulator on its way to a code, on two devices: by hand-held numbers, while the program is compiled.
#include <cstdio>
#include <lastbit/core.hpp>

using namespace lastbit;

constexpr Requantization layer{.in = 0.0235, .weight = 0.0107, .out = 0.0352, .zero_point = -3};
static_assert(requantize(vipnano_v8.conv.i8, 1050, layer) == 5);
static_assert(requantize(tflite_double.conv.i8, 1050, layer) == 5);

int main() {
  int differ = 0;
  for (std::int64_t accumulator = -20000; accumulator <= 20000; ++accumulator)
    differ += requantize(vipnano_v7.conv.i8, accumulator, layer) != requantize(tflite_double.conv.i8, accumulator, layer) ? 1 : 0;
  std::printf("vipnano_v7 and tflite_double give other codes for %d of 40001 accumulators\n", differ);
  return differ > 0 ? 0 : 1;
}
