// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Are the recorded suites strong enough? For each suite and each rule that its operations read, any other value of the rule must make the
// suite fail. The exceptions are listed with the reason why no recorded value tells: not the committed ones, and not the others either.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/verify.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/rule_changes.hpp"
#include "support/scratch.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;

struct Suite {
  std::string folder;
  Texts backends;
  Texts rules;  ///< prefixes of the rules that the suite's operations read
};

const Texts both{"tflite_double", "tflite_single"};
const Texts either{"tflite_double"};  // operations in which the builds are the same
const Texts neon{"tflite_ruy_neon"};
const Texts ort{"onnxruntime"};
const Texts bpu{"bernoulli2"};
const Texts qnnpack{"pytorch_qnnpack"};
const Texts onednn{"pytorch_x86"};
const Texts chips_of_espdl{"espdl_s3", "espdl_p4"};
const Texts both_of_tosa{"tosa_single", "tosa_double"};

const std::vector<Suite> suites{
    {"tflite/conv2d_s8", both, {"conv.i8"}},
    {"tflite/conv2d_u8", both, {"conv.u8"}},
    {"tflite/conv2d_s16", both, {"conv.i16_bias32", "conv.i16_bias64"}},
    {"tflite/depthwise_s8", both, {"depthwise_conv.i8"}},
    {"tflite/depthwise_u8", both, {"depthwise_conv.u8"}},
    {"tflite/depthwise_s16", both, {"depthwise_conv.i16_bias64"}},
    {"tflite/fully_connected", both, {"fully_connected.i8", "fully_connected.i16_bias64"}},
    {"tflite/transpose_conv_s8", both, {"transposed_conv.i8"}},
    {"tflite/requantize", both, {"conv.i8.output.chain"}},
    {"tflite/requantize64", both, {"conv.i16_bias64.output.chain"}},
    {"tflite/fixedpoint_prims", both, {"conv.i8.output.scale"}},
    {"tflite/pooling", either, {"average_pool"}},
    {"tflite/mean", both, {"mean"}},
    {"tflite/elementwise", both, {"add.i8", "add.i16", "mul"}},
    {"tflite/elementwise", {"tflite_builtin_double"}, {"add.i16_power_of_two"}},
    {"tflite/concat", either, {"concat"}},
    {"tflite/quantize_ops", both, {"requantize"}},
    {"tflite/quantize_ops", either, {"quantize", "dequantize"}},
    {"tflite/activations", both, {"leaky_relu", "prelu", "hard_swish.method", "hard_swish.input.scale"}},
    {"tflite/logistic_tanh", both, {"logistic", "tanh"}},
    {"tflite/softmax", both, {"softmax"}},
    {"tflite_ruy_neon/ruy", neon, {"conv.i8.output.chain.1.rounding"}},
    {"tflite_ruy_neon/vectors",
     neon,
     {"depthwise_conv.i8.output.chain.1.rounding", "depthwise_conv.i8.output.chain.2.rounding",
      "transposed_conv.i8.output.chain.1.rounding", "transposed_conv.i8.output.chain.2.rounding",
      "fully_connected.i8.output.chain.1.rounding", "fully_connected.i8.output.chain.2.rounding", "requantize.chain.1.rounding",
      "requantize.chain.2.rounding", "mul.chain.2.rounding", "add.i8.output.chain.2.rounding", "add.i16.output.chain.2.rounding",
      "quantize.rounding"}},  // the roundings alone: the rest is that of the suites above
    {"tflite_builtin/hybrid", {"tflite_builtin_double"}, {"dynamic"}},
    {"onnxruntime/qlinearconv", ort, {"conv.i8"}},
    {"onnxruntime/qlinearmatmul", ort, {"matmul.i8"}},
    {"onnxruntime/integer_ops", ort, {"conv.i8.accumulator", "matmul.i8.accumulator"}},
    {"onnxruntime/quantizelinear", ort, {"quantize", "dequantize"}},
    {"onnxruntime/ms_qlinear", ort, {"add", "mul", "concat.method", "global_average_pool", "leaky_relu", "logistic"}},
    {"vipnano/imx8mp_v8_cmodel", {"vipnano_v8"}, {"conv.i8", "depthwise_conv.i8"}},
    {"vipnano/a311d_v7_cmodel", {"vipnano_v7"}, {"conv.i8"}},
    {"vipnano/stm32mp2_v7_cmodel", {"vipnano_v7"}, {"conv.i8"}},
    {"gna/affine", {"gna3_0"}, {"fully_connected", "depthwise_conv"}},
    {"gna/affine", {"gna2"}, {"fully_connected.i16_bias32", "fully_connected.i16_weights8"}},
    {"gna/affine", {"gna1_embedded"}, {"fully_connected.i16_bias32.accumulator.tile.8", "fully_connected.i16_weights8.accumulator.tile.5"}},
    {"gna/affine",
     {"gna_software_sse4", "gna_software_avx2"},
     {"fully_connected.i16_bias32.accumulator.partial.method", "fully_connected.i16_bias32.accumulator.partial.terms.2"}},
    {"gna/affine", {"gna2_software_sse4", "gna2_software_avx2"}, {"fully_connected.i16_weights8.accumulator.partial.method"}},
    {"gna/affine_pwl", {"gna3_0"}, {"fully_connected", "pwl"}},
    {"gna/conv1d", {"gna2"}, {"conv"}},
    {"gna/conv1d",
     {"gna2_software_sse4", "gna2_software_avx2"},
     {"conv.i16_bias32.accumulator.partial.method", "conv.i16_bias32.accumulator.partial.tail",
      "conv.i16_bias32.accumulator.partial.vector", "conv.i16_bias32.accumulator.partial.terms.1"}},
    {"gna/conv1d_pool_pwl", {"gna2"}, {"fused_conv", "pwl"}},
    {"gna/conv1d_pool_pwl", {"gna2_software_avx2"}, {"fused_conv.sum.partial.method", "fused_conv.sum.partial.tail"}},
    {"gna/conv2d", {"gna3_0"}, {"conv"}},
    {"gna/conv2d", {"gna_software_sse4", "gna_software_avx2"}, {"conv.i16_bias32.accumulator.partial.method"}},
    {"gna/conv2d_fused", {"gna3_0"}, {"conv", "fused_conv", "pwl", "sum_pool"}},
    {"gna/pool2d", {"gna3_0"}, {"sum_pool"}},
    {"gna/pwl", {"gna3_0"}, {"pwl"}},
    {"gna/recurrent", {"gna2"}, {"recurrent.i16_weights8", "pwl"}},
    {"gna/recurrent", {"gna3_0"}, {"recurrent.i8", "recurrent.i8_weights16", "recurrent.i16_bias32", "pwl"}},
    {"gna/seed000_demo", {"gna2"}, {"conv"}},
    {"gemmini/accumulator_scale", {"gemmini"}, {"requantize"}},
    {"gemmini/rounding_right_shift", {"gemmini_shift"}, {"requantize"}},
    {"gemmini/resadd", {"gemmini"}, {"add.i8"}},
    {"max78000/conv2d_s8", {"max78000"}, {"conv.i8"}},
    {"max78000/pooling_s8", {"max78000"}, {"average_pool"}},
    {"max78000/eltwise_s8", {"max78000"}, {"add_n.i8", "sub.i8", "mul", "bitwise"}},
    {"pytorch_qnnpack/activations_u8", qnnpack, {"leaky_relu", "hard_swish", "logistic", "tanh"}},
    {"pytorch_qnnpack/add_mul_u8", qnnpack, {"add", "mul"}},
    {"pytorch_qnnpack/conv2d_u8s8", qnnpack, {"conv.i8", "depthwise_conv.i8"}},
    {"pytorch_qnnpack/linear_u8s8", qnnpack, {"fully_connected.i8"}},
    {"pytorch_qnnpack/pooling_u8", qnnpack, {"average_pool", "global_average_pool"}},
    {"pytorch_qnnpack/scale_ties", qnnpack, {"conv.i8.output", "fully_connected.i8.output", "mul"}},
    {"pytorch_onednn/activations_u8", onednn, {"leaky_relu", "hard_swish", "logistic", "tanh"}},
    {"pytorch_onednn/add_mul_u8", onednn, {"add", "mul"}},
    {"pytorch_onednn/conv2d_u8s8", onednn, {"conv.i8", "depthwise_conv.i8"}},
    {"pytorch_onednn/linear_u8s8", onednn, {"fully_connected.i8"}},
    {"pytorch_onednn/pooling_u8", onednn, {"average_pool", "global_average_pool"}},
    {"pytorch_onednn/scale_ties", onednn, {"conv.i8.output", "fully_connected.i8.output", "mul"}},
    {"pytorch_onednn_avx2/conv2d_u8s8", {"pytorch_x86_avx2"}, {"conv.u8", "depthwise_conv.i8"}},
    {"pytorch_onednn_avx2/linear_u8s8", {"pytorch_x86_avx2"}, {"fully_connected.u8"}},
    {"fbgemm/matmul_acc16", {"fbgemm"}, {"matmul.u8.accumulator", "matmul.u8.centring"}},
    {"fbgemm/requantize_u8", {"fbgemm", "fbgemm_integer"}, {"requantize"}},
    {"esp_nn/requantize_fast", {"esp_nn_fast"}, {"conv.i8.output.chain.2"}},  // the rest is TFLite's
    {"espdl/conv2d_s8", chips_of_espdl, {"conv.i8"}},
    {"espdl/mul_avgpool_s8", chips_of_espdl, {"mul", "global_average_pool"}},
    {"espdl/shift_and_round", chips_of_espdl, {"requantize"}},
    {"tosa/apply_scale", both_of_tosa, {"conv.i8.output.chain", "conv.i16_bias64.output.chain"}},
    {"tosa/avg_pool", both_of_tosa, {"average_pool"}},
    {"gap/add_sq8", {"gap8"}, {"add_n.i8", "requantize"}},
    {"gap/fully_connected_sq8", {"gap8"}, {"fully_connected.i8"}},
    {"gap/pooling_sq8", {"gap8"}, {"average_pool", "global_average_pool"}},
    {"gap/requantize_sq8", {"gap8"}, {"requantize", "add_n.i8", "mul"}},
    {"gap/sigmoid_tanh_sq8", {"gap8"}, {"requantize", "logistic", "tanh"}},
    {"rk3588/conv2d_s8", {"rk3588"}, {"conv.i8"}},
    {"rk3588/encode_multiplier", {"rk3588_mesa"}, {"conv.i8.output.scale"}},
    {"rk3588/out_cvt_s8", {"rk3588"}, {"requantize"}},
    {"nvdla/conv2d_s8", {"nvdla"}, {"conv.i8"}},
    {"nvdla/sdp_c_int", {"nvdla"}, {"requantize"}},
    {"nvdla/sdp_x_int", {"nvdla"}, {"requantize_to_32bit", "extreme"}},
    {"k210/carry_shift", {"k210"}, {"conv.u8.output.chain.3.rounding", "conv.u8.output.chain.3.step"}},
    {"k210/kpu_conv2d", {"k210"}, {"conv.u8", "depthwise_conv.u8"}},
    {"k210/kpu_pool2d", {"k210"}, {"average_pool"}},
    {"sophgo/encode_multiplier", {"sophgo"}, {"conv.i8.output.scale"}},
    {"sophgo/requantize", {"sophgo", "sophgo_qdm"}, {"requantize"}},
    {"ggml/quantize_row", {"ggml"}, {"block_quantize"}},
    {"ggml/vec_dot", {"ggml"}, {"block_matmul"}},
    {"ggml_avx2/quantize_row", {"ggml_avx2"}, {"block_quantize"}},
    {"ggml_avx2/vec_dot", {"ggml_avx2"}, {"block_matmul"}},
    {"ggml_neon/quantize_row", {"ggml_neon"}, {"block_quantize"}},
    {"ggml_neon/vec_dot", {"ggml_neon"}, {"block_matmul"}},
    {"bernoulli2/formulas",
     bpu,
     {"conv.i8",
      "depthwise_conv.i8",
      "transposed_conv.i8",
      "fully_connected.i8",
      "matmul.i8",
      "average_pool",
      "global_average_pool",
      "mean",
      "add",
      "sub",
      "mul",
      "concat.method",
      "quantize",
      "requantize",
      "leaky_relu",
      "hard_swish",
      "logistic",
      "tanh",
      "exp",
      "resize"}},
};

/// Changes that a suite need not notice. In all texts `*` stands for any text.
struct Exception {
  Texts suites;
  Texts backends;
  Texts rules;
  Texts values;
  std::string reason;
};

const Texts any{"*"};
const Texts tflite{"tflite/*"};
const Texts vipnano{"vipnano/*"};
const Texts formulas{"bernoulli2/formulas"};
const Texts gna{"gna/*"};
const Texts pytorch{"pytorch_*"};
const Texts fbgemm{"fbgemm/*"};
const Texts twice{"tflite_double"};
const Texts once{"tflite_single"};
const Texts convolutions{"tflite/conv2d*", "tflite/depthwise*", "tflite/fully_connected", "tflite/transpose_conv_s8"};
// Stages that do nothing where a layer brings no operand for them.
const Texts idle{"pwl",
                 "table",
                 "relu",
                 "add_zero_point",
                 "narrow",
                 "clamp",
                 "clamp_accumulator",
                 "clamp_to_type",
                 "add_offset",
                 "add_converter_offset",
                 "multiply_by_converter",
                 "scale_below_zero",
                 "shift_right_by_sign",
                 "segments"};

// Equal for every input.
const std::vector<Exception> equal_always{
    {{"pytorch_*/pooling_u8"},
     any,
     {"*.output_scale"},
     {"own", "scale_of_input"},
     "PyTorch's averages keep the input's scale and zero point"},
    {{"pytorch_*/pooling_u8"}, any, {"global_average_pool.padding"}, any, "a global pool has no padding"},
    {{"pytorch_*", "fbgemm/*"}, any, {"*.partial.vector", "*.partial.tail"}, any, "a run has no tail: vectors of one term, or none"},
    {{"pytorch_onednn_avx2/conv2d_u8s8", "fbgemm/*"},
     any,
     {"*.partial.terms.2", "*.partial.terms.3", "*.partial.terms.4", "*.partial.terms.5", "*.partial.terms.6", "*.partial.terms.7",
      "*.partial.terms.8"},
     any,
     "no columns are processed together"},
    {{"pytorch_*", "fbgemm/*"}, any, {"*chain.size"}, {"3", "5"}, "the stage added is a clamp after a clamp"},
    {{"pytorch_qnnpack/add_mul_u8"}, any, {"add.i8.operand.chain.size"}, {"2"}, "the stage added is a clamp without bounds"},
    {{"pytorch_qnnpack/add_mul_u8"}, any, {"add.i8.output.scale.*"}, any, "the output's scale is a power of two: any encoding holds it"},
    {{"pytorch_qnnpack/add_mul_u8"}, any, {"add.i8.operand.scale.form"}, any, "of one exponent for both operands, whatever the form"},
    {{"pytorch_qnnpack/add_mul_u8"}, any, {"add.i8.output.chain.0.amount"}, any, "a shift by what remains: to the right"},
    {pytorch, any, {"*.per_channel"}, {"float_scale"}, "the chain is a float scale as it is"},
    {{"fbgemm/requantize_u8"}, {"fbgemm"}, {"requantize.scale.arithmetic"}, any, "the multiplier is the scale itself, the output's is 1"},
    {{"ggml*/quantize_row"}, any, {"block_quantize.q8_0.offset"}, {"zero_point"}, "the zero point is 0"},
    {{"ggml*/quantize_row"}, any, {"block_quantize.q4_0.rounding"}, {"floor"}, "what is rounded is above 0"},
    {{"gna/affine"}, any, {"depthwise_conv.*.accumulator.when"}, {"every_add"}, "a sum of one term"},
    {any, any, {"*.kind"}, {"absolute"}, "no layer's activation is the magnitude, but for the MAX78000's: the stage does nothing"},
    {any, any, {"*.kind"}, {"divide"}, "nothing is counted here: a division by 1"},
    {any,
     any,
     {"*.by"},
     {"first_in*", "larger_in*", "float(first_in*", "float(larger_in*"},
     "one operand: its scale is the first one and the largest"},
    {any,
     any,
     {"*.by"},
     {"float(in*weight)/out"},
     "the recordings' scales are too round for their product's rounding; recorded_cases tells"},
    {{"tflite/*_u8", "tflite/fully_connected"}, any, {"*.by"}, {"in*weight/out"}, "the same the other way round"},
    {any, any, {"*.per_channel"}, {"native_unrounded"}, "no product of scales is a float"},
    {{"tflite/fully_connected"},
     any,
     {"*.per_channel"},
     {"native"},
     "its product of scales is a float, but its scales are too round to tell"},
    {{"bernoulli2/formulas", "gemmini/*", "max78000/*", "espdl/*", "gap/*", "nvdla/*"},
     any,
     {"*.centring"},
     any,
     "symmetric data: zero points are 0"},
    {{"gemmini/*", "max78000/*", "espdl/*", "gap/*", "sophgo/requantize", "nvdla/*"},
     any,
     {"*.kind"},
     {"shift_right_with_zero_point", "float_scale_with_zero_point"},
     "symmetric data: zero points are 0"},
    {{"gemmini/*", "max78000/*", "espdl/*"},
     any,
     {"*chain.size"},
     {"3", "2"},
     "the stage added is a clamp: after a clamp, or without bounds"},
    {{"gap/*", "rk3588/*", "sophgo/*", "nvdla/*", "k210/*"},
     any,
     {"*chain.size"},
     {"5", "7", "8", "9", "10", "12"},
     "the stage added is a clamp after a clamp"},
    {{"gap/add_sq8", "gap/fully_connected_sq8", "gap/requantize_sq8", "gap/sigmoid_tanh_sq8", "rk3588/out_cvt_s8", "sophgo/requantize",
      "nvdla/*", "k210/*"},
     any,
     {"*.scale.*", "*.by"},
     any,
     "every layer states its registers: no scale is encoded"},
    {{"gap/pooling_sq8"},
     any,
     {"global_average_pool.output.scale.*", "global_average_pool.output.by"},
     any,
     "every layer states its registers: no scale is encoded"},
    {any,
     any,
     {"*.scale.form"},
     {"odd"},
     "an exact product does not depend on where a multiplier's zeros stand; arith/multiplier_test.cpp"},
    {{"rk3588/*"}, any, {"*.scale.rounding"}, {"toward_zero"}, "floor and toward_zero agree on positive multipliers"},
    {{"rk3588/encode_multiplier", "sophgo/encode_multiplier"},
     any,
     {"*.arithmetic"},
     {"f64", "f32_*"},
     "the primitive takes the effective scale itself"},
    {{"sophgo/requantize"}, {"sophgo"}, {"requantize.chain.2.kind"}, idle, "the zero point is 0"},
    {{"sophgo/requantize"}, {"sophgo_qdm"}, {"requantize.chain.3.kind"}, idle, "the zero point is 0"},
    {{"sophgo/requantize"},
     {"sophgo"},
     {"requantize.chain.1.amount"},
     {"negative_exponent"},
     "its multiplier has no fraction bits: what remains is the exponent"},
    {{"gap/*"},
     any,
     {"*.i8.output.chain.4.kind", "requantize.chain.4.kind", "global_average_pool.output.chain.6.kind"},
     {"clamp", "relu", "float_scale"},
     "the zero point is 0, and the scale that a float product would take is 1"},
    {{"gap/*"},
     any,
     {"*.i8.output.chain.1.*", "requantize.chain.1.*", "mul.chain.2.*", "global_average_pool.output.chain.3.*"},
     {"add_zero_point", "relu", "float_scale", "33", "exact"},
     "what the product leaves of 32 bits the sum with the half wraps as well"},
    {{"gap/pooling_sq8"}, any, {"average_pool.output.chain.1.amount"}, {"fraction", "remaining"}, "the reciprocal has 16 fraction bits"},
    {{"gemmini/rounding_right_shift", "max78000/conv2d_s8", "espdl/conv2d_s8", "espdl/shift_and_round"},
     any,
     {"*.scale.arithmetic", "*.scale.form", "*.scale.rounding", "*.scale.significant_bits"},
     any,
     "scales are powers of two: any encoding holds them"},
    {{"espdl/mul_avgpool_s8"}, any, {"mul.*arithmetic"}, any, "a power of two times 16 bits is exact in float"},
    {{"max78000/*", "tosa/avg_pool"}, any, {"*.accumulator.when"}, {"every_add"}, "an exact sum is narrowed nowhere"},
    {{"max78000/eltwise_s8"}, any, {"*.chain.0.kind"}, any, "sums and products go out as they are, before the chain"},
    {{"max78000/pooling_s8"},
     any,
     {"average_pool.output_scale"},
     {"own", "scale_of_input"},
     "a division by the count alone: input and output share one scale, and zero point 0"},
    {{"max78000/pooling_s8"}, any, {"average_pool.padding"}, {"excluded", "edge_repeated"}, "pools of the chip have no padding"},
    {{"k210/kpu_pool2d"},
     any,
     {"average_pool.padding"},
     {"excluded"},
     "2x2 windows: beyond the image one sees each of its values twice, or the one four times"},
    {{"k210/kpu_pool2d"}, any, {"average_pool.output.chain.0.rounding"}, {"toward_zero"}, "no sum of codes is below 0"},
    {{"tflite/pooling"}, any, {"average_pool.centring"}, {"own_zero_point"}, "zero points are 0 there"},
    {{"tflite/*"}, any, {"*.i16*.centring"}, any, "16-bit data has zero point 0"},
    {gna, any, {"*.centring"}, any, "GNA's data have no zero point"},
    {any,
     any,
     {"*pool.output.chain.size", "mean.output.chain.size", "mul.chain.size", "add.*.output.chain.size"},
     {"3"},
     "the stage added is a clamp after a clamp"},
    {{"tflite/elementwise", "bernoulli2/formulas"},
     any,
     {"add.*.operand.chain.size", "sub.*.operand.chain.size"},
     {"2", "5"},
     "the stage added is a clamp without bounds"},
    {{"tflite/elementwise"},
     any,
     {"add.i16_power_of_two.operand.*"},
     {"any", "2", "remaining"},
     "scales are powers of two of 1 or less: one bit holds them, and only right shifts are left"},
    {any,
     any,
     {"*.kind"},
     {"shift_left_by"},
     "the constant of a stage put there is 0: a shift by nothing; what stands there does nothing either"},
    {any,
     any,
     {"*.kind"},
     {"clamp_accumulator", "add_offset", "add_converter_offset", "multiply_by_converter", "scale_below_zero", "shift_right_by_sign",
      "segments"},
     "no layer clips its accumulators or states such registers: the stage does nothing, as the one in whose place it stands"},
    {any,
     any,
     {"*.kind"},
     {"clamp_to_type"},
     "the layers' bounds are those of their types, or stated outright: no activation adds to them"},
    {tflite, any, {"*.kind"}, {"add_half", "add_half_by_sign"}, "no multiplier shifts left, and half of nothing is nothing"},
    {{"tflite/*_s16", "tflite/fully_connected"},
     any,
     {"*.i16_bias*.kind"},
     {"shift_right_with_zero_point"},
     "16-bit data has zero point 0: it changes nothing when it joins"},
    {{"tflite/requantize*", "tosa/apply_scale", "tflite/elementwise", "tflite/activations", "tflite/logistic_tanh", "tflite/softmax"},
     any,
     {"conv.*.chain.*.kind", "add.*.operand.chain.*.kind", "leaky_relu.*.kind", "prelu.*.kind", "logistic.*.kind", "tanh.*.kind",
      "softmax.*.kind"},
     {"shift_right_with_zero_point"},
     "these rescale numbers without a zero point, which is added afterwards, or never"},
    {formulas, any, {"*.kind"}, {"shift_right_with_zero_point"}, "symmetric data: zero points are 0"},
    {{"onnxruntime/*"}, any, {"*.arithmetic"}, {"f64"}, "no product lies so near a tie that the bits of a double would show"},
    {any, any, {"*.accumulator.when"}, {"at_end"}, "sums modulo 2^bits do not depend on when they are narrowed"},
    {any, any, {"*.bias"}, any, "nor on when the bias joins them"},
    {{"tflite/requantize*"},
     any,
     {"*.chain.size", "*.chain.3.kind", "*.chain.4.kind"},
     any,
     "the primitive ends before zero point and clamp"},
    {{"tosa/apply_scale"}, any, {"*.chain.size", "*.chain.3.kind", "*.chain.4.kind"}, any, "so here"},
    {{"tosa/apply_scale"}, {"tosa_single"}, {"*.chain.2.kind"}, any, "so here, where one rounding is one stage less"},
    {{"tosa/apply_scale"}, {"tosa_double"}, {"conv.i16_bias64.output.chain.2.kind"}, any, "so here, where one rounding is one stage less"},
    {any, any, {"*chain.size"}, {"6", "4"}, "the stage added is a clamp: after a clamp, or without bounds"},
    {any, any, {"*.normalization"}, any, "the remaining shift balances the exponent: the product is the same"},
    {{"onnxruntime/qlinearconv"}, any, {"*.per_channel"}, {"float_scale"}, "the chain is a float scale as it is"},
    {any, any, {"dequantize.arithmetic"}, {"f32", "f64"}, "17 bits times float32 are exact in double: either way one rounding"},
    {any,
     any,
     {"logistic.*arithmetic", "tanh.*arithmetic", "softmax.*arithmetic", "hard_swish.*arithmetic"},
     {"f32"},
     "these operations derive their multipliers in a way of their own"},
    {{"tflite/fixedpoint_prims"}, any, {"*.arithmetic"}, {"f32"}, "the primitive takes the effective scale itself"},
    {{"tflite/fixedpoint_prims"}, any, {"*.scale.rounding"}, {"half_up"}, "half_up and half_away agree on positive values"},
    {any, any, {"*.i16_bias64.output.chain.0.rounding"}, {"half_away"}, "half_up and half_away agree on positive multipliers"},
    {any, {"vipnano_v7"}, {"*.chain.1.rounding"}, {"toward_zero"}, "floor and toward_zero agree on positive multipliers"},
    {any, {"vipnano_v7"}, {"*.significant_bits"}, {"23"}, "the multiplier is cut to 16 bits afterwards"},
    {any, twice, {"add.*.operand.chain.1.kind"}, {"two_term_shift"}, "of an operand shifted left the second term vanishes modulo 2^32"},
    {{"onnxruntime/ms_qlinear", "bernoulli2/formulas", "espdl/mul_avgpool_s8", "gap/pooling_sq8"},
     any,
     {"global_average_pool.padding"},
     any,
     "a global pool has no padding"},
    {{"onnxruntime/ms_qlinear"},
     any,
     {"logistic.method"},
     {"float_table*"},
     "the two functions give the same codes here; recorded_cases tells"},
    {{"bernoulli2/formulas"},
     any,
     {"logistic.method", "tanh.method"},
     {"float_ratio", "float_table_8bit"},
     "the two functions give the same codes here"},
    {formulas, any, {"*.chain.1.kind"}, {"add_zero_point", "relu"}, "what leaves 16 bits leaves the 8 of the output as well"},
    {formulas, any, {"*.chain.1.overflow"}, {"exact"}, "what leaves 16 bits leaves the 8 of the output as well"},
    {formulas, any, {"*.chain.1.bits"}, {"17"}, "what leaves 16 bits leaves the 8 of the output as well"},
    {formulas, any, {"mul.chain.1.*"}, {"15", "wrap"}, "products of 8-bit codes fit 16 bits, all but one of them 15"},
    {formulas, any, {"*.scale.rounding"}, {"half_away"}, "half_up and half_away agree on positive values"},
    {formulas, any, {"*.bias_bits"}, {"33"}, "a bias of 32 bits is kept as it is"},
    {formulas, any, {"*.bias_rounding"}, any, "a bias of 32 bits is kept as it is"},
    {formulas,
     any,
     {"*.chain.0.limit"},
     any,
     "beyond 30 places only 0 and -1 are left, and they end as 0, or as -1 where both shifts floor"},
    {formulas, any, {"*.chain.3.limit"}, {"32"}, "16 bits times 15 bits, shifted by 31, leave what a shift by 32 leaves"},
    {formulas, any, {"quantize.zero_point"}, any, "the zero point is 0"},
};

// Different, but the recordings never ask.
const std::vector<Exception> never_asked{
    {{"gemmini/*", "espdl/mul_avgpool_s8"},
     any,
     {"*.arithmetic"},
     any,
     "no product lies so near a tie that the bits of a double would show"},
    {{"gemmini/resadd", "max78000/*", "espdl/*", "tosa/avg_pool", "nvdla/*", "k210/*"},
     any,
     {"*.accumulator.bits", "*.accumulator.overflow", "*.accumulator.when"},
     any,
     "no sum leaves the accumulator"},
    {{"gemmini/rounding_right_shift", "max78000/conv2d_s8", "espdl/conv2d_s8"},
     any,
     {"*.chain.0.amount"},
     {"negative_exponent"},
     "no recorded scale is above 1: none shifts left"},
    {{"espdl/*"}, any, {"conv.i8.per_channel"}, any, "one scale per layer"},
    {{"espdl/conv2d_s8"}, any, {"conv.i8.output.chain.0.rounding"}, {"half_*"}, "no sum is a tie that shows; shift_and_round has many"},
    {{"espdl/mul_avgpool_s8", "tosa/avg_pool"}, any, {"*pool.output_scale"}, any, "input and output share their scale"},
    {{"tosa/apply_scale"},
     any,
     {"*.chain.0.bits", "*.chain.0.overflow"},
     any,
     "a program's values leave no 31 bits when they are shifted left"},
    {{"max78000/*", "rk3588/*", "gap/*", "nvdla/*", "k210/*"},
     any,
     {"*.per_channel"},
     any,
     "one scale per layer, or registers per channel"},
    {{"nvdla/conv2d_s8"},
     any,
     {"*.chain.1.rounding", "*.chain.6.rounding"},
     {"half_*"},
     "no tie behind either scale shows in 8 bits; sdp_x_int tells the first one, sdp_c_int the second"},
    {{"nvdla/conv2d_s8"}, any, {"*.chain.2.*"}, any, "no product leaves 32 bits; sdp_x_int tells"},
    {{"nvdla/conv2d_s8"}, any, {"*.chain.4.kind"}, any, "converters without an offset; sdp_c_int tells"},
    {{"nvdla/*"}, any, {"conv.i8.output.chain.5.bits", "requantize.chain.7.bits"}, {"17"}, "a wider multiplier holds 16 bits"},
    {{"nvdla/*"},
     any,
     {"conv.i8.output.chain.7.*", "requantize.chain.9.*", "requantize_to_32bit.chain.4.*"},
     any,
     "the output, of as many bits or fewer, saturates as well"},
    {{"nvdla/*"}, any, {"*.kind"}, {"clamp"}, "outputs without outright bounds, and with zero point 0"},
    {{"nvdla/sdp_c_int"},
     any,
     {"requantize.chain.0.*", "requantize.chain.1.*", "requantize.chain.3.*", "requantize.chain.4.*", "requantize.chain.5.*"},
     any,
     "X is passed as it is: no operand, multiplier 1, no shift; sdp_x_int tells"},
    {{"nvdla/sdp_x_int"}, any, {"*.chain.1.rounding"}, {"half_up"}, "no tie below 0 among the values of a prelu"},
    {{"k210/kpu_pool2d"}, any, {"average_pool.output_scale", "average_pool.centring"}, any, "one scale, and zero points of 0"},
    {{"k210/kpu_conv2d"}, any, {"*.chain.1.kind"}, {"shift_right_with_zero_point"}, "the outputs' zero points are 0"},
    {{"k210/*"}, any, {"*.chain.3.limit"}, {"17"}, "no layer has more than 16 segments"},
    {{"k210/*"}, any, {"*.chain.3.bits"}, {"17"}, "a wider multiplier holds 16 bits"},
    {{"rk3588/*", "gap/*"}, any, {"*.accumulator.bits", "*.accumulator.overflow"}, any, "no sum leaves the accumulator"},
    {{"esp_nn/requantize_fast"}, any, {"*.chain.2.amount"}, {"remaining"}, "a shift to the left has no half, by either name"},
    {{"gap/fully_connected_sq8", "gap/sigmoid_tanh_sq8"}, any, {"*.chain.2.kind"}, {"add_half_by_sign"}, "no tie lies below 0"},
    {{"rk3588/conv2d_s8"}, any, {"*.scale.arithmetic"}, {"f32_*"}, "14 bits of a multiplier do not show the last bit of a float scale"},
    {{"rk3588/conv2d_s8"}, any, {"*.scale.carry"}, any, "no multiplier comes to a power of two; encode_multiplier tells"},
    {{"sophgo/requantize"},
     {"sophgo_qdm"},
     {"requantize.chain.0.bits", "requantize.chain.0.overflow"},
     {"31", "33", "exact", "saturate"},
     "no value leaves 31 bits when it is shifted left"},
    {{"gap/add_sq8", "gap/pooling_sq8", "gap/sigmoid_tanh_sq8"},
     any,
     {"*.chain.*.bits", "*.chain.*.overflow"},
     {"31", "33", "exact", "saturate"},
     "no product leaves 31 bits; requantize_sq8 and fully_connected_sq8 tell"},
    {{"gap/fully_connected_sq8"},
     any,
     {"*.chain.2.bits", "*.chain.2.overflow"},
     {"33", "exact", "saturate"},
     "no half takes a product out of 32 bits; requantize_sq8 tells"},
    {{"gap/requantize_sq8"},
     any,
     {"add_n.i8.output.chain.*"},
     any,
     "its registers are 1 and 0: nothing to multiply or shift; add_sq8 tells"},
    {{"gap/pooling_sq8"}, any, {"*average_pool.output_scale"}, any, "input and output share their scale"},
    {any, any, {"*.row_multiplier"}, {"of_terms"}, "no layer has multipliers"},
    {formulas,
     any,
     {"*pool.accumulator.*", "mean.accumulator.*", "add.i8.accumulator.*", "sub.i8.accumulator.*"},
     {"31", "33", "exact", "saturate", "every_add"},
     "no sum of codes leaves 31 bits"},
    {{"tflite/elementwise"},
     any,
     {"add.i16_power_of_two.accumulator.bits"},
     {"17"},
     "the zero points are 0: what leaves 16 bits leaves the output as well"},
    {{"tflite/elementwise"},
     any,
     {"add.*.operand.chain.1.*", "add.*.operand.chain.3.*"},
     any,
     "no operand's multiplier is 1 or more, and none leaves 32 bits"},
    {{"tflite/elementwise"},
     any,
     {"add.i16.output.chain.*.kind"},
     {"shift_right_with_zero_point", "clamp", "relu", "divide"},
     "16-bit data has zero point 0"},
    {{"tflite/elementwise"},
     any,
     {"add.i16_power_of_two.output.chain.*.kind"},
     any,
     "16-bit data has zero point 0, and the sum is saturated before"},
    {{"tflite/elementwise"}, once, {"add.*.operand.chain.size"}, {"3"}, "no operand leaves 32 bits"},
    {{"tflite/pooling"}, any, {"average_pool.output_scale"}, any, "input and output share their scale"},
    {formulas,
     any,
     {"add.*.operand.scale.*", "sub.*.operand.scale.*"},
     {"f32*", "14", "16"},
     "the scales are small whole multiples of one another"},
    {{"tflite/*", "onnxruntime/*"},
     any,
     {"*pool.accumulator.*", "mean.accumulator.*", "add.*.accumulator.*"},
     any,
     "no sum leaves the accumulator"},
    {any, any, {"*.partial.method"}, {"consecutive_*", "kernel_codes"}, "no two neighbouring products leave 32 bits"},
    {{"pytorch_*", "fbgemm/*"},
     any,
     {"*.accumulator.bits", "*.accumulator.overflow"},
     {"31", "33", "exact", "saturate"},
     "no sum leaves 31 bits"},
    {{"pytorch_onednn_avx2/linear_u8s8"},
     any,
     {"*.partial.terms.*"},
     any,
     "the committed cases have rows of few groups; devices/pairs_test.cpp tells what a pair is"},
    {fbgemm, any, {"*.centring"}, any, "zero points are 0"},
    {pytorch, any, {"depthwise_conv.*.per_channel", "fully_connected.*.per_channel"}, any, "no scales per channel in the committed cases"},
    {{"pytorch_*/activations_u8"},
     any,
     {"logistic.*", "tanh.*"},
     {"float_ratio", "float_table*", "half_*"},
     "outputs have the scales 1/256 and 1/128: their inverse is exact, and no value is a tie"},
    {{"fbgemm/requantize_u8"},
     {"fbgemm_integer"},
     {"requantize.scale.*"},
     any,
     "multipliers are whole numbers of at most 31 bits, whose last bits no sum shows"},
    {gna, any, {"*.output.chain.*"}, any, "int32 sums without a scale leave the layer before the chain"},
    {gna, any, {"*.accumulator.tile.*"}, any, "the committed cases cross tiles of two groups; devices/gna_test.cpp crosses every tile"},
    {{"gna/affine_pwl", "gna/conv2d_fused", "gna/recurrent"},
     any,
     {"*.accumulator.*"},
     any,
     "a few small layers, seen through an activation; gna/affine and gna/conv2d tell"},
    {{"gna/seed000_demo"}, any, {"*.accumulator.*"}, any, "no sum needs 31 bits; gna/conv1d tells"},
    {{"gna/pool2d", "gna/conv2d_fused"},
     any,
     {"sum_pool.i8.accumulator.*"},
     any,
     "windows of at most 49 values: no sum of 8-bit data needs 16 bits; devices/gna_layers_test.cpp has some"},
    {{"gna/affine", "gna/conv1d"},
     any,
     {"*.partial.terms.*"},
     {"3"},
     "the recorded products that wrap are all alike: three wrap as two do; arith/partial_sums_test.cpp tells"},
    {{"gna/conv1d_pool_pwl"}, any, {"*.partial.tail"}, {"dropped"}, "recorded is that values differ, not what they are"},
    {{"gna/conv1d_pool_pwl"}, any, {"fused_conv.sum.bits", "fused_conv.sum.overflow"}, any, "no sum needs 63 bits"},
    {{"gna/conv1d_pool_pwl"}, any, {"fused_conv.sum.when"}, any, "sums modulo 2^64 do not depend on when they are narrowed"},
    {{"*_u8", "vipnano/*"}, any, {"*.per_channel"}, any, "no scales per channel"},
    {any, any, {"fully_connected.i16_bias64.per_channel"}, any, "no scales per channel"},
    {convolutions, any, {"*.scale.rounding"}, any, "the scales are multiplier * 2^shift: nothing to round; fixedpoint_prims tells"},
    {tflite,
     any,
     {"mul.*scale.rounding", "requantize.scale.rounding", "logistic.*scale.rounding", "tanh.*scale.rounding"},
     any,
     "the scales are multiplier * 2^shift, or powers of two: nothing to round"},
    {tflite, any, {"leaky_relu.*scale.rounding", "hard_swish.*scale.rounding"}, any, "computed in float: 24 bits of 31, nothing to round"},
    {vipnano, any, {"*.scale.rounding"}, any, "float32 has 24 bits: nothing to round"},
    {vipnano, any, {"*.significant_bits"}, {"25"}, "float32 has 24 bits: the last is 0"},
    {vipnano, any, {"*.scale.arithmetic"}, {"f64", "f32_*"}, "the weight scale is the effective scale, the others are 1"},
    {any, any, {"*.min_exponent", "*.max_exponent"}, any, "no multiplier is so small or so large; fixedpoint_prims tells the smallest"},
    {{"tflite/*", "onnxruntime/*"},
     any,
     {"*.accumulator.bits", "*.accumulator.overflow"},
     {"33", "63", "exact", "saturate"},
     "no sum leaves the accumulator"},
    {{"tflite/conv2d_s16", "tflite/depthwise_u8", "tflite/fully_connected", "tflite/transpose_conv_s8", "onnxruntime/*"},
     any,
     {"*.accumulator.bits"},
     {"31"},
     "no sum needs 32 bits; conv2d_s8, conv2d_u8 and depthwise_s8 tell"},
    {vipnano, any, {"depthwise_conv.i8.accumulator.*"}, any, "no sum needs 32 bits; the convolutions tell"},
    {tflite, any, {"*chain.0.bits", "*chain.0.overflow"}, {"33", "exact", "saturate"}, "no value leaves 32 bits when it is shifted left"},
    {tflite, any, {"*chain.0.bits"}, {"31"}, "no value leaves 31 bits when it is shifted left; requantize tells"},
    {tflite,
     {"tflite_*"},
     {"*conv*.chain.0.kind", "fully_connected*.chain.0.kind", "add*.chain.0.kind", "mul*.chain.0.kind"},
     idle,
     "no multiplier is 1 or more: the first stage shifts by nothing; requantize tells"},
    {tflite, any, {"*.chain.2.amount"}, {"remaining"}, "no multiplier is 1 or more: nothing would be shifted left; requantize tells"},
    {tflite, any, {"logistic.*.chain.1.rounding", "tanh.*.chain.1.rounding"}, any, "the 8-bit result does not show the places rounded"},
    {tflite, twice, {"logistic.*.chain.2.*", "tanh.*.chain.2.*"}, any, "inputs are only shifted left"},
    {tflite, twice, {"logistic.*chain.size", "tanh.*chain.size"}, {"2"}, "inputs are only shifted left"},
    {tflite, once, {"*chain.2.bits", "*chain.2.overflow"}, any, "no product leaves 32 bits"},
    {tflite, once, {"*chain.2.kind"}, idle, "no product leaves 32 bits"},
    {tflite, once, {"*chain.size"}, {"2"}, "no product leaves 32 bits"},
    {tflite, twice, {"*.i16_bias64.output.chain.2.*"}, any, "no product leaves 32 bits"},
    {tflite, any, {"*.i16_bias*.output.chain.3.kind"}, idle, "16-bit data has zero point 0"},
    {{"onnxruntime/ms_qlinear"}, any, {"global_average_pool.*.rounding", "logistic.rounding"}, {"half_*"}, "no value is a tie"},
    {{"onnxruntime/qlinearmatmul"}, any, {"*.rounding"}, {"half_toward_zero", "half_up"}, "no value is a tie that these round differently"},
    {convolutions, any, {"*.i16_bias64.output.chain.0.rounding"}, {"half_*"}, "no multiplier is a tie of 15 bits; requantize64 tells"},
    {{"tflite/fixedpoint_prims"}, any, {"*.scale.rounding"}, {"half_even"}, "the one tie of 31 bits goes to an even multiplier anyway"},
    {{"tflite/concat"}, any, {"concat.method"}, any, "all concatenations are uint8"},
    {formulas, any, {"matmul.i8.accumulator.*"}, any, "no sum leaves 31 bits; the layers with a bias tell"},
    {formulas,
     any,
     {"average_pool.output.chain.1.*", "global_average_pool.output.chain.1.*", "mean.output.chain.1.bits"},
     {"15", "wrap"},
     "no sum leaves 15 bits after the shift; requantize tells"},
    {formulas, any, {"*.chain.3.amount"}, {"remaining"}, "no scale is 2^15 or more; requantize tells"},
    {formulas, any, {"*.chain.3.limit"}, {"30"}, "32-bit values leave at most 22 places; requantize of 16 bits tells"},
    {formulas, any, {"exp.rounding", "logistic.rounding", "tanh.rounding", "hard_swish.rounding"}, {"half_*"}, "no entry is a tie"},
    {formulas, any, {"leaky_relu.rounding"}, {"floor", "half_down"}, "every inexact entry is a negative tie; the other tables tell"},
};

// Different, and the recordings come near: no value happens to lie where it shows.
const std::vector<Exception> not_met{
    {{"k210/kpu_conv2d"},
     any,
     {"*.chain.1.rounding", "*.cross_terms.rounding"},
     any,
     "one unit in front of the segments is far below one of their codes"},
    {{"k210/kpu_conv2d"}, any, {"*.chain.3.rounding"}, {"half_*"}, "no product of a segment lies on a tie; carry_shift tells"},
    {{"pytorch_*/conv2d_u8s8", "pytorch_*/linear_u8s8", "pytorch_*/add_mul_u8", "pytorch_*/pooling_u8"},
     any,
     {"*.scale.arithmetic"},
     any,
     "no result is so near a tie that the last bit of a scale shows; scale_ties tells, but for the machine without VNNI and for averages"},
    {{"pytorch_*", "fbgemm/*"}, any, {"*chain.0.arithmetic"}, {"f64"}, "nor the bits that a product in double has more"},
    {{"pytorch_qnnpack/add_mul_u8"},
     any,
     {"add.i8.operand.scale.rounding", "add.i8.operand.scale.significant_bits", "add.i8.operand.scale.carry"},
     any,
     "the sum of two operands of 22 bits: no result is so near a tie that the last of them shows"},
    {{"pytorch_*/conv2d_u8s8", "pytorch_*/linear_u8s8", "pytorch_qnnpack/scale_ties"},
     any,
     {"*.output.chain.0.rounding"},
     {"half_*"},
     "of convolutions no recorded sum is a tie, of linear layers one; on onednn scale_ties tells"},
    {{"pytorch_*/activations_u8"}, any, {"hard_swish.rounding"}, {"half_*"}, "few ties, which all go one way"},
    {{"pytorch_*/activations_u8"},
     any,
     {"leaky_relu.method", "hard_swish.method"},
     {"float_table", "float_table_onto_zero_point"},
     "no quotient is so near a tie; nor do the ties of leaky_relu tell where the zero point joins"},
    {fbgemm, any, {"requantize.chain.*.rounding"}, {"half_*"}, "no recorded sum is a tie"},
    {{"onnxruntime/ms_qlinear"}, any, {"leaky_relu.method"}, {"float_table_by_inverse"}, "no quotient is so near a tie"},
    {formulas,
     any,
     {"*.method"},
     {"float_table_by_inverse", "float_table_onto_zero_point"},
     "zero points are 0, and no quotient is so near a tie"},
    {{"ggml*/quantize_row"}, any, {"block_quantize.*.stored"}, {"half_*"}, "no scale lies between two float16 values"},
    {{"ggml*/quantize_row"}, any, {"block_quantize.*.division"}, {"by_inverse", "by_steps", "divide"}, "no quotient lies so near a tie"},
    {{"ggml*/quantize_row"},
     any,
     {"block_quantize.q4_0.offset"},
     {"zero_point_and_half", "fused_zero_point_and_half"},
     "nor does its sum with 8.5"},
    {{"ggml*/vec_dot"},
     any,
     {"block_matmul.q4_0.*product"},
     any,
     "no block's sum has more than 13 bits; engine/op_block_test.cpp has some"},
    {{"tflite/*", "onnxruntime/*"}, any, {"*.scale.arithmetic"}, any, "no result is so near to another that 24 bits of scale would show"},
    {tflite, any, {"*scale.significant_bits"}, {"30", "32"}, "nor that the last of 31 bits would"},
    {{"tflite/mean", "tflite/elementwise", "tflite/activations", "tflite/softmax"},
     any,
     {"*.scale.rounding"},
     any,
     "nor how it was rounded"},
    {{"tflite/conv2d_s16", "tflite/conv2d_u8", "tflite/fully_connected", "tflite/elementwise", "tflite/activations", "tflite/mean",
      "tflite/softmax"},
     any,
     {"*chain.1.rounding"},
     {"half_*"},
     "ties of this stage are rare; conv2d_s8, depthwise_s8 and requantize have them"},
    {{"tflite/conv2d_s16"},
     twice,
     {"*.i16_bias32.output.chain.1.rounding"},
     {"ceil", "to_odd", "toward_zero"},
     "few values; conv.i8 tells"},
    {{"tflite/softmax"}, any, {"softmax.method"}, {"fixed_point_by_double"}, "two entries of 513; tflite_builtin/softmax has them"},
    {{"tflite/conv2d_u8", "tflite/softmax"}, twice, {"*chain.2.rounding"}, {"half_down"}, "no negative tie here; conv2d_s8 has some"},
    {tflite, any, {"add.*.operand.chain.*.rounding"}, any, "an operand carries 20 or 15 places more than the result shows"},
    {tflite, twice, {"add.*.output.chain.1.rounding"}, any, "the first rounding is many places below the result"},
    {{"tflite/concat"}, any, {"concat.method_uint8"}, {"dequantize"}, "the two differ in the last bit of a float"},
    {{"onnxruntime/ms_qlinear"}, any, {"concat.method"}, {"rescaled"}, "one float scale rounds as the pair of them for all recorded codes"},
    {{"rk3588/conv2d_s8"},
     any,
     {"*.scale.arithmetic", "*.significant_bits", "*.added", "*.chain.1.rounding"},
     {"f64", "16", "nothing", "half_*"},
     "a thousand values; out_cvt_s8 has ties, and encode_multiplier tells the rest"},
    {{"gap/pooling_sq8"}, any, {"average_pool.output.scale.rounding", "average_pool.output.scale.arithmetic"}, any, "the last of 16 bits"},
    {{"gap/pooling_sq8"},
     any,
     {"global_average_pool.output.chain.1.rounding"},
     any,
     "the quotient carries 7 places more than the result shows"},
    {{"gap/requantize_sq8"}, any, {"mul.chain.*"}, any, "five layers of products; requantize tells the same stages"},
    {{"vipnano/stm32mp2_v7_cmodel"}, any, {"conv.i8.output.chain.1.bits"}, {"17"}, "a311d_v7_cmodel tells"},
    {{"vipnano/imx8mp_v8_cmodel"},
     any,
     {"depthwise_conv.i8.output.chain.2.rounding"},
     {"half_*"},
     "six depthwise layers without a tie; conv.i8 tells"},
    {{"vipnano/imx8mp_v8_cmodel"}, any, {"depthwise_conv.i8.*significant_bits"}, {"23"}, "six depthwise layers; conv.i8 tells"},
};

bool belongs(const Texts& prefixes, const std::string& path) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const auto& prefix) { return path == prefix || path.starts_with(prefix + "."); });
}

struct Change {
  std::string folder, backend, rule, from, to;
};

/// Copies the cases of a suite that a backend has a part in.
RecordedCases copied_cases(const std::string& folder, const std::string& backend, const std::filesystem::path& to) {
  const auto suite = test::source_directory() / "tests/vectors" / folder;
  std::filesystem::copy(suite, to, std::filesystem::copy_options::recursive);
  auto json = nlohmann::json::parse(std::ifstream(suite / "cases.json"));
  const auto names = [&](const nlohmann::json& entry) { return entry.value("backend", "") == backend; };
  auto kept = nlohmann::json::array();
  for (const auto& one : json["cases"]) {
    const auto also = one.value("also", nlohmann::json::array());
    if (names(one) || std::any_of(also.begin(), also.end(), names)) kept.push_back(one);
  }
  json["cases"] = std::move(kept);
  std::ofstream(to / "cases.json") << json;
  return RecordedCases(to);
}

/// Those cases, in a folder of their own.
class CasesOf {
 public:
  CasesOf(const std::string& folder, const std::string& backend) : cases_(copied_cases(folder, backend, scratch_.path())) {}

  [[nodiscard]] bool notice(const Change& change) {
    VerifyOptions options;
    options.stop_after = 1;
    options.adjust = [&](SpecSheet& sheet) {
      if (sheet.name == change.backend) set_rule(sheet.backend, change.rule, change.to);
    };
    return !cases_.verify(options).failures.empty();
  }

 private:
  test::Scratch scratch_;
  RecordedCases cases_;
};

bool speaks_of(const Exception& exception, const Change& change) {
  const auto one_matches = [](const Texts& patterns, const std::string& text) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return matches(pattern, text); });
  };
  return one_matches(exception.suites, change.folder) && one_matches(exception.backends, change.backend) &&
         one_matches(exception.rules, change.rule) && one_matches(exception.values, change.to);
}

/// Not where a stage would read a rule that nobody states: such a device is refused, whatever was recorded.
bool is_a_device(Backend backend, const std::string& rule, const std::string& value) {
  try {
    set_rule(backend, rule, value);
    require_stated(backend);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<Change> every_change() {
  std::vector<Change> changes;
  for (const Suite& suite : suites) {
    for (const std::string& name : suite.backends) {
      const Backend backend = find_backend(name).backend;
      for (const RuleText& rule : list_rules(backend)) {
        if (!belongs(suite.rules, rule.path) || is_absent_chain(rule)) continue;
        for (const std::string& value : candidates(rule.value)) {
          if (accepts(backend, rule.path, value) && is_a_device(backend, rule.path, value))
            changes.push_back({suite.folder, name, rule.path, rule.value, value});
        }
      }
    }
  }
  return changes;
}

}  // namespace

TEST_CASE("every recorded suite notices any other value of any rule it reads") {
  const auto changes = every_change();
  CHECK(changes.size() > 3000);
  std::vector<Exception> exceptions;
  for (const auto& list : {equal_always, never_asked, not_met}) exceptions.insert(exceptions.end(), list.begin(), list.end());
  std::vector<std::size_t> uses(exceptions.size(), 0);
  std::optional<CasesOf> cases;
  const Change* last = nullptr;
  for (const Change& change : changes) {
    if (last == nullptr || last->folder != change.folder || last->backend != change.backend) {
      cases.reset();  // the folder is the process's own
      cases.emplace(change.folder, change.backend);
    }
    last = &change;
    if (cases->notice(change)) continue;
    const auto exception = std::find_if(exceptions.begin(), exceptions.end(), [&](const Exception& e) { return speaks_of(e, change); });
    if (exception != exceptions.end()) {
      ++uses[static_cast<std::size_t>(exception - exceptions.begin())];
      continue;
    }
    FAIL_CHECK(change.folder << " does not notice " << change.rule << " of " << change.backend << ": " << change.from << " -> "
                             << change.to);
  }
  for (std::size_t i = 0; i < exceptions.size(); ++i) {
    INFO("exception " << i << ": " << exceptions[i].reason);
    CHECK(uses[i] > 0);
  }
}

TEST_CASE("every recorded suite is tested for what it notices") {
  const auto root = test::source_directory() / "tests/vectors";
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "cases.json") continue;
    const std::string folder = std::filesystem::relative(entry.path().parent_path(), root).generic_string();
    if (folder == "ascend/metrics") continue;          // figures of a comparison: no backend computes them
    if (folder.starts_with("ascend/fp16_")) continue;  // rules in the cases themselves: float16_discrimination_test.cpp
    if (folder.starts_with("n2d2/")) continue;         // n2d2_discrimination_test.cpp
    if (folder.starts_with("tflite_builtin/") && folder != "tflite_builtin/hybrid")
      continue;  // recorded_test.cpp: what tells those kernels
    INFO(folder);
    CHECK(std::any_of(suites.begin(), suites.end(), [&](const Suite& suite) { return suite.folder == folder; }));
    ++found;
  }
  CHECK(found > 20);
}
