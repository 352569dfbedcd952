// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/espressif.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view rounding = "espressif/esp-dl 12c0616d, dl_tool.cpp: shift_and_round and round, compiled and recorded";
constexpr std::string_view buffers = "espressif/esp-dl 12c0616d, dl_base_activate_buffer.hpp, read";
constexpr std::string_view assembly =
    "espressif/esp-dl 12c0616d, dl_esp32p4_s8_conv2d.S, read: the bias is loaded into 32-bit accumulators, one shift per channel follows";
constexpr std::string_view mode =
    "dl_esp32p4_cfg_round(ROUND_MODE_HALF_EVEN) is called before; that this instruction heeds it was not recorded";
constexpr std::string_view portable =
    "the portable code shifts down by 4, adds a bias in units of 16, and shifts down again: for shifts of 4 or more, one floor of the sum. "
    "No build of this commit gives it the exponents that it reads";
constexpr std::string_view lanes =
    "the vector instructions of the ESP32-S3 sum int8 products in lanes of 20 bits, for which dl_tensor_base.cpp packs the bias; recorded "
    "is the portable code";
constexpr std::string_view kernels = "espressif/esp-nn d45b843c, the C reference, run on TFLite's recorded inputs: no value differs";
constexpr std::string_view pools =
    "espressif/esp-dl 12c0616d, dl_base_avg_pool2d.cpp, dl_base_pool2d.hpp, read: the whole window is the area";

/// What both chips have.
constexpr auto espdl_evidence = std::to_array<EvidenceRow>({
    {"domain", source, "espressif/esp-dl 12c0616d: one exponent for a tensor, no zero points"},
    {"coding", source, "espressif/esp-dl 12c0616d: one exponent for a tensor, no zero points"},
    {"*", source, buffers},
    {"conv.i8", code, rounding},
    {"*.i16_bias64.per_channel", assumption, "16-bit data of weights with an exponent per channel were not read"},
    {"mul", code, rounding},
    {"requantize", code, rounding},
    {"average_pool", source, pools},
    {"global_average_pool", code, rounding},
    {"*average_pool.padding", source, pools},
    {"max_pool", source, "espressif/esp-dl 12c0616d, dl_base_max_pool2d.cpp, read: the largest of the codes"},
    {"add", source, "espressif/esp-dl 12c0616d, dl_base_add.cpp, read: int32, then truncate()"},
    {"sub", source, "espressif/esp-dl 12c0616d, dl_base_sub.cpp, read: int32, then truncate()"},
});

constexpr auto of_s3 = std::to_array<EvidenceRow>(
    {{"*.i8.per_channel", assumption, "the library loads no weights with an exponent per channel on this chip"}});
constexpr auto espdl_s3_evidence = joined(espdl_evidence, of_s3);

constexpr auto of_p4 =
    std::to_array<EvidenceRow>({{"*.i8_per_channel", source, assembly}, {"*.i8_per_channel.output.chain.0.rounding", assumption, mode}});
constexpr auto espdl_p4_evidence = joined(espdl_evidence, of_p4);

constexpr SettingRow espdl_s3_settings[]{{"*.i8.accumulator.bits", {"20"}, lanes}, {"*.i8.accumulator.overflow", {"saturate"}, lanes}};
constexpr SettingRow espdl_p4_settings[]{{"*.i8_per_channel.output.chain.0.rounding", {"floor"}, portable}};

constexpr EvidenceRow esp_nn_evidence[]{
    {"*", source, "kernels that ESP-NN does not replace are those of TensorFlow Lite Micro"},
    {"conv.i8", code, kernels},
    {"depthwise_conv.i8", code, kernels},
    {"fully_connected.i8", source, "espressif/esp-nn d45b843c, esp_nn_fully_connected_ansi.c, read: as the convolution"},
    {"average_pool", code, kernels},
    {"max_pool", source, "espressif/esp-nn d45b843c, esp_nn_max_pool_ansi.c, read: the largest of the codes"},
    {"add.i8", code, kernels},
    {"mul", code, kernels},
    {"softmax", code, kernels},
    {"logistic", source, "espressif/esp-nn d45b843c, esp_nn_logistic_ansi.c, read: a table, roundf of the float function"},
};

constexpr std::string_view fast =
    "espressif/esp-nn d45b843c, esp_nn_multiply_by_quantized_mult_fast of common_functions.h, run on TFLite's recorded accumulators: 101 "
    "of 49,398 differ from tflite_double";
constexpr std::string_view kernels_of_p4 = "espressif/esp-nn d45b843c, the kernels *_esp32p4.c, read: they requantise by esp_nn_requantize";

constexpr EvidenceRow esp_nn_fast_evidence[]{
    {"*", source, "kernels that ESP-NN does not replace are those of TensorFlow Lite Micro"},
    {"average_pool", code, kernels},
    {"max_pool", source, "espressif/esp-nn d45b843c, esp_nn_max_pool_ansi.c, read: the largest of the codes"},
    {"add.i8", code, kernels},
    {"softmax", code, kernels},
    {"logistic", source, "espressif/esp-nn d45b843c, esp_nn_logistic_ansi.c, read: a table, roundf of the float function"},
    {"conv.i8", source, kernels_of_p4},
    {"depthwise_conv.i8", source, kernels_of_p4},
    {"fully_connected.i8", source, kernels_of_p4},
    {"mul", source, kernels_of_p4},
    {"*.i8.output.chain", code, fast},
    {"mul.chain", code, fast},
};

using enum LayerCondition;

constexpr std::string_view float_ties =
    "half_up adds 0.5 in double and rounds that to float, which makes 1 of the float just below 0.5: one sum of areas 82, 94, 110, 122 and "
    "some larger ones, between equal "
    "exponents";
constexpr OpenRow open_s3[]{
    {"conv.i8", always, lanes},           {"depthwise_conv.i8", always, lanes},        {"fully_connected.i8", always, lanes},
    {"average_pool", always, float_ties}, {"global_average_pool", always, float_ties},
};
constexpr std::string_view portable_ties =
    "the portable half_even, where it is computed in C, steps back where a sum lies within 10^-6 of an odd number: a few sums of areas 14, "
    "26, 28, 30, 52 and larger ones";
constexpr OpenRow open_p4[]{
    {"average_pool", always, portable_ties},
    {"global_average_pool", always, portable_ties},
};
constexpr OpenRow open_esp_nn[]{{"*", always, "equal in its C code, which was run; the chips' assembly was read, not run"}};
constexpr OpenRow open_esp_nn_fast[]{
    {"*", always, "its C form was run; the chip's assembly was not"},
    {"conv", always, "the assembly leaves out the first rounding as well", "ESP-NN on the ESP32-S3 with CONFIG_NN_SKIP_NUDGE"},
};

}  // namespace

std::span<const SheetRow> espressif_sheets() {
  static constexpr SheetRow sheets[]{
      {"espdl_s3", "ESP-DL on Espressif ESP32 and ESP32-S3: ROUND_HALF_UP", espdl_s3, espdl_s3_evidence, espdl_s3_settings, "espdl_s3",
       LayerList::none, open_s3},
      {"espdl_p4", "ESP-DL on Espressif ESP32-P4 and ESP32-S31: ROUND_HALF_EVEN", espdl_p4, espdl_p4_evidence, espdl_p4_settings,
       "espdl_p4", LayerList::none, open_p4},
      {"esp_nn", "ESP-NN, TensorFlow Lite Micro on Espressif chips", esp_nn, esp_nn_evidence, {}, "int8", LayerList::none, open_esp_nn},
      {"esp_nn_fast",
       "ESP-NN on the ESP32-P4 built with CONFIG_NN_SKIP_NUDGE",
       esp_nn_fast,
       esp_nn_fast_evidence,
       {},
       "int8",
       LayerList::none,
       open_esp_nn_fast}};
  return sheets;
}

}  // namespace lastbit
