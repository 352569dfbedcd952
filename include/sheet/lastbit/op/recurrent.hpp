// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A recurrent layer: sums over the present input and an earlier output.
//
// Contract, for the vectors x[0], x[1], … in order, D rows of feedback, K inputs, M outputs:
//   1. h[n-D] is the activation of vector n - D; for n < D it is row n of the feedback given;
//   2. pre[n, m] = the sum of op/conv2d.hpp over the K values of x[n] followed by the M values of h[n-D], with row m of the weights
//      [M, K + M], the bias and the row's multiplier: one vector is processed at a time, and tiles run across both parts;
//   3. h[n, m] = pwl(pre[n, m]), narrowed to the output's type.
// Shapes: input [N, K], weights [M, K + M], feedback [D, M], bias and multiplier M values; outputs [N, M]: h, and pre if a second one is asked for.
// Units: integers without scales; the function of step 3 is a table of at most 128 segments.
// Errors: shape_mismatch; bad_attribute for a table that does not rise or multipliers beyond 0 … 255; unsupported_operation where the device has
//   no sums of these types or no pwl.
// Source: Intel GNA library, igemv*_generic-sat.cpp and XnnKernel.cpp (docs/backends/gna.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "lastbit/op/conv2d.hpp"

namespace lastbit {

/// Where h[n - delay] lies: a row of the feedback, or of the activations computed so far.
struct EarlierOutput {
  bool is_given = false;
  std::int64_t row = 0;
};
[[nodiscard]] constexpr EarlierOutput earlier_output(std::int64_t n, std::int64_t delay) noexcept {
  return n < delay ? EarlierOutput{true, n} : EarlierOutput{false, n - delay};
}

/// The sums of one vector as a convolution: one pixel of K + M channels.
[[nodiscard]] constexpr ConvShape recurrent_shape(std::int64_t inputs, std::int64_t outputs) noexcept {
  return {.in_channels = inputs + outputs, .out_channels = outputs};
}

}  // namespace lastbit
