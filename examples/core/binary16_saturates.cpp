// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// binary16 beyond 65504: two Ascend chips add the same values, and one of them saturates.
#include <cstdio>
#include <lastbit/core.hpp>

using namespace lastbit;

int main() {
  const std::vector<float> real{60000, 60000, -60000, 1}, other{60000, -60000, -10000, 0x1p-11F};
  const auto a = quantize<ascend310>(real, {4}), b = quantize<ascend310>(other, {4});
  const auto saturated = add<ascend310>(a.view(), b.view());  // a constant
  const auto infinite = add(ascend910b, a.view(), b.view());  // any Backend
  for (std::size_t i = 0; i < real.size(); ++i)
    std::printf("%g + %g: ascend310 %g, ascend910b %g\n", double{real[i]}, double{other[i]}, static_cast<double>(saturated.values[i]),
                static_cast<double>(infinite.values[i]));
  std::printf("%s\n", difference(saturated, infinite).text().c_str());
  return difference(saturated, infinite).differing == 2 ? 0 : 1;
}
