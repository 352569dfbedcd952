// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Two tensors of different scales side by side: what becomes of the codes is the device's rule.
#include <cstdio>
#include <lastbit/core.hpp>

using namespace lastbit;

int main() {
  std::vector<std::int8_t> codes;
  for (int code = -128; code <= 127; ++code) codes.push_back(static_cast<std::int8_t>(code));
  const View a(codes, {1, 256}, 0.02, -3), b(codes, {1, 256}, 0.05, 10);
  const OutputOptions out{.scale = 0.04, .zero_point = 1};

  const auto npu = concat(vipnano_v8, {a, b}, 1, out);
  try {
    static_cast<void>(concat(tflite_double, {a, b}, 1, out));
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
  const auto cpu = concat(tflite_double, {rescale(tflite_double, a, out).view(), rescale(tflite_double, b, out).view()}, 1, out);
  std::printf("rescaled, then copied: %s\n", difference(cpu, npu).text().c_str());
  return difference(cpu, npu).largest <= 1 ? 0 : 1;
}
