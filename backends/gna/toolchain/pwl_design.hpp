// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Piecewise-linear tables for GNA: which lines approximate a function, and how the device stores them.
//
// Source: OpenVINO's GNA plugin, make_pwl.cpp and pwl_*, read (docs/backends/gna.md). Domains of the functions are our choice.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lastbit/tensor.hpp"

namespace lastbit::gna {

/// From x = from on: y = slope * x + offset.
struct Line {
  double from = 0;
  double slope = 0;
  double offset = 0;
};

/// A function that is convex or concave between neighbouring entries of `pieces`, flat outside of them.
struct SmoothFunction {
  std::function<double(double)> value;
  std::function<double(double)> slope;
  std::vector<double> pieces;
};

inline constexpr std::size_t most_segments = 128;

/// Tangents with equal ripple: each piece gets 1, 2, 3, … lines, all with the same largest error, half of which is then taken off, until the
/// error is at most max_error_percent of max - min. A flat line stands before and after. Throws Error where 128 segments do not suffice.
[[nodiscard]] std::vector<Line> design_pwl(const SmoothFunction& function, double max_error_percent);

/// The device's table [segments, 3] of base with shift selector, y base, slope; x and y in units of 1/input_factor and 1/output_factor.
///   base = trunc(x * input_factor) & ~3 | s; y base and slope half away from zero; s is the largest of 3, 2, 1, 0 for which
///   slope * output_factor / input_factor * 2^(8(s+1)) fits 16 bits. The first line begins at the least int32 or, where it is steep, where it
///   enters 16 bits: the device holds its first value before.
/// added: flat segments before and behind, where the outer lines leave 16 bits, in place of the device's saturation.
enum class FlatEnds : std::uint8_t { none, added };
[[nodiscard]] Tensor pwl_table(std::vector<Line> lines, double input_factor, double output_factor, FlatEnds ends);

/// The slope that a table would store for y = x, and its shift: what decides between two output factors.
struct EncodedSlope {
  std::int64_t slope = 0;
  int selector = 0;
};
[[nodiscard]] EncodedSlope encode_slope(double slope, double input_factor, double output_factor);

}  // namespace lastbit::gna
