// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// TRT-8501-EntropyCalibration2
// input: 3c010a14
//
// After the header, a tensor's name and the bits of a float32 in hexadecimal digits, the most significant first, leading zeros left out: the
// scale of int8 codes with zero point 0, the largest magnitude / 127. Source: a tool of NVIDIA's that writes it, read
// (nvidia_tao_tf1/cv/common/export/base_exporter.py of NVIDIA/tao_tensorflow1_backend).
#include <bit>
#include <charconv>
#include <cmath>

#include "lastbit/printable.hpp"
#include "toolchains/ranges/forms.hpp"

namespace lastbit::ranges {

bool is_calibration_cache(std::string_view text) { return text.starts_with("TRT-"); }

RangeFile read_calibration_cache(std::string_view text, const std::string& path) {
  Collector collector(path, "TensorRT's calibration cache", true);
  for (const Line& line : lines_of(text)) {
    if (line.number == 1 || trimmed(line.text).empty()) continue;
    const std::size_t colon = line.text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) collector.fail(line.number, "no line of the form name: bits");
    const std::string_view digits = trimmed(line.text.substr(colon + 1));
    std::uint32_t bits = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (error != std::errc{} || end != digits.data() + digits.size())
      collector.fail(line.number, "'" + printable(digits) + "' is no float32 in hexadecimal digits");
    TensorRange& range = collector.add(std::string(trimmed(line.text.substr(0, colon))), line.number);
    const auto scale = std::bit_cast<float>(bits);
    if (scale == 0) Collector::set_range(range, 0, 0);  // of a tensor that is always 0: any scale will do
    else Collector::set_codes(range, {{double{scale}}, {0}, 0});
  }
  return collector.finish();
}

}  // namespace lastbit::ranges
