// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The functions of the paths, for the list of kernels.cpp.
#pragma once

#include "engine/kernels/kernels.hpp"

namespace lastbit::kernels {

#define LASTBIT_WORD_FUNCTIONS                        \
  void dense_words(const ProductTile& tile);          \
  void depthwise_words(const ProductTile& tile);      \
  void dense_magnitudes(const ProductTile& tile);     \
  void depthwise_magnitudes(const ProductTile& tile); \
  void steps(const StepTile& tile);
#define LASTBIT_PAIR_FUNCTIONS               \
  void dense_pairs(const ProductTile& tile); \
  void dense_emptied_pairs(const ProductTile& tile);
#define LASTBIT_BYTE_FUNCTIONS               \
  void dense_bytes(const ProductTile& tile); \
  void depthwise_bytes(const ProductTile& tile);

namespace scalar {
LASTBIT_PAIR_FUNCTIONS
LASTBIT_WORD_FUNCTIONS
}  // namespace scalar
namespace avx2 {
LASTBIT_PAIR_FUNCTIONS
LASTBIT_WORD_FUNCTIONS
}  // namespace avx2
namespace avxvnni {
LASTBIT_PAIR_FUNCTIONS
LASTBIT_BYTE_FUNCTIONS
LASTBIT_WORD_FUNCTIONS
}  // namespace avxvnni
namespace avx512vnni {
LASTBIT_PAIR_FUNCTIONS
LASTBIT_BYTE_FUNCTIONS
LASTBIT_WORD_FUNCTIONS
}  // namespace avx512vnni
namespace amx {
/// Whether this process may use the unit, and its sums are right.
[[nodiscard]] bool is_available();
void dense_bytes(const ProductTile& tile);
}  // namespace amx
namespace neon {
LASTBIT_WORD_FUNCTIONS
}

#undef LASTBIT_WORD_FUNCTIONS
#undef LASTBIT_BYTE_FUNCTIONS
#undef LASTBIT_PAIR_FUNCTIONS

}  // namespace lastbit::kernels
