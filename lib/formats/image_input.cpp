// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/io/image.hpp"

namespace lastbit {
namespace {

/// One place of a new axis: between two of the old one, with weights that sum up to `whole`.
struct Between {
  std::int64_t low = 0, high = 0;
  std::int64_t high_weight = 0;
};

/// (to + 1/2) * old / fresh - 1/2, counted in parts of 1 / (2 * fresh).
Between between(std::int64_t to, std::int64_t old, std::int64_t fresh) {
  const std::int64_t whole = 2 * fresh;
  const std::int64_t place = std::clamp<std::int64_t>((2 * to + 1) * old - fresh, 0, (old - 1) * whole);
  return {place / whole, std::min(place / whole + 1, old - 1), place % whole};
}

std::vector<Between> along(std::int64_t old, std::int64_t fresh) {
  std::vector<Between> places;
  for (std::int64_t i = 0; i < fresh; ++i) places.push_back(between(i, old, fresh));
  return places;
}

Image gray_of(const Image& image) {
  Image gray{{image.header.size, 1}, std::vector<std::uint8_t>(image.pixels.size() / 3)};
  for (std::size_t i = 0; i < gray.pixels.size(); ++i) {
    const std::uint8_t* const rgb = &image.pixels[3 * i];
    gray.pixels[i] = static_cast<std::uint8_t>((19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2] + 32768U) >> 16U);
  }
  return gray;
}

/// "1 number, or 3".
void require_count(const std::string& option, const std::vector<double>& numbers, std::int64_t channels) {
  const auto refuse = [&](const std::string& reason) { throw Error(ErrorCode::bad_input, option, reason); };
  const auto count = std::ssize(numbers);
  if (count > 1 && count != channels)
    refuse(std::to_string(count) + " numbers; the input has " + std::to_string(channels) + (channels == 1 ? " channel" : " channels"));
  for (const double number : numbers)
    if (!std::isfinite(static_cast<float>(number))) refuse("must be finite");
}

/// Of a channel.
float entry(const std::vector<double>& numbers, std::size_t channel, float otherwise) {
  if (numbers.empty()) return otherwise;
  return static_cast<float>(numbers[numbers.size() == 1 ? 0 : channel]);
}

}  // namespace

Image resized(const Image& image, ImageSize size) {
  if (size == image.header.size) return image;
  const std::int64_t channels = image.header.channels;
  Image result{{size, channels}, std::vector<std::uint8_t>(static_cast<std::size_t>(size.width * size.height * channels))};
  const std::vector<Between> columns = along(image.header.size.width, size.width), rows = along(image.header.size.height, size.height);
  const std::int64_t wide = 2 * size.width, high = 2 * size.height;
  const auto pixel = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
    return std::int64_t{image.pixels[static_cast<std::size_t>((y * image.header.size.width + x) * channels + c)]};
  };
  auto out = result.pixels.begin();
  for (const Between& y : rows) {
    for (const Between& x : columns) {
      for (std::int64_t c = 0; c < channels; ++c) {  // 255 * 2^29 * 2^29 at most, since the image has 2^28 pixels at most
        const auto row = [&](std::int64_t at) {
          return pixel(at, x.low, c) * (wide - x.high_weight) + pixel(at, x.high, c) * x.high_weight;
        };
        const std::int64_t sum = row(y.low) * (high - y.high_weight) + row(y.high) * y.high_weight;
        *out++ = static_cast<std::uint8_t>((2 * sum + wide * high) / (2 * wide * high));
      }
    }
  }
  return result;
}

ImageInput::ImageInput(const ModelTensor& input, ImageOptions options)
    : name_(input.name), shape_(input.shape), options_(std::move(options)) {
  std::vector<std::int64_t> sizes(shape_.sizes().begin(), shape_.sizes().end());
  if (sizes.size() == 4 && sizes[0] == 1) sizes.erase(sizes.begin());
  const auto is_color = [](std::int64_t channels) { return channels == 1 || channels == 3; };
  if (sizes.size() == 2) sizes.push_back(1);
  channels_first_ = sizes.size() == 3 && !is_color(sizes[2]) && is_color(sizes[0]);
  if (sizes.size() != 3 || !is_color(sizes[channels_first_ ? 0 : 2]))
    fail("is " + shape_.text() + ": no image of one or three channels (1xHxWxC or 1xCxHxW)");
  if (channels_first_) std::rotate(sizes.begin(), sizes.begin() + 1, sizes.end());
  size_ = {sizes[1], sizes[0]};
  channels_ = sizes[2];
  if (options_.colors != Colors::by_input && (options_.colors == Colors::gray) != (channels_ == 1))
    throw Error(ErrorCode::bad_input, "--channels",
                "input '" + name_ + "' has " + (channels_ == 1 ? "one channel: gray" : "three channels: rgb or bgr"));
  require_count("--mean", options_.mean, channels_);
  require_count("--std", options_.std, channels_);
  if (std::ranges::any_of(options_.std, [](double number) { return !(static_cast<float>(number) > 0); }))
    throw Error(ErrorCode::bad_input, "--std", "must be above 0");
  if (options_.resize && *options_.resize != size_)
    throw Error(ErrorCode::bad_input, "--resize " + options_.resize->text(), "input '" + name_ + "' needs images of " + size_.text());
  const bool takes_codes = input.type == ElementType::uint8 || input.type == ElementType::int8;
  const bool is_scaled = !options_.mean.empty() || !options_.std.empty();
  if (is_integer(input.type) && !takes_codes && !is_scaled)
    fail("is " + std::string(name_of(input.type)) + ": --mean and --std must say which real values its pixels stand for");
  type_ = takes_codes && !is_scaled ? input.type : ElementType::float32;
}

void ImageInput::fail(const std::string& reason) const { throw Error(ErrorCode::bad_input, "input '" + name_ + "'", reason); }

void ImageInput::require(const ImageHeader& header, std::string_view where) const {
  if (header.channels == 3 && channels_ == 1 && options_.colors != Colors::gray)
    throw Error(ErrorCode::bad_input, std::string(where), "a colour image; input '" + name_ + "' is gray: --channels gray converts it");
  if (header.size == size_ || options_.resize) return;
  throw Error(ErrorCode::shape_mismatch, std::string(where),
              "an image of " + header.size.text() + "; input '" + name_ + "' needs " + size_.text() + ": --resize " + size_.text() +
                  " makes it so large");
}

Tensor ImageInput::values(const Image& given, std::string_view where) const {
  require(given.header, where);
  const bool becomes_gray = given.header.channels == 3 && channels_ == 1;
  const Image image = resized(becomes_gray ? gray_of(given) : given, size_);
  const auto channels = static_cast<std::size_t>(channels_), area = static_cast<std::size_t>(size_.width * size_.height);
  Tensor tensor(type_, shape_);
  const auto fill = [&]<class T>(std::span<T> values, auto value_of) {
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t stored = options_.colors == Colors::bgr ? channels - 1 - c : c;
      for (std::size_t i = 0; i < area; ++i) {
        const std::uint8_t pixel = image.header.channels == 1 ? image.pixels[i] : image.pixels[i * channels + stored];
        values[channels_first_ ? c * area + i : i * channels + c] = value_of(pixel, c);
      }
    }
  };
  if (type_ == ElementType::uint8) {
    fill(tensor.values<std::uint8_t>(), [](std::uint8_t pixel, std::size_t) { return pixel; });
  } else if (type_ == ElementType::int8) {
    fill(tensor.values<std::int8_t>(), [](std::uint8_t pixel, std::size_t) { return static_cast<std::int8_t>(int{pixel} - 128); });
  } else {
    fill(tensor.values<float>(), [&](std::uint8_t pixel, std::size_t c) {
      const float centred = static_cast<float>(pixel) - entry(options_.mean, c, 0);
      return centred / entry(options_.std, c, 1);
    });
  }
  return tensor;
}

std::string ImageInput::text() const {
  const std::string colors = channels_ == 1 ? "gray" : options_.colors == Colors::bgr ? "bgr" : "rgb";
  const std::string values = type_ == ElementType::uint8                     ? "codes are the pixels"
                             : type_ == ElementType::int8                    ? "codes are the pixels less 128"
                             : options_.mean.empty() && options_.std.empty() ? "real values are the pixels, 0 … 255"
                                                                             : "real values are (pixel - mean) / std";
  return colors + "; " + values + (options_.resize ? "; resized" : "");
}

}  // namespace lastbit
