// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/max78000.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view simulator =
    "analogdevicesinc/ai8x-synthesis ab4f4c01, izer/simulate.py, run and recorded: it writes the chip's known-answer tests";
constexpr std::string_view read = "analogdevicesinc/ai8x-synthesis ab4f4c01, izer/simulate.py, read: as the convolution";
constexpr std::string_view eight_bits = "before a convolution the result keeps all its bits; what becomes of it elsewhere was not recorded";

constexpr EvidenceRow evidence[]{
    {"domain", code, simulator},
    {"coding", code, simulator},
    {"conv", code, simulator},
    {"*.i8.per_channel", assumption, "the chip has one output_shift for a layer: a scale per channel must be the same power of two"},
    {"depthwise_conv", source, read},
    {"transposed_conv", source, read},
    {"fully_connected", source, read},
    {"average_pool", code, simulator, "; of height 1: always toward zero (pool1d)"},
    {"global_average_pool", source, "an average pool whose window is the image"},
    {"*average_pool.padding", assumption, "pools of the chip have no padding"},
    {"add", code, simulator},
    {"sub", code, simulator},
    {"add_n", code, simulator},
    {"mul", code, simulator},
    {"bitwise", code, simulator},
    {"max_pool", source, "analogdevicesinc/ai8x-synthesis ab4f4c01, izer/compute.py, read: numpy's maximum"},
    {"*.i8.output.chain", assumption, eight_bits},
    {"mul.chain", assumption, eight_bits},
};

constexpr SettingRow settings[]{
    {"*average_pool.output.chain.0.rounding",
     {"half_away", "floor", "half_up"},
     "half_away: the chip's switch for rounding averages, off after reset. floor and half_up: what the README of ai8x-synthesis says of "
     "the two, where the code that writes the chip's tests has toward_zero and half_away"}};

}  // namespace

std::span<const SheetRow> max78000_sheets() {
  static constexpr SheetRow sheets[]{{"max78000", "Analog Devices MAX78000, MAX78002", max78000, evidence, settings, "max78000"}};
  return sheets;
}

}  // namespace lastbit
