// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is known of runtimes on CPUs: data. A claim is read in the source that its case names, run and recorded where it says so, or told as
// not certain.
#include "devices/runtime_cases.hpp"

namespace lastbit {
namespace {

using Rows = std::vector<RuntimeRow>;

constexpr VersionRange every{};

// Microcontrollers.

constexpr std::string_view micro_source =
    "tensorflow/tflite-micro 90b983c and ARM-software/CMSIS-NN 99f736a, run on a PC and recorded; Include/arm_nnsupportfunctions.h read";

Rows twice_everywhere(std::string_view why) { return {{"everything", Nearness::equal, "tflite_double", "", why}}; }

void add_tflm(std::vector<RuntimeCase>& all) {
  constexpr std::string_view runtime = "TensorFlow Lite Micro";
  all.push_back(
      {runtime, every, every, "any processor", "reference kernels",
       "tflm reference cortex-m cortex-m0 cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55 cortex-m85 riscv xtensa esp32 x86-64 arm",
       twice_everywhere("rounds twice: half up, then half away from zero; every recorded value is equal"), "", micro_source});
  all.push_back({runtime,
                 every,
                 every,
                 "Cortex-M without Helium",
                 "CMSIS-NN",
                 "tflm cmsis-nn dsp cortex-m cortex-m0 cortex-m3 cortex-m4 cortex-m7 cortex-m33 arm",
                 {{"all but softmax of int16", Nearness::equal, "tflite_double", "",
                   "the same rounding; its C code was run, every recorded value is equal"},
                  {"softmax, int16", Nearness::nearest, "tflite_double", "",
                   "a row of one column gives -32768 where TensorFlow Lite Micro gives 32767; other rows are equal"}},
                 "its C code was run on a PC; what the DSP extension's code computes was read, not run",
                 micro_source});
  all.push_back({runtime, every, every, "Cortex-M with Helium (M52, M55, M85)", "CMSIS-NN",
                 "tflm cmsis-nn helium mve cortex-m cortex-m52 cortex-m55 cortex-m85 arm",
                 twice_everywhere("vqrdmulh, and vrshl with the fix-up of negative ties: the same rounding"), "read, not run",
                 micro_source});
  all.push_back({runtime,
                 every,
                 {},
                 "any processor",
                 "built with TFLITE_SINGLE_ROUNDING, or CMSIS_NN_USE_SINGLE_ROUNDING",
                 "tflm single reference cmsis-nn cortex-m cortex-m0 cortex-m3 cortex-m4 cortex-m7 cortex-m33 x86-64 riscv arm",
                 {{"everything", Nearness::equal, "tflite_single", "", "rounds once, half up; every recorded value is equal"}},
                 "on Helium predicated code still rounds twice (arm_requantize_mve_pred): no backend mixes them",
                 micro_source});
  all.push_back({runtime,
                 every,
                 {},
                 "ESP32 family",
                 "ESP-NN",
                 "tflm esp-nn esp32 xtensa riscv",
                 {{"everything", Nearness::nearest, "esp_nn", "", "equal in its C code, which was run"},
                  {"convolutions and products on the ESP32-P4, or with CONFIG_NN_SKIP_NUDGE", Nearness::nearest, "esp_nn_fast", "",
                   "its C form was run"},
                  {"convolutions on the ESP32-S3 with CONFIG_NN_SKIP_NUDGE", Nearness::none, "", "",
                   "no backend: the assembly leaves out the first rounding as well"}},
                 "the assembly was read, not run",
                 "espressif/esp-nn d45b843"});
  all.push_back(
      {runtime,
       every,
       {},
       "Cadence HiFi",
       "xtensa kernels",
       "tflm hifi cadence xtensa",
       {{"everything", Nearness::nearest, "tflite_double", "", "the kernels are those of Cadence's NN library, which was not read"}},
       "not verified",
       "tensorflow/tflite-micro tensorflow/lite/micro/kernels/xtensa"});
  all.push_back({runtime,
                 every,
                 {},
                 "Arm Ethos-U",
                 "ethos_u kernel",
                 "tflm ethos-u ethos-u55 ethos-u65 cortex-m cortex-m55 arm",
                 {{"what the NPU takes", Nearness::nearest, "ethos_u", "", "as Vela programs it; not verified on silicon"},
                  {"what an Ethos-U85 takes", Nearness::nearest, "ethos_u85", "", "as Vela programs it; not verified on silicon"},
                  {"what is left to the CPU", Nearness::equal, "tflite_double", "", "as with CMSIS-NN or the reference kernels"}},
                 "not verified",
                 "tensorflow/tflite-micro tensorflow/lite/micro/kernels/ethos_u"});
}

// Servers.

constexpr std::string_view ort_version = "recorded from 1.30; that older versions compute the same was not verified";
constexpr std::string_view ort_source =
    "microsoft/onnxruntime 1.30, run on x86-64 with AVX-512 VNNI and recorded; onnxruntime/core/mlas/lib quantize.cpp, qladd.cpp";

void add_onnxruntime(std::vector<RuntimeCase>& all) {
  constexpr std::string_view runtime = "ONNX Runtime";
  all.push_back({runtime,
                 every,
                 every,
                 "x86-64 with VNNI",
                 "CPU provider, graph optimisation extended or all",
                 "onnxruntime x86-64 vnni avx512 linux windows macos python enable-all extended",
                 {{"everything", Nearness::equal, "onnxruntime", "",
                   "float scales, one rounding, half to even; session.qdqisint8allowed: "
                   "--set fusion=by_option"}},
                 ort_version,
                 ort_source});
  all.push_back({runtime,
                 every,
                 every,
                 "x86-64 without VNNI",
                 "CPU provider, graph optimisation extended or all",
                 "onnxruntime x86-64 avx2 avx512 sse linux windows macos python enable-all extended",
                 {{"conv, matmul, gemm of uint8 data with int8 weights", Nearness::nearest, "onnxruntime_avx2", "",
                   "pairs of products saturate at 16 bits (vpmaddubsw); which products are a pair was not read; equal, and equal to "
                   "onnxruntime, where lastbit prove MODEL --without-vnni says that none can"},
                  {"conv, matmul, gemm of other data", Nearness::nearest, "onnxruntime", "", "not read"},
                  {"softmax in float32", Nearness::nearest, "onnxruntime", "", "without AVX-512 the lanes of its sum are others"},
                  {"everything else", Nearness::equal, "onnxruntime", "", "the same code, or exact sums"}},
                 "read, not run without VNNI; processors without AVX2 add without fusing",
                 ort_source});
  all.push_back(
      {runtime,
       every,
       {},
       "x86-64",
       "CPU provider, graph optimisation off or basic",
       "onnxruntime x86-64 vnni avx2 avx512 linux windows macos python disable-all basic unfused",
       {{"layers between DequantizeLinear and QuantizeLinear", Nearness::equal, "onnxruntime_unfused", "", "computed in float32"},
        {"QLinear operators", Nearness::equal, "onnxruntime_unfused", "", "as onnxruntime; without VNNI with the same exception"}},
       ort_version,
       ort_source});
  all.push_back(
      {runtime,
       every,
       every,
       "Arm",
       "CPU provider",
       "onnxruntime aarch64 arm32 arm neon sdot i8mm android linux ios macos python",
       {{"QLinearConv, QLinearMatMul, average pool over the image", Nearness::nearest, "onnxruntime", "",
         "64-bit Arm scales in float and rounds half to even as well (vcvtnq); the order in which its products are summed was not read"},
        {"QLinearAdd", Nearness::nearest, "onnxruntime", "",
         "in fixed point: (a-za)·Ma + (b-zb)·Mb with multipliers of 22 bits, rounded once, half away from zero"},
        {"everything else", Nearness::nearest, "onnxruntime", "", "not read; float32 sums run in other orders"}},
       "read, not run; which layers are fused on Arm was not read",
       ort_source});
  all.push_back(
      {runtime,
       every,
       {},
       "any processor",
       "XNNPACK provider",
       "onnxruntime xnnpack aarch64 arm32 arm neon x86-64 vnni avx2 android linux ios macos windows",
       {{"what the provider takes", Nearness::nearest, "xnnpack", "", "XNNPACK's kernels; what the provider hands them was not read"}},
       "not verified",
       "microsoft/onnxruntime onnxruntime/core/providers/xnnpack"});
}

void add_pytorch(std::vector<RuntimeCase>& all) {
  constexpr std::string_view runtime = "PyTorch, quantised operators";
  all.push_back({runtime,
                 every,
                 every,
                 "Arm; x86-64",
                 "engine qnnpack",
                 "pytorch qnnpack aarch64 arm32 arm neon android ios x86-64 linux",
                 {{"conv, depthwise, linear, add, mul, average pool, leaky relu, hardswish, sigmoid, tanh", Nearness::equal,
                   "pytorch_qnnpack", "", "the scale is (in*w)*(1/out), add is in fixed point with multipliers of 22 bits"},
                  {"other operators", Nearness::nearest, "pytorch_qnnpack", "", "not recorded; most are absent"}},
                 "run on x86-64 and recorded; that Arm computes the same was not verified",
                 "PyTorch 1.13.1, run: torch.ao.quantization; pytorch/QNNPACK 7d2a4e9"});
  constexpr std::string_view run = "PyTorch 1.13.1 with oneDNN 2.6.3, run";
  all.push_back({runtime,
                 every,
                 every,
                 "x86-64 with VNNI",
                 "engine onednn",
                 "pytorch onednn x86-64 vnni avx512 linux windows",
                 {{"conv, depthwise, linear, add, mul, average pool, leaky relu, hardswish, sigmoid, tanh", Nearness::equal, "pytorch_x86",
                   "", "the scale is (1/out)/((1/in)*(1/w)), the zero point is added before the rounding; add is dequantised"},
                  {"other operators", Nearness::nearest, "pytorch_x86", "", "not recorded; most are absent"}},
                 "of 1.13.1 some convolutions that follow others in one process come out with another output zero point: a bug",
                 run});
  all.push_back(
      {runtime,
       every,
       every,
       "x86-64 without VNNI",
       "engine onednn",
       "pytorch onednn x86-64 avx2 avx512 linux windows",
       {{"conv, depthwise, linear", Nearness::equal, "pytorch_x86_avx2", "",
         "pairs of products saturate at 16 bits; equal to pytorch_x86 where lastbit prove MODEL --without-vnni says that none can"},
        {"other operators", Nearness::nearest, "pytorch_x86_avx2", "", "taken to be as with VNNI; not recorded"}},
       "the last bit of the scale was recorded with VNNI alone",
       run});
  all.push_back(
      {runtime,
       every,
       every,
       "x86-64",
       "engines x86, fbgemm",
       "pytorch fbgemm x86-64 vnni avx2 avx512 linux windows",
       {{"conv, linear", Nearness::nearest, "onnxruntime", "",
         "fbgemm scales by float(float(in*w)/out) in its own references; the engines were not run. Its products in 16 bits: fbgemm"},
        {"add, mul, average pool, leaky relu, hardswish, sigmoid, tanh", Nearness::nearest, "pytorch_x86", "",
         "native kernels, read to be those of engine onednn"}},
       "not run: absent from the build that was",
       "pytorch/FBGEMM 71d6f8b2, its references compiled and recorded"});
}

std::vector<RuntimeCase> known_cases() {
  std::vector<RuntimeCase> all;
  add_tflite_cases(all);
  add_tflm(all);
  add_onnxruntime(all);
  add_pytorch(all);
  return all;
}

}  // namespace

const std::vector<RuntimeCase>& runtime_cases() {
  static const std::vector<RuntimeCase> all = known_cases();
  return all;
}

}  // namespace lastbit
