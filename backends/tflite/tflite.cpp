// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/backends/tflite.hpp"

#include "devices/sheet_table.hpp"

namespace lastbit {
namespace {

constexpr auto code = EvidenceLevel::vendor_code;
constexpr auto source = EvidenceLevel::vendor_source;

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
constexpr std::string_view kernels = "tensorflow/lite/kernels/";
constexpr std::string_view generic =
    "activations.cc: Register_LOGISTIC and Register_TANH are the generic kernels, which fill tables of 256 entries; 16 bits as there, read";

/// Of hybrid layers.
constexpr auto hybrid_evidence = std::to_array<EvidenceRow>({
    {"dynamic.conv", code, hybrid, "conv.cc EvalHybrid"},
    {"dynamic.conv_per_channel", code, hybrid, "conv.cc EvalHybridPerChannel, optimized_ops.h"},
    {"dynamic.conv_grouped", code, hybrid, "conv.cc EvalHybridPerChannel, reference/conv.h"},
    {"dynamic.depthwise_conv", code, hybrid, "depthwise_conv.cc EvalHybridPerChannel, depthwise_conv_hybrid.h"},
    {"dynamic.fully_connected", code, hybrid,
     "fully_connected.cc EvalHybridDense; weights of several scales were read alone, in LiteRT f6745779"},
});

/// Of TensorFlow Lite's own kernels.
constexpr auto builtin_evidence =
    joined(replaced(evidence, {{"mul", source, kernels, "mul.cc: the product and the quotient of the scales are floats, read"},
                               {"resize.method_uint8", code,
                                "TensorFlow Lite 2022 (tfjs-tflite wasm), its own kernel run on random images: 12,735 values, all equal"},
                               {"logistic", source, kernels, generic},
                               {"tanh", source, kernels, generic},
                               {"sub", source, kernels, "sub.cc: the quotients of the scales are doubles, as in add.cc, read"},
                               {"*.i16_power_of_two", code,
                                "reference_ops::Add with pot_scale, run and recorded: elementwise (power-of-two); add.cc and sub.cc take "
                                "it if the file says so"}}),
           hybrid_evidence);

constexpr std::string_view vectors = "NEON, whose kernels builds for x86-64 with SSE4.1 take as well";
/// Of hybrid layers: kernels that an interpreter does not run by default, or not in every build.
constexpr SettingRow hybrid_settings[]{
    {"dynamic.conv_*.zero_point", {"after_rounding"}, vectors},
    {"dynamic.depthwise_conv.zero_point", {"after_rounding"}, vectors},
    {"dynamic.fully_connected.zero_point", {"after_rounding"}, vectors},
    {"dynamic.conv_per_channel.product", {"weight_scale_first"}, "the reference kernel, reference/conv.h"},
    {"dynamic.depthwise_conv.product",
     {"weight_scale_first", "scales_first"},
     "NEON, whose kernels builds for x86-64 with SSE4.1 take as well, in whole fours of channels; and the reference kernel, "
     "reference/integer_ops/depthwise_conv.h"}};

constexpr std::string_view recorded = "LiteRT f6745779, ruy 2af88863, gemmlowp 16e8662c, run under qemu and recorded: ";
constexpr std::string_view litert = "LiteRT f6745779 tflite/kernels, read: ";

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
    "the built-in kernel makes one whole number of its zero points, in float32, and has the multiplier in/(out*count) at once: up to 580 "
    "of 1,600 values differ";
constexpr std::string_view on_arm = "TensorFlow Lite's built-in kernels on Arm";
/// Of TensorFlow Lite's own kernels.
constexpr OpenRow open_builtin[]{
    {"mean", image_mean_of_i8, image_mean},
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
    {"mean", image_mean_of_i8,
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
                                      builtin_evidence, hybrid_settings, "int8", LayerList::none, open_builtin},
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
