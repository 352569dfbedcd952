// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/model.hpp"

#include <array>
#include <utility>

namespace lastbit {
namespace {

constexpr std::array<std::string_view, 3> partial_windows_names{"dropped", "last_truncated", "every_start"};
constexpr std::array<std::string_view, 5> statement_names{"on_codes", "fusible", "fusible_as_uint8", "fusible_by_option", "not_fusible"};
constexpr std::array<std::string_view, 5> activation_names{"none", "relu", "relu6", "relu_n1_to_1", "absolute"};
constexpr std::array<std::string_view, 2> suppression_names{"best_class", "each_class"};
constexpr std::array<std::string_view, 2> block_format_names{"q8_0", "q4_0"};
constexpr std::array<std::string_view, 2> resize_mode_names{"nearest", "bilinear"};
constexpr std::array<std::string_view, 4> resize_coordinates_names{"half_pixel", "asymmetric", "align_corners", "half_pixel_or_zero"};

template <class E>
std::optional<E> enumerator_named(std::span<const std::string_view> names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace

Attributes::Attributes() = default;
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;

std::string_view name_of(Activation activation) { return activation_names[static_cast<std::size_t>(activation)]; }

std::optional<Activation> activation_from(std::string_view name) { return enumerator_named<Activation>(activation_names, name); }

std::string_view name_of(ResizeMode mode) { return resize_mode_names[static_cast<std::size_t>(mode)]; }
std::optional<ResizeMode> resize_mode_from(std::string_view name) { return enumerator_named<ResizeMode>(resize_mode_names, name); }

std::string_view name_of(ResizeCoordinates coordinates) { return resize_coordinates_names[static_cast<std::size_t>(coordinates)]; }
std::optional<ResizeCoordinates> resize_coordinates_from(std::string_view name) {
  return enumerator_named<ResizeCoordinates>(resize_coordinates_names, name);
}

std::string_view name_of(Suppression suppression) { return suppression_names[static_cast<std::size_t>(suppression)]; }
std::optional<Suppression> suppression_from(std::string_view name) { return enumerator_named<Suppression>(suppression_names, name); }

std::string_view name_of(BlockFormat format) { return block_format_names[static_cast<std::size_t>(format)]; }
std::optional<BlockFormat> block_format_from(std::string_view name) { return enumerator_named<BlockFormat>(block_format_names, name); }

std::string_view name_of(Statement statement) { return statement_names[static_cast<std::size_t>(statement)]; }

std::optional<Statement> statement_from(std::string_view name) { return enumerator_named<Statement>(statement_names, name); }

std::string_view name_of(PartialWindows windows) { return partial_windows_names[static_cast<std::size_t>(windows)]; }

std::optional<PartialWindows> partial_windows_from(std::string_view name) {
  for (std::size_t i = 0; i < partial_windows_names.size(); ++i)
    if (partial_windows_names[i] == name) return static_cast<PartialWindows>(i);
  return std::nullopt;
}

std::optional<std::int32_t> Model::find_tensor(std::string_view wanted) const {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == wanted) return static_cast<std::int32_t>(i);
  return std::nullopt;
}

bool is_hybrid(const Model& model, const Operation& operation) {
  using enum OperationKind;
  const OperationKind kind = operation.kind;
  if (kind != conv2d && kind != depthwise_conv2d && kind != transposed_conv2d && kind != fully_connected && kind != matmul) return false;
  return model.tensor(operation.inputs[0]).type == ElementType::float32 && is_integer(model.tensor(operation.inputs[1]).type);
}

}  // namespace lastbit
