// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/operations.hpp"

#include "engine/float/real.hpp"
#include "engine/float16/prepare.hpp"
#include "engine/ops/prepare.hpp"
#include "model/operation_signature.hpp"

namespace lastbit {
namespace {

using enum OperationKind;
constexpr auto none = nullptr;

constexpr auto executors = std::to_array<OperationExecutors>({
    {conv2d, prepare_convolution, prepare_real_convolution, prepare_float16_cube},
    {depthwise_conv2d, prepare_convolution, prepare_real_convolution, prepare_float16_cube},
    {transposed_conv2d, prepare_convolution, prepare_real_transposed, prepare_float16_cube},
    {fully_connected, prepare_convolution, prepare_real_fully_connected, prepare_float16_cube},
    {matmul, prepare_matmul, prepare_real_matmul, prepare_float16_cube},
    {max_pool2d, prepare_pool, prepare_real_pool, prepare_float16_pool},
    {average_pool2d, prepare_pool, prepare_real_pool, prepare_float16_pool},
    {global_average_pool, prepare_pool, prepare_real_mean, prepare_float16_mean},
    {mean, prepare_mean, prepare_real_mean, prepare_float16_mean},
    {add, prepare_add, prepare_real_elementwise, prepare_float16_elementwise},
    {sub, prepare_add, prepare_real_elementwise, prepare_float16_elementwise},
    {mul, prepare_mul, prepare_real_elementwise, prepare_float16_elementwise},
    {concat, prepare_concat, prepare_real_concat, prepare_float16_concat},
    {pad},
    {reshape},
    {squeeze},
    {transpose},
    {slice},
    {strided_slice},
    {split},
    {quantize, prepare_quantize, prepare_real_bounds, prepare_float16_quantize},
    {dequantize, prepare_dequantize, prepare_real_bounds, prepare_float16_dequantize},
    {requantize, prepare_requantize, prepare_real_bounds},
    {relu, prepare_requantize, prepare_real_bounds, prepare_float16_bounds},
    {relu6, prepare_requantize, prepare_real_bounds, prepare_float16_bounds},
    {relu_n1_to_1, prepare_requantize, prepare_real_bounds, prepare_float16_bounds},
    {leaky_relu, prepare_leaky, prepare_real_leaky, prepare_float16_leaky},
    {prelu, prepare_leaky, prepare_real_elementwise, prepare_float16_elementwise},
    {hard_swish, prepare_hard_swish, prepare_real_hard_swish, prepare_float16_hard_swish},
    {logistic, prepare_logistic, prepare_real_logistic, prepare_float16_logistic},
    {OperationKind::tanh, prepare_tanh, prepare_real_tanh, prepare_float16_tanh},
    {softmax, prepare_softmax, prepare_real_softmax, prepare_float16_softmax},
    {clip, prepare_clip, prepare_real_bounds, prepare_float16_bounds},
    {dynamic_quantize, prepare_dynamic_quantize, prepare_real_dynamic_quantize},
    {cast, none, prepare_real_bounds, prepare_float16_cast},
    {add_n, prepare_add, prepare_real_add_n, prepare_float16_elementwise},
    {OperationKind::exp, prepare_exp, prepare_real_exp, prepare_float16_exp},
    {resize, prepare_resize, prepare_real_resize},
    {svdf, prepare_svdf, prepare_real_svdf},
    {lstm, prepare_lstm, prepare_real_lstm},
    {pwl, prepare_pwl, prepare_real_pwl},
    {sum_pool2d, prepare_sum_pool, prepare_real_pool},
    {fused_conv2d, prepare_fused_convolution},
    {recurrent, prepare_recurrent},
    {argmax, prepare_argmax, prepare_real_argmax},
    {bitwise_or, prepare_bitwise},
    {bitwise_xor, prepare_bitwise},
    {gather},
    {maximum, prepare_extreme, prepare_real_elementwise},
    {minimum, prepare_extreme, prepare_real_elementwise},
    {OperationKind::div, none, prepare_real_elementwise},
    {OperationKind::pow, none, prepare_real_elementwise},
    {reduce_sum, prepare_reduce_sum, prepare_real_mean},
    {reduce_max, prepare_reduce_extreme, prepare_real_reduce_extreme},
    {reduce_min, prepare_reduce_extreme, prepare_real_reduce_extreme},
    {OperationKind::abs, prepare_abs, prepare_real_function},
    {neg, none, prepare_real_function},
    {OperationKind::log, none, prepare_real_function},
    {OperationKind::sqrt, none, prepare_real_function},
    {rsqrt, none, prepare_real_function},
    {OperationKind::erf, none, prepare_real_function},
    {less, none, prepare_real_elementwise},
    {less_or_equal, none, prepare_real_elementwise},
    {equal, none, prepare_real_elementwise},
    {OperationKind::select, none, prepare_real_select},
    {elu, none, prepare_real_elu},
    {OperationKind::floor, none, prepare_real_function},
    {log_softmax, none, prepare_real_log_softmax},
    {l2_normalization, prepare_l2_normalization, prepare_real_l2_normalization},
    {argmin, prepare_argmax, prepare_real_argmax},
    {cumsum, none, prepare_real_cumsum},
    {detection_postprocess, prepare_detection, prepare_real_detection},
    {top_k, none, prepare_real_top_k},
    {round_half_even, none, prepare_real_function},
    {OperationKind::truncate, none, prepare_real_function},
    {floor_div, none, prepare_real_elementwise},
    {block_quantize, prepare_block_quantize, prepare_real_block_quantize},
    {block_matmul, prepare_block_matmul, prepare_real_block_matmul},
});
static_assert(is_row_of_each_kind(executors), "executors_of indexes the table by kind");

}  // namespace

const OperationExecutors& executors_of(OperationKind kind) { return executors[static_cast<std::size_t>(kind)]; }

}  // namespace lastbit
