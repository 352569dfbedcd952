// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/rockchip.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto hardware = EvidenceLevel::hardware;
constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto thread = EvidenceLevel::thread;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view measured =
    "gregordinary/rocket-userspace, out-cvt-converter.md of 2026-09-27: sweeps on an RK3588 and an RK3576, each leaving one of five rules";
constexpr std::string_view model =
    "gregordinary/rocket-userspace e0677862, tests/requant_model.h, which both chips must meet on every element; run and recorded";
constexpr std::string_view bias_stage =
    "out-cvt-converter.md: (sum + A)*C / 2^s by half_even, s a field for products of at least 0 and one for the others, saturated to "
    "int32; then OUT_CVT";

/// `carry`: how a multiplier that rounds up to 2^15 is known to be stored.
consteval auto evidence(EvidenceLevel of_carry, std::string_view carry) {
  return std::to_array<EvidenceRow>({
      {"domain", hardware, measured},
      {"coding", hardware, measured},
      {"*.i8", hardware, measured},
      {"*.i8.accumulator", assumption, "int32 sums were measured; what becomes of one that leaves 32 bits was not"},
      {"*.i8.output.scale", code, model},
      {"*.i8.output.scale.carry", of_carry, carry},
      {"requantize.scale", code, model},
      {"requantize.scale.carry", of_carry, carry},
      {"*.i8.output.by", code, "the recorded registers follow from float32(in * weight / out)"},
      {"*.i8.per_channel", hardware, bias_stage, "; a scale that all channels share goes by the converter alone"},
      {"*.i8_per_channel", hardware, bias_stage},
      {"*.i8_per_channel.output.scale", hardware, bias_stage, "; layers state the registers: how a compiler makes them is not established"},
      {"*.i8_per_channel.accumulator", assumption, "as with one scale"},
      {"*.i8_per_channel.bias", assumption, "as with one scale"},
      {"*.i8.bias", assumption, "the bias stage adds before the converter; where in the sum does not show while none leaves 32 bits"},
      {"depthwise_conv.i8", assumption, "taken to leave by the converter as the convolution does"},
      {"fully_connected", source, "a convolution of one pixel in the drivers"},
      {"max_pool", assumption, "a maximum of codes; not measured"},
      {"requantize", hardware, measured},
      {"requantize.by", assumption, "a converter alone: in / out"},
  });
}
constexpr auto vendor_evidence =
    evidence(thread, "measured programs of the vendor carry into 0x4000 at one less shift: out-cvt-converter.md");
constexpr auto mesa_evidence = evidence(code, "Mesa src/gallium/drivers/rocket/rkt_regcmd.c: the registers are made so");

constexpr SettingRow settings[]{
    {"*.i8.output.chain.1.rounding", {"half_away"}, "CVT_ROUND, bit 30 of OUT_CVT_SHIFT; every vendor and Mesa program leaves it 0"},
    {"requantize.chain.1.rounding", {"half_away"}, "CVT_ROUND, bit 30 of OUT_CVT_SHIFT; every vendor and Mesa program leaves it 0"}};

}  // namespace

std::span<const SheetRow> rockchip_sheets() {
  static constexpr SheetRow sheets[]{{"rk3588", "Rockchip RK3588 (RKNPU2), one scale per layer", rk3588, vendor_evidence, settings},
                                     {"rk3576", "Rockchip RK3576 (RKNPU2), one scale per layer", rk3576, vendor_evidence, settings},
                                     {"rk3588_mesa", "Rockchip RK3588 programmed by Mesa's driver", rk3588_mesa, mesa_evidence, settings}};
  return sheets;
}

}  // namespace lastbit
