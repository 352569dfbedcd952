// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/n2d2.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

std::string kernels(const char* detail) { return std::string("N2D2 ccce8ba export/CPP kernels, run and recorded: ") + detail; }
std::string exporter(const char* detail) { return std::string("N2D2 ccce8ba, read: ") + detail; }

/// What holds for every way of scaling.
std::vector<Evidence> common_evidence() {
  const std::string scales = exporter("src/DeepNetQuantization.cpp: the approximations of a scale, computed in double");
  return {
      {"domain", code, "integers of 4 to 16 bits"},
      {"coding", source, exporter("the exporters write no zero point")},
      {"*.*.bias", code, kernels("the sum starts at the bias")},
      {"*.*.centring", code, kernels("products of the codes themselves: zero points are 0")},
      {"*.*.cross_terms", code, kernels("products of the codes alone: zero points are 0")},
      {"*.*.per_channel", code, kernels("one scaling per layer or per output channel")},
      {"*.*.output.scale", source, scales},
      {"*.*.output.by", source, scales},
      {"requantize*.by", source, scales},
      {"add*.*.output.scale", source, scales},
      {"add*.*.output.by", source, scales},
      {"requantize*.scale", source, scales},
      {"concat", code, kernels("a copy; the quantiser gives its inputs one scale")},
      {"max_pool", code, kernels("comparisons alone")},
      {"quantize", source, exporter("RangeAffineTransformation with truncation, 255 or 127 for 1.0")},
      {"dequantize", source, exporter("the simulator's tensors are float32")},
  };
}

std::vector<Evidence> export_evidence() {
  std::vector<Evidence> list = common_evidence();
  for (const char* sums : {"*conv.*.accumulator", "fully_connected.*.accumulator"})
    list.push_back({sums, code, kernels("plain C sums, built with -fwrapv")});
  for (const char* operation : {"conv", "depthwise_conv", "fully_connected"}) {
    const std::string name = operation;
    list.push_back({name + ".i8.output.chain", code, kernels("4 and 8 bits")});
    list.push_back({name + ".i16_bias64.output.chain", code, kernels("16 bits")});
  }
  for (const char* rules : {"*conv.i8.operand", "*conv.i16_bias64.operand", "fully_connected.i8.operand", "*conv.i8.row_multiplier",
                            "*conv.i16_bias64.row_multiplier", "fully_connected.i8.row_multiplier"})
    list.push_back({rules, code, kernels("a product is added as it is")});
  list.push_back({"fully_connected.i16_bias64", source, exporter("the template of the recorded 8-bit kernel")});
  list.push_back({"transposed_conv", source, exporter("Network.hpp; the exporter adds no half to the bias of a deconvolution")});
  list.push_back({"add*", code, kernels("element-wise sums of 2 to 4 inputs, without the exporter's half; Scaling.hpp on 32-bit sums")});
  list.push_back({"add*.i16", code, kernels("Scaling.hpp on 64-bit sums; the sum itself is the template of the recorded 8-bit one")});
  list.push_back({"requantize*", source, exporter("cells that only scale multiply by a 16-bit factor where layers shift")});
  list.push_back({"requantize*.chain", code, kernels("Scaling.hpp")});
  list.push_back({"add*.above_one", source, exporter("a scale above 1 falls back to a 16-bit factor")});
  list.push_back({"add*.above_one.output.chain", code, kernels("Scaling.hpp")});
  list.push_back({"*average_pool", code, kernels("C division by the whole window")});
  list.push_back({"argmax", code, kernels("maxPropagate; the threshold of a single channel for 8 bits")});
  return list;
}

std::vector<Evidence> simulator_evidence() {
  std::vector<Evidence> list = common_evidence();
  const std::string run = "N2D2 ccce8ba src/Scaling_Kernels.cpp, run and recorded";
  for (const char* operation : {"conv", "depthwise_conv", "transposed_conv", "fully_connected"})
    list.push_back({std::string(operation) + ".*.output.chain", code, run});
  for (const char* rules : {"*conv.*.operand", "fully_connected.*.operand", "*conv.*.row_multiplier", "fully_connected.*.row_multiplier"})
    list.push_back({rules, code, run});
  list.push_back({"add*", code, run});
  list.push_back({"requantize", source, exporter("cells that only scale multiply by a 16-bit factor where layers shift")});
  list.push_back({"requantize.chain", code, run});
  list.push_back({"add*.above_one", source, exporter("a scale above 1 falls back to a 16-bit factor")});
  list.push_back({"add*.above_one.output.chain", code, run});
  const std::string sums = "float32 sums, exact to 2^24; beyond it the order of the host's library would show, which is not public";
  list.push_back({"*conv.*.accumulator", assumption, sums});
  list.push_back({"fully_connected.*.accumulator", assumption, sums});
  return list;
}

const Setting stimuli{"quantize.rounding", {"floor"}, "the values of exported stimuli are rounded down instead"};

SpecSheet export_sheet(const char* name, const char* way, const Backend& backend) {
  return {name, std::string("N2D2 C++ export, ") + way, backend, export_evidence(), {stimuli}, "n2d2"};
}

SpecSheet simulator_sheet(const char* name, const char* way, const Backend& backend) {
  SpecSheet sheet{name, std::string("N2D2 simulator, ") + way, backend, simulator_evidence(), {stimuli}, "n2d2"};
  const bool in_float = backend.requantize.chain == n2d2::simulated_float_mult.chain;
  if (in_float)
    sheet.settings.push_back({"*.chain.2.arithmetic", {"f64"}, "the product has the type of the simulator's tensors: float32, or double"});
  return sheet;
}

}  // namespace

std::vector<SpecSheet> n2d2_sheets() {
  return {export_sheet("n2d2_single_shift", "scaling by one shift", n2d2_single_shift),
          export_sheet("n2d2_double_shift", "scaling by the sum of two shifts", n2d2_double_shift),
          export_sheet("n2d2_fixed_mult16", "scaling by a 16-bit fixed-point factor", n2d2_fixed_mult16),
          export_sheet("n2d2_fixed_mult32", "scaling by a 32-bit fixed-point factor", n2d2_fixed_mult32),
          export_sheet("n2d2_float_mult", "scaling by a double", n2d2_float_mult),
          simulator_sheet("n2d2_simulator_single_shift", "scaling by one shift", n2d2_simulator_single_shift),
          simulator_sheet("n2d2_simulator_double_shift", "scaling by the sum of two shifts", n2d2_simulator_double_shift),
          simulator_sheet("n2d2_simulator_fixed_mult16", "scaling by a 16-bit fixed-point factor", n2d2_simulator_fixed_mult16),
          simulator_sheet("n2d2_simulator_fixed_mult32", "scaling by a 32-bit fixed-point factor", n2d2_simulator_fixed_mult32),
          simulator_sheet("n2d2_simulator_float_mult", "scaling in float32", n2d2_simulator_float_mult)};
}

}  // namespace lastbit
