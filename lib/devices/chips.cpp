// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/chips.hpp"

#include <algorithm>
#include <cctype>

#include "devices/open_text.hpp"

namespace lastbit {
namespace {

constexpr std::string_view vip_v8 = "its NPU, a VeriSilicon VIPNano V8", vip_v7 = "its NPU, a VeriSilicon VIPNano V7";
constexpr std::string_view mesa = "Mesa src/gallium/drivers/etnaviv/etnaviv_ml_nn.c; the vendors' gc_feature_database.h";
constexpr std::string_view bernoulli = "its BPU, march bernoulli2";
constexpr std::string_view gna_families = "docs/backends/gna.md";
constexpr std::string_view sophgo_source = "sophgo/tpu-mlir lib/Support/MathUtils.cpp";
constexpr std::string_view espressif = "docs/backends/espressif.md", vela = "docs/backends/ethos_u.md";
constexpr std::string_view by_compiler = "its compiler was read; not verified on silicon",
                           not_public = "its arithmetic is not public: nothing is known to be near";

constexpr Chip gna(std::string_view name, std::string_view unit, std::string_view backend) {
  return {.name = name, .unit = unit, .backends = {backend}, .machine = "x86-64", .source = gna_families};
}

constexpr Chip of_arm(std::string_view name, std::string_view unit, const BackendNames& backends, std::string_view note,
                      std::string_view source) {
  return {.name = name, .unit = unit, .backends = backends, .machine = "aarch64", .note = note, .source = source};
}

constexpr Chip of_another_march(std::string_view name) {
  return {.name = name, .unit = "its BPU", .backends = {}, .machine = "aarch64", .nearest = "bernoulli2", .program = "other marches"};
}

constexpr Chip known_chips[] = {
    of_arm("imx8mp", vip_v8, {"vipnano_v8"}, {}, mesa),
    of_arm("imx8mplus", vip_v8, {"vipnano_v8"}, {}, mesa),
    of_arm("a311d", vip_v7, {"vipnano_v7"}, {}, mesa),
    of_arm("vim3", "the NPU of its Amlogic A311D, a VeriSilicon VIPNano V7", {"vipnano_v7"}, {}, mesa),
    of_arm("s905d3", vip_v7, {"vipnano_v7"}, "by its feature bits, which are those of the A311D; its model was not run", mesa),
    of_arm("stm32mp2", vip_v7, {"vipnano_v7"}, {}, mesa),
    of_arm("stm32mp25", vip_v7, {"vipnano_v7"}, {}, mesa),
    of_arm("vipnano", "VeriSilicon VIPNano", {"vipnano_v8", "vipnano_v7"}, "V8: i.MX 8M Plus; V7: A311D, STM32MP2", mesa),
    {"gna", "Intel GNA", {"gna1", "gna1_embedded", "gna2", "gna3_0", "gna3_1"}, {}, "by generation: docs/backends/gna.md", gna_families},
    {"gna3", "Intel GNA of generation 3", {"gna3_0", "gna3_1"}, {}, "3.1 has wider limits, the arithmetic is one", gna_families},
    gna("cannonlake", "its GNA, generation 1", "gna1"),
    gna("geminilake", "its GNA, generation 1", "gna1"),
    gna("icelake", "its GNA, generation 1", "gna1"),
    gna("tigerlake", "its GNA, generation 2", "gna2"),
    gna("elkhartlake", "its GNA, generation 2", "gna2"),
    gna("jasperlake", "its GNA, generation 2", "gna2"),
    gna("alderlake", "its GNA, generation 3.0", "gna3_0"),
    gna("raptorlake", "its GNA, generation 3.0", "gna3_0"),
    {"meteorlake", "its GNA", {}, "x86-64", {}, gna_families, "gna3_1", "Meteor Lake"},
    of_arm("x3", bernoulli, {"bernoulli2"}, "a documented model, not verified on silicon", "docs/backends/bernoulli2.md"),
    of_arm("rdkx3", bernoulli, {"bernoulli2"}, "a documented model, not verified on silicon", "docs/backends/bernoulli2.md"),
    of_arm("j3", bernoulli, {"bernoulli2"}, "a documented model, not verified on silicon", "docs/backends/bernoulli2.md"),
    of_arm("bpu", "Horizon's BPU, taken to be march bernoulli2 (X3, J3)", {"bernoulli2"}, "other marches (J5, X5, J6) are not described",
           "docs/backends/bernoulli2.md"),
    of_another_march("j5"),
    of_another_march("x5"),
    of_another_march("j6"),
    {"310", "Huawei Ascend 310", {"ascend310"}, {}, {}, "docs/backends/ascend.md"},
    {"310p", "Huawei Ascend 310P", {"ascend310p"}, {}, {}, "docs/backends/ascend.md"},
    {"ascend910", "Huawei Ascend 910", {"ascend910a", "ascend910b"}, {}, "910A, or 910B and 910C (A2, A3)", "docs/backends/ascend.md"},
    {"910a", "Huawei Ascend 910A", {"ascend910a"}, {}, {}, "docs/backends/ascend.md"},
    {"910b", "Huawei Ascend 910B", {"ascend910b"}, {}, {}, "docs/backends/ascend.md"},
    {"910c", "Huawei Ascend 910C", {"ascend910b"}, {}, {}, "docs/backends/ascend.md"},
    {"ascend910c", "Huawei Ascend 910C", {"ascend910b"}, {}, {}, "docs/backends/ascend.md"},
    {"max78002",
     "its CNN accelerator, as that of the MAX78000",
     {"max78000"},
     {},
     "recorded for the MAX78000",
     "analogdevicesinc/ai8x-synthesis izer/simulate.py"},
    {"n2d2",
     "CEA N2D2's export",
     {"n2d2_single_shift", "n2d2_double_shift", "n2d2_fixed_mult16", "n2d2_fixed_mult32", "n2d2_float_mult"},
     {},
     "by the export's scaling; n2d2_simulator_… before the export",
     "CEA-LIST/N2D2"},
    {"chipyard", "its Gemmini", {"gemmini", "gemmini_shift"}, {}, "float scales by default, or shifts", "ucb-bar/gemmini"},
    {"gap9", "GreenWaves GAP9, as GAP8", {"gap8"}, {}, "by the SDK's kernels for both", "gap_sdk tools/autotiler_v3/CNN_Libraries_SQ8"},
    {"bm1684x", "its TPU, by TPU-MLIR's interpreter", {"sophgo"}, {}, "the interpreter was recorded, not the chip", sophgo_source},
    {"cv1800b",
     "its TPU, by TPU-MLIR's interpreter",
     {"sophgo_qdm"},
     {},
     "convolutions; the interpreter was recorded, not the chip",
     sophgo_source},
    {"kendryte", "Kendryte K210's KPU", {"k210"}, {}, "nncase's simulator was recorded, not the chip", "kendryte/nncase k210_kernels.h"},
    {"ethosu55", "Arm Ethos-U55", {"ethos_u"}, {}, by_compiler, vela},
    {"ethosu65", "Arm Ethos-U65", {"ethos_u"}, {}, by_compiler, vela},
    {"ethosu85",
     "Arm Ethos-U85",
     {"ethos_u85"},
     {},
     "networks of .tflite; of TOSA ones tosa_double and tosa_single; its compiler was read",
     vela},
    {"esp32", "ESP-DL, or ESP-NN in TensorFlow Lite Micro", {"espdl_s3", "esp_nn"}, {}, "the portable code, recorded", espressif},
    {"esp32s3", "ESP-DL, or ESP-NN in TensorFlow Lite Micro", {"espdl_s3", "esp_nn"}, {}, "the portable code, recorded", espressif},
    {"esp32p4",
     "ESP-DL, or ESP-NN in TensorFlow Lite Micro",
     {"espdl_p4", "esp_nn", "esp_nn_fast"},
     {},
     "the portable code, recorded",
     espressif},
    {"tosa", "whatever conforms to Arm's TOSA", {"tosa_single", "tosa_double"}, {}, "by RESCALE's rounding mode", "docs/backends/tosa.md"},
    {"edgetpu", "Google Edge TPU (Coral)", {}, {}, not_public, {}},
    {"hailo8", "Hailo-8", {}, {}, not_public, {}},
};

}  // namespace

std::span<const Chip> chips() { return known_chips; }

bool is_same_name(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view name) {
    std::string text;
    for (const char c : name)
      if (c != '.' && c != '-' && c != '_' && c != ' ') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  return plain(a) == plain(b);
}

const Chip* find_chip(std::string_view name) {
  const auto found = std::ranges::find_if(chips(), [&](const Chip& chip) { return is_same_name(chip.name, name); });
  return found == chips().end() ? nullptr : &*found;
}

std::string note_of(const Chip& chip) {
  if (chip.nearest.empty()) return std::string(chip.note);
  return open_text(chip.nearest, "*", chip.program) + "; nearest " + std::string(chip.nearest);
}

std::string chip_line(const Chip& chip) {
  std::string text = std::string(chip.name) + ": " + std::string(chip.unit);
  if (chip.backends.empty()) text += ", computed by no backend";
  for (std::size_t i = 0; i < chip.backends.size(); ++i)
    text += (i == 0 ? ", computed by " : i + 1 == chip.backends.size() ? " or " : ", ") + std::string(chip.backends[i]);
  const std::string note = note_of(chip);
  return note.empty() ? text : text + "; " + note;
}

}  // namespace lastbit
