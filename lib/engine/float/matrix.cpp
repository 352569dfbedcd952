// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/float/matrix.hpp"

#include <Eigen/Core>

namespace lastbit {
namespace {

template <int order>
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, order>;
template <int order>
using ConstMap = Eigen::Map<const Matrix<order>, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class Visit>
void with_map(const MatrixView& view, std::int64_t rows, std::int64_t columns, Visit&& visit) {
  if (view.order == MatrixOrder::row_major) visit(ConstMap<Eigen::RowMajor>(view.data, rows, columns, Eigen::OuterStride<>(view.stride)));
  else visit(ConstMap<Eigen::ColMajor>(view.data, rows, columns, Eigen::OuterStride<>(view.stride)));
}

}  // namespace

void multiply_matrices(const ProductSize& size, const MatrixView& a, const MatrixView& b, float* out, std::int64_t out_stride) {
  Eigen::Map<Matrix<Eigen::RowMajor>, Eigen::Unaligned, Eigen::OuterStride<>> target(out, size.rows, size.columns,
                                                                                     Eigen::OuterStride<>(out_stride));
  with_map(a, size.rows, size.terms,
           [&](const auto& left) { with_map(b, size.terms, size.columns, [&](const auto& right) { target.noalias() = left * right; }); });
}

}  // namespace lastbit
