// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A convolution and a sigmoid on Intel GNA: sums of 32 bits, then a piecewise-linear table, which does all rescaling.
#include <cstdio>
#include <lastbit/core.hpp>
#include <random>

using namespace lastbit;

int main() {
  std::mt19937 random(1);
  std::vector<std::int16_t> image(8 * 8 * 4), kernel(8 * 3 * 3 * 4);
  for (auto* const values : {&image, &kernel})
    for (auto& code : *values) code = static_cast<std::int16_t>(random() % 65536 - 32768);
  const View x(image, {1, 8, 8, 4}, 1.0 / 8192), w(kernel, {8, 3, 3, 4}, 1.0 / 65536);

  const auto sums = conv2d_sums<gna3_0>(x, w, {});
  const OutputOptions out{.scale = 1.0 / 32767};
  const auto segments = gna::table(gna::logistic_curve(), sums.scale, out.scale);  // within 1 % of the function
  const auto y = pwl<gna3_0>(sums, segments, out);
  double worst = 0;
  const auto real = golden::logistic(sums.view());
  for (std::size_t i = 0; i < y.values.size(); ++i) worst = std::max(worst, std::abs(out.scale * y.values[i] - real.values[i]));
  std::printf("%zu segments; off by at most %.2f %%; value 0 is %d\n", segments.size(), 100 * worst, int{y.values[0]});
  return worst < 0.0102 && y == pwl(gna3_0, sums, segments, out) ? 0 : 1;
}
