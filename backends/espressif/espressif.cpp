// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/espressif.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr const char* rounding = "espressif/esp-dl 12c0616d, dl_tool.cpp: shift_and_round and round, compiled and recorded";
constexpr const char* buffers = "espressif/esp-dl 12c0616d, dl_base_activate_buffer.hpp, read";
constexpr const char* assembly =
    "espressif/esp-dl 12c0616d, dl_esp32p4_s8_conv2d.S, read: the bias is loaded into 32-bit accumulators, one shift per channel follows";
constexpr const char* mode = "dl_esp32p4_cfg_round(ROUND_MODE_HALF_EVEN) is called before; that this instruction heeds it was not recorded";
constexpr const char* portable =
    "the portable code shifts down by 4, adds a bias in units of 16, and shifts down again: for shifts of 4 or more, one floor of the sum. "
    "No build of this commit gives it the exponents that it reads";
constexpr const char* lanes =
    "the vector instructions of the ESP32-S3 sum int8 products in lanes of 20 bits, for which dl_tensor_base.cpp packs the bias; recorded "
    "is the "
    "portable code";
constexpr const char* kernels = "espressif/esp-nn d45b843c, the C reference, run on TFLite's recorded inputs: no value differs";
constexpr const char* pools = "espressif/esp-dl 12c0616d, dl_base_avg_pool2d.cpp, dl_base_pool2d.hpp, read: the whole window is the area";

/// What both chips have.
std::vector<Evidence> of_espdl(std::vector<Evidence> beside) {
  std::vector<Evidence> list{
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
  };
  list.insert(list.end(), beside.begin(), beside.end());
  return list;
}

std::vector<Evidence> espdl_s3_evidence() {
  return of_espdl({{"*.i8.per_channel", assumption, "the library loads no weights with an exponent per channel on this chip"}});
}

std::vector<Evidence> espdl_p4_evidence() {
  return of_espdl({{"*.i8_per_channel", source, assembly}, {"*.i8_per_channel.output.chain.0.rounding", assumption, mode}});
}

std::vector<Setting> espdl_s3_settings() {
  return {{"*.i8.accumulator.bits", {"20"}, lanes}, {"*.i8.accumulator.overflow", {"saturate"}, lanes}};
}

std::vector<Setting> espdl_p4_settings() { return {{"*.i8_per_channel.output.chain.0.rounding", {"floor"}, portable}}; }

std::vector<Evidence> esp_nn_evidence() {
  return {
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
}

std::vector<Evidence> esp_nn_fast_evidence() {
  std::vector<Evidence> list = esp_nn_evidence();
  constexpr const char* fast =
      "espressif/esp-nn d45b843c, esp_nn_multiply_by_quantized_mult_fast of common_functions.h, run on TFLite's recorded accumulators: 101 "
      "of "
      "49,398 differ from tflite_double";
  constexpr const char* kernels_of_p4 = "espressif/esp-nn d45b843c, the kernels *_esp32p4.c, read: they requantise by esp_nn_requantize";
  for (const char* const rule : {"conv.i8", "depthwise_conv.i8", "fully_connected.i8", "mul"}) {
    std::erase_if(list, [&](const Evidence& one) { return one.rule == rule; });
    list.push_back({rule, source, kernels_of_p4});
  }
  for (const char* const rule : {"*.i8.output.chain", "mul.chain"}) list.push_back({rule, code, fast});
  return list;
}

}  // namespace

std::vector<SpecSheet> espressif_sheets() {
  return {
      {"espdl_s3", "ESP-DL on Espressif ESP32 and ESP32-S3: ROUND_HALF_UP", espdl_s3, espdl_s3_evidence(), espdl_s3_settings(), "espdl_s3"},
      {"espdl_p4", "ESP-DL on Espressif ESP32-P4 and ESP32-S31: ROUND_HALF_EVEN", espdl_p4, espdl_p4_evidence(), espdl_p4_settings(),
       "espdl_p4"},
      {"esp_nn", "ESP-NN, TensorFlow Lite Micro on Espressif chips", esp_nn, esp_nn_evidence(), {}, "int8"},
      {"esp_nn_fast", "ESP-NN on the ESP32-P4 built with CONFIG_NN_SKIP_NUDGE", esp_nn_fast, esp_nn_fast_evidence(), {}, "int8"}};
}

}  // namespace lastbit
