// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Piecewise-linear tables for GNA: which lines approximate a function, and how the device stores them.
//
//   const auto segments = gna::table(gna::logistic_curve(), sums.scale, 1.0 / 32768);   // for pwl() of lastbit/core.hpp
//
// Source: OpenVINO's GNA plugin, make_pwl.cpp and pwl_*, read (docs/backends/gna.md). Domains of the functions are our choice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/arith/pwl.hpp"
#include "lastbit/error.hpp"

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

/// Beyond 10 it counts as flat.
[[nodiscard]] inline SmoothFunction logistic_curve() {
  const auto value = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {value, [value](double x) { return value(x) * (1 - value(x)); }, {-10, 0, 10}};
}
/// Beyond 5 it counts as flat.
[[nodiscard]] inline SmoothFunction tanh_curve() {
  const auto value = [](double x) { return std::tanh(x); };
  return {value, [value](double x) { return 1 - value(x) * value(x); }, {-5, 0, 5}};
}

/// Flat segments before and behind, where the outer lines leave 16 bits, in place of the device's saturation.
enum class FlatEnds : std::uint8_t { none, added };

/// The slope that a table would store for y = x, and its shift: what decides between two output factors.
struct EncodedSlope {
  std::int64_t slope = 0;
  int selector = 0;
};

namespace detail {

inline constexpr double lowest_code = -32768, highest_code = 32767;
inline constexpr int bisections = 60;

/// The x in [low, high] where a rising condition turns true, or high.
template <class Condition>
double first_where(double low, double high, Condition condition) {
  for (int i = 0; i < bisections; ++i) {
    const double middle = low + (high - low) / 2;
    (condition(middle) ? high : low) = middle;
  }
  return high;
}

/// Tangents to one convex or concave piece.
class Piece {
 public:
  Piece(const SmoothFunction& function, double begin, double end) : function_(function), begin_(begin), end_(end) {}

  /// Lines whose error grows from 0 at the tangent's point to `ripple` at both ends, from the piece's beginning on, at most `most`.
  [[nodiscard]] std::vector<Line> with_ripple(double ripple, std::size_t most) const {
    std::vector<Line> lines;
    for (double from = begin_; from < end_ && lines.size() < most;) {
      const double touch = first_where(from, end_, [&](double t) { return error(t, from) >= ripple; });
      lines.push_back({from, function_.slope(touch), function_.value(touch) - function_.slope(touch) * touch});
      if (error(touch, end_) <= ripple) return lines;
      from = first_where(touch, end_, [&](double x) { return error(touch, x) >= ripple; });
    }
    lines.push_back({end_, 0, 0});  // one too many: not reached
    return lines;
  }

  /// The least ripple that `count` lines reach.
  [[nodiscard]] double ripple_of(std::size_t count) const {
    double least = 0, most = std::abs(function_.value(end_) - function_.value(begin_));
    for (int i = 0; i < bisections; ++i) {
      const double middle = (least + most) / 2;
      (with_ripple(middle, count).size() <= count ? most : least) = middle;
    }
    return most;
  }

  /// The error of a tangent has the same sign on the whole piece.
  [[nodiscard]] double sign() const {
    const double middle = (begin_ + end_) / 2;
    const double tangent = function_.value(middle) + function_.slope(middle) * (end_ - middle);
    return function_.value(end_) >= tangent ? 1 : -1;
  }

 private:
  [[nodiscard]] double error(double touch, double x) const {
    return std::abs(function_.value(x) - function_.value(touch) - function_.slope(touch) * (x - touch));
  }
  const SmoothFunction& function_;
  double begin_, end_;
};

[[nodiscard]] inline double range_of_values(const SmoothFunction& function) {
  constexpr int samples = 500;
  const double begin = function.pieces.front(), end = function.pieces.back();
  double low = function.value(begin), high = low;
  for (int i = 1; i < samples; ++i) {
    const double value = function.value(begin + (end - begin) * i / (samples - 1));
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return high - low;
}

[[nodiscard]] inline std::int64_t half_away(double value) {
  return static_cast<std::int64_t>(std::trunc(value + (value > 0 ? 0.5 : -0.5)));
}

[[nodiscard]] inline std::int64_t clamped(double value, double low, double high) { return half_away(std::clamp(value, low, high)); }

/// Where the outer lines meet the ends of 16 bits.
inline void end_lines(std::vector<Line>& lines, double output_factor, FlatEnds ends) {
  const auto x_of = [](const Line& line, double y) { return (y - line.offset) / line.slope; };
  const double low = lowest_code / output_factor, high = highest_code / output_factor;
  const Line last = lines.back(), first = lines.front();
  if (ends == FlatEnds::added && last.slope != 0) {
    const double end = last.slope > 0 ? high : low;
    lines.push_back({x_of(last, end), 0, end});
  }
  if (first.slope == 0) return;
  const double begin = first.slope > 0 ? low : high;
  lines.front().from = x_of(first, begin);
  if (ends == FlatEnds::added) lines.insert(lines.begin(), {-std::numeric_limits<double>::infinity(), 0, begin});
}

}  // namespace detail

inline constexpr std::size_t most_segments = 128;

/// Tangents with equal ripple: each piece gets 1, 2, 3, … lines, all with the same largest error, half of which is then taken off, until the
/// error is at most max_error_percent of max - min. A flat line stands before and after. Throws Error where 128 segments do not suffice.
[[nodiscard]] inline std::vector<Line> design_pwl(const SmoothFunction& function, double max_error_percent) {
  const double range = detail::range_of_values(function);
  const std::size_t pieces = function.pieces.size() - 1;
  for (std::size_t count = 1; count * pieces + 2 <= most_segments; ++count) {
    double ripple = 0;
    for (std::size_t i = 0; i < pieces; ++i)
      ripple = std::max(ripple, detail::Piece(function, function.pieces[i], function.pieces[i + 1]).ripple_of(count));
    if (100 * ripple / 2 / range > max_error_percent) continue;
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<Line> lines{{-infinity, 0, function.value(function.pieces.front())}};
    for (std::size_t i = 0; i < pieces; ++i) {
      const detail::Piece piece(function, function.pieces[i], function.pieces[i + 1]);
      const double own = piece.ripple_of(count);
      for (Line line : piece.with_ripple(own, count)) {
        line.offset += piece.sign() * own / 2;
        lines.push_back(line);
      }
    }
    lines.push_back({function.pieces.back(), 0, function.value(function.pieces.back())});
    return lines;
  }
  throw Error(ErrorCode::bad_input, "pwl", "128 segments do not approximate the function to " + std::to_string(max_error_percent) + " %");
}

[[nodiscard]] inline EncodedSlope encode_slope(double slope, double input_factor, double output_factor) {
  const double ratio = slope * output_factor / input_factor;
  for (int selector = 3; selector > 0; --selector) {
    const double scaled = std::ldexp(ratio, 8 * (selector + 1));
    if (scaled <= detail::highest_code && scaled >= detail::lowest_code) return {detail::half_away(scaled), selector};
  }
  return {detail::clamped(std::ldexp(ratio, 8), detail::lowest_code, detail::highest_code), 0};
}

/// The device's segments; x and y in units of 1/input_factor and 1/output_factor.
///   base = trunc(x * input_factor) & ~3; y base and slope half away from zero; the shift is the largest of 32, 24, 16, 8 with which
///   slope * output_factor / input_factor * 2^shift fits 16 bits. The first line begins at the least int32 or, where it is steep, where it
///   enters 16 bits: the device holds its first value before.
[[nodiscard]] inline std::vector<PwlSegment> pwl_segments(std::vector<Line> lines, double input_factor, double output_factor,
                                                          FlatEnds ends) {
  constexpr double lowest_base = -0x1p31, highest_base = 0x1p31 - 1;
  detail::end_lines(lines, output_factor, ends);
  std::vector<PwlSegment> segments;
  std::int64_t previous = std::numeric_limits<std::int64_t>::min();
  for (const Line& line : lines) {
    const double scaled = std::trunc(line.from * input_factor);
    if (scaled > highest_base) break;
    const double from = std::max(scaled, lowest_base);
    const std::int64_t base = static_cast<std::int64_t>(from) & ~std::int64_t{3};
    if (base <= previous) segments.pop_back();  // too close together for the device: the later one counts
    const EncodedSlope slope = encode_slope(line.slope, input_factor, output_factor);
    const double x = scaled < lowest_base ? lowest_base / input_factor : line.from;
    const double y = line.slope == 0 ? line.offset : line.slope * x + line.offset;
    const std::int64_t value = detail::clamped(y * output_factor, detail::lowest_code, detail::highest_code);
    segments.push_back(pwl_segment(static_cast<std::int32_t>(base | slope.selector), static_cast<std::int16_t>(value),
                                   static_cast<std::int16_t>(slope.slope)));
    previous = base;
  }
  return segments;
}

/// From codes of one scale to codes of another, by lines of real numbers.
[[nodiscard]] inline std::vector<PwlSegment> table(std::vector<Line> lines, double input_scale, double output_scale, FlatEnds ends) {
  if (!(input_scale > 0) || !(output_scale > 0)) throw Error(ErrorCode::bad_quantization, "gna::table", "a scale that is not above 0");
  return pwl_segments(std::move(lines), 1 / input_scale, 1 / output_scale, ends);
}
/// The same by the fewest lines that keep a curve within max_error_percent of max - min: 1 is the plugin's default.
[[nodiscard]] inline std::vector<PwlSegment> table(const SmoothFunction& function, double input_scale, double output_scale,
                                                   double max_error_percent = 1) {
  return table(design_pwl(function, max_error_percent), input_scale, output_scale, FlatEnds::none);
}

}  // namespace lastbit::gna
