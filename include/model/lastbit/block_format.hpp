// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Formats that hold a row in blocks: integer codes, and one float16 scale for the codes of a block.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// q8_0: int8 codes. q4_0: codes of 4 bits, each in a uint8 of its own.
enum class BlockFormat : std::uint8_t { q8_0, q4_0 };
[[nodiscard]] std::string_view name_of(BlockFormat format);
[[nodiscard]] std::optional<BlockFormat> block_format_from(std::string_view name);

/// Values of a block.
inline constexpr std::int64_t block_length = 32;

/// A code stands for scale * (code - zero_point).
struct BlockCodes {
  ElementType type;
  IntegerRange range;
  std::int64_t zero_point;
};
[[nodiscard]] constexpr BlockCodes codes_of(BlockFormat format) {
  if (format == BlockFormat::q4_0) return {ElementType::uint8, {0, 15}, 8};
  return {ElementType::int8, {-128, 127}, 0};
}

}  // namespace lastbit
