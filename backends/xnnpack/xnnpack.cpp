// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/xnnpack.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view networks = "recorded outputs of the XNNPACK delegate (tfjs-tflite wasm) on unmodified and power-of-two networks";
/// Of fuzz-against on TensorFlow Lite 2022 with XNNPACK, the same wasm (0.0.1-alpha.10): docs/backends/xnnpack.md has the numbers.
constexpr std::string_view builtin =
    "left to TensorFlow Lite's built-in kernels, which round twice: random layers run on the same wasm, every value equal";
constexpr std::string_view sums_left =
    "left to TensorFlow Lite's built-in kernels, which round twice: layers run on the same wasm and recorded";
constexpr std::string_view run_equal = "random layers run on the same wasm, every value equal";
constexpr std::string_view profile = "the same wasm, asked which layers its delegate ran, below, at and above each bound";
/// What the delegate leaves was run in another version and without it.
constexpr std::string_view litert =
    "left to TensorFlow Lite's built-in kernels, not run there; as those of ai-edge-litert 1.2.0, reference kernels, run and recorded: "
    "tflite_builtin/";
constexpr std::string_view read = "XNNPACK 75db3c09, read: ";

constexpr EvidenceRow evidence[]{
    {"conv", code, networks},
    {"depthwise_conv", code, networks},
    {"fully_connected", code, networks},
    {"transposed_conv", code,
     "random layers run on the same wasm: 0.2 % of the values differ, some with strides beyond the filter, which the delegate leaves"},
    {"matmul", source, read, "the rescaling of fully_connected"},
    {"*.i16_bias32", assumption, "left to TensorFlow Lite's built-in kernel; not run"},
    {"fully_connected.i16_bias32", code, "a matrix product that rounds once; ", run_equal},
    {"*.i16_bias64", code, builtin},
    {"transposed_conv.i16_bias64", code, "left to the built-in kernel; random layers run on the same wasm, few values differ"},
    {"transposed_conv.i16_without_bias", code,
     "left to the built-in kernel, which sums in 32 bits; random layers run on the same wasm, few values differ"},
    {"*.i16_without_bias", code, "as with a bias of 32 bits; ", run_equal},
    {"transposed_conv.i8_per_channel", code, builtin},
    {"fully_connected.i8_per_channel", code, "the built-in kernel's matrix product, which rounds once; ", run_equal},
    {"depthwise_conv.i8_without_bias", code,
     "left to TensorFlow Lite's built-in kernel, which rounds twice: a layer run on the same wasm and recorded"},
    {"max_pool", EvidenceLevel::document, "README of TFLite's XNNPACK delegate: MAX_POOL_2D of 8-bit data"},
    {"average_pool", code, networks, " (resnet8, dscnn): the built-in kernel"},
    {"global_average_pool", code, "an average pool whose filter is the image"},
    {"mean", code, networks, " (mobilenet_v2); random layers agree"},
    {"add", source, read, "qs8-vadd-minmax; the recorded networks agree but cannot tell half_up from half_away"},
    {"sub", source, read, "qs8-vadd-minmax with the second weight negated"},
    {"*.i16", source, read, "the delegate takes sums of 8-bit data only: the built-in kernels compute the others"},
    {"add.i16", code, "TensorFlow Lite 2022 with XNNPACK, run and recorded: its reference kernel, which rounds twice"},
    {"*.i16_power_of_two", source, read, "the delegate takes sums of 8-bit data only: the built-in kernels compute the others"},
    {"mul", source, read, "qs8-vmul-minmax-fp32"},
    {"domain", code, "integer between float scales"},
    {"concat", source, read, "a copy; other quantisations are refused"},
    {"quantize", source, read, "f32-qs8-vcvt"},
    {"dequantize", source, read, "qs8-f32-vcvt"},
    {"requantize", code, "TensorFlow Lite 2022 with XNNPACK, run and recorded: its kernel qs8-vcvt"},
    {"relu", code, builtin},
    {"leaky_relu", code, "multipliers of 8 fraction bits; ", run_equal},
    {"prelu", assumption, "left to TensorFlow Lite's built-in kernels; not run"},
    {"hard_swish", code, builtin},
    {"logistic", source, read, "a table of the float function; the last bit of expf is the platform's"},
    {"tanh", code,
     "the built-in kernel's table of the float function; random layers run on the same wasm, every value equal, none on a tie: half_away "
     "is as that kernel reads"},
    {"softmax", code, builtin,
     " of 8 bits; the table of 16-bit data is that of ai-edge-litert 1.2.0, reference kernels, run and recorded: tflite_builtin/softmax; "
     "not run on that "
     "wasm"},
    {"resize", code,
     "TensorFlow Lite 2022 with XNNPACK, run: random int8 and uint8 images, a million values, all equal (s8-ibilinear, "
     "u8-ibilinear). Of 16 bits the built-in kernel has it, which this backend does not"},
    {"resize.coordinates", code, "left to TensorFlow Lite's built-in kernel, run and recorded: the small network resized"},
    {"argmax", assumption, litert, "argmax, argmin"},
    {"extreme", assumption, litert, "maximum, minimum, reduce_max, reduce_min; later delegates compare themselves"},
    {"reduce_sum", assumption, litert, "reduce_sum; of int8 data they give another value"},
    {"l2_normalization", assumption, litert, "l2_normalization"},
    {"detection", source, "left to TensorFlow Lite's built-in kernel: detection_postprocess.cc"},
    {"abs", assumption, litert, "abs"},
    {"svdf", assumption,
     "left to the built-in kernel of TFLite; here as in TFLite Micro, to which the recorded network's output is equal (its inner tensors "
     "are not recorded)"},
    {"lstm", assumption,
     "left to the built-in kernel of TFLite; here as its reference kernel in ai-edge-litert 1.2.0, run and recorded: tflite_builtin/lstm; "
     "with the delegate not run, but that the recorded network's output is equal (its inner tensors are not recorded)"},
    {"delegated", code, profile},
    {"left", code, builtin},
    {"left.add", code, sums_left},
    {"left.sub", code, sums_left},
    {"left.mean", code,
     "the built-in kernel's float product; random layers run on the same wasm: 2 % of the values differ, of equal quantisations, where "
     "that kernel truncates, and others"},
    {"left.mul", code, "left to the built-in kernel; a layer of 16 bits run on the same wasm and recorded"},
    {"left.resize", code, "left to the built-in kernel; layers of 16 bits run on the same wasm and recorded"},
    {"left.logistic", code,
     "left to the built-in kernel; random layers run on the same wasm differ at the input scale 2^-12, for which that kernel has another "
     "approximation, and few others"},
    {"left.tanh", code,
     "the built-in kernel; random layers run on the same wasm differ at the input scales 2^-11 and 2^-12, for which that kernel has "
     "another approximation"},
};

using enum LayerCondition;

constexpr std::string_view by_integers =
    "on Arm the kernels chosen for uint8 (qu8, rndnu) multiply by the scale's 24-bit significand and round once, half up: they differ on "
    "ties and near them";
constexpr std::string_view other_function =
    "of some scales within a thousandth of a power of two the built-in kernel has another approximation, 12 codes off at most";
constexpr std::string_view wrapped_padding =
    "strides that leave input over make the total padding negative, which the build that was run takes modulo 2^32: its layer is the bias "
    "alone";
constexpr OpenRow open[]{
    {"conv", data_u8, by_integers},
    {"depthwise_conv", data_u8, by_integers},
    {"fully_connected", data_u8, by_integers},
    {"left", always, "on Arm here as without NEON: what the delegate leaves is computed there by the built-in kernels for Arm"},
    {"conv", input_left_over, wrapped_padding},
    {"depthwise_conv", input_left_over, wrapped_padding},
    {"left.logistic", data_16bit, other_function},
    {"left.tanh", data_16bit, other_function},
    {"left.mean", equal_quantization, "the built-in kernel truncates the quotient of the sum of codes"},
    {"transposed_conv", stride_beyond_kernel, "the delegate leaves the layer to the built-in kernel"},
    {"softmax", data_16bit,
     "one value in a thousand differed by 1 from TFLite Micro's table; the table that is here was not run against that build"},
    {"matmul", always, "the build that was run leaves it to a kernel that was not traced: one value of 3,555 differs"},
    {"leaky_relu", always, "XNNPACK multiplies in/out by alpha, the sheet divides in*alpha by out: one multiplier in 100,000 is another"},
    {"depthwise_conv", data_u8_without_bias, "uint8 data are computed as int8 ones, whose scales are multiplied in double"},
    {"*", always, "XNNPACK's kernels; what the provider hands them was not read", "ONNX Runtime's XNNPACK provider"},
};

}  // namespace

std::span<const SheetRow> xnnpack_sheets() {
  static constexpr SheetRow sheets[]{{"xnnpack",
                                      "XNNPACK delegate of TFLite and LiteRT: desktop, phone, web",
                                      xnnpack_delegate,
                                      evidence,
                                      {},
                                      "int8",
                                      LayerList::none,
                                      open}};
  return sheets;
}

}  // namespace lastbit
