// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/vendor_words.hpp"

#include <algorithm>
#include <cctype>

namespace lastbit {
namespace {

// clang-format off
constexpr VendorWord words[] = {
  {"TFL", "Ethos-U", "half_up, half_away", "TFLite's two roundings: the doubling high product, then the shift; ties of the chip are not public"},
  {"NATURAL", "Ethos-U", "half_up", "one rounding of the exact product; ties of the chip are not public"},
  {"TRUNCATE", "Ethos-U", "toward_zero", ""},
  {"DOUBLE_ROUND", "TOSA", "half_up, half_away", "2^30 more, of a value below 0 less, before the shift: what TFLite's first rounding adds"},
  {"SINGLE_ROUND", "TOSA", "half_up", "half a step is added, then the shift"},
  {"AC_RND_INF", "NVDLA, ac_types", "half_away", "ties to plus or minus infinity, away from zero"},
  {"AC_RND", "ac_types", "half_up", "ties to plus infinity"},
  {"AC_RND_ZERO", "ac_types", "half_toward_zero", "ties to zero"},
  {"AC_RND_MIN_INF", "ac_types", "half_down", "ties to minus infinity"},
  {"AC_RND_CONV", "ac_types", "half_even", "ties to the even neighbour"},
  {"AC_TRN", "ac_types", "floor", "bits are dropped"},
  {"AC_TRN_ZERO", "ac_types", "toward_zero", ""},
  {"RTNE", "VIPNano, IEEE 754", "half_even", ""},
  {"RTZ", "VIPNano", "toward_zero", ""},
  {"RTNI", "VIPNano", "floor", "to negative infinity"},
  {"SIMPLE", "VIPNano V8", "half_away", ""},
  {"SIMPLE", "VIPNano V7", "half_up", ""},
  {"CVT_ROUND", "RK3588, RK3576", "half_even", "bit 30 of OUT_CVT_SHIFT left 0, as by every program of the vendor"},
  {"CVT_ROUND", "RK3588, RK3576", "half_away", "that bit set"},
  {"DPU_ROUND", "Vitis AI", "half_up", ""},
  {"PY3_ROUND", "Vitis AI", "half_even", ""},
  {"ROUND_HALF_UP", "ESP-DL on ESP32 and ESP32-S3", "half_up", ""},
  {"ROUND_HALF_EVEN", "ESP-DL on ESP32-P4", "half_even", ""},
  {"carry_shift", "nncase, K210", "half_even", "below 0 it steps from the floor away from zero: docs/backends/k210.md"},
  {"CAST_RINT", "Ascend", "half_even", ""},
  {"CAST_ROUND", "Ascend", "half_away", ""},
  {"CAST_FLOOR", "Ascend", "floor", ""},
  {"CAST_CEIL", "Ascend", "ceil", ""},
  {"CAST_TRUNC", "Ascend", "toward_zero", ""},
  {"CAST_ODD", "Ascend", "to_odd", ""},
};
// clang-format on

bool is_same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

bool means(const VendorWord& one, std::string_view rounding) {
  const std::size_t comma = one.ours.find(", ");
  if (comma == std::string_view::npos) return one.ours == rounding;
  return one.ours.substr(0, comma) == rounding || one.ours.substr(comma + 2) == rounding;
}

}  // namespace

std::span<const VendorWord> vendor_words() { return words; }

std::string describe_word(std::string_view word) {
  std::string text;
  for (const VendorWord& one : words) {
    if (!is_same(one.word, word) && !means(one, word)) continue;
    text += std::string(one.word) + " (" + std::string(one.whose) + "): " + std::string(one.ours);
    text += (one.meaning.empty() ? "" : "; " + std::string(one.meaning)) + "\n";
  }
  return text;
}

}  // namespace lastbit
