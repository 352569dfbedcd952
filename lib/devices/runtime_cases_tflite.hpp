// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is known of TensorFlow Lite and LiteRT on CPUs: data. A claim is read in the source that its case names, run and recorded where it says so, or told as
// not certain. Of Arm: docs/backends/tflite.md.
#pragma once

#include <array>

#include "lastbit/runtimes.hpp"
#include "sheet/joined.hpp"

namespace lastbit::of_tflite {

inline constexpr VersionRange every{};

// Of TensorFlow Lite's own kernels, which LiteRT has too.

inline constexpr RuntimeRow grouped{"conv2d with groups, or whose im2col buffer would be too large", Nearness::equal,
                                    "tflite_builtin_double", "",
                                    "falls back to the reference kernel, which rounds twice: half up, then half away from zero"};
inline constexpr RuntimeRow one_row{"fully connected of one row, 8 bits, 4 outputs and 8 inputs or more", Nearness::equal,
                                    "tflite_builtin_double", "fully_connected.i8.output.chain.2.rounding=half_up",
                                    "a kernel of its own (custom_gemv): two roundings, both half up (vqrdmulh, vrshl)"};
inline constexpr RuntimeRow neon_mul{"mul, average and max pool", Nearness::equal, "tflite_builtin_double", "",
                                     "vectorised, but with the fix-up of negative ties: half up, then half away from zero"};

inline constexpr RuntimeRow tables{"logistic, tanh, 8 bits", Nearness::equal, "tflite_builtin_double", "",
                                   "tables of the float functions, half away from zero; the last bit of expf and tanhf is the platform's"};
inline constexpr RuntimeRow not_read{"everything else", Nearness::nearest, "tflite_builtin_double", "",
                                     "its kernels were not read one by one"};

inline constexpr std::string_view on_arm = "TensorFlow Lite's built-in kernels on Arm",
                                  on_x86 = "TensorFlow Lite's optimised kernels on x86-64",
                                  by_reference = "TensorFlow Lite's reference kernels",
                                  later_reference = "LiteRT's reference kernels from 1.4.0 on";

/// Beside the matrix products.
inline constexpr auto neon = std::to_array<RuntimeRow>({
    one_row,
    grouped,
    {"depthwise convolution, int8", Nearness::nearest, "tflite_builtin_double", "depthwise_conv.i8.output.chain.2.rounding=half_up", "",
     "depthwise_conv.i8", on_arm},
    {"transposed convolution, int8", Nearness::nearest, "tflite_builtin_double", "transposed_conv.i8.output.chain.2.rounding=half_up", "",
     "transposed_conv.i8", on_arm},
    {"add, int8", Nearness::nearest, "tflite_builtin_double", "", "", "add.i8", on_arm},
    neon_mul,
    tables,
    {"mean over the image, 8 bits", Nearness::nearest, "tflite_builtin_double", "mean.output.chain.2.rounding=half_up", "", "mean", on_arm},
    not_read,
});

inline constexpr auto ruy_on_neon = joined(
    std::to_array<RuntimeRow>(
        {{"int8 in whole vectors: conv2d, depthwise and transposed convolution, fully connected of one row, add, mul, requantize, quantize",
          Nearness::equal, "tflite_ruy_neon", "",
          "run under qemu and recorded; the rows below say the same by the rules of other backends, and what lies beside it"},
         {"conv2d, fully connected of several rows, 8 bits", Nearness::equal, "tflite_builtin_single", "",
          "ruy rounds once, half up (sqdmulh, srshl)"}}),
    neon);

inline constexpr auto early_ruy_on_neon = joined(
    std::to_array<RuntimeRow>({{"conv2d, fully connected of several rows, 8 bits", Nearness::equal, "tflite_builtin_double",
                                "conv.i8.output.chain.2.rounding=half_up fully_connected.i8.output.chain.2.rounding=half_up",
                                "ruy of before February 2021 rounds twice, both times half up (sqrdmulh, srshl without its fix-up)"}}),
    neon);

inline constexpr auto gemmlowp_on_neon =
    joined(std::to_array<RuntimeRow>({{"conv2d, fully connected of several rows, 8 bits", Nearness::equal, "tflite_builtin_double", "",
                                       "gemmlowp rounds twice, half up and with the fix-up half away from zero, on NEON too"}}),
           neon);

/// What was run: the packages' kernels are those of NEON by way of NEON_2_SSE, their matrix products are not ruy's.
inline constexpr RuntimeRow x86_packages[] = {
    {"conv2d, 8 bits", Nearness::equal, "tflite_builtin_double",
     "conv.i8.output.chain.2.rounding=half_up conv.u8.output.chain.2.rounding=half_up",
     "two roundings, both half up; 173,755 values run, all equal"},
    {"fully connected, 8 bits", Nearness::equal, "tflite_builtin_double", "fully_connected.i8.output.chain.2.rounding=half_up",
     "likewise; 113,595 values run, all equal"},
    grouped,
    {"requantize, 8 bits", Nearness::equal, "tflite_ruy_neon", "", "half up twice; every code of 2,000 layers run, all equal"},
    {"depthwise and transposed convolution, int8", Nearness::nearest, "tflite_ruy_neon", "", "", "depthwise_conv.i8"},
    {"add, sub, mul, pools, softmax of 8 bits, relu, leaky relu, prelu, hard swish, logistic and tanh of 8 bits, abs, argmax, maximum, "
     "minimum, "
     "resize, l2_normalization, svdf",
     Nearness::equal, "tflite_builtin_double", "", "1,000 random layers of each and of each type run, all values equal"},
    {"mean over the image, 8 bits", Nearness::nearest, "tflite_builtin_double", "", "", "mean"},
    {"reduce_sum", Nearness::nearest, "tflite_builtin_double", "", "", "reduce_sum", on_x86},
    {"quantize", Nearness::nearest, "tflite_builtin_double", "", "", "quantize", on_x86},
    {"dequantize", Nearness::nearest, "tflite_builtin_double", "", "", "dequantize", on_x86},
    {"conv2d, 16 bits", Nearness::nearest, "tflite_builtin_double", "", "", "conv", on_x86},
    {"fully connected, 16 bits", Nearness::nearest, "tflite_builtin_double", "", "", "fully_connected", on_x86},
    {"softmax of 8 to 16 bits", Nearness::nearest, "tflite_builtin_double", "", "", "softmax", on_x86},
    {"logistic, 16 bits", Nearness::nearest, "tflite_builtin_double", "", "", "logistic", on_x86},
    {"tanh, 16 bits", Nearness::nearest, "tflite_builtin_double", "", "", "tanh", on_x86},
    not_read};

inline constexpr RuntimeRow delegate[] = {{"everything of 8 bits, and what the delegate leaves", Nearness::equal, "xnnpack", "",
                                           "one rounding, half to even, of a float product; docs/backends/xnnpack.md says what it leaves"}};

inline constexpr RuntimeRow delegate_on_arm[] = {
    {"int8", Nearness::equal, "xnnpack", "", "the kernels chosen for int8 are the float ones (qs8, fp32) on Arm as well"},
    {"conv2d, depthwise convolution, fully connected, uint8", Nearness::nearest, "xnnpack", "", "", "depthwise_conv"},
    {"what the delegate leaves", Nearness::nearest, "xnnpack", "", "", "left"}};

inline constexpr std::string_view kernels_source =
    "tensorflow/tensorflow tensorflow/lite/kernels, read as of google-ai-edge/LiteRT v1.2.0 tflite/kernels (cpu_backend_gemm.h, "
    "cpu_backend_gemm_custom_gemv.h, internal/common.h, internal/optimized/); google/ruy be760b6 of 2021-02-09 (pull request 227), "
    "kernel_arm64.cc, apply_multiplier.cc; google/gemmlowp 16e8662 fixedpoint/fixedpoint_neon.h";
inline constexpr std::string_view delegate_source =
    "google-ai-edge/LiteRT v1.2.0 tflite/delegates/xnnpack/BUILD, tflite/core/interpreter_builder.cc; tensorflow/tensorflow issue 61946 "
    "(2.9.3, "
    "2.13.0: quantised layers are not delegated); google/XNNPACK 75db3c0 src/configs/gemm-config.c, dwconv-config.c; recorded from "
    "tfjs-tflite";
inline constexpr std::string_view which_release =
    "which release of TensorFlow Lite between 2.14 and LiteRT 1.2 began to delegate quantised layers by default was not verified; the "
    "runtime prints "
    "\"Created TensorFlow Lite XNNPACK delegate for CPU\" where it has one, which before that took float layers alone; for Android's Java "
    "API the "
    "delegate's README says that it is off unless setUseXNNPACK asks for it";
inline constexpr std::string_view read_on_arm =
    "what tflite_ruy_neon says is recorded was run under qemu, as of LiteRT f6745779 and ruy 2af88863; the rest was read, not run, as of "
    "LiteRT 1.2, of older versions ruy alone; TensorFlow 2.3 has ruy 34ea9f4, 2.8 e6c1b8d, between them the change was placed by its date";
inline constexpr std::string_view sse_builds =
    "the Python packages ai-edge-litert 1.2.0 and 2.3.0 were run, of tflite-runtime 2.14.0 fewer layers; from 1.4.0 on fully connected of "
    "16 bits "
    "is another one. A build without SSE4.1 is plain C, where ruy rounds once, half up (tflite_builtin_single): read, not run";

inline constexpr std::string_view litert_releases =
    "1.0 and 1.1 were not verified: their sources are not in the repository; for Android's Java API the delegate's README says that it is "
    "off unless "
    "setUseXNNPACK asks for it";

inline constexpr std::string_view tflite = "TensorFlow Lite";

inline constexpr RuntimeRow reference[] = {
    {"everything but the rows below", Nearness::equal, "tflite_builtin_double", "",
     "plain C, which rounds twice: half up, then half away from zero; 1,000 random layers of each operation and type run, all values "
     "equal"},
    {"resize, bilinear, uint8", Nearness::equal, "tflite_builtin_double", "resize.method_uint8=float_by_row", "run and recorded"},
    {"fully connected of LiteRT 1.4.0 and later", Nearness::nearest, "tflite_builtin_double", "", "", "fully_connected", later_reference},
    {"reduce_sum", Nearness::nearest, "tflite_builtin_double", "", "", "reduce_sum", by_reference},
    {"svdf with a state of 8 bits", Nearness::nearest, "tflite_builtin_double", "", "", "svdf.state_i8", by_reference},
    {"lstm, 16 bits", Nearness::none, "tflite_builtin_double", "", "", "lstm.gate_i16", by_reference}};
inline constexpr std::string_view reference_run =
    "ai-edge-litert 1.2.0 and 2.3.0 were run, on x86-64; a build with TFLITE_SINGLE_ROUNDING rounds once: tflite_builtin_single, not run";

inline constexpr auto tflite_cases = std::to_array<RuntimeCase>({
    {tflite,
     {"2.5", ""},
     VersionRange{"2.5", "2.13"},
     "64-bit Arm",
     "built-in kernels, matrix products by ruy (Bazel; Android)",
     "tflite builtin ruy aarch64 arm neon sdot i8mm android linux ios macos python bazel",
     ruy_on_neon,
     read_on_arm,
     kernels_source},
    {tflite,
     {"2.5", ""},
     VersionRange{"2.5", "2.13"},
     "Arm",
     "built-in kernels, matrix products by gemmlowp (CMake builds)",
     "tflite builtin gemmlowp aarch64 arm32 arm neon linux cmake python",
     gemmlowp_on_neon,
     "CMake builds have no ruy unless they are for Android or TFLITE_ENABLE_RUY is on; which of them a package was built by was not "
     "verified. Read, not run",
     kernels_source},
    {tflite,
     {"", "2.4"},
     VersionRange{"", "2.4"},
     "Arm",
     "built-in kernels, matrix products by ruy (Bazel; Android)",
     "tflite builtin ruy aarch64 arm32 arm neon android linux ios macos python bazel",
     early_ruy_on_neon,
     read_on_arm,
     kernels_source},
    {tflite,
     {"2.5", ""},
     VersionRange{"2.5", "2.13"},
     "32-bit Arm",
     "built-in kernels, matrix products by ruy (Android)",
     "tflite builtin ruy arm32 arm neon android bazel",
     ruy_on_neon,
     read_on_arm,
     kernels_source},
    {tflite, every, VersionRange{"", "2.13"}, "x86-64", "built-in kernels",
     "tflite builtin ruy x86-64 vnni avx2 avx512 linux windows macos android python bazel cmake", x86_packages, sse_builds, kernels_source},
    {tflite,
     {"2.6", ""},
     VersionRange{"2.14", ""},
     "64-bit and 32-bit Arm",
     "XNNPACK delegate for quantised layers",
     "tflite xnnpack aarch64 arm32 arm neon sdot i8mm android linux ios macos python bazel cmake",
     delegate_on_arm,
     which_release,
     delegate_source},
    {tflite,
     every,
     {},
     "any processor",
     "reference kernels (BuiltinRefOpResolver)",
     "tflite reference aarch64 arm32 arm neon sdot i8mm x86-64 vnni avx2 avx512 wasm android linux windows ios macos python bazel cmake",
     reference,
     reference_run,
     kernels_source},
    {tflite,
     {"2.6", ""},
     VersionRange{"2.14", ""},
     "x86-64, WebAssembly",
     "XNNPACK delegate for quantised layers",
     "tflite xnnpack x86-64 vnni avx2 avx512 wasm linux windows macos android python bazel cmake",
     delegate,
     which_release,
     delegate_source},
});

inline constexpr std::string_view litert = "LiteRT";

inline constexpr auto litert_cases = std::to_array<RuntimeCase>({
    {litert, every, VersionRange{"1.2", ""}, "64-bit and 32-bit Arm", "XNNPACK delegate",
     "litert xnnpack aarch64 arm32 arm neon sdot i8mm android linux ios macos python bazel cmake", delegate_on_arm, litert_releases,
     delegate_source},
    {litert, every, VersionRange{"1.2", ""}, "x86-64, WebAssembly", "XNNPACK delegate",
     "litert xnnpack x86-64 vnni avx2 avx512 wasm linux windows macos android python bazel cmake", delegate, litert_releases,
     delegate_source},
    {litert,
     every,
     {},
     "64-bit Arm",
     "built-in kernels, without the delegate",
     "litert builtin ruy aarch64 arm neon sdot i8mm android linux ios macos python bazel",
     ruy_on_neon,
     read_on_arm,
     kernels_source},
    {litert,
     every,
     {},
     "x86-64",
     "built-in kernels, without the delegate",
     "litert builtin ruy x86-64 vnni avx2 avx512 linux windows macos android python bazel cmake",
     x86_packages,
     sse_builds,
     kernels_source},
    {litert,
     every,
     {},
     "any processor",
     "reference kernels (BuiltinRefOpResolver)",
     "litert reference aarch64 arm32 arm neon sdot i8mm x86-64 vnni avx2 avx512 wasm android linux windows ios macos python bazel cmake",
     reference,
     reference_run,
     kernels_source},
});

}  // namespace lastbit::of_tflite
