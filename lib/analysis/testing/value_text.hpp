// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Single values of two tensors of one type: whether they are the same, and as text.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// Of all bits; every NaN is every other.
[[nodiscard]] inline bool same_value(const Tensor& a, const Tensor& b, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return visit_element_type(a.type(), [&]<class T>() {
    const T x = a.values<T>()[at], y = b.values<T>()[at];
    if constexpr (std::is_floating_point_v<T>) return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
    else return x == y;
  });
}

[[nodiscard]] inline std::string value_text(const Tensor& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return visit_element_type(tensor.type(), [&]<class T>() -> std::string {
    const T value = tensor.values<T>()[at];
    if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else {
      char text[64];
      std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
      return text;
    }
  });
}

}  // namespace lastbit
