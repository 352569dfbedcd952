// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "report/drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "report/html.hpp"

namespace lastbit::tool {
namespace {

struct Level {
  double above;
  const char* meaning;
};
constexpr std::array<Level, 6> levels{
    {{-1, "equal"}, {0, "up to 0.1 %"}, {0.001, "up to 1 %"}, {0.01, "up to 10 %"}, {0.1, "up to 50 %"}, {0.5, "more"}}};

/// A coordinate: at most two places behind the point, and none that says nothing.
std::string at(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  std::string found = text.data();
  found.erase(found.find_last_not_of('0') + 1);
  if (found.ends_with('.')) found.pop_back();
  return found == "-0" ? "0" : found;
}

std::string figure_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

std::string svg(double width, double height, const std::string& kind, const std::string& meaning, const std::string& content) {
  return "<svg class=\"" + kind + "\" role=\"img\" aria-label=\"" + escaped(meaning) + "\" viewBox=\"0 0 " + at(width) + " " + at(height) +
         "\" width=\"" + at(width) + "\" height=\"" + at(height) + "\">" + content + "</svg>";
}

std::string rectangle(const std::string& kind, double x, double y, double width, double height, const std::string& title = {}) {
  const std::string body =
      " class=\"" + kind + "\" x=\"" + at(x) + "\" y=\"" + at(y) + "\" width=\"" + at(width) + "\" height=\"" + at(height) + "\"";
  return "<rect" + body + (title.empty() ? "/>" : "><title>" + escaped(title) + "</title></rect>");
}

std::string words(double x, double y, const std::string& kind, const std::string& text, const std::string& more = {}) {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" class=\"" + kind + "\"" + more + ">" + escaped(text) + "</text>";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& kind) {
  return "<path class=\"" + kind + "\" d=\"M" + at(x1) + " " + at(y1) + "L" + at(x2) + " " + at(y2) + "\"/>";
}

// ---- Axes ----

struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  bool whole = true;        ///< every value is an integer
  double from = 0, to = 1;  ///< on the picture

  [[nodiscard]] double place(double value) const {
    const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + share * (to - from);
  }
  /// 1, 2 or 5 times a power of ten apart; powers of ten of a logarithmic axis.
  [[nodiscard]] std::vector<double> ticks(int about) const {
    std::vector<double> found;
    if (logarithmic) {
      const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
      const double step = std::max(1.0, std::ceil((last - first) / about));
      for (double power = first; power <= last; power += step)
        if (const double value = std::pow(10, power); value >= low && value <= high) found.push_back(value);
      return found;
    }
    const double rough = (high - low) / about, power = std::pow(10, std::floor(std::log10(rough)));
    const double nice = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
    const double step = whole ? std::max(1.0, nice) : nice;
    for (double value = std::ceil(low / step); value * step <= high * (1 + 1e-12); ++value) found.push_back(value * step);
    return found;
  }
};

bool is_drawn(double value, AxisScale scale) { return std::isfinite(value) && (scale == AxisScale::linear || value > 0); }

/// Over all series, with a little room; `given` is taken as it is.
Axis axis_of(const Plot& plot, std::vector<double> Series::*values, AxisScale scale, const std::optional<std::array<double, 2>>& given) {
  Axis axis{.low = std::numeric_limits<double>::infinity(), .high = -std::numeric_limits<double>::infinity()};
  axis.logarithmic = scale == AxisScale::logarithmic;
  for (const Series& series : plot.series) {
    for (const double value : series.*values) {
      if (!is_drawn(value, scale)) continue;
      axis.low = std::min(axis.low, value);
      axis.high = std::max(axis.high, value);
      axis.whole = axis.whole && value == std::floor(value);
    }
  }
  if (given) axis.low = (*given)[0], axis.high = (*given)[1];
  if (axis.low > axis.high) axis.low = axis.logarithmic ? 0.1 : 0, axis.high = 1;
  if (axis.low == axis.high) axis.logarithmic ? axis.high *= 10 : axis.high += 1;
  return axis;
}

constexpr double left_edge = 60, right_edge = 12, top_edge = 12;

struct Frame {
  double width = 900, height = 280;
  Axis x, y;
};

std::string mark(const Series& series, std::size_t number, double x, double y, const std::string& title) {
  return "<circle class=\"s" + std::to_string(number) + " mark\" cx=\"" + at(x) + "\" cy=\"" + at(y) + "\" r=\"3.5\"><title>" +
         escaped(series.title + ", " + title) + "</title></circle>";
}

std::string name_at(const Plot& plot, double x) {
  const auto position = static_cast<std::size_t>(std::max(0.0, x));
  return plot.x_names.empty() ? figure_text(x) : position < plot.x_names.size() ? plot.x_names[position] : "";
}

std::string bars_of(const Plot& plot, const Series& series, std::size_t number, const Frame& frame, std::size_t beside, std::size_t all) {
  const double step = std::abs(frame.x.place(1) - frame.x.place(0));
  const double width = std::max(1.0, 0.8 * step / static_cast<double>(all));
  std::string text;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!is_drawn(series.y[i], plot.y_scale) || series.y[i] == 0) continue;
    const double x = frame.x.place(series.x[i]) - 0.4 * step + static_cast<double>(beside) * width;
    const double zero = frame.y.logarithmic ? frame.y.from : frame.y.place(std::clamp(0.0, frame.y.low, frame.y.high));
    const double y = frame.y.place(series.y[i]);
    text += rectangle("s" + std::to_string(number), x, std::min(y, zero), width, std::max(1.0, std::abs(zero - y)),
                      name_at(plot, series.x[i]) + ": " + figure_text(series.y[i]));
  }
  return text;
}

std::string curve_of(const Plot& plot, const Series& series, std::size_t number, const Frame& frame) {
  std::string path, marks;
  bool pen_down = false;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!is_drawn(series.y[i], plot.y_scale) || !is_drawn(series.x[i], plot.x_scale)) {
      pen_down = false;
      continue;
    }
    const double x = frame.x.place(series.x[i]), y = frame.y.place(series.y[i]);
    path += (pen_down ? "L" : "M") + at(x) + " " + at(y);
    pen_down = true;
    if (series.style != SeriesStyle::lines)
      marks += mark(series, number, x, y, name_at(plot, series.x[i]) + ": " + figure_text(series.y[i]));
  }
  if (series.style == SeriesStyle::points) return marks;
  return "<path class=\"s" + std::to_string(number) + " curve\" d=\"" + path + "\"/>" + marks;
}

std::string axes_of(const Plot& plot, const Frame& frame, bool names_upright) {
  std::string text;
  for (const double value : frame.y.ticks(5)) {
    const double y = frame.y.place(value);
    text += line(left_edge, y, frame.width - right_edge, y, "rule") + words(left_edge - 6, y + 4, "tick end", figure_text(value));
  }
  if (plot.x_names.empty()) {
    for (const double value : frame.x.ticks(8)) text += words(frame.x.place(value), frame.y.from + 16, "tick mid", figure_text(value));
  } else if (names_upright) {
    for (std::size_t i = 0; i < plot.x_names.size(); ++i) {
      const double x = frame.x.place(static_cast<double>(i)) + 3, y = frame.y.from + 10;
      text += words(x, y, "tick end", plot.x_names[i], " transform=\"rotate(-40 " + at(x) + " " + at(y) + ")\"");
    }
  } else {
    const std::size_t step = plot.x_names.size() / 30 + 1;
    for (std::size_t i = 0; i < plot.x_names.size(); i += step)
      text += words(frame.x.place(static_cast<double>(i)), frame.y.from + 16, "tick mid", std::to_string(i + 1));
  }
  text += words(14, (frame.y.from + frame.y.to) / 2, "tick mid", plot.y_label,
                " transform=\"rotate(-90 14 " + at((frame.y.from + frame.y.to) / 2) + ")\"");
  const std::string below = plot.x_names.empty() ? plot.x_label : names_upright ? "" : "position in the table";
  if (!below.empty()) text += words((left_edge + frame.width) / 2, frame.height - 4, "tick mid", below);
  return text + line(left_edge, frame.y.from, frame.width - right_edge, frame.y.from, "axis");
}

// ---- The network ----

/// Where a node stands: its row from the top, its lane from the left.
struct Seat {
  std::size_t row = 0, lane = 0;
};

std::vector<Seat> seats_of(const Graph& graph) {
  std::vector<Seat> seats(graph.nodes.size());
  std::vector<std::vector<bool>> taken;  // by row and lane
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Seat& seat = seats[n];
    for (const std::size_t from : graph.nodes[n].reads) {
      if (seats[from].row < seat.row && seat.row > 0) continue;
      seat = {seats[from].row + 1, seats[from].lane};  // below the lowest of those it reads
    }
    if (taken.size() <= seat.row) taken.resize(seat.row + 1);
    std::vector<bool>& lanes = taken[seat.row];
    const auto is_taken = [&](std::size_t lane) { return lane < lanes.size() && lanes[lane]; };
    if (is_taken(seat.lane)) seat.lane = 0;
    while (is_taken(seat.lane)) ++seat.lane;
    if (lanes.size() <= seat.lane) lanes.resize(seat.lane + 1);
    lanes[seat.lane] = true;
  }
  return seats;
}

/// Lanes beside the nodes for edges that run past a row.
class Gutter {
 public:
  std::size_t take(std::size_t from, std::size_t to) {
    std::size_t lane = 0;
    while (lane < ends_.size() && ends_[lane] > from) ++lane;
    if (lane == ends_.size()) ends_.push_back(0);
    ends_[lane] = to;
    return lane;
  }
  [[nodiscard]] std::size_t lanes() const { return ends_.size(); }

 private:
  std::vector<std::size_t> ends_;  ///< the row where each is free again
};

constexpr double node_width = 300, node_height = 24, row_height = 42, lane_width = node_width + 24;

std::string node_text(const Graph::Node& node, double x, double y) {
  constexpr std::size_t longest = 36;
  std::string name = node.name;  // its end says more than its beginning
  if (const std::size_t room = longest - std::min(longest - 8, node.label.size()); name.size() > room) {
    std::size_t cut = name.size() - room + 1;
    while (cut < name.size() && (static_cast<unsigned char>(name[cut]) & 0xC0U) == 0x80) ++cut;
    name = "…" + name.substr(cut);
  }
  const std::string level = node.share ? "l" + std::to_string(level_of(*node.share)) : "lx";
  static constexpr std::array<const char*, 4> standings{"", "equal", "differs", "open"};
  return "<g class=\"node item\" data-name=\"" + escaped(node.subject.name) + "\" data-at=\"" +
         standings[static_cast<std::size_t>(node.subject.standing)] + "\"><title>" +
         escaped(node.label + " " + node.name + "\n" + node.detail) + "</title>" +
         rectangle("box " + level, x, y, node_width, node_height) + words(x + 8, y + 16, "on" + level, node.label + " " + name) +
         words(x + node_width - 8, y + 16, "end on" + level, node.share ? share_cell(*node.share).text : "") + "</g>";
}

}  // namespace

int level_of(double share) {
  int level = 0;
  while (level + 1 < static_cast<int>(levels.size()) && share > levels[static_cast<std::size_t>(level) + 1].above) ++level;
  return level;
}

std::string legend_of_levels() {
  std::string text = "<p class=\"legend\">values that differ:";
  for (std::size_t i = 0; i < levels.size(); ++i)
    text += " <span><i class=\"l" + std::to_string(i) + "\"></i>" + levels[i].meaning + "</span>";
  return text + "</p>";
}

std::string small_bars(const std::vector<std::int64_t>& counts) {
  constexpr double width = 6, height = 14;
  const auto largest = static_cast<double>(std::max<std::int64_t>(1, counts.empty() ? 0 : *std::ranges::max_element(counts)));
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double tall = std::ceil(height * static_cast<double>(counts[i]) / largest);
    if (counts[i] > 0) text += rectangle("s1", static_cast<double>(i) * width, height - tall, width - 1, tall);
  }
  return svg(width * static_cast<double>(counts.size()), height, "small", "bars", text);
}

std::string svg_of(const Plot& plot) {
  constexpr std::size_t most_upright = 28;
  const bool names_upright = !plot.x_names.empty() && plot.x_names.size() <= most_upright;
  Frame frame{.x = axis_of(plot, &Series::x, plot.x_scale, plot.x_range), .y = axis_of(plot, &Series::y, plot.y_scale, plot.y_range)};
  if (!plot.y_range && plot.bars_from_zero) frame.y.low = std::min(0.0, frame.y.low);
  if (!plot.y_range && !frame.y.logarithmic) {
    const double room = 0.05 * (frame.y.high - frame.y.low);
    frame.y.high += room;
    if (!plot.bars_from_zero) frame.y.low -= room;
  }
  if (!plot.x_names.empty()) frame.x.low = -0.6, frame.x.high = static_cast<double>(plot.x_names.size()) - 0.4;
  if (names_upright) frame.height = 360;
  frame.x.from = left_edge, frame.x.to = frame.width - right_edge;
  frame.y.from = frame.height - (names_upright ? 130 : 40), frame.y.to = top_edge;
  std::string text = axes_of(plot, frame, names_upright);
  const auto bar_series = static_cast<std::size_t>(std::ranges::count(plot.series, SeriesStyle::bars, &Series::style));
  std::size_t beside = 0;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    text += series.style == SeriesStyle::bars ? bars_of(plot, series, i + 1, frame, beside++, bar_series)
                                              : curve_of(plot, series, i + 1, frame);
  }
  std::string legend;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const bool is_round = plot.series[i].style == SeriesStyle::points;
    legend +=
        "<span><i class=\"s" + std::to_string(i + 1) + (is_round ? " round" : "") + "\"></i>" + escaped(plot.series[i].title) + "</span> ";
  }
  return svg(frame.width, frame.height, "plot", plot.title, text) + "<figcaption>" + legend + "</figcaption>";
}

std::string svg_of(const Histogram& histogram) {
  constexpr double step = 30, height = 84, foot = 16, head = 12;
  const auto largest = static_cast<double>(std::max<std::int64_t>(1, *std::ranges::max_element(histogram.counts)));
  std::string text;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const auto count = static_cast<double>(histogram.counts[i]);
    const double x = step * static_cast<double>(i), tall = (height - head - foot) * std::log1p(count) / std::log1p(largest);
    const bool is_zero = histogram.names[i] == "0";
    if (count > 0) text += rectangle(is_zero ? "same" : "s1", x + 2, height - foot - tall, step - 4, tall);
    text += words(x + step / 2, height - 4, "tick mid", histogram.names[i]);
    std::array<char, 16> shown{};
    if (count < 10000) std::snprintf(shown.data(), shown.size(), "%.0f", count);
    else std::snprintf(shown.data(), shown.size(), count < 1e6 ? "%.0fk" : "%.1fM", count / (count < 1e6 ? 1e3 : 1e6));
    if (count > 0) text += words(x + step / 2, height - foot - tall - 2, "tick mid", shown.data());
  }
  return svg(step * static_cast<double>(histogram.counts.size()), height, "counts", histogram.title, text);
}

std::string svg_of(const Grid& grid) {
  constexpr double widest = 192, largest_cell = 16;
  const auto rows = static_cast<double>(grid.rows), columns = static_cast<double>(grid.columns);
  const double side = std::max(grid.rows == 1 ? 3.0 : 1.0, std::min(largest_cell, std::floor(widest / std::max(rows, columns))));
  const double height = grid.rows == 1 ? std::max(side, 14.0) : side;
  std::array<std::string, levels.size()> paths;  // a run of equal cells is one rectangle
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t first = 0, end = 0; first < grid.columns; first = end) {
      const int level = level_of(grid.shares[row * grid.columns + first]);
      for (end = first + 1; end < grid.columns && level_of(grid.shares[row * grid.columns + end]) == level;) ++end;
      if (level == 0) continue;
      const double wide = side * static_cast<double>(end - first);
      paths[static_cast<std::size_t>(level)] += "M" + at(side * static_cast<double>(first)) + " " + at(height * static_cast<double>(row)) +
                                                "h" + at(wide) + "v" + at(height) + "h" + at(-wide) + "z";
    }
  }
  std::string text = rectangle("l0", 0, 0, side * columns, height * rows);
  for (std::size_t level = 1; level < paths.size(); ++level)
    if (!paths[level].empty()) text += "<path class=\"l" + std::to_string(level) + "\" d=\"" + paths[level] + "\"/>";
  return svg(side * columns, height * rows, "grid", grid.title, text);
}

std::string svg_of(const Graph& graph) {
  const std::vector<Seat> seats = seats_of(graph);
  std::size_t rows = 0, lanes = 0;
  for (const Seat& seat : seats) rows = std::max(rows, seat.row + 1), lanes = std::max(lanes, seat.lane + 1);
  const auto left_of = [](const Seat& seat) { return 4 + lane_width * static_cast<double>(seat.lane); };
  const auto top_of = [](const Seat& seat) { return 4 + row_height * static_cast<double>(seat.row); };
  const double beside = 4 + lane_width * static_cast<double>(lanes) - 12;
  Gutter gutter;
  std::string edges, nodes;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const double end_x = left_of(seats[n]) + node_width / 2, end_y = top_of(seats[n]);
    for (const std::size_t from : graph.nodes[n].reads) {
      const double x = left_of(seats[from]) + node_width / 2, y = top_of(seats[from]) + node_height;
      const double gap = row_height - node_height;
      std::string path = "M" + at(x) + " " + at(y);
      if (seats[n].row == seats[from].row + 1) {
        path += x == end_x ? "V" + at(end_y)
                           : "C" + at(x) + " " + at(y + gap) + " " + at(end_x) + " " + at(end_y - gap) + " " + at(end_x) + " " + at(end_y);
      } else {
        const double lane = beside + 9 * static_cast<double>(gutter.take(seats[from].row, seats[n].row));
        path = "M" + at(x + 40) + " " + at(y) + "v" + at(gap / 3) + "H" + at(lane) + "V" + at(end_y - gap / 3) + "H" + at(end_x + 40) +
               "V" + at(end_y);
      }
      edges += "<path class=\"edge\" d=\"" + path + "\"/>";
    }
    nodes += node_text(graph.nodes[n], left_of(seats[n]), top_of(seats[n]));
  }
  const double width = beside + 9 * static_cast<double>(gutter.lanes()) + 8, height = 8 + row_height * static_cast<double>(rows);
  return svg(width, height, "network", "the network", edges + nodes);
}

}  // namespace lastbit::tool
