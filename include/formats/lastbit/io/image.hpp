// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Images of 8 bits a channel: PNG, JPEG, PGM and PPM (plain and raw), told apart by their content; and how they become an input of a network.
//
// What a file says besides its pixels is not applied: alpha is left out, colour profiles and gamma are ignored, EXIF does not turn the image.
// JPEG is decoded by libjpeg with its defaults; the standard leaves a decoder the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit {

/// In pixels.
struct ImageSize {
  std::int64_t width = 0, height = 0;
  bool operator==(const ImageSize&) const = default;
  /// "640x480", width first.
  [[nodiscard]] std::string text() const { return std::to_string(width) + "x" + std::to_string(height); }
};

/// What a file says before its pixels.
struct ImageHeader {
  ImageSize size;
  std::int64_t channels = 0;  ///< 1: gray, 3: red, green, blue
  bool operator==(const ImageHeader&) const = default;
};

/// An image of 8 bits a channel.
struct Image {
  ImageHeader header;
  std::vector<std::uint8_t> pixels{};  ///< rows from the top, pixels from the left, the channels of each together
};

/// Throws Error(malformed_file): no image, cut off, damaged (where other readers would guess the rest), of 16 bits, of four colours, or of more
/// than 2^28 bytes of pixels, which is seen before any memory is taken for them. `where` names the bytes in messages.
[[nodiscard]] Image parse_image(std::span<const std::byte> bytes, std::string_view where);
/// Throws Error(unreadable_file | malformed_file) naming the file.
[[nodiscard]] Image read_image(const std::filesystem::path& path);
/// Without decoding anything.
[[nodiscard]] ImageHeader parse_image_header(std::span<const std::byte> bytes, std::string_view where);
[[nodiscard]] ImageHeader read_image_header(const std::filesystem::path& path);

/// The order of an input's channels; by_input: rgb where it has three, the image's own gray where it has one.
enum class Colors { by_input, rgb, bgr, gray };

/// How pixels, 0 … 255, become values. With a mean or a standard deviation: (pixel - mean) / std, in float32. Without either: the codes of a
/// uint8 input are the pixels; those of an int8 input are pixel - 128; a real input is given the pixels.
struct ImageOptions {
  std::vector<double> mean{}, std{};  ///< one number, or one per channel of the input, in its order; empty: 0, 1
  std::optional<ImageSize> resize{};  ///< to this size; none: an image of another size than the input's is refused
  Colors colors = Colors::by_input;
};

/// Bilinear, with pixel centres at halves: the value at (x + 1/2) * width / new width - 1/2, between the pixels beside it, or the outermost one;
/// exact, then rounded half up. It looks at four pixels, however much smaller the image becomes.
[[nodiscard]] Image resized(const Image& image, ImageSize size);

/// An input as images fill it: [1,H,W,C], [H,W,C], [1,C,H,W] or [C,H,W] with C of 1 or 3, or [H,W].
class ImageInput {
 public:
  /// Throws Error(bad_input): the input is no image, or the options do not fit it.
  ImageInput(const ModelTensor& input, ImageOptions options);

  [[nodiscard]] ElementType type() const { return type_; }
  /// Throws Error(shape_mismatch | bad_input) where an image of this header cannot be given: its size, or its colours.
  void require(const ImageHeader& header, std::string_view where) const;
  /// Of the input's shape and of type(). Gray images are repeated in three channels; colour ones become gray, where that was asked for, as
  /// (19595 r + 38470 g + 7471 b + 32768) / 65536, before they are resized.
  [[nodiscard]] Tensor values(const Image& image, std::string_view where) const;
  /// "rgb; codes are the pixels less 128": what is done with the pixels.
  [[nodiscard]] std::string text() const;

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string name_;
  Shape shape_;
  ImageOptions options_;
  ImageSize size_;
  std::int64_t channels_ = 0;
  bool channels_first_ = false;
  ElementType type_ = ElementType::float32;
};

}  // namespace lastbit
