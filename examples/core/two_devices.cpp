// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One layer on two devices, and on the golden float path.
#include <cstdio>
#include <lastbit/core.hpp>
#include <random>

using namespace lastbit;

int main() {
  std::mt19937 random(1);
  std::vector<std::int8_t> image(16 * 16 * 8), kernel(16 * 3 * 3 * 8);
  for (auto* const values : {&image, &kernel})
    for (auto& code : *values) code = static_cast<std::int8_t>(random() % 256 - 128);
  const std::vector<std::int32_t> bias(16, 100);

  const View x(image, {1, 16, 16, 8}, 0.0235, -3);
  const View w(kernel, {16, 3, 3, 8}, 0.0107);
  const Conv2dOptions how{.scale = 0.35, .zero_point = 4, .padding = same, .activation = Activation::relu};
  const auto npu = conv2d<vipnano_v8>(x, w, bias, how);     // a constant: its rule is compiled in
  const auto cpu = conv2d(tflite_double, x, w, bias, how);  // any Backend
  std::printf("device against CPU:    %s\n", difference(cpu, npu).text().c_str());
  std::printf("CPU against the float: %s\n", difference(golden::conv2d(x, w, bias, how), cpu).text().c_str());
  return difference(cpu, npu).largest <= 1 ? 0 : 1;
}
