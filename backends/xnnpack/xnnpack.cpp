// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/xnnpack.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto guess = EvidenceLevel::guess;

constexpr const char* networks = "recorded outputs of the XNNPACK delegate (tfjs-tflite wasm) on unmodified and power-of-two networks";
constexpr const char* builtin =
    "left to TensorFlow Lite's built-in kernels, which round twice: random layers run on the same wasm, every value equal";
constexpr const char* unmatched =
    "left to TensorFlow Lite's built-in kernels; random layers of 16-bit transposed convolution and of fully connected without bias differ";
constexpr const char* taken =
    "built-in kernels; of 8-bit codes the delegate computes some scales by multipliers of 8 fraction bits, which this backend does not";

std::string read(const char* what) { return std::string("XNNPACK 75db3c09, read: ") + what; }

std::string unlike(const char* how) {
  return std::string("left to the built-in kernel of TFLite") + how +
         "; here as in TFLite Micro, to which the recorded network's output is equal (its inner tensors are not recorded)";
}

std::vector<Evidence> evidence() {
  return {
      {"domain", code, "integer between float scales"},
      {"conv", code, networks},
      {"depthwise_conv", code, networks},
      {"fully_connected", code, networks},
      {"transposed_conv", source, read("the rescaling of convolution")},
      {"matmul", source, read("the rescaling of fully_connected")},
      {"*.i16_bias32", guess, unmatched},
      {"*.i16_bias64", guess, unmatched},
      {"max_pool", EvidenceLevel::document, "README of TFLite's XNNPACK delegate: MAX_POOL_2D of 8-bit data"},
      {"average_pool", code, std::string(networks) + " (resnet8, dscnn): the built-in kernel"},
      {"global_average_pool", code, "an average pool whose filter is the image"},
      {"mean", code,
       std::string(networks) + " (mobilenet_v2); the networks cannot tell float from single rounding, the source does. Over other "
                               "axes than the image's, and of 16 bits, the built-in kernel has it, which this backend does not"},
      {"add", source, read("qs8-vadd-minmax; the recorded networks agree but cannot tell half_up from half_away")},
      {"add.i16", EvidenceLevel::vendor_code,
       "TensorFlow Lite 2022 with XNNPACK, run and recorded: its reference kernel, which rounds twice"},
      {"sub", source, read("qs8-vadd-minmax with the second weight negated")},
      {"*.i16", source, read("the delegate takes sums of 8-bit data only: the built-in kernels compute the others")},
      {"*.i16_power_of_two", source, read("the delegate takes sums of 8-bit data only: the built-in kernels compute the others")},
      {"mul", source, read("qs8-vmul-minmax-fp32")},
      {"concat", source, read("a copy; other quantisations are refused")},
      {"quantize", source, read("f32-qs8-vcvt")},
      {"dequantize", source, read("qs8-f32-vcvt")},
      {"requantize", code, "TensorFlow Lite 2022 with XNNPACK, run and recorded: its kernel qs8-vcvt"},
      {"requantize_16bit", code, builtin},
      {"relu", code, builtin},
      {"leaky_relu", guess, taken},
      {"prelu", guess, "left to TensorFlow Lite's built-in kernels; not run"},
      {"hard_swish", code, builtin},
      {"logistic", source,
       read("a table of the float function; the last bit of expf is the platform's. Of 16 bits the built-in kernel has it, which "
            "this backend does not")},
      {"tanh", code, builtin},
      {"softmax", code, builtin},
      {"svdf", guess, unlike("")},
      {"lstm", guess, unlike(", which computes logistic and tanh of 16 bits in another way")},
  };
}

}  // namespace

std::vector<SpecSheet> xnnpack_sheets() {
  return {{"xnnpack", "XNNPACK delegate of TFLite and LiteRT: desktop, phone, web", xnnpack_delegate, evidence(), {}, "int8"}};
}

}  // namespace lastbit
