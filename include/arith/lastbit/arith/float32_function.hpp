// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions of float32 values, each step a fused multiply-add or another operation rounded to float32: logistic and tanh by ratios of
// polynomials in x², and hard_swish. Contract of the ratios: x is bounded to ±18 (logistic) or ±9 (tanh); p = x·(a[0]·x^2n + … + a[n]) and
// q = b[0]·x^2m + … + b[m], by Horner's scheme with fma; tanh = p / q; logistic = p / q + 1/2, bounded to [0, 1]. NaN stays NaN.
// Source: ONNX Runtime core/mlas/lib/logistic.cpp and tanh.cpp, whose coefficients are Eigen's; run and compared over all codes.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace lastbit {

/// p / q: coefficients from the highest power down.
template <std::size_t N, std::size_t M>
struct OddRatio {
  float bound;
  std::array<float, N> numerator;
  std::array<float, M> denominator;

  [[nodiscard]] float operator()(float x) const {
    x = x < -bound ? -bound : x > bound ? bound : x;
    const float square = x * x;
    const auto horner = [square](const auto& coefficients) {
      float value = coefficients[0];
      for (std::size_t i = 1; i < coefficients.size(); ++i) value = std::fma(value, square, coefficients[i]);
      return value;
    };
    return horner(numerator) * x / horner(denominator);
  }
};

inline constexpr OddRatio<5, 6> logistic_ratio{
    18.0F,
    {4.37031012579801e-11F, 1.15627324459942e-07F, 6.08574864600143e-05F, 8.51377133304701e-03F, 2.48287947061529e-01F},
    {6.10247389755681e-13F, 5.76102136993427e-09F, 6.29106785017040e-06F, 1.70198817374094e-03F, 1.16817656904453e-01F,
     9.93151921023180e-01F}};
inline constexpr OddRatio<7, 4> tanh_ratio{9.0F,
                                           {-2.76076847742355e-16F, 2.00018790482477e-13F, -8.60467152213735e-11F, 5.12229709037114e-08F,
                                            1.48572235717979e-05F, 6.37261928875436e-04F, 4.89352455891786e-03F},
                                           {1.19825839466702e-06F, 1.18534705686654e-04F, 2.26843463243900e-03F, 4.89352518554385e-03F}};

[[nodiscard]] inline float logistic_by_ratio(float x) {
  const float value = logistic_ratio(x) + 0.5F;
  return value < 0 ? 0.0F : value > 1 ? 1.0F : value;
}
[[nodiscard]] inline float tanh_by_ratio(float x) { return tanh_ratio(x); }

/// x * h, h = x * float(1/6) + 1/2 bounded to [0, 1]: ONNX's function body of HardSwish.
[[nodiscard]] inline float hard_swish_by_steps(float x) {
  const float scaled = x * (1.0F / 6.0F);
  const float sum = scaled + 0.5F;
  return x * (sum < 0 ? 0.0F : sum > 1 ? 1.0F : sum);
}

}  // namespace lastbit
