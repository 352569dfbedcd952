// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "plot.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "lastbit/error.hpp"
#include "lastbit/io/output.hpp"

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

std::string style_of(SeriesStyle style, std::size_t position, bool among_bars) {
  const std::string colour = std::to_string(position + 1);
  switch (style) {
    case SeriesStyle::points: return "points lt " + colour + " pt 7 ps " + (among_bars ? "1" : "0.5");
    case SeriesStyle::lines_and_points: return "linespoints lt " + colour + " lw 2 pt 7 ps 0.5";
    case SeriesStyle::bars: return "boxes lt " + colour;
    case SeriesStyle::lines: break;
  }
  return "lines lt " + colour + " lw 2";
}

bool is_png(const std::filesystem::path& picture) { return picture.extension() == ".png"; }

std::string terminal(std::size_t width, std::size_t height, int font_size, const std::filesystem::path& picture) {
  const std::string size = std::to_string(width) + "," + std::to_string(height);
  return "set terminal " +
         (is_png(picture) ? "pngcairo size " + size + " noenhanced" : "svg size " + size + " noenhanced background rgb 'white'") +
         " font 'sans-serif," + std::to_string(font_size) + "'\nset output " + quoted(picture.string()) + "\n";
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
  else if (plot.y_scale == AxisScale::linear)
    script << "set offsets graph 0, graph 0, graph 0.03, graph " << (plot.bars_from_zero ? 0 : 0.03) << "\n";
  if (plot.bars_from_zero && !plot.y_range) script << "set yrange [0:*]\n";
  if (plot.x_names.empty()) return;
  if (plot.bars_from_zero)
    script << "set xrange [-0.8:" << static_cast<double>(plot.x_names.size()) - 0.2 << "]\nset xtics rotate by 90 right\n";
  script << "set xtics (";
  for (std::size_t i = 0; i < plot.x_names.size(); ++i) script << (i == 0 ? "" : ", ") << quoted(plot.x_names[i]) << " " << i;
  script << ")\n";
}

[[noreturn]] void fail(const std::filesystem::path& picture, const std::string& reason) {
  throw Error(ErrorCode::unreadable_file, picture.string(), reason);
}

}  // namespace

std::string gnuplot_script(const Plot& plot, const std::filesystem::path& picture) {
  std::ostringstream script;
  script.precision(9);
  const std::size_t width = plot.bars_from_zero ? std::max<std::size_t>(760, 160 + 16 * plot.x_names.size()) : 760;
  script << terminal(width, plot.bars_from_zero ? 640 : 440, 13, picture) << "set title " << quoted(plot.title)
         << "\nset grid\nset key outside below\nset boxwidth 0.8 relative\nset style fill solid 0.6\n";
  add_axes(script, plot);
  for (std::size_t i = 0; i < plot.series.size(); ++i) add_data(script, plot.series[i], i);
  script << "plot ";
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    script << (i == 0 ? "" : ", ") << "$series" << i << " using 1:2 with " << style_of(plot.series[i].style, i, plot.bars_from_zero)
           << " title " << quoted(plot.series[i].title);
  }
  script << "\nunset output\n";
  return script.str();
}

std::string gnuplot_script(const HeatMap& map, const std::filesystem::path& picture) {
  const std::size_t side = 240 + 34 * map.names.size();
  std::ostringstream script;
  script.precision(9);
  script << terminal(side + 60, side - 60, 12, picture) << "set title " << quoted(map.title) << "\n"
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

std::string why_no_plot() {
  // The shell sees constants only; a plot goes through a pipe.
  if (std::system("command -v gnuplot >/dev/null 2>&1") == 0) return {};  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
  return "plots are drawn by gnuplot, which is not installed (Debian package gnuplot-nox)";
}

namespace {

/// A file with a name that nobody else has, removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& ending) {
    std::string name = (std::filesystem::temp_directory_path() / "lastbit-XXXXXX").string() + ending;
    const int file = ::mkstemps(name.data(), static_cast<int>(ending.size()));
    if (file < 0) fail(name, "cannot be written");
    ::close(file);
    path_ = name;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

/// What may not be replaced is not: gnuplot draws beside it.
template <class Drawing>
void run_gnuplot(const Drawing& drawing, const std::filesystem::path& picture) {
  if (const std::string reason = why_no_plot(); !reason.empty()) fail(picture, reason);
  const TemporaryFile drawn(is_png(picture) ? ".png" : ".svg");
  const std::string script = gnuplot_script(drawing, drawn.path());
  const auto before = std::signal(SIGPIPE, SIG_IGN);            // a gnuplot that ends early is an error, not the end of this program
  std::FILE* pipe = ::popen("gnuplot - >/dev/null 2>&1", "w");  // NOLINT(cert-env33-c)
  const bool written = pipe != nullptr && std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
  const bool done = pipe != nullptr && ::pclose(pipe) == 0 && written;
  std::signal(SIGPIPE, before);
  if (!done) fail(picture, "gnuplot refused the plot '" + drawing.title + "'");
  write_text_file(picture, drawn.content());
}

}  // namespace

void draw(const Plot& plot, const std::filesystem::path& picture) { run_gnuplot(plot, picture); }
void draw(const HeatMap& map, const std::filesystem::path& picture) { run_gnuplot(map, picture); }

}  // namespace lastbit::tool
