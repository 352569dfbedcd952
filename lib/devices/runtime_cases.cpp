// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is known of runtimes on CPUs: data. A claim is read in the source that its case names, run and recorded where it says so, or told as
// not certain.
#include <array>

#include "devices/runtime_cases_tflite.hpp"
#include "sheet/joined.hpp"

namespace lastbit {
namespace {

constexpr VersionRange every{};

// Microcontrollers.

constexpr std::string_view micro_source =
    "tensorflow/tflite-micro 90b983c and ARM-software/CMSIS-NN 99f736a, run on a PC and recorded; Include/arm_nnsupportfunctions.h read";

constexpr std::string_view tflm = "TensorFlow Lite Micro";

constexpr RuntimeRow tflm_reference[] = {
    {"everything", Nearness::equal, "tflite_double", "", "rounds twice: half up, then half away from zero; every recorded value is equal"}};

constexpr RuntimeRow cmsis_nn[] = {{"all but softmax of int16", Nearness::equal, "tflite_double", "",
                                    "the same rounding; its C code was run, every recorded value is equal"},
                                   {"softmax, int16", Nearness::nearest, "tflite_double", "", "", "softmax"}};

constexpr RuntimeRow cmsis_nn_on_helium[] = {
    {"everything", Nearness::equal, "tflite_double", "", "vqrdmulh, and vrshl with the fix-up of negative ties: the same rounding"}};

constexpr RuntimeRow tflm_single_rounding[] = {
    {"everything", Nearness::equal, "tflite_single", "", "rounds once, half up; every recorded value is equal"}};

constexpr RuntimeRow esp_nn[] = {
    {"everything", Nearness::nearest, "esp_nn", "", "", "*"},
    {"convolutions and products on the ESP32-P4, or with CONFIG_NN_SKIP_NUDGE", Nearness::nearest, "esp_nn_fast", "", "", "*"},
    {"convolutions on the ESP32-S3 with CONFIG_NN_SKIP_NUDGE", Nearness::none, "esp_nn_fast", "", "", "conv",
     "ESP-NN on the ESP32-S3 with CONFIG_NN_SKIP_NUDGE"}};

constexpr RuntimeRow hifi[] = {{"everything", Nearness::nearest, "tflite_double", "", "", "*", "TensorFlow Lite Micro on Cadence HiFi"}};

constexpr RuntimeRow ethos_u[] = {
    {"what the NPU takes", Nearness::nearest, "ethos_u", "", "", "*", "Arm's silicon"},
    {"what an Ethos-U85 takes", Nearness::nearest, "ethos_u85", "", "", "*", "Arm's silicon"},
    {"what is left to the CPU", Nearness::equal, "tflite_double", "", "as with CMSIS-NN or the reference kernels"}};

constexpr auto tflm_cases = std::to_array<RuntimeCase>({
    {tflm, every, every, "any processor", "reference kernels",
     "tflm reference cortex-m cortex-m0 cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55 cortex-m85 riscv xtensa esp32 x86-64 arm",
     tflm_reference, "", micro_source},
    {tflm, every, every, "Cortex-M without Helium", "CMSIS-NN",
     "tflm cmsis-nn dsp cortex-m cortex-m0 cortex-m3 cortex-m4 cortex-m7 cortex-m33 arm", cmsis_nn,
     "its C code was run on a PC; what the DSP extension's code computes was read, not run", micro_source},
    {tflm, every, every, "Cortex-M with Helium (M52, M55, M85)", "CMSIS-NN",
     "tflm cmsis-nn helium mve cortex-m cortex-m52 cortex-m55 cortex-m85 arm", cmsis_nn_on_helium, "read, not run", micro_source},
    {tflm,
     every,
     {},
     "any processor",
     "built with TFLITE_SINGLE_ROUNDING, or CMSIS_NN_USE_SINGLE_ROUNDING",
     "tflm single reference cmsis-nn cortex-m cortex-m0 cortex-m3 cortex-m4 cortex-m7 cortex-m33 x86-64 riscv arm",
     tflm_single_rounding,
     "on Helium predicated code still rounds twice (arm_requantize_mve_pred): no backend mixes them",
     micro_source},
    {tflm,
     every,
     {},
     "ESP32 family",
     "ESP-NN",
     "tflm esp-nn esp32 xtensa riscv",
     esp_nn,
     "the assembly was read, not run",
     "espressif/esp-nn d45b843"},
    {tflm,
     every,
     {},
     "Cadence HiFi",
     "xtensa kernels",
     "tflm hifi cadence xtensa",
     hifi,
     "not verified",
     "tensorflow/tflite-micro tensorflow/lite/micro/kernels/xtensa"},
    {tflm,
     every,
     {},
     "Arm Ethos-U",
     "ethos_u kernel",
     "tflm ethos-u ethos-u55 ethos-u65 cortex-m cortex-m55 arm",
     ethos_u,
     "not verified",
     "tensorflow/tflite-micro tensorflow/lite/micro/kernels/ethos_u"},
});

// Servers.

constexpr std::string_view ort_version = "recorded from 1.30; that older versions compute the same was not verified";
constexpr std::string_view ort_source =
    "microsoft/onnxruntime 1.30, run on x86-64 with AVX-512 VNNI and recorded; onnxruntime/core/mlas/lib quantize.cpp, qladd.cpp";

constexpr std::string_view ort = "ONNX Runtime";

constexpr RuntimeRow ort_with_vnni[] = {{"everything", Nearness::equal, "onnxruntime", "",
                                         "float scales, one rounding, half to even; session.qdqisint8allowed: "
                                         "--set fusion=by_option"}};

constexpr RuntimeRow ort_without_vnni[] = {
    {"conv, matmul, gemm of uint8 data with int8 weights", Nearness::equal, "onnxruntime_avx2", "",
     "pairs of products, neighbours in the flattened kernel, saturate at 16 bits (vpmaddubsw); equal to onnxruntime where lastbit prove "
     "MODEL "
     "--without-vnni says that none can"},
    {"conv, matmul, gemm of other data, ConvInteger", Nearness::equal, "onnxruntime_avx2", "", "exact sums"},
    {"softmax in float32", Nearness::nearest, "onnxruntime_avx2", "", "", "float32"},
    {"everything else", Nearness::equal, "onnxruntime", "", "the same code, or exact sums"}};

constexpr RuntimeRow ort_unfused[] = {
    {"layers between DequantizeLinear and QuantizeLinear", Nearness::equal, "onnxruntime_unfused", "", "computed in float32"},
    {"QLinear operators", Nearness::equal, "onnxruntime_unfused", "", "as onnxruntime; without VNNI with the same exception"}};

constexpr std::string_view ort_arm = "ONNX Runtime on Arm";
constexpr RuntimeRow ort_on_arm[] = {
    {"QLinearConv, QLinearMatMul, average pool over the image", Nearness::nearest, "onnxruntime", "", "", "conv", ort_arm},
    {"QLinearAdd", Nearness::nearest, "onnxruntime", "", "", "add", ort_arm},
    {"everything else", Nearness::nearest, "onnxruntime", "", "", "*", ort_arm}};

constexpr RuntimeRow ort_xnnpack[] = {
    {"what the provider takes", Nearness::nearest, "xnnpack", "", "", "*", "ONNX Runtime's XNNPACK provider"}};

constexpr auto ort_cases = std::to_array<RuntimeCase>({
    {ort, every, every, "x86-64 with VNNI", "CPU provider, graph optimisation extended or all",
     "onnxruntime x86-64 vnni avx512 linux windows macos python enable-all extended", ort_with_vnni, ort_version, ort_source},
    {ort, every, every, "x86-64 without VNNI", "CPU provider, graph optimisation extended or all",
     "onnxruntime x86-64 avx2 avx512 sse linux windows macos python enable-all extended", ort_without_vnni,
     "run on an emulated Haswell; processors without AVX2 add without fusing", ort_source},
    {ort,
     every,
     {},
     "x86-64",
     "CPU provider, graph optimisation off or basic",
     "onnxruntime x86-64 vnni avx2 avx512 linux windows macos python disable-all basic unfused",
     ort_unfused,
     ort_version,
     ort_source},
    {ort, every, every, "Arm", "CPU provider", "onnxruntime aarch64 arm32 arm neon sdot i8mm android linux ios macos python", ort_on_arm,
     "read, not run; which layers are fused on Arm was not read", ort_source},
    {ort,
     every,
     {},
     "any processor",
     "XNNPACK provider",
     "onnxruntime xnnpack aarch64 arm32 arm neon x86-64 vnni avx2 android linux ios macos windows",
     ort_xnnpack,
     "not verified",
     "microsoft/onnxruntime onnxruntime/core/providers/xnnpack"},
});

constexpr std::string_view pytorch = "PyTorch, quantised operators";
constexpr std::string_view pytorch_run = "PyTorch 1.13.1 with oneDNN 2.6.3, run";

constexpr RuntimeRow qnnpack[] = {{"conv, depthwise, linear, add, mul, average pool, leaky relu, hardswish, sigmoid, tanh", Nearness::equal,
                                   "pytorch_qnnpack", "", "the scale is (in*w)*(1/out), add is in fixed point with multipliers of 22 bits"},
                                  {"other operators", Nearness::nearest, "pytorch_qnnpack", "", "not recorded; most are absent"}};

constexpr RuntimeRow onednn[] = {
    {"conv, depthwise, linear, add, mul, average pool, leaky relu, hardswish, sigmoid, tanh", Nearness::equal, "pytorch_x86", "",
     "the scale is (1/out)/((1/in)*(1/w)), the zero point is added before the rounding; add is dequantised"},
    {"other operators", Nearness::nearest, "pytorch_x86", "", "not recorded; most are absent"}};

constexpr RuntimeRow onednn_without_vnni[] = {
    {"conv, depthwise, linear", Nearness::equal, "pytorch_x86_avx2", "",
     "pairs of products saturate at 16 bits; equal to pytorch_x86 where lastbit prove MODEL --without-vnni says that none can"},
    {"other operators", Nearness::nearest, "pytorch_x86_avx2", "", "taken to be as with VNNI; not recorded"}};

constexpr std::string_view torch_x86 = "PyTorch's engines x86 and fbgemm";
constexpr RuntimeRow fbgemm[] = {
    {"conv, linear", Nearness::nearest, "onnxruntime", "", "", "conv", torch_x86},
    {"add, mul, average pool, leaky relu, hardswish, sigmoid, tanh", Nearness::nearest, "pytorch_x86", "", "", "*", torch_x86}};

constexpr auto pytorch_cases = std::to_array<RuntimeCase>({
    {pytorch, every, every, "Arm; x86-64", "engine qnnpack", "pytorch qnnpack aarch64 arm32 arm neon android ios x86-64 linux", qnnpack,
     "run on x86-64 and recorded; that Arm computes the same was not verified",
     "PyTorch 1.13.1, run: torch.ao.quantization; pytorch/QNNPACK 7d2a4e9"},
    {pytorch, every, every, "x86-64 with VNNI", "engine onednn", "pytorch onednn x86-64 vnni avx512 linux windows", onednn,
     "of 1.13.1 some convolutions that follow others in one process come out with another output zero point: a bug", pytorch_run},
    {pytorch, every, every, "x86-64 without VNNI", "engine onednn", "pytorch onednn x86-64 avx2 avx512 linux windows", onednn_without_vnni,
     "the last bit of the scale was recorded with VNNI alone", pytorch_run},
    {pytorch, every, every, "x86-64", "engines x86, fbgemm", "pytorch fbgemm x86-64 vnni avx2 avx512 linux windows", fbgemm,
     "not run: absent from the build that was", "pytorch/FBGEMM 71d6f8b2, its references compiled and recorded"},
});

constexpr auto known_cases = joined(of_tflite::tflite_cases, of_tflite::litert_cases, tflm_cases, ort_cases, pytorch_cases);

}  // namespace

std::span<const RuntimeCase> runtime_cases() { return known_cases; }

}  // namespace lastbit
