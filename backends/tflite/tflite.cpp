// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/tflite.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;
constexpr auto assumption = EvidenceLevel::assumption;

constexpr std::string_view run = "tflite-micro 90b983c2 and CMSIS-NN 99f736a6, run and recorded: ";
constexpr std::string_view small = "tflite-micro 90b983c2, run and recorded: the small network ";
constexpr std::string_view read = "tflite-micro, read: ";

/// Of TFLite Micro and CMSIS-NN.
constexpr auto evidence = std::to_array<EvidenceRow>({
    {"domain", code, run, "integer throughout"},
    {"conv", code, run, "conv2d_s8, conv2d_u8, conv2d_s16, requantize, requantize64"},
    {"depthwise_conv", code, run, "depthwise_s8, _u8, _s16"},
    {"depthwise_conv.u8", code, run, "depthwise_u8: both builds round twice (DepthwiseConvRound)"},
    {"transposed_conv", code, run, "transpose_conv_s8; seanet_int16x8 models"},
    {"fully_connected", code, run, "fully_connected (s8, s8 per channel, s16, u8)"},
    {"*.by", code, "tflite-micro 1327f1163 kernel_util.cc GetQuantizedConvolutionMultipler, run and recorded: float product of the scales"},
    {"matmul", EvidenceLevel::vendor_source, "tflite-micro 90b983c2 batch_matmul, the rescaling of fully_connected; not recorded"},
    {"max_pool", code, run, "pooling"},
    {"average_pool", code, run, "pooling"},
    {"global_average_pool", code, "an average pool whose filter is the image"},
    {"mean", code, run, "mean; the recorded mobilenet_v2 network"},
    {"add", code, run, "elementwise (s8, u8, s16)"},
    {"*.i16_power_of_two", source, read, "add_common.cc and sub_common.cc: pot_scale_int16 is not read"},
    {"sub", code, run, "seanet_int16x8 models; its multipliers come from float arithmetic, those of add from double"},
    {"mul", code, run, "elementwise (s8, s16)"},
    {"concat", code, run, "concat (uint8 with scaling), and networks that copy"},
    {"quantize", code, run, "quantize_ops"},
    {"dequantize", code, run, "quantize_ops"},
    {"requantize", code, run, "quantize_ops (all type pairs)"},
    {"relu", code, "tflite-micro 1327f1163 activations_common.cc, run and recorded: the quotient of the scales is a float"},
    {"leaky_relu", code, run, "activations; seanet_int16x8 models"},
    {"prelu", code, run, "activations"},
    {"hard_swish", code, run, "activations"},
    {"logistic", code, run, "logistic_tanh, every input of 8 and 16 bits"},
    {"tanh", code, run, "logistic_tanh, every input of 8 and 16 bits"},
    {"softmax", code, run, "softmax"},
    {"reduce_sum", code, small, "picked"},
    {"abs", code, small, "picked"},
    {"argmax", code, small, "picked"},
    {"argmax.single_channel", source, read, "arg_min_max.h: one value is the first; no recorded one is alone"},
    {"extreme", code, small, "picked"},
    {"l2_normalization", source, read, "reference/integer_ops/l2normalization.h, common.h GetInvSqrtQuantizedMultiplierExp; not recorded"},
    {"detection", source, read, "detection_postprocess.cc; of uint8 codes tensorflow/lite/kernels/detection_postprocess.cc; not recorded"},
    {"resize", code, small, "resized"},
    {"resize.method_uint8", source, read, "reference/resize_bilinear.h with uint8; TFLite Micro's own kernel refuses uint8, and int16"},
    {"resize.other_quantization", source, read,
     "reference/resize_bilinear.h, resize_nearest_neighbor.h: no scale is looked at; not recorded"},
    {"svdf", code, run, "every tensor of the keyword_scrambled_8bit network, eight calls in a row"},
    {"svdf.*.scale.arithmetic", source, read, "svdf_common.cc; no recorded value tells float from double"},
    {"svdf.output", source, read, "svdf_common.cc; every recorded output lies at a bound and does not tell how it is rescaled"},
    {"svdf.activation", source, read, "svdf_common.cc; where it is recorded the output's zero point is the lowest code anyway"},
    {"svdf.state_i16", source, read, "svdf_common.cc, the kernel of the 8-bit state with another type; not recorded"},
    {"lstm", code, run, "every tensor of the mnist_lstm network, ten calls in a row"},
    {"lstm.gate_i8.output.scale.arithmetic", source, read, "lstm_eval_common.cc; no recorded value tells float from double"},
    {"lstm.gate_i16", source, read, "lstm_eval.cc; not recorded"},
    {"lstm.clip_rounding", source, read, "lstm_eval_common.cc; the recorded clip lies beyond 16 bits"},
});

constexpr std::string_view hybrid = "TensorFlow Lite 2022 (tfjs-tflite wasm), run and recorded: tflite_builtin/hybrid; ";

/// Of hybrid layers.
constexpr auto hybrid_evidence = std::to_array<EvidenceRow>({
    {"dynamic.conv", code, hybrid, "conv.cc EvalHybrid"},
    {"dynamic.conv_per_channel", code, hybrid, "conv.cc EvalHybridPerChannel, optimized_ops.h"},
    {"dynamic.conv_grouped", code, hybrid, "conv.cc EvalHybridPerChannel, reference/conv.h"},
    {"dynamic.depthwise_conv", code, hybrid, "depthwise_conv.cc EvalHybridPerChannel, depthwise_conv_hybrid.h"},
    {"dynamic.fully_connected", code, hybrid,
     "fully_connected.cc EvalHybridDense; weights of several scales were read alone, in LiteRT f6745779"},
});

constexpr std::string_view reference = "ai-edge-litert 1.2.0, reference kernels (BuiltinRefOpResolver), run and recorded: tflite_builtin/";
constexpr std::string_view optimized = "ai-edge-litert 1.2.0, optimised kernels for x86-64, run and recorded: tflite_builtin/";
constexpr std::string_view litert = "LiteRT f6745779 tflite/kernels, read: ";

/// Of TensorFlow Lite's own kernels. docs/backends/tflite.md has the counts, and what other versions and the optimised kernels give.
constexpr auto builtin_evidence =
    joined(std::to_array<EvidenceRow>(
               {{"domain", code, reference, "conv2d: integer throughout, as the others"},
                {"conv", code, reference, "conv2d, grouped_conv2d"},
                {"depthwise_conv", code, reference, "depthwise_conv2d"},
                {"depthwise_conv.u8", code, reference, "depthwise_conv2d"},
                {"transposed_conv", code, reference, "transposed_conv2d"},
                {"fully_connected", code, reference,
                 "fully_connected, fully_connected_one_row, fully_connected_per_channel; from 1.4.0 on these kernels round the exact "
                 "product once, "
                 "half away from zero"},
                {"*.by", source, litert,
                 "kernel_util.cc GetQuantizedConvolutionMultipler; a recorded value of fully_connected tells it, none of uint8 data"},
                {"matmul", code, reference, "batch_matmul"},
                {"max_pool", code, reference, "max_pool2d"},
                {"average_pool", code, reference, "average_pool2d"},
                {"global_average_pool", code, "an average pool whose filter is the image"},
                {"mean", code, reference, "mean, mean_image; of 8-bit data over the image the optimised kernel computes otherwise"},
                {"add", code, reference, "add"},
                {"*.i16_power_of_two", code, reference, "add, sub: layers whose file asks for shifts"},
                {"sub", code, reference, "sub"},
                {"mul", code, reference, "mul: the product and the quotient of the scales are floats"},
                {"concat", code, reference, "concat: uint8 with scaling"},
                {"quantize", code, reference, "quantize: some values beyond 32 bits"},
                {"dequantize", code, reference, "dequantize"},
                {"requantize", code, reference, "requantize"},
                {"relu", code, reference, "relu, relu6, relu_n1_to_1"},
                {"leaky_relu", code, reference, "leaky_relu"},
                {"prelu", code, reference, "prelu"},
                {"hard_swish", code, reference, "hard_swish: every code"},
                {"logistic", code, reference, "logistic: 8 bits every code, a table"},
                {"tanh", code, reference, "tanh: 8 bits every code, a table"},
                {"softmax", code, reference, "softmax, softmax_to_int16"},
                {"reduce_sum", assumption,
                 "of uint8 data as ai-edge-litert 1.2.0's reference kernel, recorded: tflite_builtin/reduce_sum; of int8 data that "
                 "kernel takes the codes as uint8, and the optimised one differs too"},
                {"abs", code, reference, "abs"},
                {"argmax", code, reference, "argmax, argmin"},
                {"argmax.single_channel", code, reference, "argmax: axes of one value"},
                {"extreme", code, reference, "maximum, minimum, reduce_max, reduce_min"},
                {"l2_normalization", code, reference, "l2_normalization"},
                {"detection", assumption, "as tflite-micro's detection_postprocess.cc, read; not run here"},
                {"resize", code, reference, "resize_bilinear, resize_nearest"},
                {"resize.method_uint8", code, optimized, "resize_bilinear_optimized; and by TensorFlow Lite 2022 (tfjs-tflite wasm)"},
                {"resize.other_quantization", code, reference, "resize_bilinear, resize_nearest: layers between two quantisations"},
                {"svdf", code, reference, "svdf: eight calls in a row"},
                {"svdf.*.scale.arithmetic", assumption, "as tflite-micro's svdf_common.cc; no recorded value tells float from double"},
                {"svdf.output", code, reference, "svdf"},
                {"svdf.activation", code, reference, "svdf: layers with a relu, which is ignored"},
                {"svdf.state_i8", assumption,
                 "as tflite-micro 90b983c2; ai-edge-litert 1.2.0 has no kernel for a state of 8 bits and takes it as one of 16"},
                {"svdf.state_i16", code, reference, "svdf"},
                {"lstm", code, reference, "lstm: four calls in a row"},
                {"lstm.gate_i8.output.scale.arithmetic", assumption,
                 "as tflite-micro's lstm_eval_common.cc; no recorded value tells float from double"},
                {"lstm.gate_i16", assumption, "as tflite-micro 90b983c2; ai-edge-litert 1.2.0 refuses an lstm of 16-bit data"},
                {"lstm.clip_rounding", code, reference, "lstm: layers with a clip"}}),
           hybrid_evidence);

constexpr std::string_view single = "as tflite-micro 90b983c2 built with TFLITE_SINGLE_ROUNDING, run; TensorFlow Lite so built was not run";
constexpr std::string_view ruy =
    "ruy 2af88863 apply_multiplier.cc, read: one rounding, half up; its kernels for 64-bit Arm were run and recorded: tflite_ruy_neon/ruy";
constexpr std::string_view alike =
    "the two builds are the same in it; ai-edge-litert 1.2.0, reference kernels, run and recorded: tflite_builtin/";
constexpr std::string_view alike_optimized =
    "the two builds are the same in it; ai-edge-litert 1.2.0, optimised kernels for x86-64, run and recorded: tflite_builtin/";

/// Of the build with single rounding, of which no package is known: what rescales is assumed; what does not is that of the other build.
constexpr auto single_evidence =
    joined(replaced(builtin_evidence, {{"domain", code, alike, "conv2d: integer throughout, as the others"},
                                       {"conv", assumption, single},
                                       {"depthwise_conv", assumption, single},
                                       {"depthwise_conv.u8", assumption, single, ": the kernel of uint8 data rounds twice"},
                                       {"transposed_conv", assumption, single},
                                       {"fully_connected", assumption, single},
                                       {"matmul", assumption, single},
                                       {"max_pool", code, alike, "max_pool2d"},
                                       {"average_pool", code, alike, "average_pool2d"},
                                       {"mean", assumption, single},
                                       {"add", assumption, single},
                                       {"*.i16_power_of_two", code, alike, "add, sub: layers whose file asks for shifts"},
                                       {"sub", assumption, single},
                                       {"mul", assumption, single},
                                       {"concat", code, alike, "concat"},
                                       {"quantize", code, alike, "quantize"},
                                       {"dequantize", code, alike, "dequantize"},
                                       {"requantize", assumption, single},
                                       {"relu", assumption, single},
                                       {"leaky_relu", assumption, single},
                                       {"prelu", assumption, single},
                                       {"hard_swish", assumption, single},
                                       {"logistic", code, alike, "logistic: 8 bits every code, a table"},
                                       {"tanh", code, alike, "tanh: 8 bits every code, a table"},
                                       {"softmax", assumption, single},
                                       {"reduce_sum", assumption, single},
                                       {"abs", assumption, single},
                                       {"argmax", code, alike, "argmax, argmin"},
                                       {"argmax.single_channel", code, alike, "argmax: axes of one value"},
                                       {"extreme", code, alike, "maximum, minimum, reduce_max, reduce_min"},
                                       {"l2_normalization", assumption, single},
                                       {"resize", assumption, single},
                                       {"resize.method_uint8", code, alike_optimized, "resize_bilinear_optimized"},
                                       {"resize.other_quantization", code, alike, "resize_bilinear, resize_nearest: codes as they are"},
                                       {"svdf", assumption, single},
                                       {"svdf.output", assumption, single},
                                       {"svdf.activation", code, alike, "svdf: layers with a relu, which is ignored"},
                                       {"svdf.state_i16", assumption, single},
                                       {"lstm", assumption, single},
                                       {"lstm.clip_rounding", code, alike, "lstm: layers with a clip"}}),
           std::to_array<EvidenceRow>({{"conv.i8", source, ruy},
                                       {"conv.u8", source, ruy},
                                       {"fully_connected.i8", source, ruy},
                                       {"resize.coordinates", code, alike, "resize_nearest"}}));

constexpr std::string_view vectors = "NEON, whose kernels builds for x86-64 with SSE4.1 take as well";
/// Kernels that an interpreter does not run by default, or not in every build.
constexpr SettingRow hybrid_settings[]{
    {"dynamic.conv_*.zero_point", {"after_rounding"}, vectors},
    {"dynamic.depthwise_conv.zero_point", {"after_rounding"}, vectors},
    {"dynamic.fully_connected.zero_point", {"after_rounding"}, vectors},
    {"dynamic.conv_per_channel.product", {"weight_scale_first"}, "the reference kernel, reference/conv.h"},
    {"dynamic.depthwise_conv.product",
     {"weight_scale_first", "scales_first"},
     "NEON, whose kernels builds for x86-64 with SSE4.1 take as well, in whole fours of channels; and the reference kernel, "
     "reference/integer_ops/depthwise_conv.h"},
    {"resize.method_uint8", {"float_by_row"}, "the reference kernel, run and recorded: tflite_builtin/resize_bilinear"}};

constexpr std::string_view recorded = "LiteRT f6745779, ruy 2af88863, gemmlowp 16e8662c, run under qemu and recorded: ";
/// Of the same on 64-bit Arm.
constexpr EvidenceRow neon_evidence[]{
    {"domain", source, litert, "integer throughout"},
    {"conv.i8", code, recorded, "tflite_ruy_neon/ruy; how accumulators and padding come about was read"},
    {"conv.u8", source, litert, "cpu_backend_gemm_ruy.h: as int8, one multiplier"},
    {"depthwise_conv.i8", code, recorded,
     "tflite_ruy_neon/vectors, output stage; the 3x3 kernels of whole eights were read (DepthwiseConvOutputRounding::kUpward)"},
    {"depthwise_conv.u8", source, litert, "depthwiseconv_uint8.h DepthwiseConvGeneral: gemmlowp's RoundingDivideByPOT, as without NEON"},
    {"transposed_conv.i8", code, recorded, "tflite_ruy_neon/vectors, output stage, which it shares with the depthwise convolution"},
    {"transposed_conv.u8", source, litert, "optimized_ops.h Quantize: half up for whole sixteens of values"},
    {"fully_connected", code, recorded, "tflite_ruy_neon/vectors: cpu_backend_gemm_custom_gemv.h"},
    {"*.by", source, litert, "kernel_util.cc GetQuantizedConvolutionMultipler"},
    {"max_pool", source, litert, "optimized/integer_ops/pooling.h"},
    {"average_pool", source, litert, "optimized/integer_ops/pooling.h: half away from zero, in whole numbers"},
    {"add", code, recorded, "tflite_ruy_neon/vectors: whole sixteens of values"},
    {"sub", source, litert, "sub.cc: of 8 bits the reference kernel"},
    {"mul", code, recorded, "tflite_ruy_neon/vectors: whole sixteens of values, and those beyond"},
    {"mul.scale.arithmetic", source, litert, "mul.cc: the product and the quotient of the scales are floats"},
    {"concat", source, "a copy; uint8 inputs of another scale were not read and are refused"},
    {"quantize", code, recorded, "tflite_ruy_neon/vectors: whole eights of 8-bit values (vcvtn)"},
    {"quantize.out_of_range", source, litert, "optimized_ops.h AffineQuantize: vcvtn saturates"},
    {"requantize", code, recorded, "tflite_ruy_neon/vectors: whole sixteens of int8 values"},
    {"relu", source, litert, "activations.cc QuantizedReluX: no vectors"},
    {"leaky_relu", source, litert, "activations.cc QuantizeLeakyRelu: no vectors on Arm"},
    {"prelu", source, litert, "activations.cc: no vectors for codes"},
};

constexpr std::string_view beyond = "the channels beyond the last whole eight round the second time half away from zero";
/// A sheet states one arithmetic for all elements of a tensor.
constexpr SettingRow neon_settings[]{
    {"depthwise_conv.i8.output.chain.2.rounding", {"half_away"}, beyond},
    {"depthwise_conv.u8.output.chain.2.rounding", {"half_up"}, "3x3 filters that have kernels of their own: whole eights of channels"},
    {"transposed_conv.i8.output.chain.2.rounding", {"half_away"}, beyond},
    {"requantize.chain.2.rounding", {"half_away"}, "the values beyond the last whole sixteen, and 16-bit data"},
    {"quantize.division", {"divide"}, "the values beyond the last whole eight, and 16-bit data; they round half away from zero"},
    {"quantize.rounding", {"half_away"}, "the values beyond the last whole eight, and 16-bit data; they are divided by the scale"}};

using enum LayerCondition;

/// Of CMSIS-NN, which a sheet of TFLite Micro stands for too.
constexpr OpenRow open_micro[]{
    {"softmax", single_column_of_16bit,
     "CMSIS-NN gives -32768 for a row of one column, where TensorFlow Lite Micro gives 32767; other rows are equal"},
    {"*", always, "the kernels are those of Cadence's NN library, which was not read", "TensorFlow Lite Micro on Cadence HiFi"},
};

constexpr std::string_view image_mean =
    "the optimised kernels make one whole number of their zero points, in float32, and have the multiplier in/(out*count) at once: up to "
    "580 "
    "of 1,600 values differ";
constexpr std::string_view on_arm = "TensorFlow Lite's built-in kernels on Arm";
/// As the Python packages have them: without a delegate, and with BuiltinRefOpResolver.
constexpr std::string_view on_x86 = "TensorFlow Lite's optimised kernels on x86-64", by_reference = "TensorFlow Lite's reference kernels",
                           later_reference = "LiteRT's reference kernels from 1.4.0 on";
/// Of TensorFlow Lite's own kernels.
constexpr OpenRow open_builtin[]{
    {"mean", image_mean_of_8bit, image_mean},
    {"fully_connected", always,
     "the exact product is rounded once, half away from zero: 32 of 56,238 values of 8 bits and 537 of 30,300 of 16 bits differ",
     later_reference},
    {"reduce_sum", always, "int8 codes are taken as uint8 ones: most values differ; sums of uint8 are equal", by_reference},
    {"svdf.state_i8", always, "there is no kernel for a state of 8 bits: its memory is taken as one of 16", by_reference},
    {"lstm.gate_i16", always, "there is no kernel for 16-bit data: the layer is refused", by_reference},
    {"conv", data_16bit, "11 of 26,925 values differ; none where it is grouped", on_x86},
    {"fully_connected", data_16bit, "20 of 9,434 values differ", on_x86},
    {"quantize", always, "1,931 of 19,200 values of int8, 1,960 of uint8 and 4,497 of int16 differ", on_x86},
    {"dequantize", always, "13,206 of 76,800 values of int8 and 16,048 of uint8 differ", on_x86},
    {"logistic", data_16bit, "5,080 of 76,800 values differ", on_x86},
    {"tanh", data_16bit, "5,832 of 76,800 values differ", on_x86},
    {"softmax", data_16bit, "from 8 to 16 bits 13 of 26,405 values differ", on_x86},
    {"reduce_sum", always, "342 of 8,420 values of int8 and 243 of 7,509 of uint8 differ", on_x86},
    {"depthwise_conv.i8", always,
     "equal where the channels are a multiple of 8: two roundings, both half up (vqrdmulh, vrshl); in the generic kernel the channels "
     "beyond the last whole eight "
     "round half away from zero the second time",
     on_arm},
    {"transposed_conv.i8", always, "as depthwise convolution", on_arm},
    {"add.i8", always,
     "each operand is rounded once, half up, as in tflite_builtin_single; the sum as here, and so are the elements beyond the last whole "
     "sixteen",
     on_arm},
    {"mean", image_mean_of_8bit,
     "its zero points become one whole number in float32, its multiplier is in/(out*count) at once; half up for whole sixteens of channels",
     on_arm},
};

/// A sheet states one arithmetic for all elements of a tensor.
constexpr std::string_view generic_kernel =
    "the channels beyond the last whole eight round the second time half away from zero: the generic kernel";
constexpr OpenRow open_neon[]{
    {"conv", grouped,
     "the kernel for groups, and for a copy of the image that would be too large, is the reference one, which rounds twice: as "
     "tflite_builtin_double"},
    {"depthwise_conv.i8", channels_beyond_eights, generic_kernel},
    {"transposed_conv.i8", channels_beyond_eights, generic_kernel},
    {"fully_connected", several_rows, "what has several rows is a matrix product by ruy, which rounds once: as tflite_builtin_single"},
    {"add.i8", values_beyond_sixteens, "the values beyond the last whole sixteen round their operands twice: as tflite_builtin_double"},
    {"requantize", values_beyond_sixteens, "the values beyond the last whole sixteen round the second time half away from zero"},
    {"requantize", data_16bit, "16-bit data round the second time half away from zero"},
    {"quantize", values_beyond_eights, "the values beyond the last whole eight are divided by the scale, and round half away from zero"},
    {"quantize", data_16bit, "16-bit data are divided by the scale, and round half away from zero"},
};

}  // namespace

std::span<const SheetRow> tflite_sheets() {
  static constexpr SheetRow sheets[]{{"tflite_double",
                                      "TFLite Micro's reference kernels, CMSIS-NN: rounds twice",
                                      tflite_double,
                                      evidence,
                                      {},
                                      "int8",
                                      LayerList::none,
                                      open_micro},
                                     {"tflite_single",
                                      "the same built with single rounding: rounds once",
                                      tflite_single,
                                      evidence,
                                      {},
                                      "int8",
                                      LayerList::none,
                                      open_micro},
                                     {"tflite_builtin_double", "TensorFlow Lite's own kernels: rounds twice", tflite_builtin_double,
                                      builtin_evidence, hybrid_settings, "int8", LayerList::none, open_builtin},
                                     {"tflite_builtin_single", "the same built with single rounding, and ruy", tflite_builtin_single,
                                      single_evidence, hybrid_settings, "int8", LayerList::none, open_builtin},
                                     {"tflite_ruy_neon",
                                      "TensorFlow Lite's own kernels on 64-bit Arm: ruy and NEON",
                                      tflite_ruy_neon,
                                      neon_evidence,
                                      neon_settings,
                                      {},
                                      LayerList::none,
                                      open_neon}};
  return sheets;
}

}  // namespace lastbit
