// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lastbit {

enum class MatrixOrder : std::uint8_t { row_major, column_major };

/// Somebody else's values. `stride`: elements from one row to the next, or from one column to the next.
struct MatrixView {
  const float* data;
  std::int64_t stride;
  MatrixOrder order = MatrixOrder::row_major;
};

struct ProductSize {
  std::int64_t rows, terms, columns;
};

/// out[rows, columns] = a[rows, terms] * b[terms, columns], summed in float32 in Eigen's order, 256 terms at a time, whatever the machine's caches.
/// `out` is row-major.
void multiply_matrices(const ProductSize& size, const MatrixView& a, const MatrixView& b, float* out, std::int64_t out_stride);

}  // namespace lastbit
