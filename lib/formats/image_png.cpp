// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include "formats/image_decoders.hpp"

namespace lastbit {
namespace {

/// What libpng reads, and why it stopped.
struct PngState {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const std::byte* next = nullptr;
  std::size_t left = 0;
  std::array<char, 160> reason{};
};

[[noreturn]] void stop(png_structp png, png_const_charp reason) {
  auto& state = *static_cast<PngState*>(png_get_error_ptr(png));
  std::strncpy(state.reason.data(), reason, state.reason.size() - 1);
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

void give(png_structp png, png_bytep bytes, std::size_t count) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  if (count > state.left) png_error(png, "the file ends early");
  std::memcpy(bytes, state.next, count);
  state.next += count;
  state.left -= count;
}

/// Everything between the header and the end. An error jumps.
void read_pixels(const PngState& state, const ImageHeader& header, std::uint8_t* pixels) {
  const auto width = static_cast<png_uint_32>(header.size.width), height = static_cast<png_uint_32>(header.size.height);
  png_set_user_limits(state.png, width, height);
  png_read_info(state.png, state.info);
  if (png_get_image_width(state.png, state.info) != width || png_get_image_height(state.png, state.info) != height)
    png_error(state.png, "it has two sizes");
  png_set_expand(state.png);
  png_set_strip_alpha(state.png);
  const int passes = png_set_interlace_handling(state.png);
  png_read_update_info(state.png, state.info);
  const std::size_t row_bytes = width * static_cast<std::size_t>(header.channels);
  if (png_get_rowbytes(state.png, state.info) != row_bytes) png_error(state.png, "it has other channels than its header says");
  for (int pass = 0; pass < passes; ++pass)
    for (png_uint_32 row = 0; row < height; ++row) png_read_row(state.png, pixels + row * row_bytes, nullptr);
  png_read_end(state.png, nullptr);
}

bool read_or_jump(PngState& state, const ImageHeader& header, std::uint8_t* pixels) {
  if (setjmp(png_jmpbuf(state.png)) != 0) return false;  // NOLINT(cert-err52-cpp): as libpng has it
  read_pixels(state, header, pixels);
  return true;
}

}  // namespace

std::string decode_png(std::span<const std::byte> bytes, const ImageHeader& header, std::span<std::uint8_t> pixels) {
  PngState state{.next = bytes.data(), .left = bytes.size()};
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, stop, ignore);
  state.info = state.png == nullptr ? nullptr : png_create_info_struct(state.png);
  bool done = false;
  if (state.info != nullptr) {
    png_set_read_fn(state.png, &state, give);
    done = read_or_jump(state, header, pixels.data());
  }
  png_destroy_read_struct(&state.png, &state.info, nullptr);
  if (done) return {};
  return state.reason[0] == '\0' ? "libpng found no memory" : std::string(state.reason.data());
}

}  // namespace lastbit
