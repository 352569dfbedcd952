// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What N2D2's export prints and stores (src/DeepNetQuantization.cpp, src/RangeStats.cpp, src/utils/Helper.cpp of CEA-LIST/N2D2, read):
//
//   the log           "  Quantizing activations:", then "  - CELL: prev=P, act=T, bias=B": T is the threshold of the cell's output
//   outputs_range.dat a line "CELL min max mean deviation" per cell, six digits
//   outputs_range.bin counts and sizes of 64 bits, little end first: the number of cells; of each the size of its name, the name, min and max
//                     as float64, the number of moments, and these
//
// Ranges are those before clipping, what the clipping `none` goes by. The cell `env` stands for the network's input.
#include <algorithm>
#include <array>
#include <cstring>

#include "lastbit/printable.hpp"
#include "toolchains/ranges/forms.hpp"

namespace lastbit::ranges {
namespace {

constexpr std::string_view log_title = "Quantizing activations:";
constexpr std::size_t longest_name = 4096;
constexpr std::size_t columns_of_ranges = 5;

/// What N2D2 calls the network's input.
RangeOf kind_of(std::string_view cell) { return cell == "env" ? RangeOf::network_input : RangeOf::tensor; }

/// Reads a stored file from its front; nothing where it ends too early.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  [[nodiscard]] std::optional<T> next() {
    if (rest_.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  [[nodiscard]] std::optional<std::string> text(std::uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  [[nodiscard]] bool is_done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

bool is_n2d2_log(std::string_view text) { return text.find(log_title) != std::string_view::npos; }

RangeFile read_n2d2_log(std::string_view text, const std::string& path) {
  Collector collector(path, "N2D2's log", true);
  bool inside = false;
  for (const Line& line : lines_of(text)) {
    if (trimmed(line.text) == log_title) inside = true;
    const std::size_t prev = line.text.rfind(": prev="), act = line.text.rfind(", act="), bias = line.text.rfind(", bias=");
    if (!inside || prev == std::string_view::npos || act == std::string_view::npos || bias == std::string_view::npos) continue;
    const std::size_t dash = line.text.find("- ");
    if (dash == std::string_view::npos || !(dash < prev && prev < act && act < bias)) continue;
    const std::string_view value = line.text.substr(act + 6, bias - act - 6);
    const auto threshold = number_in(value);
    if (!threshold || *threshold < 0) collector.fail(line.number, "threshold '" + printable(value) + "' is no number that is not negative");
    Collector::set_range(collector.add(std::string(line.text.substr(dash + 2, prev - dash - 2)), line.number), -*threshold, *threshold);
  }
  return collector.finish();
}

bool is_n2d2_ranges(std::string_view text) {
  bool any = false;
  for (const Line& line : lines_of(text)) {
    const auto words = words_of(line.text);
    if (words.empty()) continue;
    if (words.size() != columns_of_ranges || !number_in(words[1])) return false;
    any = true;
  }
  return any;
}

RangeFile read_n2d2_ranges(std::string_view text, const std::string& path) {
  Collector collector(path, "N2D2's ranges of outputs", true);
  for (const Line& line : lines_of(text)) {
    const auto words = words_of(line.text);
    if (words.empty()) continue;
    const auto min = number_in(words[1]), max = number_in(words[2]);
    if (!min || !max) collector.fail(line.number, "name, min, max, mean and deviation are needed");
    Collector::set_range(collector.add(std::string(words[0]), line.number, kind_of(words[0])), *min, *max);
  }
  return collector.finish();
}

bool is_n2d2_state(std::string_view bytes) {
  StateReader reader(bytes);
  const auto cells = reader.next<std::uint64_t>();
  const auto size = reader.next<std::uint64_t>();
  if (!cells || !size || *cells == 0 || *cells > bytes.size() || *size == 0 || *size > longest_name) return false;
  const auto name = reader.text(*size);
  return name && is_printable(*name);
}

RangeFile read_n2d2_state(std::string_view bytes, const std::string& path) {
  Collector collector(path, "N2D2's ranges of outputs", true);
  StateReader reader(bytes);
  const std::uint64_t cells = reader.next<std::uint64_t>().value_or(0);
  for (std::uint64_t cell = 0; cell < cells; ++cell) {
    const std::string place = "cell " + std::to_string(cell) + " of " + std::to_string(cells);
    const auto size = reader.next<std::uint64_t>();
    const auto name = size && *size <= longest_name ? reader.text(*size) : std::nullopt;
    const auto min = reader.next<double>(), max = reader.next<double>();
    const auto moments = reader.next<std::uint64_t>();
    if (!name || !min || !max || !moments || *moments > bytes.size() || !reader.text(*moments * sizeof(double)))
      collector.fail(0, "ends too early, at " + place);
    if (!is_printable(*name)) collector.fail(0, place + " has a name that is no text");
    Collector::set_range(collector.add(*name, 0, kind_of(*name)), *min, *max);
  }
  if (!reader.is_done()) collector.fail(0, "goes on behind its " + std::to_string(cells) + " cells");
  return collector.finish();
}

}  // namespace lastbit::ranges
