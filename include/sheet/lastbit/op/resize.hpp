// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Resizing an image. Contract, for output pixel (y, x) of one channel; height and width are treated alike:
//   1. coordinate c(i): half_pixel (i + 1/2) * in / out - 1/2; asymmetric i * in / out; align_corners i * (in - 1) / (out - 1), 0 for one
//      pixel; with scales given, division by the scale takes the place of * in / out; in double;
//   nearest:  2. the index c(i) rounded by `nearest`, moved into [0, in - 1]; the value is copied. NearestCoordinate::float_scale: c(i) is p - o
//             with p = fl(fl(i + o) * s), o = 1/2 for half pixels and else 0, s = fl(in / out), align_corners fl((in - 1) / (out - 1));
//             float_quotient: p = fl(fl(i + o) / s), s = fl(out / in), or the scale given, align_corners fl(fl(i * (in - 1)) / (out - 1)); to
//             half_up and half_down what is less than 10^-6 beside a half is that half; where neither height nor width changes, every value
//             stays where it is;
//   bilinear, in reals: 2. c(i) moved into [0, in - 1]; 3. linear interpolation between floor(c) and the next pixel, along both axes;
//   bilinear, fixed_point: 2. C(i) = c(i) * 2^f by `grid_rounding` (coordinate; with float_scale c(i) is fl(i * s), half pixels
//             fl(fl(i * s) + fl(s / 2 - 1/2))), or C(0) + i * S with C(0) and S = (c(1) - c(0)) * 2^f rounded so (start_and_step), or C(0) + i * S
//             with S so and C(0) = (S >> 1) - 2^(f-1) for half pixels and else 0 (step); moved into [0, (in - 1) * 2^f]; 3. index C >> f, weight
//             w = C mod 2^f of the next pixel; 4. y = sum of q * (2^f - w or w, of height) * (2^f - w or w, of width), / 2^(2f) by `rounding`, q
//             centred by `centring`. Input and output share one quantisation; f <= 20 and 16-bit values make sums of at most 57 bits;
//   bilinear, float_by_row, float_by_weight: 2. c(i) = fl(i * s), half pixels fl(fl(fl(i + 1/2) * s) - 1/2), s as for float_scale; 3. between
//             max(floor(c), 0) and min(ceil(c), in - 1), with d = fl(c - first) and fl(1 - d) as weights: beyond the image they are of one pixel;
//             4. by_row: fl(fl(q * wy) * wx), summed upper left, lower left, upper right, lower right; by_weight: fl(q * fl(wy * wx)), summed upper
//             left, upper right, lower left, lower right; plus 1/2, truncated. fl rounds to float32, half to even.
// Shapes: [batch, height, width, channels] on both sides, batch and channels the same, no side above 2^24.
// Units: codes of one quantisation, or reals; OtherQuantization::ignored: codes of two, taken as if they were of one. Errors: shape_mismatch, bad_attribute for a scale beyond 1e-6 … 1e6; unsupported_operation where
//   the quantisations differ and the device does not ignore it, and for bilinear where the device has none.
// Sources: the definition; fixed_point with f = 8 or 16: Horizon's operator documentation names the bits, the rest is an assumption (docs/backends);
//   step, float_…: TFLite reference ResizeBilinearInteger, ResizeBilinear, GetNearestNeighbor, and ResizeBilinearGenericSmallChannel;
//   float_quotient: ONNX Runtime's Upsample, run.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// One axis of a resizing.
struct ResizeAxis {
  std::int64_t in = 1, out = 1;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  double scale = 0;  ///< 0: out / in
};

/// Step 1.
[[nodiscard]] constexpr double source_coordinate(const ResizeAxis& axis, std::int64_t index) noexcept {
  const auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out), i = static_cast<double>(index);
  const auto scaled = [&](double at) { return axis.scale > 0 ? at / axis.scale : at * in / out; };
  switch (axis.coordinates) {
    case ResizeCoordinates::asymmetric: return scaled(i);
    case ResizeCoordinates::align_corners: return axis.out == 1 ? 0.0 : i * (in - 1) / (out - 1);
    case ResizeCoordinates::half_pixel_or_zero:
      if (axis.out == 1) return 0.0;
      break;
    case ResizeCoordinates::half_pixel: break;
  }
  return scaled(i + 0.5) - 0.5;
}

/// Whether half a pixel is added.
[[nodiscard]] constexpr bool has_half_pixels(const ResizeAxis& axis) noexcept {
  return axis.coordinates == ResizeCoordinates::half_pixel || (axis.coordinates == ResizeCoordinates::half_pixel_or_zero && axis.out > 1);
}

/// s of float_scale and of float_….
[[nodiscard]] constexpr float float_scale(const ResizeAxis& axis) noexcept {
  if (axis.scale > 0) return static_cast<float>(1 / axis.scale);
  const std::int64_t less = axis.coordinates == ResizeCoordinates::align_corners && axis.out > 1 ? 1 : 0;
  return static_cast<float>(axis.in - less) / static_cast<float>(axis.out - less);
}

/// p of float_quotient.
[[nodiscard]] constexpr float float_quotient(const ResizeAxis& axis, std::int64_t index, float offset) noexcept {
  const auto i = static_cast<float>(index);
  if (axis.coordinates == ResizeCoordinates::align_corners) {
    const float product = i * static_cast<float>(axis.in - 1);
    return axis.out == 1 ? 0.0F : product / static_cast<float>(axis.out - 1);
  }
  if (axis.coordinates == ResizeCoordinates::half_pixel_or_zero && axis.out == 1) return 0.0F;
  return (i + offset) / (axis.scale > 0 ? static_cast<float>(axis.scale) : static_cast<float>(axis.out) / static_cast<float>(axis.in));
}

/// Step 2 of nearest.
[[nodiscard]] constexpr std::int64_t nearest_index(const ResizeAxis& axis, std::int64_t index, Rounding rounding,
                                                   NearestCoordinate coordinate = NearestCoordinate::exact) noexcept {
  double at = source_coordinate(axis, index);
  const float offset = has_half_pixels(axis) ? 0.5F : 0.0F;
  if (coordinate == NearestCoordinate::float_scale) {
    const float product = (static_cast<float>(index) + offset) * float_scale(axis);
    at = double{product} - double{offset};  // exact
  } else if (coordinate == NearestCoordinate::float_quotient) {
    at = double{float_quotient(axis, index, offset)} - double{offset};
    const bool has_ties = rounding == Rounding::half_up || rounding == Rounding::half_down;
    const double half = static_cast<double>(round_to_integer(at, Rounding::floor)) + 0.5;
    constexpr double beside_half = 1e-6;
    if (has_ties && at - half < beside_half && half - at < beside_half) at = half;
  }
  return std::clamp<std::int64_t>(round_to_integer(at, rounding), 0, axis.in - 1);
}

/// Step 2 of fixed_point, where the grid is of coordinates.
[[nodiscard]] constexpr double grid_coordinate(const ResizeAxis& axis, std::int64_t index, NearestCoordinate coordinate) noexcept {
  if (coordinate != NearestCoordinate::float_scale) return source_coordinate(axis, index);
  // Products and sums of two float32 in double, rounded to float32, are those of float32, and no compiler fuses them.
  const double scale = double{float_scale(axis)};
  const auto scaled = static_cast<float>(static_cast<double>(static_cast<float>(index)) * scale);
  const auto offset = static_cast<float>(0.5 * scale - 0.5);
  return has_half_pixels(axis) ? double{static_cast<float>(double{scaled} + double{offset})} : double{scaled};
}

/// The two pixels of a linear interpolation and the weight of the second.
struct LinearTap {
  std::int64_t first = 0, second = 0;
  std::int64_t weight = 0;  ///< of 2^f
};

/// Steps 2 and 3 of fixed_point.
[[nodiscard]] constexpr LinearTap linear_tap(const ResizeArithmetic& rule, const ResizeAxis& axis, std::int64_t index) noexcept {
  const auto one = static_cast<double>(std::int64_t{1} << rule.fraction_bits);
  const auto on_grid = [&](double value) { return round_to_integer(value * one, rule.grid_rounding); };
  const double start = source_coordinate(axis, 0);
  const auto first_at = [&](std::int64_t step) {
    if (rule.grid == ResizeGrid::start_and_step) return on_grid(start);
    return has_half_pixels(axis) ? (step >> 1) - (std::int64_t{1} << rule.fraction_bits >> 1) : 0;
  };
  const auto by_steps = [&](std::int64_t step) { return first_at(step) + index * step; };
  const std::int64_t at = rule.grid == ResizeGrid::coordinate ? on_grid(grid_coordinate(axis, index, rule.nearest))
                                                              : by_steps(on_grid(source_coordinate(axis, 1) - start));
  const std::int64_t inside = std::clamp<std::int64_t>(at, 0, (axis.in - 1) << rule.fraction_bits);
  const std::int64_t first = inside >> rule.fraction_bits;
  return {first, std::min(first + 1, axis.in - 1), inside - (first << rule.fraction_bits)};
}

/// Step 4, of the four values [row][column].
[[nodiscard]] constexpr std::int64_t interpolate(const ResizeArithmetic& rule, const LinearTap& row, const LinearTap& column,
                                                 std::int64_t upper_left, std::int64_t upper_right, std::int64_t lower_left,
                                                 std::int64_t lower_right) noexcept {
  const std::int64_t one = std::int64_t{1} << rule.fraction_bits;
  const std::int64_t upper = upper_left * (one - column.weight) + upper_right * column.weight;
  const std::int64_t lower = lower_left * (one - column.weight) + lower_right * column.weight;
  return shift_right(upper * (one - row.weight) + lower * row.weight, 2 * rule.fraction_bits, rule.rounding);
}

}  // namespace lastbit
