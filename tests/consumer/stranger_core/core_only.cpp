// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <lastbit/core.hpp>

using namespace lastbit;
static_assert(requantize(vipnano_v8.conv.i8, 18, {.in = 0.5, .weight = 0.25, .out = 0.5}) == 4);

int main() {
  const std::vector<std::int8_t> image{10, -20, 6, 6}, kernel{1, 2, 3, 4};
  const View x(image, {1, 2, 2, 1}, 0.5), w(kernel, {1, 2, 2, 1}, 0.25);
  return conv2d<vipnano_v8>(x, w, {}, {.scale = 1}).values[0] == 2 && conv2d(tflite_single, x, w, {}, {.scale = 1}).values[0] == 2 ? 0 : 1;
}
