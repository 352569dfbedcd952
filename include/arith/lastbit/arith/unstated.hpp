// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a rule holds until a sheet states it. No device computes by it: require_stated (rules.hpp) refuses a sheet that reads one.
#pragma once

#include <type_traits>

namespace lastbit {

template <class E>
requires std::is_enum_v<E>
inline constexpr E unstated = static_cast<E>(0xFF);

}  // namespace lastbit
