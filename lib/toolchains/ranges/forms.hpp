// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The forms in which ranges are read. Each function is given the whole text of a file that has been recognised.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/ranges.hpp"

namespace lastbit::ranges {

/// One line of a file, without its end.
struct Line {
  std::string_view text;
  std::size_t number = 0;
};
[[nodiscard]] std::vector<Line> lines_of(std::string_view text);
[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

/// A number, written whole in the text; infinite and NaN count.
[[nodiscard]] std::optional<double> number_in(std::string_view text);

/// Makes ranges and checks them: names and values as a file may have them.
class Collector {
 public:
  Collector(std::string path, std::string form, bool names_others) : file_{std::move(path), std::move(form), names_others, {}} {}

  /// `line`: 0 where the file has none; the range's own name then says where it stands.
  TensorRange& add(std::string name, std::size_t line, RangeOf of = RangeOf::tensor, std::size_t position = 0);
  /// Throws Error at the range: not finite, of a magnitude beyond 1e-30 to 1e30, min above max.
  static void set_range(TensorRange& range, double min, double max);
  /// Throws Error likewise; zero points are of 32 bits, as many as there are scales, or none.
  static void set_codes(TensorRange& range, Quantization codes);
  [[noreturn]] void fail(std::size_t line, const std::string& what) const;
  [[nodiscard]] RangeFile finish();

 private:
  RangeFile file_;
};

/// The project's own: a header line, then a line for each tensor.
[[nodiscard]] bool is_table(std::string_view text);
[[nodiscard]] RangeFile read_table(std::string_view text, const std::string& path);

/// NVIDIA TensorRT's calibration cache.
[[nodiscard]] bool is_calibration_cache(std::string_view text);
[[nodiscard]] RangeFile read_calibration_cache(std::string_view text, const std::string& path);

/// Horizon's table of nodes, in the log of hb_mapper.
[[nodiscard]] bool is_node_table(std::string_view text);
[[nodiscard]] RangeFile read_node_table(std::string_view text, const std::string& path);

/// N2D2: the thresholds in its log; outputs_range.dat, which it prints, and outputs_range.bin, which it stores.
[[nodiscard]] bool is_n2d2_log(std::string_view text);
[[nodiscard]] RangeFile read_n2d2_log(std::string_view text, const std::string& path);
[[nodiscard]] bool is_n2d2_ranges(std::string_view text);
[[nodiscard]] RangeFile read_n2d2_ranges(std::string_view text, const std::string& path);
[[nodiscard]] bool is_n2d2_state(std::string_view bytes);
[[nodiscard]] RangeFile read_n2d2_state(std::string_view bytes, const std::string& path);

/// OpenVINO: ranges by node, as POT and NNCF keep them.
[[nodiscard]] RangeFile read_openvino_ranges(std::string_view text, const std::string& path);

/// A quantised network in any format of ours.
[[nodiscard]] RangeFile read_model_ranges(const std::filesystem::path& path);

}  // namespace lastbit::ranges
