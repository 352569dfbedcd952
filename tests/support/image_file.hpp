// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Images for tests, written by the libraries whose readers are tested.
#pragma once

#include <png.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "lastbit/io/image.hpp"

namespace lastbit::test {

/// Of any colours, with neighbours that differ.
inline Image test_image(std::int64_t width, std::int64_t height, std::int64_t channels) {
  Image image{{{width, height}, channels}, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * channels))};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>((i * 73 + i / 7 * 31 + 5) % 256);
  return image;
}

struct PngWriting {
  int color = PNG_COLOR_TYPE_RGB;
  int bits = 8;
  bool interlaced = false;
  std::vector<png_color> palette{};
};

/// `rows`: as they lie in a PNG of this kind.
inline std::string as_png(ImageSize size, const std::vector<std::uint8_t>& rows, const PngWriting& how = {}) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string text;
  png_set_write_fn(
      png, &text,
      [](png_structp to, png_bytep bytes, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<const char*>(bytes), count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height), how.bits, how.color,
               how.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!how.palette.empty()) png_set_PLTE(png, info, how.palette.data(), static_cast<int>(how.palette.size()));
  png_write_info(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  std::vector<png_bytep> pointers;
  std::vector<std::uint8_t> copy = rows;
  for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y) pointers.push_back(copy.data() + y * row_bytes);
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return text;
}
inline std::string as_png(const Image& image) {
  return as_png(image.header.size, image.pixels, {.color = image.header.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB});
}

inline std::string as_jpeg(const Image& image, bool progressive = false) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long count = 0;
  jpeg_mem_dest(&jpeg, &bytes, &count);
  jpeg.image_width = static_cast<JDIMENSION>(image.header.size.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.header.size.height);
  jpeg.input_components = static_cast<int>(image.header.channels);
  jpeg.in_color_space = image.header.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<std::uint8_t> pixels = image.pixels;
  const std::size_t row_bytes = static_cast<std::size_t>(image.header.size.width * image.header.channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = pixels.data() + jpeg.next_scanline * row_bytes;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string text(reinterpret_cast<const char*>(bytes), count);
  jpeg_destroy_compress(&jpeg);
  std::free(bytes);  // NOLINT: as libjpeg allocated it
  return text;
}

/// Raw PGM or PPM.
inline std::string as_netpbm(const Image& image) {
  return (image.header.channels == 1 ? "P5\n" : "P6\n") + std::to_string(image.header.size.width) + " " +
         std::to_string(image.header.size.height) + "\n255\n" +
         std::string(reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size());
}

}  // namespace lastbit::test
