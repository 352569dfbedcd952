// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "gna/toolchain/pwl_design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lastbit/error.hpp"

namespace lastbit::gna {
namespace {

constexpr double lowest_code = -32768, highest_code = 32767;
constexpr int bisections = 60;

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

double range_of_values(const SmoothFunction& function) {
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

std::int64_t half_away(double value) { return static_cast<std::int64_t>(std::trunc(value + (value > 0 ? 0.5 : -0.5))); }

std::int64_t clamped(double value, double low, double high) { return half_away(std::clamp(value, low, high)); }

/// Where the outer lines meet the ends of 16 bits.
void end_lines(std::vector<Line>& lines, double output_factor, FlatEnds ends) {
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

}  // namespace

std::vector<Line> design_pwl(const SmoothFunction& function, double max_error_percent) {
  const double range = range_of_values(function);
  const std::size_t pieces = function.pieces.size() - 1;
  for (std::size_t count = 1; count * pieces + 2 <= most_segments; ++count) {
    double ripple = 0;
    for (std::size_t i = 0; i < pieces; ++i)
      ripple = std::max(ripple, Piece(function, function.pieces[i], function.pieces[i + 1]).ripple_of(count));
    if (100 * ripple / 2 / range > max_error_percent) continue;
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<Line> lines{{-infinity, 0, function.value(function.pieces.front())}};
    for (std::size_t i = 0; i < pieces; ++i) {
      const Piece piece(function, function.pieces[i], function.pieces[i + 1]);
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

EncodedSlope encode_slope(double slope, double input_factor, double output_factor) {
  const double ratio = slope * output_factor / input_factor;
  for (int selector = 3; selector > 0; --selector) {
    const double scaled = std::ldexp(ratio, 8 * (selector + 1));
    if (scaled <= highest_code && scaled >= lowest_code) return {half_away(scaled), selector};
  }
  return {clamped(std::ldexp(ratio, 8), lowest_code, highest_code), 0};
}

Tensor pwl_table(std::vector<Line> lines, double input_factor, double output_factor, FlatEnds ends) {
  constexpr double lowest_base = -0x1p31, highest_base = 0x1p31 - 1;
  end_lines(lines, output_factor, ends);
  std::vector<std::int32_t> records;
  std::int64_t previous = std::numeric_limits<std::int64_t>::min();
  for (const Line& line : lines) {
    const double scaled = std::trunc(line.from * input_factor);
    if (scaled > highest_base) break;
    const double from = std::max(scaled, lowest_base);
    const std::int64_t base = static_cast<std::int64_t>(from) & ~std::int64_t{3};
    if (base <= previous) records.resize(records.size() - 3);  // too close together for the device: the later one counts
    const EncodedSlope slope = encode_slope(line.slope, input_factor, output_factor);
    const double x = scaled < lowest_base ? lowest_base / input_factor : line.from;
    const double y = line.slope == 0 ? line.offset : line.slope * x + line.offset;
    records.push_back(static_cast<std::int32_t>(base | slope.selector));
    records.push_back(static_cast<std::int32_t>(clamped(y * output_factor, lowest_code, highest_code)));
    records.push_back(static_cast<std::int32_t>(slope.slope));
    previous = base;
  }
  const auto rows = static_cast<std::int64_t>(records.size()) / 3;
  return Tensor::from<std::int32_t>({rows, 3}, records);
}

}  // namespace lastbit::gna
