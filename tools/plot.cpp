// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "plot.hpp"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "lastbit/error.hpp"

namespace lastbit::tool {
namespace {

/// gnuplot expands nothing in single quotes; a quote is written twice, and a line ends the command.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += "''";
    else result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result + "'";
}

std::string style_of(SeriesStyle style, std::size_t position) {
  const std::string colour = std::to_string(position + 1);
  switch (style) {
    case SeriesStyle::points: return "points lt " + colour + " pt 7 ps 0.5";
    case SeriesStyle::lines_and_points: return "linespoints lt " + colour + " lw 2 pt 7 ps 0.5";
    case SeriesStyle::bars: return "boxes lt " + colour;
    case SeriesStyle::lines: break;
  }
  return "lines lt " + colour + " lw 2";
}

void add_data(std::ostringstream& script, const Series& series, std::size_t position) {
  script << "$series" << position << " << END\n";
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (std::isfinite(series.x[i]) && std::isfinite(series.y[i])) script << series.x[i] << " " << series.y[i];
    script << "\n";  // an empty line breaks the curve
  }
  script << "END\n";
}

void add_axes(std::ostringstream& script, const Plot& plot) {
  script << "set xlabel " << quoted(plot.x_label) << "\nset ylabel " << quoted(plot.y_label) << "\n";
  if (plot.x_scale == AxisScale::logarithmic) script << "set logscale x\n";
  if (plot.y_scale == AxisScale::logarithmic) script << "set logscale y\n";
  if (plot.x_range) script << "set xrange [" << (*plot.x_range)[0] << ":" << (*plot.x_range)[1] << "]\n";
  if (plot.y_range) script << "set yrange [" << (*plot.y_range)[0] << ":" << (*plot.y_range)[1] << "]\n";
  if (plot.x_names.empty()) return;
  script << "set xtics (";
  for (std::size_t i = 0; i < plot.x_names.size(); ++i) script << (i == 0 ? "" : ", ") << quoted(plot.x_names[i]) << " " << i;
  script << ")\n";
}

[[noreturn]] void fail(const std::filesystem::path& svg, const std::string& reason) {
  throw Error(ErrorCode::unreadable_file, svg.string(), reason);
}

}  // namespace

std::string gnuplot_script(const Plot& plot, const std::filesystem::path& svg) {
  std::ostringstream script;
  script.precision(9);
  script << "set terminal svg size 760,440 noenhanced background rgb 'white' font 'sans-serif,13'\n"
         << "set output " << quoted(svg.string()) << "\n"
         << "set title " << quoted(plot.title)
         << "\nset grid\nset key outside below\nset boxwidth 0.8 relative\nset style fill solid 0.6\n";
  add_axes(script, plot);
  for (std::size_t i = 0; i < plot.series.size(); ++i) add_data(script, plot.series[i], i);
  script << "plot ";
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    script << (i == 0 ? "" : ", ") << "$series" << i << " using 1:2 with " << style_of(plot.series[i].style, i) << " title "
           << quoted(plot.series[i].title);
  }
  script << "\nunset output\n";
  return script.str();
}

std::string gnuplot_script(const HeatMap& map, const std::filesystem::path& svg) {
  const std::size_t side = 240 + 34 * map.names.size();
  std::ostringstream script;
  script.precision(9);
  script << "set terminal svg size " << side + 60 << "," << side - 60 << " noenhanced background rgb 'white' font 'sans-serif,12'\n"
         << "set output " << quoted(svg.string()) << "\nset title " << quoted(map.title) << "\n"
         << "set palette defined (0 '#e4eef8', 0.5 '#5b9bd5', 1 '#1f3f73')\nset logscale cb\nset format cb '%g'\n"
         << "set tics scale 0\nunset key\nset size ratio 1\nset yrange [] reverse\nset xtics rotate by 90 right\n";
  for (const char axis : {'x', 'y'}) {
    script << "set " << axis << "tics (";
    for (std::size_t i = 0; i < map.names.size(); ++i) script << (i == 0 ? "" : ", ") << quoted(map.names[i]) << " " << i;
    script << ")\n";
  }
  script << "$cells << END\n";
  for (const std::vector<double>& row : map.values) {
    for (const double value : row) value > 0 ? script << value << " " : script << "NaN ";
    script << "\n";
  }
  script << "END\nplot $cells matrix with image pixels\nunset output\n";
  return script.str();
}

namespace {

void run_gnuplot(const std::string& script, const std::string& title, const std::filesystem::path& svg) {
  // The shell sees these constants only; the plot goes through the pipe.
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0) {  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    fail(svg, "plots are drawn by gnuplot, which is not installed (Debian package gnuplot-nox)");
  }
  if (std::FILE* file = std::fopen(svg.c_str(), "wb")) std::fclose(file);
  else fail(svg, "cannot be written");
  const auto before = std::signal(SIGPIPE, SIG_IGN);            // a gnuplot that ends early is an error, not the end of this program
  std::FILE* pipe = ::popen("gnuplot - >/dev/null 2>&1", "w");  // NOLINT(cert-env33-c)
  const bool written = pipe != nullptr && std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
  const bool done = pipe != nullptr && ::pclose(pipe) == 0 && written;
  std::signal(SIGPIPE, before);
  if (!done) fail(svg, "gnuplot refused the plot '" + title + "'");
}

}  // namespace

void draw(const Plot& plot, const std::filesystem::path& svg) { run_gnuplot(gnuplot_script(plot, svg), plot.title, svg); }
void draw(const HeatMap& map, const std::filesystem::path& svg) { run_gnuplot(gnuplot_script(map, svg), map.title, svg); }

}  // namespace lastbit::tool
