// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sums of Intel's GNA from their definition, and data that make them saturate.
#pragma once

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "lastbit/tensor.hpp"
#include "support/oracle.hpp"

namespace lastbit::test {

using Values = std::vector<std::int64_t>;

inline std::int64_t one_of(std::mt19937_64& random, std::initializer_list<std::int64_t> values) {
  return values.begin()[random() % values.size()];
}

/// Values that keep one sign for a while, so that sums leave their width and come back; the ends of the type among them.
template <class T>
std::vector<T> wandering(std::size_t count, std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values(count);
  T end = Limits::max();
  for (T& value : values) {
    if (random() % 97 == 0) end = end == Limits::max() ? Limits::min() : Limits::max();
    value = random() % 8 == 0 ? static_cast<T>(random()) : end;
  }
  return values;
}

template <class T>
Values widened(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}
inline Values widened(const Tensor& tensor) {
  Values values;
  for (std::int64_t i = 0; i < tensor.element_count(); ++i) values.push_back(tensor.integer_at(i));
  return values;
}

struct Sum {
  Int128 value;
  std::int64_t saturations;
};

/// Section 1.1 of the definition: after every tile s = sat32(s + multiplier * sum of the tile).
inline Sum tiled_sum(Int128 bias, std::int64_t multiplier, const Values& x, const Values& w, std::size_t first_weight, std::size_t tile) {
  Sum sum{bias, 0};
  for (std::size_t begin = 0; begin < x.size(); begin += tile) {
    Int128 part = 0;
    for (std::size_t k = begin; k < std::min(begin + tile, x.size()); ++k) part += Int128{x[k]} * w[first_weight + k];
    const Int128 exact = sum.value + multiplier * part;
    sum.value = saturated(exact, 32);
    sum.saturations += static_cast<std::int64_t>(exact != sum.value);
  }
  return sum;
}

}  // namespace lastbit::test
