// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// Calls body.template operator()<T>() with the type of an integer tensor.
template <class Body>
void with_integers(const Tensor& tensor, Body&& body) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) body.template operator()<T>();
  });
}

}  // namespace lastbit
