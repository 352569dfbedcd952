// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Included before everything else in a tree that run_mutants has made. A switch calls nothing: some stand between vector instructions.
#pragma once
#if __cplusplus >= 202002L  // CMake tries the compiler without a language level
#include <type_traits>

extern unsigned char lastbit_mutant_reached[512];
extern int lastbit_mutant_chosen;  ///< what LASTBIT_MUTANT says, or 0

/// Whether this place computes what is wrong. What the compiler computes is always right.
static inline constexpr bool lastbit_mutant(int number) noexcept {
  if (std::is_constant_evaluated()) return false;
  __atomic_store_n(&lastbit_mutant_reached[number], static_cast<unsigned char>(1), __ATOMIC_RELAXED);
  return number == lastbit_mutant_chosen;
}
#endif
