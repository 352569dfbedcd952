// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the calls of lastbit/core.hpp can say: the operations, which rules each reads, and the devices whose constants are tried. A new call of the core
// joins core_kinds, has_codes or has_binary16 and the comparison below it here, and Calls::call in core_calls.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lastbit/core.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

struct CoreDevice {
  std::string_view name;
  const Backend* device;
};
/// Every built-in device, a vendor's beside each other.
inline constexpr std::array core_devices = std::to_array<CoreDevice>({{"ascend310", &ascend310},
                                                                      {"ascend310p", &ascend310p},
                                                                      {"ascend910a", &ascend910a},
                                                                      {"ascend910b", &ascend910b},
                                                                      {"ascend_ge2021", &ascend_ge2021},
                                                                      {"bernoulli2", &bernoulli2},
                                                                      {"espdl_s3", &espdl_s3},
                                                                      {"espdl_p4", &espdl_p4},
                                                                      {"esp_nn", &esp_nn},
                                                                      {"esp_nn_fast", &esp_nn_fast},
                                                                      {"ethos_u", &ethos_u},
                                                                      {"ethos_u85", &ethos_u85},
                                                                      {"fbgemm", &fbgemm},
                                                                      {"fbgemm_integer", &fbgemm_integer},
                                                                      {"gap8", &gap8},
                                                                      {"gemmini", &gemmini_float},
                                                                      {"gemmini_shift", &gemmini_shift},
                                                                      {"ggml", &ggml_portable},
                                                                      {"ggml_avx2", &ggml_avx2},
                                                                      {"ggml_neon", &ggml_neon},
                                                                      {"gna1", &gna1},
                                                                      {"gna1_embedded", &gna1_embedded},
                                                                      {"gna2", &gna2},
                                                                      {"gna3_0", &gna3_0},
                                                                      {"gna3_1", &gna3_1},
                                                                      {"gna_software_sse4", &gna_software_sse4},
                                                                      {"gna_software_avx2", &gna_software_avx2},
                                                                      {"gna2_software_sse4", &gna2_software_sse4},
                                                                      {"gna2_software_avx2", &gna2_software_avx2},
                                                                      {"float", &float_golden},
                                                                      {"float_unbounded", &float_unbounded},
                                                                      {"k210", &k210},
                                                                      {"max78000", &max78000},
                                                                      {"n2d2_single_shift", &n2d2_single_shift},
                                                                      {"n2d2_double_shift", &n2d2_double_shift},
                                                                      {"n2d2_fixed_mult16", &n2d2_fixed_mult16},
                                                                      {"n2d2_fixed_mult32", &n2d2_fixed_mult32},
                                                                      {"n2d2_float_mult", &n2d2_float_mult},
                                                                      {"n2d2_simulator_single_shift", &n2d2_simulator_single_shift},
                                                                      {"n2d2_simulator_double_shift", &n2d2_simulator_double_shift},
                                                                      {"n2d2_simulator_fixed_mult16", &n2d2_simulator_fixed_mult16},
                                                                      {"n2d2_simulator_fixed_mult32", &n2d2_simulator_fixed_mult32},
                                                                      {"n2d2_simulator_float_mult", &n2d2_simulator_float_mult},
                                                                      {"nvdla", &nvdla},
                                                                      {"onnxruntime", &onnxruntime_cpu},
                                                                      {"onnxruntime_unfused", &onnxruntime_unfused},
                                                                      {"onnxruntime_avx2", &onnxruntime_avx2},
                                                                      {"pytorch_qnnpack", &pytorch_qnnpack},
                                                                      {"pytorch_x86", &pytorch_x86},
                                                                      {"pytorch_x86_avx2", &pytorch_x86_avx2},
                                                                      {"rk3588", &rk3588},
                                                                      {"rk3576", &rk3576},
                                                                      {"rk3588_mesa", &rk3588_mesa},
                                                                      {"sophgo", &sophgo_multiplier_shift},
                                                                      {"sophgo_qdm", &sophgo_qdm},
                                                                      {"tflite_double", &tflite_double},
                                                                      {"tflite_single", &tflite_single},
                                                                      {"tflite_builtin_double", &tflite_builtin_double},
                                                                      {"tflite_builtin_single", &tflite_builtin_single},
                                                                      {"tflite_ruy_neon", &tflite_ruy_neon},
                                                                      {"tosa_single", &tosa_single},
                                                                      {"tosa_double", &tosa_double},
                                                                      {"vipnano_v8", &vipnano_v8},
                                                                      {"vipnano_v7", &vipnano_v7},
                                                                      {"xnnpack", &xnnpack_delegate}});

inline constexpr std::array core_kinds{OperationKind::conv2d,
                                       OperationKind::depthwise_conv2d,
                                       OperationKind::transposed_conv2d,
                                       OperationKind::fully_connected,
                                       OperationKind::matmul,
                                       OperationKind::max_pool2d,
                                       OperationKind::average_pool2d,
                                       OperationKind::global_average_pool,
                                       OperationKind::add,
                                       OperationKind::sub,
                                       OperationKind::mul,
                                       OperationKind::concat,
                                       OperationKind::requantize,
                                       OperationKind::relu,
                                       OperationKind::relu6,
                                       OperationKind::relu_n1_to_1,
                                       OperationKind::quantize,
                                       OperationKind::dequantize,
                                       OperationKind::cast,
                                       OperationKind::logistic,
                                       OperationKind::tanh,
                                       OperationKind::softmax,
                                       OperationKind::pwl};

/// What a layer computes with: codes, or binary16 values that it reads or writes.
enum class Values : std::uint8_t { codes, binary16 };
[[nodiscard]] inline Values values_of(const Model& model, const Operation& operation) {
  const auto is_float16 = [&](std::int32_t tensor) { return model.tensor(tensor).type == ElementType::float16; };
  return is_float16(operation.inputs[0]) || is_float16(operation.outputs[0]) ? Values::binary16 : Values::codes;
}

/// Whether products end in an output that no registers of the layer state.
[[nodiscard]] constexpr bool gives_output(const SumArithmetic& sum) {
  return exists(sum) && !core::has_stage(sum.output.chain, StageKind::segments) &&
         !core::has_stage(sum.output.chain, StageKind::shift_right_by_sign);
}

/// Whether one of the members is an arithmetic that a call reads; of those without a scale, a convolution's sums.
template <class ByType, class Members>
[[nodiscard]] constexpr bool has_member(const ByType& by_type, const Members& members, bool delivers_sums) {
  return std::any_of(members.begin(), members.end(), [&](const auto& each) {
    const SumArithmetic& sum = (by_type.*each.member).sum;
    return gives_output(sum) && (delivers_sums || applies_scale(sum));
  });
}

[[nodiscard]] constexpr bool has_sums(const AddArithmetic& rules) {
  return rules.in_float.method != FloatSumMethod::absent || exists(rules.i8) || exists(rules.i16);
}

/// Whether a chain bounds its output by an activation: what ends in the type's own range only has a stage for ReLU.
[[nodiscard]] constexpr bool rectifies(OperationKind kind, const Chain& chain) {
  if (chain.empty() || !ends_in(chain, StageKind::clamp_to_type)) return !chain.empty();
  return kind == OperationKind::relu && core::has_stage(chain, StageKind::relu);
}

/// Whether the device has such an operation of codes.
[[nodiscard]] constexpr bool has_codes(OperationKind kind, const Backend& b) {
  using enum OperationKind;
  switch (kind) {
    case conv2d: return has_member(b.conv, conv_members, true);
    case depthwise_conv2d: return has_member(b.depthwise_conv, conv_members, true);
    case transposed_conv2d: return has_member(b.transposed_conv, conv_members, true);
    case fully_connected: return has_member(b.fully_connected, conv_members, false);
    case matmul: return has_member(b.matmul, matmul_members, false);
    case max_pool2d: return b.max_pool != MaxPool::absent;
    case average_pool2d: return b.average_pool.in_float.method != FloatAverageMethod::absent || exists(b.average_pool.sum);
    case global_average_pool:
      return b.global_average_pool.in_float.method != FloatAverageMethod::absent || exists(b.global_average_pool.sum);
    case OperationKind::add: return has_sums(b.add);
    case sub: return has_sums(b.sub);
    case mul: return !b.mul.chain.empty();
    case concat: return b.concat.method != ConcatMethod::absent || b.concat.method_uint8 != ConcatMethod::absent;
    case requantize: return !b.requantize.chain.empty();
    case relu:
    case relu6:
    case relu_n1_to_1: return rectifies(kind, b.relu.chain.empty() ? b.requantize.chain : b.relu.chain);
    case quantize: return b.quantize.division != ScaleDivision::absent;
    case dequantize: return b.dequantize.arithmetic != DequantizeProduct::absent;
    case logistic: return b.logistic.method != FunctionMethod::absent;
    case OperationKind::tanh: return b.tanh.method != FunctionMethod::absent;
    case softmax: return b.softmax.method != FunctionMethod::absent;
    case pwl: return b.pwl.method != PwlMethod::absent;
    default: return false;
  }
}

/// Of binary16 values.
[[nodiscard]] constexpr bool has_binary16(OperationKind kind, const Backend& b) {
  using enum OperationKind;
  switch (kind) {
    case conv2d:
    case depthwise_conv2d:
    case transposed_conv2d:
    case fully_connected:
    case matmul:
    case max_pool2d:
    case average_pool2d:
    case global_average_pool:
    case OperationKind::add:
    case sub:
    case mul:
    case quantize:
    case dequantize:
    case cast: return b.float16.method != Float16Method::absent;
    default: return false;
  }
}

/// Whether the device has such an operation that the core computes.
[[nodiscard]] constexpr bool has_rules(OperationKind kind, Values values, const Backend& b) {
  return b.domain == Domain::integer && (values == Values::codes ? has_codes(kind, b) : has_binary16(kind, b));
}

[[nodiscard]] constexpr bool same_binary16(OperationKind kind, const Float16Arithmetic& a, const Float16Arithmetic& b) {
  if (a.method != b.method || a.conversion != b.conversion || a.sum != b.sum || a.product != b.product) return false;
  if (kind == OperationKind::global_average_pool && a.mean != b.mean) return false;
  return a.cube == b.cube && a.average_pool == b.average_pool && a.quantize == b.quantize && a.dequantize == b.dequantize;
}

[[nodiscard]] constexpr bool same_codes(OperationKind kind, const Backend& a, const Backend& b) {
  using enum OperationKind;
  if (a.coding != b.coding) return false;
  const bool rescales_alike = a.requantize == b.requantize && a.requantize_to_32bit == b.requantize_to_32bit &&
                              a.requantize_16bit == b.requantize_16bit && a.relu == b.relu && a.delegated == b.delegated &&
                              a.left.requantize == b.left.requantize;
  switch (kind) {
    case conv2d: return a.conv == b.conv;
    case depthwise_conv2d: return a.depthwise_conv == b.depthwise_conv;
    case transposed_conv2d: return a.transposed_conv == b.transposed_conv;
    case fully_connected: return a.fully_connected == b.fully_connected;
    case matmul: return a.matmul == b.matmul;
    case max_pool2d: return a.max_pool == b.max_pool;
    case average_pool2d: return a.average_pool == b.average_pool;
    case global_average_pool: return a.global_average_pool == b.global_average_pool;
    case OperationKind::add: return a.add == b.add && a.delegated == b.delegated && a.left.add == b.left.add;
    case sub: return a.sub == b.sub && a.delegated == b.delegated && a.left.sub == b.left.sub;
    case mul: return a.mul == b.mul && a.delegated == b.delegated && a.left.mul == b.left.mul;
    case concat: return a.concat == b.concat && a.quantize == b.quantize && a.dequantize == b.dequantize && rescales_alike;
    case requantize:
    case relu:
    case relu6:
    case relu_n1_to_1: return rescales_alike;
    case quantize: return a.quantize == b.quantize && same_binary16(kind, a.float16, b.float16);
    case dequantize: return a.dequantize == b.dequantize;
    case logistic: return a.logistic == b.logistic && a.delegated == b.delegated && a.left.logistic == b.left.logistic;
    case OperationKind::tanh: return a.tanh == b.tanh && a.delegated == b.delegated && a.left.tanh == b.left.tanh;
    case softmax: return a.softmax == b.softmax;
    case pwl: return a.pwl == b.pwl;
    default: return false;
  }
}

/// Whether a call reads the same of two devices, so that the code of one is that of the other.
[[nodiscard]] constexpr bool same_rules(OperationKind kind, Values values, const Backend& a, const Backend& b) {
  if (a.domain != b.domain) return false;
  return values == Values::codes ? same_codes(kind, a, b) : same_binary16(kind, a.float16, b.float16);
}

/// The first of core_devices that computes what this one does: its constant stands for all of them.
[[nodiscard]] constexpr std::size_t first_alike(OperationKind kind, Values values, std::size_t at) {
  std::size_t first = 0;
  while (first < at && !same_rules(kind, values, *core_devices[first].device, *core_devices[at].device)) ++first;
  return first;
}

/// Of a constant, code for every type of data is made where it stands for one of these, and for one type else: all types of all constants are minutes of a
/// compiler.
inline constexpr std::array fully_made = std::to_array<std::string_view>({"tflite_double", "vipnano_v8"});
[[nodiscard]] constexpr bool is_fully_made(OperationKind kind, std::size_t first) {
  return std::any_of(core_devices.begin(), core_devices.end(), [&](const CoreDevice& each) {
    return std::find(fully_made.begin(), fully_made.end(), each.name) != fully_made.end() &&
           same_rules(kind, Values::codes, *each.device, *core_devices[first].device);
  });
}

/// The one type is uint8 of those whose recorded layers have it.
inline constexpr std::array unsigned_made =
    std::to_array<std::string_view>({"onnxruntime", "pytorch_qnnpack", "pytorch_x86", "vipnano_v7", "k210"});
[[nodiscard]] constexpr bool is_unsigned_made(OperationKind kind, const Backend& b) {
  return std::any_of(core_devices.begin(), core_devices.end(), [&](const CoreDevice& each) {
    return std::find(unsigned_made.begin(), unsigned_made.end(), each.name) != unsigned_made.end() &&
           same_rules(kind, Values::codes, *each.device, b);
  });
}

/// The one type: int8 of the others, where the operation has an arithmetic for it.
[[nodiscard]] constexpr ElementType one_type(OperationKind kind, const Backend& b) {
  if (is_unsigned_made(kind, b) && b.coding != Coding::symmetric) return ElementType::uint8;
  if (kind == OperationKind::concat && b.concat.method == ConcatMethod::absent) return ElementType::uint8;
  const AddArithmetic& sums = kind == OperationKind::sub ? b.sub : b.add;
  const bool is_sum = kind == OperationKind::add || kind == OperationKind::sub;
  return is_sum && sums.in_float.method == FloatSumMethod::absent && !exists(sums.i8) ? ElementType::int16 : ElementType::int8;
}

/// The arithmetics of a layer of products.
[[nodiscard]] constexpr const ConvByType& products_of(OperationKind kind, const Backend& b) {
  switch (kind) {
    case OperationKind::depthwise_conv2d: return b.depthwise_conv;
    case OperationKind::transposed_conv2d: return b.transposed_conv;
    case OperationKind::fully_connected: return b.fully_connected;
    default: return b.conv;
  }
}

/// Whether the device has an arithmetic for products of such data and weights.
[[nodiscard]] constexpr bool has_products(OperationKind kind, const Backend& b, const ProductTypes& types) {
  if (kind == OperationKind::matmul) return exists((b.matmul.*matmul_members[matmul_member_of(b.matmul, types)].member).sum);
  ProductTypes with_64bit = types;
  with_64bit.bias_64bit = true;
  const ConvByType& rules = products_of(kind, b);
  for (std::size_t at = 0; at < conv_members.size(); ++at)
    if (exists((rules.*conv_members[at].member).sum) && (core::may_read(rules, types, at) || core::may_read(rules, with_64bit, at)))
      return true;
  return false;
}
/// Whether one of its products becomes a code, or all stay sums.
[[nodiscard]] constexpr bool gives_codes(OperationKind kind, const Backend& b) {
  return kind == OperationKind::matmul || has_member(products_of(kind, b), conv_members, false);
}

/// The one pair of types: the first of these that the device has an arithmetic for.
[[nodiscard]] constexpr ProductTypes one_pair(OperationKind kind, const Backend& b) {
  if (is_unsigned_made(kind, b) && has_products(kind, b, core::types_of<std::uint8_t, std::int8_t>))
    return core::types_of<std::uint8_t, std::int8_t>;
  for (const ProductTypes& types : {core::types_of<std::int8_t, std::int8_t>, core::types_of<std::uint8_t, std::int8_t>,
                                    core::types_of<std::uint8_t, std::uint8_t>, core::types_of<std::int16_t, std::int8_t>})
    if (has_products(kind, b, types)) return types;
  return core::types_of<std::int16_t, std::int16_t>;
}

}  // namespace lastbit::test
