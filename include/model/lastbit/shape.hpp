// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How shapes follow from shapes: broadcasting, and what every operation gives; windows are in window.hpp. One place for readers, checks and the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lastbit/model.hpp"
#include "lastbit/tensor.hpp"
#include "lastbit/window.hpp"

namespace lastbit {

/// Strides, dilations, filters and paddings stay at or below this, so that no product of two with a size can overflow 64 bits.
inline constexpr std::int64_t largest_window_parameter = std::int64_t{1} << 24;

/// No tensor of a model is larger than this many bytes.
inline constexpr std::int64_t largest_tensor_bytes = std::int64_t{1} << 31;

/// No tensor has more dimensions than this.
inline constexpr std::size_t largest_rank = 8;

/// Scales lie in this range, those of data (all but weights and biases) not below smallest_data_scale: then no quotient a/b or a*b/c of
/// scales leaves float32 upwards, and no product with a sum becomes NaN. Weights of dead channels do have scales near the smallest float32.
inline constexpr double smallest_scale = 0x1p-126;
inline constexpr double smallest_data_scale = 0x1p-64;
inline constexpr double largest_scale = 0x1p30;

/// The shape to which numpy's rules broadcast two shapes, or nothing.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// Checks that every operation's tensors have the types and shapes that its kind and attributes demand, so that running it stays inside
/// them. The model's structure must be sound. Throws Error(shape_mismatch | type_mismatch | bad_attribute) naming `where` and the operation.
/// validate() calls it.
void check_operations(const Model& model, std::string_view where);

/// The shapes of an operation's outputs where they follow from its inputs and attributes; the others are those of its first input.
/// The operation's inputs and attributes have the numbers of dimensions and entries that the kind demands, or Error is thrown.
[[nodiscard]] std::vector<Shape> output_shapes(const Model& model, const Operation& operation, std::int64_t outputs = 1);

}  // namespace lastbit
