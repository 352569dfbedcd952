// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/n2d2.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view kernels = "N2D2 ccce8ba export/CPP kernels, run and recorded: ";
constexpr std::string_view exporter = "N2D2 ccce8ba, read: ";
constexpr std::string_view simulator = "N2D2 ccce8ba src/Scaling_Kernels.cpp, run and recorded";
constexpr std::string_view scales = "src/DeepNetQuantization.cpp: the approximations of a scale, computed in double";
constexpr std::string_view float_sums =
    "float32 sums, exact to 2^24; beyond it the order of the host's library would show, which is not public";

/// What holds for every way of scaling.
constexpr auto common = std::to_array<EvidenceRow>({
    {"domain", code, "integers of 4 to 16 bits"},
    {"coding", source, exporter, "the exporters write no zero point"},
    {"*.*.bias", code, kernels, "the sum starts at the bias"},
    {"*.*.centring", code, kernels, "products of the codes themselves: zero points are 0"},
    {"*.*.cross_terms", code, kernels, "products of the codes alone: zero points are 0"},
    {"*.*.per_channel", code, kernels, "one scaling per layer or per output channel"},
    {"*.*.output.scale", source, exporter, scales},
    {"*.*.output.by", source, exporter, scales},
    {"requantize*.by", source, exporter, scales},
    {"add*.*.output.scale", source, exporter, scales},
    {"add*.*.output.by", source, exporter, scales},
    {"requantize*.scale", source, exporter, scales},
    {"concat", code, kernels, "a copy; the quantiser gives its inputs one scale"},
    {"max_pool", code, kernels, "comparisons alone"},
    {"quantize", source, exporter, "RangeAffineTransformation with truncation, 255 or 127 for 1.0"},
    {"dequantize", source, exporter, "the simulator's tensors are float32"},
});

constexpr auto exported = std::to_array<EvidenceRow>({
    {"*conv.*.accumulator", code, kernels, "plain C sums, built with -fwrapv"},
    {"fully_connected.*.accumulator", code, kernels, "plain C sums, built with -fwrapv"},
    {"conv.i8.output.chain", code, kernels, "4 and 8 bits"},
    {"conv.i16_bias64.output.chain", code, kernels, "16 bits"},
    {"depthwise_conv.i8.output.chain", code, kernels, "4 and 8 bits"},
    {"depthwise_conv.i16_bias64.output.chain", code, kernels, "16 bits"},
    {"fully_connected.i8.output.chain", code, kernels, "4 and 8 bits"},
    {"fully_connected.i16_bias64.output.chain", code, kernels, "16 bits"},
    {"*conv.i8.operand", code, kernels, "a product is added as it is"},
    {"*conv.i16_bias64.operand", code, kernels, "a product is added as it is"},
    {"fully_connected.i8.operand", code, kernels, "a product is added as it is"},
    {"*conv.i8.row_multiplier", code, kernels, "a product is added as it is"},
    {"*conv.i16_bias64.row_multiplier", code, kernels, "a product is added as it is"},
    {"fully_connected.i8.row_multiplier", code, kernels, "a product is added as it is"},
    {"fully_connected.i16_bias64", source, exporter, "the template of the recorded 8-bit kernel"},
    {"transposed_conv", source, exporter, "Network.hpp; the exporter adds no half to the bias of a deconvolution"},
    {"add*", code, kernels, "element-wise sums of 2 to 4 inputs, without the exporter's half; Scaling.hpp on 32-bit sums"},
    {"add*.i16", code, kernels, "Scaling.hpp on 64-bit sums; the sum itself is the template of the recorded 8-bit one"},
    {"requantize*", source, exporter, "cells that only scale multiply by a 16-bit factor where layers shift"},
    {"requantize*.chain", code, kernels, "Scaling.hpp"},
    {"add*.above_one", source, exporter, "a scale above 1 falls back to a 16-bit factor"},
    {"add*.above_one.output.chain", code, kernels, "Scaling.hpp"},
    {"*average_pool", code, kernels, "C division by the whole window"},
    {"argmax", code, kernels, "maxPropagate; the threshold of a single channel for 8 bits"},
});
constexpr auto export_evidence = joined(common, exported);

constexpr auto simulated = std::to_array<EvidenceRow>({
    {"conv.*.output.chain", code, simulator},
    {"depthwise_conv.*.output.chain", code, simulator},
    {"transposed_conv.*.output.chain", code, simulator},
    {"fully_connected.*.output.chain", code, simulator},
    {"*conv.*.operand", code, simulator},
    {"fully_connected.*.operand", code, simulator},
    {"*conv.*.row_multiplier", code, simulator},
    {"fully_connected.*.row_multiplier", code, simulator},
    {"add*", code, simulator},
    {"requantize", source, exporter, "cells that only scale multiply by a 16-bit factor where layers shift"},
    {"requantize.chain", code, simulator},
    {"add*.above_one", source, exporter, "a scale above 1 falls back to a 16-bit factor"},
    {"add*.above_one.output.chain", code, simulator},
    {"*conv.*.accumulator", assumption, float_sums},
    {"fully_connected.*.accumulator", assumption, float_sums},
});
constexpr auto simulator_evidence = joined(common, simulated);

constexpr SettingRow stimuli{"quantize.rounding", {"floor"}, "the values of exported stimuli are rounded down instead"};
constexpr SettingRow settings[]{stimuli};
constexpr SettingRow float_settings[]{
    stimuli, {"*.chain.2.arithmetic", {"f64"}, "the product has the type of the simulator's tensors: float32, or double"}};

}  // namespace

std::span<const SheetRow> n2d2_sheets() {
  static constexpr SheetRow sheets[]{
      {"n2d2_single_shift", "N2D2 C++ export, scaling by one shift", n2d2_single_shift, export_evidence, settings, "n2d2"},
      {"n2d2_double_shift", "N2D2 C++ export, scaling by the sum of two shifts", n2d2_double_shift, export_evidence, settings, "n2d2"},
      {"n2d2_fixed_mult16", "N2D2 C++ export, scaling by a 16-bit fixed-point factor", n2d2_fixed_mult16, export_evidence, settings,
       "n2d2"},
      {"n2d2_fixed_mult32", "N2D2 C++ export, scaling by a 32-bit fixed-point factor", n2d2_fixed_mult32, export_evidence, settings,
       "n2d2"},
      {"n2d2_float_mult", "N2D2 C++ export, scaling by a double", n2d2_float_mult, export_evidence, settings, "n2d2"},
      {"n2d2_simulator_single_shift", "N2D2 simulator, scaling by one shift", n2d2_simulator_single_shift, simulator_evidence, settings,
       "n2d2"},
      {"n2d2_simulator_double_shift", "N2D2 simulator, scaling by the sum of two shifts", n2d2_simulator_double_shift, simulator_evidence,
       settings, "n2d2"},
      {"n2d2_simulator_fixed_mult16", "N2D2 simulator, scaling by a 16-bit fixed-point factor", n2d2_simulator_fixed_mult16,
       simulator_evidence, settings, "n2d2"},
      {"n2d2_simulator_fixed_mult32", "N2D2 simulator, scaling by a 32-bit fixed-point factor", n2d2_simulator_fixed_mult32,
       simulator_evidence, settings, "n2d2"},
      {"n2d2_simulator_float_mult", "N2D2 simulator, scaling in float32", n2d2_simulator_float_mult, simulator_evidence, float_settings,
       "n2d2"},
  };
  return sheets;
}

}  // namespace lastbit
