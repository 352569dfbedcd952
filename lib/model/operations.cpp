// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "model/input_shapes.hpp"
#include "model/movement.hpp"
#include "model/operation_checks.hpp"

namespace lastbit {
namespace {

template <class T>
Attributes defaults() {
  return T{};
}
constexpr auto none = defaults<std::monostate>;
Attributes defaults_of_elu() { return LeakyReluAttributes{1}; }

using enum OperationKind;

constexpr auto signatures = std::to_array<OperationSignature>({
    {conv2d, "conv2d", 2, 3, 1, defaults<Conv2dAttributes>, check_sum_types, check_convolution, shape_of_convolution},
    {depthwise_conv2d, "depthwise_conv2d", 2, 4, 1, defaults<Conv2dAttributes>, check_sum_types, check_convolution, shape_of_convolution},
    {transposed_conv2d, "transposed_conv2d", 2, 3, 1, defaults<Conv2dAttributes>, check_sum_types, check_transposed_convolution,
     shape_of_transposed_convolution},
    {fully_connected, "fully_connected", 2, 4, 1, defaults<FullyConnectedAttributes>, check_sum_types, check_fully_connected,
     shape_of_rows},
    {matmul, "matmul", 2, 2, 1, defaults<MatmulAttributes>, check_sum_types, check_matmul, shape_of_product},
    {max_pool2d, "max_pool2d", 1, 1, 1, defaults<Pool2dAttributes>, check_max_pool_types, check_pool, shape_of_pool},
    {average_pool2d, "average_pool2d", 1, 1, 1, defaults<Pool2dAttributes>, check_average_pool_types, check_pool, shape_of_pool},
    {global_average_pool, "global_average_pool", 1, 1, 1, defaults<Pool2dAttributes>, check_function_types, check_global_pool,
     shape_of_global_pool},
    {mean, "mean", 1, 1, 1, defaults<MeanAttributes>, check_function_types, check_mean, shape_of_mean},
    {add, "add", 2, 2, 1, defaults<ElementwiseAttributes>, check_elementwise_types, check_elementwise, shape_of_broadcast},
    {sub, "sub", 2, any_number, 1, defaults<ElementwiseAttributes>, check_elementwise_types, check_elementwise, shape_of_broadcast},
    {mul, "mul", 2, 2, 1, defaults<ElementwiseAttributes>, check_elementwise_types, check_elementwise, shape_of_broadcast},
    {concat, "concat", 1, any_number, 1, defaults<ConcatAttributes>, check_concat_types, check_concat, shape_of_concat},
    {pad, "pad", 1, 1, 1, defaults<PadAttributes>, check_moved_types, check_pad, shape_of_pad, move_pad},
    {reshape, "reshape", 1, 1, 1, none, check_moved_types, check_reshape, shape_of_input, move_all},
    {squeeze, "squeeze", 1, 1, 1, none, check_moved_types, check_reshape, shape_of_squeeze, move_all},
    {transpose, "transpose", 1, 1, 1, defaults<TransposeAttributes>, check_moved_types, check_transpose, shape_of_transpose,
     move_transpose},
    {slice, "slice", 1, 1, 1, defaults<SliceAttributes>, check_moved_types, check_slice, shape_of_input, move_slice},
    {strided_slice, "strided_slice", 1, 1, 1, defaults<SliceAttributes>, check_moved_types, check_slice, shape_of_input, move_slice},
    {split, "split", 1, 1, any_number, defaults<SplitAttributes>, check_moved_types, check_split, shape_of_split, move_split},
    {quantize, "quantize", 1, 1, 1, none, check_quantize_types, check_same_shape, shape_of_input},
    {dequantize, "dequantize", 1, 1, 1, none, check_dequantize_types, check_same_shape, shape_of_input},
    {requantize, "requantize", 1, 1, 1, defaults<RequantizeAttributes>, check_requantize_types, check_requantize, shape_of_input},
    {relu, "relu", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {relu6, "relu6", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {relu_n1_to_1, "relu_n1_to_1", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {leaky_relu, "leaky_relu", 1, 1, 1, defaults<LeakyReluAttributes>, check_function_types, check_leaky_relu, shape_of_input},
    {prelu, "prelu", 2, 2, 1, none, check_function_types, check_prelu, shape_of_input},
    {hard_swish, "hard_swish", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {logistic, "logistic", 1, 1, 1, none, check_sigmoid_types, check_same_shape, shape_of_input},
    {OperationKind::tanh, "tanh", 1, 1, 1, none, check_sigmoid_types, check_same_shape, shape_of_input},
    {softmax, "softmax", 1, 1, 1, defaults<SoftmaxAttributes>, check_softmax_types, check_softmax, shape_of_input},
    {clip, "clip", 1, 1, 1, defaults<ClipAttributes>, check_clip_types, check_clip, shape_of_input},
    {dynamic_quantize, "dynamic_quantize", 1, 1, 3, none, check_dynamic_quantize_types, check_dynamic_quantize, shape_of_input},
    {cast, "cast", 1, 1, 1, none, check_cast_types, check_same_shape, shape_of_input},
    {add_n, "add_n", 1, any_number, 1, defaults<ElementwiseAttributes>, check_add_n_types, check_add_n, shape_of_input},
    {OperationKind::exp, "exp", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {resize, "resize", 1, 1, 1, defaults<ResizeAttributes>, check_resize_types, check_resize, shape_of_input},
    {svdf, "svdf", 4, 5, 2, defaults<SvdfAttributes>, check_svdf_types, check_svdf, shape_of_input},
    {lstm, "lstm", 15, 15, 3, defaults<LstmAttributes>, check_lstm_types, check_lstm, shape_of_input},
    {pwl, "pwl", 2, 2, 1, none, check_pwl_types, check_pwl, shape_of_input},
    {sum_pool2d, "sum_pool2d", 1, 1, 1, defaults<Pool2dAttributes>, check_sum_pool_types, check_pool, shape_of_pool},
    {fused_conv2d, "fused_conv2d", 2, 4, 1, defaults<FusedConv2dAttributes>, check_fused_types, check_fused, shape_of_fused_convolution},
    {recurrent, "recurrent", 4, 6, 2, none, check_recurrent_types, check_recurrent, shape_of_recurrent},
    {argmax, "argmax", 1, 1, 1, defaults<ArgmaxAttributes>, check_argmax_types, check_argmax, shape_of_input},
    {bitwise_or, "bitwise_or", 2, any_number, 1, none, check_bitwise_types, check_inputs_of_output_shape, shape_of_input},
    {bitwise_xor, "bitwise_xor", 2, any_number, 1, none, check_bitwise_types, check_inputs_of_output_shape, shape_of_input},
    {gather, "gather", 2, 2, 1, defaults<GatherAttributes>, check_gather_types, check_gather, shape_of_gather, move_gather},
    {maximum, "maximum", 2, 2, 1, none, check_extreme_types, check_broadcast, shape_of_broadcast},
    {minimum, "minimum", 2, 2, 1, none, check_extreme_types, check_broadcast, shape_of_broadcast},
    {OperationKind::div, "div", 2, 2, 1, defaults<ElementwiseAttributes>, check_function_types, check_elementwise, shape_of_broadcast},
    {OperationKind::pow, "pow", 2, 2, 1, none, check_function_types, check_broadcast, shape_of_broadcast},
    {reduce_sum, "reduce_sum", 1, 1, 1, defaults<MeanAttributes>, check_function_types, check_mean, shape_of_mean},
    {reduce_max, "reduce_max", 1, 1, 1, defaults<MeanAttributes>, check_extreme_types, check_mean, shape_of_mean},
    {reduce_min, "reduce_min", 1, 1, 1, defaults<MeanAttributes>, check_extreme_types, check_mean, shape_of_mean},
    {OperationKind::abs, "abs", 1, 1, 1, none, check_sign_types, check_same_shape, shape_of_input},
    {neg, "neg", 1, 1, 1, none, check_sign_types, check_same_shape, shape_of_input},
    {OperationKind::log, "log", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {OperationKind::sqrt, "sqrt", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {rsqrt, "rsqrt", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {OperationKind::erf, "erf", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {less, "less", 2, 2, 1, none, check_comparison_types, check_broadcast, shape_of_broadcast},
    {less_or_equal, "less_or_equal", 2, 2, 1, none, check_comparison_types, check_broadcast, shape_of_broadcast},
    {equal, "equal", 2, 2, 1, none, check_comparison_types, check_broadcast, shape_of_broadcast},
    {OperationKind::select, "select", 3, 3, 1, none, check_select_types, check_select, shape_of_select},
    {elu, "elu", 1, 1, 1, defaults_of_elu, check_function_types, check_leaky_relu, shape_of_input},
    {OperationKind::floor, "floor", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {log_softmax, "log_softmax", 1, 1, 1, none, check_function_types, check_rows, shape_of_input},
    {l2_normalization, "l2_normalization", 1, 1, 1, none, check_function_types, check_rows, shape_of_input},
    {argmin, "argmin", 1, 1, 1, defaults<ArgmaxAttributes>, check_argmax_types, check_argmax, shape_of_input},
    {cumsum, "cumsum", 1, 1, 1, defaults<CumsumAttributes>, check_function_types, check_cumsum, shape_of_input},
    {detection_postprocess, "detection_postprocess", 3, 3, 4, defaults<DetectionAttributes>, check_detection_types, check_detection,
     shape_of_detected_boxes},
    {top_k, "top_k", 1, 1, 2, defaults<TopKAttributes>, check_top_k_types, check_top_k, shape_of_input},
    {round_half_even, "round_half_even", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {OperationKind::truncate, "truncate", 1, 1, 1, none, check_function_types, check_same_shape, shape_of_input},
    {floor_div, "floor_div", 2, 2, 1, none, check_quotient_types, check_broadcast, shape_of_broadcast},
    {block_quantize, "block_quantize", 1, 1, 2, defaults<BlockAttributes>, check_block_quantize_types, check_block_quantize,
     shape_of_blocks},
    {block_matmul, "block_matmul", 4, 4, 1, defaults<BlockAttributes>, check_block_matmul_types, check_block_matmul,
     shape_of_block_product},
});
static_assert(is_row_of_each_kind(signatures), "signature_of indexes the table by kind");

constexpr bool agrees_on_movement() {
  for (const OperationSignature& signature : signatures) {
    if (is_movement(signature.kind) != (signature.move != nullptr)) return false;
  }
  return true;
}
static_assert(agrees_on_movement(), "a movement has a function that moves");

}  // namespace

const OperationSignature& signature_of(OperationKind kind) { return signatures[static_cast<std::size_t>(kind)]; }
std::span<const OperationSignature> operation_signatures() { return signatures; }

std::string_view name_of(OperationKind kind) { return signature_of(kind).name; }

std::optional<OperationKind> operation_kind_from(std::string_view name) {
  for (const auto& signature : signatures)
    if (signature.name == name) return signature.kind;
  return std::nullopt;
}

Attributes default_attributes(OperationKind kind) { return signature_of(kind).default_attributes(); }

void check_types(const OperationView& operation) { signature_of(operation.kind()).check_types(operation); }
void check_shapes(const OperationView& operation) { signature_of(operation.kind()).check_shapes(operation); }

Movement prepare_movement(const Model& model, const Operation& operation) {
  const auto move = signature_of(operation.kind).move;
  if (move != nullptr) return move(model, operation);
  throw Error(ErrorCode::unsupported_operation, operation.name, std::string(name_of(operation.kind)) + " moves no data");
}

}  // namespace lastbit
