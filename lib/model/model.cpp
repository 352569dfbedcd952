// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/model.hpp"

#include <array>
#include <utility>

#include "model/operation_signature.hpp"

namespace lastbit {
namespace {

template <class T>
Attributes defaults() {
  return T{};
}
constexpr auto none = defaults<std::monostate>;

using enum OperationKind;

constexpr auto signatures = std::to_array<OperationSignature>({
    {conv2d, "conv2d", 2, 3, 1, defaults<Conv2dAttributes>},
    {depthwise_conv2d, "depthwise_conv2d", 2, 4, 1, defaults<Conv2dAttributes>},
    {transposed_conv2d, "transposed_conv2d", 2, 3, 1, defaults<Conv2dAttributes>},
    {fully_connected, "fully_connected", 2, 4, 1, defaults<FullyConnectedAttributes>},
    {matmul, "matmul", 2, 2, 1, defaults<MatmulAttributes>},
    {max_pool2d, "max_pool2d", 1, 1, 1, defaults<Pool2dAttributes>},
    {average_pool2d, "average_pool2d", 1, 1, 1, defaults<Pool2dAttributes>},
    {global_average_pool, "global_average_pool", 1, 1, 1, defaults<Pool2dAttributes>},
    {mean, "mean", 1, 1, 1, defaults<MeanAttributes>},
    {add, "add", 2, 2, 1, defaults<ElementwiseAttributes>},
    {sub, "sub", 2, 2, 1, defaults<ElementwiseAttributes>},
    {mul, "mul", 2, 2, 1, defaults<ElementwiseAttributes>},
    {concat, "concat", 1, any_number, 1, defaults<ConcatAttributes>},
    {pad, "pad", 1, 1, 1, defaults<PadAttributes>},
    {reshape, "reshape", 1, 1, 1, none},
    {squeeze, "squeeze", 1, 1, 1, none},
    {transpose, "transpose", 1, 1, 1, defaults<TransposeAttributes>},
    {slice, "slice", 1, 1, 1, defaults<SliceAttributes>},
    {strided_slice, "strided_slice", 1, 1, 1, defaults<SliceAttributes>},
    {split, "split", 1, 1, any_number, defaults<SplitAttributes>},
    {quantize, "quantize", 1, 1, 1, none},
    {dequantize, "dequantize", 1, 1, 1, none},
    {requantize, "requantize", 1, 1, 1, defaults<RequantizeAttributes>},
    {relu, "relu", 1, 1, 1, none},
    {relu6, "relu6", 1, 1, 1, none},
    {relu_n1_to_1, "relu_n1_to_1", 1, 1, 1, none},
    {leaky_relu, "leaky_relu", 1, 1, 1, defaults<LeakyReluAttributes>},
    {prelu, "prelu", 2, 2, 1, none},
    {hard_swish, "hard_swish", 1, 1, 1, none},
    {logistic, "logistic", 1, 1, 1, none},
    {OperationKind::tanh, "tanh", 1, 1, 1, none},
    {softmax, "softmax", 1, 1, 1, defaults<SoftmaxAttributes>},
    {clip, "clip", 1, 1, 1, defaults<ClipAttributes>},
    {dynamic_quantize, "dynamic_quantize", 1, 1, 3, none},
    {cast, "cast", 1, 1, 1, none},
    {add_n, "add_n", 1, any_number, 1, defaults<ElementwiseAttributes>},
    {OperationKind::exp, "exp", 1, 1, 1, none},
    {resize, "resize", 1, 1, 1, defaults<ResizeAttributes>},
    {svdf, "svdf", 4, 5, 2, defaults<SvdfAttributes>},
    {lstm, "lstm", 15, 15, 3, defaults<LstmAttributes>},
    {pwl, "pwl", 2, 2, 1, none},
    {sum_pool2d, "sum_pool2d", 1, 1, 1, defaults<Pool2dAttributes>},
    {fused_conv2d, "fused_conv2d", 2, 4, 1, defaults<FusedConv2dAttributes>},
    {recurrent, "recurrent", 4, 6, 2, none},
    {argmax, "argmax", 1, 1, 1, defaults<ArgmaxAttributes>},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < signatures.size(); ++i)
    if (static_cast<std::size_t>(signatures[i].kind) != i) return false;
  return true;
}
static_assert(in_order(), "signature_of indexes the table by kind");

constexpr std::array<std::string_view, 3> partial_windows_names{"dropped", "last_truncated", "every_start"};
constexpr std::array<std::string_view, 4> activation_names{"none", "relu", "relu6", "relu_n1_to_1"};
constexpr std::array<std::string_view, 2> resize_mode_names{"nearest", "bilinear"};
constexpr std::array<std::string_view, 4> resize_coordinates_names{"half_pixel", "asymmetric", "align_corners", "half_pixel_or_zero"};

template <class E>
std::optional<E> enumerator_named(std::span<const std::string_view> names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace

const OperationSignature& signature_of(OperationKind kind) { return signatures[static_cast<std::size_t>(kind)]; }
std::span<const OperationSignature> operation_signatures() { return signatures; }

std::string_view name_of(OperationKind kind) { return signature_of(kind).name; }

std::optional<OperationKind> operation_kind_from(std::string_view name) {
  for (const auto& signature : signatures)
    if (signature.name == name) return signature.kind;
  return std::nullopt;
}

std::string_view name_of(Activation activation) { return activation_names[static_cast<std::size_t>(activation)]; }

std::optional<Activation> activation_from(std::string_view name) { return enumerator_named<Activation>(activation_names, name); }

std::string_view name_of(ResizeMode mode) { return resize_mode_names[static_cast<std::size_t>(mode)]; }
std::optional<ResizeMode> resize_mode_from(std::string_view name) { return enumerator_named<ResizeMode>(resize_mode_names, name); }

std::string_view name_of(ResizeCoordinates coordinates) { return resize_coordinates_names[static_cast<std::size_t>(coordinates)]; }
std::optional<ResizeCoordinates> resize_coordinates_from(std::string_view name) {
  return enumerator_named<ResizeCoordinates>(resize_coordinates_names, name);
}

std::string_view name_of(PartialWindows windows) { return partial_windows_names[static_cast<std::size_t>(windows)]; }

std::optional<PartialWindows> partial_windows_from(std::string_view name) {
  for (std::size_t i = 0; i < partial_windows_names.size(); ++i)
    if (partial_windows_names[i] == name) return static_cast<PartialWindows>(i);
  return std::nullopt;
}

Attributes default_attributes(OperationKind kind) { return signature_of(kind).default_attributes(); }

std::optional<std::int32_t> Model::find_tensor(std::string_view wanted) const {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == wanted) return static_cast<std::int32_t>(i);
  return std::nullopt;
}

}  // namespace lastbit
