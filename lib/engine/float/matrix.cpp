// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/float/matrix.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>

namespace lastbit {
namespace {

template <int order>
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, order>;
template <int order>
using ConstMap = Eigen::Map<const Matrix<order>, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Of a sum, taken at once: where Eigen parts a longer one depends on the caches of the machine, and with it the last bits of the sum.
constexpr std::int64_t most_terms = 256;

template <class Visit>
void with_map(const MatrixView& view, std::int64_t rows, std::int64_t columns, Visit&& visit) {
  if (view.order == MatrixOrder::row_major) visit(ConstMap<Eigen::RowMajor>(view.data, rows, columns, Eigen::OuterStride<>(view.stride)));
  else visit(ConstMap<Eigen::ColMajor>(view.data, rows, columns, Eigen::OuterStride<>(view.stride)));
}

}  // namespace

void multiply_matrices(const ProductSize& size, const MatrixView& a, const MatrixView& b, float* out, std::int64_t out_stride) {
  Eigen::Map<Matrix<Eigen::RowMajor>, Eigen::Unaligned, Eigen::OuterStride<>> target(out, size.rows, size.columns,
                                                                                     Eigen::OuterStride<>(out_stride));
  const auto multiply = [&](const auto& left, const auto& right) {
    target.noalias() = left.leftCols(std::min(size.terms, most_terms)) * right.topRows(std::min(size.terms, most_terms));
    for (std::int64_t first = most_terms; first < size.terms; first += most_terms) {
      const std::int64_t terms = std::min(size.terms - first, most_terms);
      target.noalias() += left.middleCols(first, terms) * right.middleRows(first, terms);
    }
  };
  with_map(a, size.rows, size.terms,
           [&](const auto& left) { with_map(b, size.terms, size.columns, [&](const auto& right) { multiply(left, right); }); });
}

}  // namespace lastbit
