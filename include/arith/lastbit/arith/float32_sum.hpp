// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Products of float32 matrices as ONNX Runtime adds them up on x86-64: rounding makes the order part of the result.
// Contract, for one value Σ a[k]·b[k], k = 0…terms-1, of a product of rows by columns:
//   blocks   the terms are cut into blocks; each block is a chain of fused multiply-adds that begins with +0; the first block's sum, or start + it,
//            is the running sum, to which each later block's is added. This unless one of the others applies;
//   fours    of a single row by a right factor [terms, columns]: four terms at a time, each product rounded, are added up in order, and then to
//            the running sum, which is the start or +0; at the end two terms, and one, likewise;
//   lanes    of a single row by a right factor [columns, terms], or of a single column of a right factor [terms, 1] behind several rows: eight
//            lanes, each adding up every eighth rounded product from +0; what they are added up by depends on where the value lies: values are
//            made four at a time, ((l0 + l1) + l2) + l3 plus the same of l4…l7; of what is left two, (l0 + l2 + (l4 + l6)) plus the same of the
//            odd lanes; and one, (l0 + l1) + (l2 + l3) plus the same of l4…l7. Then the start is added, or +0.
// Block length: 128; halved while half of it still holds all terms, where columns >= terms; else doubled for each time that 128 columns can be halved,
// to 16 at the least, and still hold all columns, unless the left factor is transposed.
// And sums of values that lie side by side, as Eigen adds them up four at a time: up to three values before the first that lies at a multiple of four
// are left out; two packets of four take turns, from the first two; (packet 0 + packet 1), to which a last single packet is added;
// (p0 + p2) + (p1 + p3); then what was left out and what is left over, one by one. Fewer than four together: one by one, from the first.
// Sources: ONNX Runtime core/mlas/lib/sgemm.cpp, convolve.cpp, x86_64/SgemmKernelM1Avx.S and SgemmKernelM1TransposeBAvx.S; Eigen Core/Redux.h in its
// build for SSE2; version 1.30 run, every value of random products and means equal.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lastbit {

/// Of a matrix product: rows, columns, and terms of each sum.
struct ProductShape {
  std::int64_t rows = 1, columns = 1, terms = 1;
  bool left_transposed = false;   ///< the left factor lies as [terms, rows]
  bool right_transposed = false;  ///< the right factor lies as [columns, terms]
};

/// How the values of a product are added up.
class Float32Sum {
 public:
  enum class Order : std::uint8_t { blocks, fours, lanes };

  explicit constexpr Float32Sum(const ProductShape& shape) noexcept
      : terms_(shape.terms), block_(block_of(shape)), values_(shape.rows == 1 ? shape.columns : shape.rows), order_(order_of(shape)) {}

  /// The value at this place in the single row or column that is computed; `place` is read by lanes. term(k): a pair of floats.
  template <class Term>
  [[nodiscard]] float operator()(std::int64_t place, std::optional<float> start, Term&& term) const {
    switch (order_) {
      case Order::fours: return by_fours(start.value_or(0.0F), term);
      case Order::lanes: return by_lanes(place, start.value_or(0.0F), term);
      case Order::blocks: break;
    }
    return by_blocks(start, term);
  }

 private:
  static constexpr std::int64_t lanes = 8;

  [[nodiscard]] static constexpr Order order_of(const ProductShape& shape) noexcept {
    if (shape.rows == 1 && !shape.left_transposed) return shape.right_transposed ? Order::lanes : Order::fours;
    return shape.columns == 1 && !shape.right_transposed && !shape.left_transposed ? Order::lanes : Order::blocks;
  }

  [[nodiscard]] static constexpr std::int64_t block_of(const ProductShape& shape) noexcept {
    constexpr std::int64_t stride = 128, least_columns = 16;
    std::int64_t block = stride;
    if (shape.columns >= shape.terms) {
      while (block / 2 >= shape.terms) block /= 2;
      return block;
    }
    for (std::int64_t width = stride; !shape.left_transposed && width > least_columns && width / 2 >= shape.columns; width /= 2) block *= 2;
    return block;
  }

  template <class Term>
  [[nodiscard]] static float product(Term&& term, std::int64_t k) {
    const auto [a, b] = term(k);
    return a * b;
  }

  template <class Term>
  [[nodiscard]] float by_blocks(std::optional<float> start, Term&& term) const {
    std::optional<float> sum = start;
    for (std::int64_t first = 0; first < terms_; first += block_) {
      float chain = 0;
      for (std::int64_t k = first; k < terms_ && k < first + block_; ++k) {
        const auto [a, b] = term(k);
        chain = std::fma(a, b, chain);
      }
      sum = sum ? *sum + chain : chain;
    }
    return sum.value_or(0.0F);
  }

  template <class Term>
  [[nodiscard]] float by_fours(float sum, Term&& term) const {
    for (std::int64_t k = 0; k < terms_;) {
      const std::int64_t left = terms_ - k, count = left >= 4 ? 4 : left >= 2 ? 2 : 1;
      float group = product(term, k);
      for (std::int64_t i = 1; i < count; ++i) group += product(term, k + i);
      sum = group + sum;
      k += count;
    }
    return sum;
  }

  template <class Term>
  [[nodiscard]] float by_lanes(std::int64_t place, float start, Term&& term) const {
    std::array<float, lanes> l{};
    for (std::int64_t k = 0; k < terms_; ++k) l[static_cast<std::size_t>(k % lanes)] += product(term, k);
    const std::int64_t in_fours = values_ / 4 * 4, in_twos = in_fours + values_ % 4 / 2 * 2;
    const auto in_order = [&](std::size_t i) { return ((l[i] + l[i + 1]) + l[i + 2]) + l[i + 3]; };
    const auto every_other = [&](std::size_t i) { return (l[i] + l[i + 2]) + (l[i + 4] + l[i + 6]); };
    const auto in_pairs = [&](std::size_t i) { return (l[i] + l[i + 1]) + (l[i + 2] + l[i + 3]); };
    if (place < in_fours) return (in_order(0) + in_order(4)) + start;
    if (place < in_twos) return (every_other(0) + every_other(1)) + start;
    return (in_pairs(0) + in_pairs(4)) + start;
  }

  std::int64_t terms_, block_, values_;
  Order order_;
};

/// Of at least one value; the first lies at this index of a tensor that begins at a multiple of four.
[[nodiscard]] constexpr float sum_in_packets(std::span<const float> values, std::size_t index) noexcept {
  constexpr std::size_t width = 4;
  const std::size_t before = std::min((width - index % width) % width, values.size());
  const std::size_t packets = (values.size() - before) / width;
  const auto each = [&](std::size_t first, std::size_t last, float sum) {
    for (std::size_t i = first; i < last; ++i) sum += values[i];
    return sum;
  };
  if (packets == 0) return each(1, values.size(), values[0]);
  std::array<std::array<float, width>, 2> sums{};
  const std::size_t in_turns = packets == 1 ? 1 : packets / 2 * 2;
  for (std::size_t i = 0; i < in_turns * width; ++i) {
    float& sum = sums[i / width % 2][i % width];
    sum = i < 2 * width ? values[before + i] : sum + values[before + i];
  }
  std::array<float, width> p = sums[0];
  for (std::size_t i = 0; packets > 1 && i < width; ++i) p[i] += sums[1][i];
  for (std::size_t i = 0; packets > in_turns && i < width; ++i) p[i] += values[before + in_turns * width + i];
  return each(before + packets * width, values.size(), each(0, before, (p[0] + p[2]) + (p[1] + p[3])));
}

}  // namespace lastbit
