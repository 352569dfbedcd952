// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/rockchip.hpp"

namespace lastbit {
namespace {

constexpr auto hardware = EvidenceLevel::hardware;
constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto thread = EvidenceLevel::thread;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr const char* measured =
    "gregordinary/rocket-userspace, out-cvt-converter.md of 2026-09-27: sweeps on an RK3588 and an RK3576, each leaving one of five rules";
constexpr const char* model =
    "gregordinary/rocket-userspace e0677862, tests/requant_model.h, which both chips must meet on every element; run and recorded";
constexpr const char* bias_stage =
    "out-cvt-converter.md: (sum + A)*C / 2^s by half_even, s a field for products of at least 0 and one for the others, saturated to "
    "int32; then OUT_CVT";
constexpr const char* mesa = "Mesa src/gallium/drivers/rocket/rkt_regcmd.c: the registers are made so";

std::vector<Evidence> evidence(const char* carry, EvidenceLevel of_carry) {
  return {
      {"domain", hardware, measured},
      {"coding", hardware, measured},
      {"*.i8", hardware, measured},
      {"*.i8.accumulator", assumption, "int32 sums were measured; what becomes of one that leaves 32 bits was not"},
      {"*.i8.output.scale", code, model},
      {"*.i8.output.scale.carry", of_carry, carry},
      {"requantize.scale", code, model},
      {"requantize.scale.carry", of_carry, carry},
      {"*.i8.output.by", code, "the recorded registers follow from float32(in * weight / out)"},
      {"*.i8.per_channel", hardware, std::string(bias_stage) + "; a scale that all channels share goes by the converter alone"},
      {"*.i8_per_channel", hardware, bias_stage},
      {"*.i8_per_channel.output.scale", hardware,
       std::string(bias_stage) + "; layers state the registers: how a compiler makes them is not established"},
      {"*.i8_per_channel.accumulator", assumption, "as with one scale"},
      {"*.i8_per_channel.bias", assumption, "as with one scale"},
      {"*.i8.bias", assumption, "the bias stage adds before the converter; where in the sum does not show while none leaves 32 bits"},
      {"depthwise_conv.i8", assumption, "taken to leave by the converter as the convolution does"},
      {"fully_connected", source, "a convolution of one pixel in the drivers"},
      {"max_pool", assumption, "a maximum of codes; not measured"},
      {"requantize", hardware, measured},
      {"requantize.by", assumption, "a converter alone: in / out"},
  };
}

constexpr const char* carried = "measured programs of the vendor carry into 0x4000 at one less shift: out-cvt-converter.md";

std::vector<Setting> settings() {
  return {{"*.i8.output.chain.1.rounding", {"half_away"}, "CVT_ROUND, bit 30 of OUT_CVT_SHIFT; every vendor and Mesa program leaves it 0"},
          {"requantize.chain.1.rounding", {"half_away"}, "CVT_ROUND, bit 30 of OUT_CVT_SHIFT; every vendor and Mesa program leaves it 0"}};
}

}  // namespace

std::vector<SpecSheet> rockchip_sheets() {
  return {{"rk3588", "Rockchip RK3588 (RKNPU2), one scale per layer", rk3588, evidence(carried, thread), settings()},
          {"rk3576", "Rockchip RK3576 (RKNPU2), one scale per layer", rk3576, evidence(carried, thread), settings()},
          {"rk3588_mesa", "Rockchip RK3588 programmed by Mesa's driver", rk3588_mesa, evidence(mesa, code), settings()}};
}

}  // namespace lastbit
