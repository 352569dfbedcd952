// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The golden path from its definitions, in double: every output as a sum of terms with a bound on what float32 may make of it.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit::test {

/// n float32 operations on terms of magnitude m err by at most n * 2^-24 * m, in any order of the sum (plus the terms' own rounding).
struct RealSum {
  double value = 0;
  double magnitude = 0;
  std::int64_t terms = 0;
  void add(double term) {
    value += term;
    magnitude += std::abs(term);
    ++terms;
  }
  [[nodiscard]] bool allows(float found) const {
    return std::abs(double{found} - value) <= static_cast<double>(terms + 2) * std::ldexp(magnitude, -24);
  }
};

inline double at(const Tensor& tensor, std::int64_t index) { return double{tensor.values<float>()[static_cast<std::size_t>(index)]}; }

inline double at(const Tensor& t, std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) {
  const Shape& s = t.shape();
  return at(t, ((n * s[1] + y) * s[2] + x) * s[3] + c);
}

struct Window {
  std::int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1, top = 0, left = 0;
};

/// Calls visit(n, y, x, o) for every index of an NHWC shape in order.
template <class Visit>
void each_index(const Shape& shape, Visit&& visit) {
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t y = 0; y < shape[1]; ++y)
      for (std::int64_t x = 0; x < shape[2]; ++x)
        for (std::int64_t o = 0; o < shape[3]; ++o) visit(n, y, x, o);
}

inline std::vector<RealSum> convolution_oracle(const Tensor& in, const Tensor& weights, const Tensor& bias, const Shape& out,
                                               const Window& w) {
  std::vector<RealSum> sums;
  const std::int64_t per_group = weights.shape()[3];
  const std::int64_t out_per_group = out[3] / (in.shape()[3] / per_group);
  each_index(out, [&](std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t o) {
    RealSum& sum = sums.emplace_back();
    sum.add(at(bias, o));
    each_index({1, weights.shape()[1], weights.shape()[2], per_group}, [&](std::int64_t, std::int64_t ky, std::int64_t kx, std::int64_t i) {
      const std::int64_t in_y = y * w.stride_y + ky * w.dilation_y - w.top, in_x = x * w.stride_x + kx * w.dilation_x - w.left;
      if (in_y < 0 || in_y >= in.shape()[1] || in_x < 0 || in_x >= in.shape()[2]) return;
      sum.add(at(in, n, in_y, in_x, o / out_per_group * per_group + i) * at(weights, o, ky, kx, i));
    });
  });
  return sums;
}

inline std::vector<RealSum> depthwise_oracle(const Tensor& in, const Tensor& weights, const Tensor& bias, const Shape& out,
                                             const Window& w) {
  std::vector<RealSum> sums;
  const std::int64_t multiplier = out[3] / in.shape()[3];
  each_index(out, [&](std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t o) {
    RealSum& sum = sums.emplace_back();
    sum.add(at(bias, o));
    each_index({1, weights.shape()[1], weights.shape()[2], 1}, [&](std::int64_t, std::int64_t ky, std::int64_t kx, std::int64_t) {
      const std::int64_t in_y = y * w.stride_y + ky * w.dilation_y - w.top, in_x = x * w.stride_x + kx * w.dilation_x - w.left;
      if (in_y < 0 || in_y >= in.shape()[1] || in_x < 0 || in_x >= in.shape()[2]) return;
      sum.add(at(in, n, in_y, in_x, o / multiplier) * at(weights, 0, ky, kx, o));
    });
  });
  return sums;
}

/// The adjoint of the convolution: an output pixel sums what every input pixel spreads onto it.
inline std::vector<RealSum> transposed_oracle(const Tensor& in, const Tensor& weights, const Tensor& bias, const Shape& out,
                                              const Window& w) {
  std::vector<RealSum> sums;
  each_index(out, [&](std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t o) {
    RealSum& sum = sums.emplace_back();
    sum.add(at(bias, o));
    each_index({1, in.shape()[1], in.shape()[2], in.shape()[3]}, [&](std::int64_t, std::int64_t in_y, std::int64_t in_x, std::int64_t i) {
      const std::int64_t ky = y + w.top - in_y * w.stride_y, kx = x + w.left - in_x * w.stride_x;
      if (ky < 0 || ky >= weights.shape()[1] || kx < 0 || kx >= weights.shape()[2]) return;
      sum.add(at(in, n, in_y, in_x, i) * at(weights, o, ky, kx, i));
    });
  });
  return sums;
}

}  // namespace lastbit::test
