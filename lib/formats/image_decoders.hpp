// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The libraries behind the images. Their errors jump out of C: into functions without any object that has a destructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lastbit/io/image.hpp"

namespace lastbit {

/// Fills the pixels, header.channels * width bytes a row. The reason why not, or empty: damaged, cut off, or not as its header, read by
/// read_image_header, says.
[[nodiscard]] std::string decode_png(std::span<const std::byte> bytes, const ImageHeader& header, std::span<std::uint8_t> pixels);
[[nodiscard]] std::string decode_jpeg(std::span<const std::byte> bytes, const ImageHeader& header, std::span<std::uint8_t> pixels);

}  // namespace lastbit
