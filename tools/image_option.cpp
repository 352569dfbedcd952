// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "image_option.hpp"

#include <charconv>
#include <utility>

#include "lastbit/error.hpp"

namespace lastbit::tool {
namespace {

struct ImageWords {
  std::string mean, std, resize, channels;
};
ImageWords& image_words() {
  static ImageWords words;
  return words;
}

/// "123.675,116.28,103.53".
std::vector<double> numbers_from(const std::string& option, const std::string& text) {
  std::vector<double> numbers;
  const char *at = text.data(), *const end = text.data() + text.size();
  while (!text.empty()) {
    double number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || (next != end && *next != ','))
      throw Error(ErrorCode::bad_input, option + " " + text, "must be a number, or one per channel, such as 123.7,116.3,103.5");
    numbers.push_back(number);
    if (next == end) break;
    at = next + 1;
  }
  return numbers;
}

std::optional<ImageSize> size_from(const std::string& text) {
  if (text.empty() || text == "none") return std::nullopt;
  const char* const end = text.data() + text.size();
  ImageSize size;
  const auto [middle, first] = std::from_chars(text.data(), end, size.width);
  const bool has_two = first == std::errc{} && middle != end && *middle == 'x';
  const auto [last, second] = std::from_chars(has_two ? middle + 1 : end, end, size.height);
  if (!has_two || second != std::errc{} || last != end || size.width < 1 || size.height < 1)
    throw Error(ErrorCode::bad_input, "--resize " + text, "must be a width and a height, such as 224x224, or none");
  return size;
}

}  // namespace

void add_image_options(Command& command) {
  command.option("--mean", image_words().mean, "of an image: subtract this from the pixels, 0 … 255; one number, or one per channel")
      .value_name("M[,M…]");
  command.option("--std", image_words().std, "of an image: divide by this then; one number, or one per channel").value_name("S[,S…]");
  command.option("--resize", image_words().resize, "of an image: bring it to this size, bilinear; none: refuse an image of another size")
      .value_name("WxH|none");
  command.option("--channels", image_words().channels, "of an image: the order of the input's channels; by default rgb, or gray of one")
      .one_of({"rgb", "bgr", "gray"});
}

ImageOptions given_image_options() {
  ImageOptions options{.mean = numbers_from("--mean", image_words().mean),
                       .std = numbers_from("--std", image_words().std),
                       .resize = size_from(image_words().resize)};
  if (image_words().channels == "rgb") options.colors = Colors::rgb;
  else if (image_words().channels == "bgr") options.colors = Colors::bgr;
  else if (image_words().channels == "gray") options.colors = Colors::gray;
  return options;
}

std::string given_image_option() {
  for (const auto& [option, text] : {std::pair{"--mean", &image_words().mean}, std::pair{"--std", &image_words().std},
                                     std::pair{"--resize", &image_words().resize}, std::pair{"--channels", &image_words().channels}})
    if (!text->empty()) return option;
  return {};
}

}  // namespace lastbit::tool
