// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/tflite.hpp"

#include "sheets.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;

std::vector<Evidence> evidence() {
  const std::string kernels = "tflite-micro 90b983c2 reference kernels and CMSIS-NN 99f736a6 host C, run and recorded, ";
  return {
      {"domain", code, kernels + "integer throughout"},
      {"conv", code, kernels + "conv2d_s8, conv2d_u8, conv2d_s16, requantize, requantize64"},
      {"depthwise_conv", code, kernels + "depthwise_s8, _u8, _s16"},
      {"transposed_conv", code, kernels + "transpose_conv_s8; seanet_int16x8 models"},
      {"fully_connected", code, kernels + "fully_connected (s8, s8 per channel, s16, u8)"},
      {"matmul", EvidenceLevel::vendor_source, "tflite-micro 90b983c2 batch_matmul, the rescaling of fully_connected; not recorded"},
      {"average_pool", code, kernels + "pooling"},
      {"global_average_pool", code, "an average pool whose filter is the image"},
      {"mean", code, kernels + "mean; the recorded mobilenet_v2 network"},
      {"add", code, kernels + "elementwise (s8, u8, s16, power-of-two)"},
      {"sub", code, "tflite-micro 90b983c2, run and recorded: seanet_int16x8 models; its multipliers come from float arithmetic, those of add from double"},
      {"mul", code, kernels + "elementwise (s8, s16)"},
      {"concat", code, kernels + "concat (uint8 with scaling), and networks that copy"},
      {"quantize", code, kernels + "quantize_ops"},
      {"dequantize", code, kernels + "quantize_ops"},
      {"requantize", code, kernels + "quantize_ops (all type pairs)"},
      {"leaky_relu", code, kernels + "activations; seanet_int16x8 models"},
      {"prelu", code, kernels + "activations"},
      {"hard_swish", code, kernels + "activations"},
      {"logistic", code, kernels + "logistic_tanh, every input of 8 and 16 bits"},
      {"tanh", code, kernels + "logistic_tanh, every input of 8 and 16 bits"},
      {"softmax", code, kernels + "softmax"},
  };
}

}  // namespace

std::vector<SpecSheet> tflite_sheets() {
  return {{"tflite_double", "TensorFlow Lite reference kernels, TFLite Micro, CMSIS-NN (default builds: rounding twice)", tflite_double,
           evidence(), {}},
          {"tflite_single", "TensorFlow Lite with TFLITE_SINGLE_ROUNDING, CMSIS-NN single rounding, ruy", tflite_single, evidence(), {}}};
}

}  // namespace lastbit
