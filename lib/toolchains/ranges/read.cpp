// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <system_error>
#include <utility>

#include "formats/file.hpp"
#include "lastbit/printable.hpp"
#include "toolchains/ranges/forms.hpp"

namespace lastbit {
namespace ranges {
namespace {

/// Of everything but models: thousands of tensors fit a hundredth of it.
constexpr std::uintmax_t largest_file = 16U << 20U;
constexpr std::size_t recognised_by = 4096;                          // bytes
constexpr double largest_real = 1e30, smallest_real = 1e-30;         // magnitudes of a range; scales of them are normal float32
constexpr double largest_scale = 0x1p30, smallest_scale = 0x1p-126;  // of any model

bool is_usable(double magnitude) { return magnitude == 0 || (magnitude >= smallest_real && magnitude <= largest_real); }

[[noreturn]] void fail_at(const TensorRange& range, const std::string& what) {
  throw Error(ErrorCode::malformed_file, range.where, "'" + printable(range.name) + "': " + what);
}

/// Enough of a file to tell what it is.
std::string beginning_of_file(const std::filesystem::path& path) {
  std::string text(recognised_by, '\0');
  std::ifstream in = open_file(path);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

bool is_model(const std::filesystem::path& path, std::string_view text) {
  if (path.extension() == ".onnx" || path.extension() == ".tflite" || text.substr(0, 8).ends_with("TFL3")) return true;
  return trimmed(text).starts_with('{') && text.substr(0, recognised_by).find("\"lastbit.model.") != std::string_view::npos;
}

}  // namespace

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({line, lines.size() + 1});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trimmed(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

TensorRange& Collector::add(std::string name, std::size_t line, RangeOf of, std::size_t position) {
  const std::string where = file_.path + (line == 0 ? "" : ":" + std::to_string(line));
  file_.ranges.push_back({.name = std::move(name), .where = where, .of = of, .position = position});
  return file_.ranges.back();
}

void Collector::set_range(TensorRange& range, double min, double max) {
  if (!std::isfinite(min) || !std::isfinite(max)) fail_at(range, "its range is not finite");
  if (!is_usable(std::max(std::abs(min), std::abs(max)))) fail_at(range, "its largest magnitude is not between 1e-30 and 1e30");
  if (min > max) fail_at(range, "min is above max");
  range.min = min;
  range.max = max;
}

void Collector::set_codes(TensorRange& range, Quantization codes) {
  for (const double scale : codes.scales)
    if (!(scale >= smallest_scale && scale <= largest_scale)) fail_at(range, "its scale is not between 2^-126 and 2^30");
  codes.zero_points.resize(codes.zero_points.empty() ? codes.scales.size() : codes.zero_points.size(), 0);
  if (codes.zero_points.size() != codes.scales.size()) fail_at(range, "as many zero points as scales are needed");
  for (const std::int64_t zero_point : codes.zero_points)
    if (zero_point < -0x80000000LL || zero_point > 0x7FFFFFFFLL) fail_at(range, "its zero point has more than 32 bits");
  range.codes = std::move(codes);
}

void Collector::fail(std::size_t line, const std::string& what) const {
  throw Error(ErrorCode::malformed_file, file_.path + (line == 0 ? "" : ":" + std::to_string(line)), what);
}

RangeFile Collector::finish() {
  if (file_.ranges.empty()) fail(0, file_.form + " without a range");
  return std::move(file_);
}

namespace {

struct Form {
  bool (*is)(std::string_view text);
  RangeFile (*read)(std::string_view text, const std::string& path);
};
constexpr Form forms[] = {{is_calibration_cache, read_calibration_cache},
                          {is_n2d2_state, read_n2d2_state},
                          {is_node_table, read_node_table},
                          {is_n2d2_log, read_n2d2_log},
                          {is_table, read_table},
                          {is_n2d2_ranges, read_n2d2_ranges}};

}  // namespace
}  // namespace ranges

RangeFile read_ranges(const std::filesystem::path& file) {
  using namespace ranges;
  std::error_code unsized;
  const std::uintmax_t size = std::filesystem::file_size(file, unsized);
  const bool is_large = !unsized && size > largest_file;
  const std::string text = is_large ? beginning_of_file(file) : read_text_file(file);
  if (is_model(file, text)) return read_model_ranges(file);
  const std::string path = file.string();
  if (is_large) throw Error(ErrorCode::malformed_file, path, std::to_string(size) + " bytes; ranges fit " + std::to_string(largest_file));
  for (const Form& form : forms)
    if (form.is(text)) return form.read(text, path);
  if (trimmed(text).starts_with('{')) return read_openvino_ranges(text, path);
  throw Error(ErrorCode::malformed_file, path,
              "holds no ranges that are known: no table that begins with tensor,min,max or tensor,scale,zero_point, none of a vendor's "
              "tool, and no model");
}

}  // namespace lastbit
