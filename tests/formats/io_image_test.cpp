// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/io/image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "support/catch.hpp"
#include "support/image_file.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"
#include "support/zip_file.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Image parsed(const std::string& text) { return parse_image(bytes_of(text), "a.png"); }

std::string refusal_text(const std::string& text) {
  const auto refusal = refusal_of([&] { static_cast<void>(parsed(text)); });
  REQUIRE(refusal);
  CHECK(refusal->is_one_line());
  return refusal->message;
}

ModelTensor input_of(ElementType type, Shape shape) { return {"x", type, std::move(shape), {{1.0 / 255}, {0}}, {}}; }

/// Big-endian.
std::string number32(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

}  // namespace

TEST_CASE("PNG, PGM and PPM are read to the last bit") {
  for (const std::int64_t channels : {1, 3}) {
    const Image image = test_image(7, 5, channels);
    for (const std::string& text : {as_png(image), as_netpbm(image)}) {
      const Image read = parsed(text);
      CHECK(read.header == image.header);
      CHECK(read.pixels == image.pixels);
    }
  }
  const Image plain = parsed("P3 # colours\n2 1\n255\n1 2 3\n254 255 0");
  CHECK(plain.pixels == std::vector<std::uint8_t>{1, 2, 3, 254, 255, 0});
  CHECK(parsed("P2\n1 2\n255\n9\n8\n").pixels == std::vector<std::uint8_t>{9, 8});
}

TEST_CASE("every kind of PNG of up to 8 bits becomes gray or red, green and blue; alpha is left out") {
  const Image image = test_image(9, 6, 3);
  CHECK(parsed(as_png(image.header.size, image.pixels, {.interlaced = true})).pixels == image.pixels);
  std::vector<std::uint8_t> with_alpha;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    with_alpha.push_back(image.pixels[i]);
    if (i % 3 == 2) with_alpha.push_back(static_cast<std::uint8_t>(i));
  }
  CHECK(parsed(as_png(image.header.size, with_alpha, {.color = PNG_COLOR_TYPE_RGB_ALPHA})).pixels == image.pixels);
  const Image indexed = parsed(as_png({2, 1}, {0x40}, {.color = PNG_COLOR_TYPE_PALETTE, .bits = 2, .palette = {{1, 2, 3}, {4, 5, 6}}}));
  CHECK(indexed.header.channels == 3);
  CHECK(indexed.pixels == std::vector<std::uint8_t>{4, 5, 6, 1, 2, 3});
  const Image bits = parsed(as_png({3, 1}, {0xA0}, {.color = PNG_COLOR_TYPE_GRAY, .bits = 1}));
  CHECK(bits.pixels == std::vector<std::uint8_t>{255, 0, 255});
  CHECK_THAT(refusal_text(as_png({1, 1}, {1, 2}, {.color = PNG_COLOR_TYPE_GRAY, .bits = 16})), contains_text("16 bits a channel"));
}

TEST_CASE("every seed of the fuzz target is an image") {
  for (const auto& path : seeds("image_fuzz")) {
    INFO(path);
    CHECK_NOTHROW(read_image(path));
  }
  CHECK(read_image(seed_directory("image_fuzz") / "gray.jpg").pixels == std::vector<std::uint8_t>(64, 128));
  CHECK(read_image(seed_directory("image_fuzz") / "gray.png").pixels == std::vector<std::uint8_t>{1, 2, 3, 4});
}

TEST_CASE("JPEG is read as libjpeg decodes it: a gray one of one value exactly, a colour one nearly") {
  Image flat = test_image(19, 11, 1);
  std::ranges::fill(flat.pixels, std::uint8_t{77});
  CHECK(parsed(as_jpeg(flat)).pixels == flat.pixels);
  CHECK(parsed(as_jpeg(flat, true)).pixels == flat.pixels);
  Image color = test_image(16, 16, 3);
  for (std::size_t i = 0; i < color.pixels.size(); ++i) color.pixels[i] = std::array<std::uint8_t, 3>{200, 40, 90}[i % 3];
  const Image read = parsed(as_jpeg(color));
  REQUIRE(read.header == color.header);
  for (std::size_t i = 0; i < read.pixels.size(); ++i) REQUIRE(std::abs(int{read.pixels[i]} - int{color.pixels[i]}) <= 2);
}

TEST_CASE("an image that was cut off anywhere is refused in one line, before and after its header") {
  const Image gray = test_image(20, 9, 1), color = test_image(20, 9, 3);
  const std::vector<std::string> texts{as_png(gray),  as_png(color),  as_netpbm(color),    as_netpbm(gray),
                                       as_jpeg(gray), as_jpeg(color), as_jpeg(color, true)};
  const Scratch folder;
  for (const std::string& text : texts) {
    const Image whole = parsed(text);
    const auto file = folder.path() / "a.png";
    write_bytes(file, text);
    CHECK(read_image_header(file) == whole.header);
    for (std::size_t size = 0; size < text.size(); ++size) {
      const auto refusal = refusal_of([&] { static_cast<void>(parsed(text.substr(0, size))); });
      INFO(size << " of " << text.size());
      REQUIRE(refusal);
      REQUIRE(refusal->is_one_line());
    }
  }
}

TEST_CASE("an image with any byte changed is an image or is refused in one line") {
  const Image color = test_image(12, 9, 3);
  for (const std::string& text : {as_png(color), as_netpbm(color), as_jpeg(color), as_jpeg(color, true)}) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ 0xFF);
      const auto refusal = refusal_of([&] {
        const Image image = parsed(damaged);
        REQUIRE(std::ssize(image.pixels) == image.header.size.width * image.header.size.height * image.header.channels);
      });
      if (refusal) REQUIRE(refusal->is_one_line());
    }
  }
}

TEST_CASE("sizes that a file promises are not believed") {
  const Image image = test_image(4, 4, 3);
  const std::string png = as_png(image);
  const auto sized = [&](std::uint32_t width, std::uint32_t height) {
    return std::string(png).replace(16, 8, number32(width) + number32(height));
  };
  CHECK_THAT(refusal_text(sized(0x7FFFFFFF, 0x7FFFFFFF)), contains_text("more than 268435456 bytes of pixels are not read"));
  CHECK_THAT(refusal_text(sized(9000, 9000)), contains_text("bytes cannot hold 9000x9000 pixels"));
  CHECK_THAT(refusal_text(sized(0, 5)), contains_text("an image of 0x5"));
  CHECK_THAT(refusal_text("P6\n99999 99999\n255\n"), contains_text("are not read"));
  CHECK_THAT(refusal_text("P6\n9000 9000\n255\nabc"), contains_text("cannot hold"));
  CHECK_THAT(refusal_text("P6\n99999999999999999999 1\n255\n"), contains_text("where a number is needed"));
  CHECK_THAT(refusal_text("P5\n1 1\n65535\nab"), contains_text("values up to 65535"));
  CHECK_THAT(refusal_text("P5\n1 1\n255\nab"), contains_text("2 bytes of pixels; the header promises 1"));
  CHECK_THAT(refusal_text("P2\n1 1\n255\n256"), contains_text("holds 256"));
  CHECK_THAT(refusal_text("P2\n2 1\n255\n\x1b[2J"), contains_text("holds '?[2J' where a number"));
  CHECK_THAT(refusal_text("BM and more"), contains_text("neither PNG, JPEG, PGM nor PPM"));
}

TEST_CASE("bilinear, by hand and by its definition in fractions") {
  const Image two{{{2, 1}, 1}, {0, 100}};
  CHECK(resized(two, {4, 1}).pixels == std::vector<std::uint8_t>{0, 25, 75, 100});
  CHECK(resized(two, {1, 1}).pixels == std::vector<std::uint8_t>{50});
  CHECK(resized(Image{{{2, 1}, 1}, {0, 1}}, {1, 1}).pixels == std::vector<std::uint8_t>{1});  // 1/2 is rounded up
  CHECK(resized(two, {2, 3}).pixels == std::vector<std::uint8_t>{0, 100, 0, 100, 0, 100});
  const Image image = test_image(7, 5, 3);
  for (const ImageSize size : {ImageSize{3, 4}, ImageSize{16, 9}, ImageSize{7, 1}}) {
    const Image small = resized(image, size);
    REQUIRE(small.header == ImageHeader{size, 3});
    // In double, whose error is far below a pixel's step: only near a half may the two disagree.
    for (std::int64_t y = 0; y < size.height; ++y) {
      for (std::int64_t x = 0; x < size.width; ++x) {
        const auto place = [](std::int64_t to, std::int64_t old, std::int64_t fresh) {
          const double at = (static_cast<double>(to) + 0.5) * static_cast<double>(old) / static_cast<double>(fresh) - 0.5;
          return std::clamp(at, 0.0, static_cast<double>(old - 1));
        };
        const double py = place(y, 5, size.height), px = place(x, 7, size.width);
        for (std::int64_t c = 0; c < 3; ++c) {
          double sum = 0;
          for (std::int64_t v = 0; v < 5; ++v)
            for (std::int64_t u = 0; u < 7; ++u)
              sum += std::max(0.0, 1 - std::abs(py - static_cast<double>(v))) * std::max(0.0, 1 - std::abs(px - static_cast<double>(u))) *
                     image.pixels[static_cast<std::size_t>((v * 7 + u) * 3 + c)];
          const double found = small.pixels[static_cast<std::size_t>((y * size.width + x) * 3 + c)];
          REQUIRE(std::abs(found - sum) < 0.5 + 1e-9);
        }
      }
    }
  }
}

TEST_CASE("pixels become codes or real values, in the input's order") {
  const Image image{{{2, 1}, 3}, {0, 10, 255, 128, 127, 1}};  // red, green, blue
  const auto codes = [&](ElementType type, const Shape& shape, const ImageOptions& options = {}) {
    return ImageInput(input_of(type, shape), options).values(image, "a.png");
  };
  CHECK(codes(ElementType::uint8, {1, 1, 2, 3}) ==
        Tensor::from<std::uint8_t>({1, 1, 2, 3}, std::vector<std::uint8_t>{0, 10, 255, 128, 127, 1}));
  CHECK(codes(ElementType::int8, {1, 1, 2, 3}) ==
        Tensor::from<std::int8_t>({1, 1, 2, 3}, std::vector<std::int8_t>{-128, -118, 127, 0, -1, -127}));
  CHECK(codes(ElementType::uint8, {1, 3, 1, 2}) ==
        Tensor::from<std::uint8_t>({1, 3, 1, 2}, std::vector<std::uint8_t>{0, 128, 10, 127, 255, 1}));
  CHECK(codes(ElementType::uint8, {1, 1, 2, 3}, {.colors = Colors::bgr}) ==
        Tensor::from<std::uint8_t>({1, 1, 2, 3}, std::vector<std::uint8_t>{255, 10, 0, 1, 127, 128}));
  CHECK(codes(ElementType::uint8, {1, 1, 2, 1}, {.colors = Colors::gray}) ==
        Tensor::from<std::uint8_t>({1, 1, 2, 1}, std::vector<std::uint8_t>{35, 113}));  // 2322573 / 65536, 7434089 / 65536
  CHECK(codes(ElementType::float32, {1, 2, 3}) == Tensor::from<float>({1, 2, 3}, std::vector<float>{0, 10, 255, 128, 127, 1}));
  const Tensor scaled = codes(ElementType::int8, {1, 1, 2, 3}, {.mean = {1, 2, 3}, .std = {2}});
  CHECK(scaled == Tensor::from<float>({1, 1, 2, 3}, std::vector<float>{-0.5F, 4, 126, 63.5F, 62.5F, -1}));
  const Tensor thirds = codes(ElementType::float32, {1, 2, 3}, {.mean = {0.1}, .std = {0.3}});
  CHECK(thirds.values<float>()[1] == (10.0F - 0.1F) / 0.3F);
  const Image gray{{{1, 1}, 1}, {9}};
  CHECK(ImageInput(input_of(ElementType::uint8, {1, 1, 1, 3}), {}).values(gray, "a.png") ==
        Tensor::from<std::uint8_t>({1, 1, 1, 3}, std::vector<std::uint8_t>{9, 9, 9}));
}

TEST_CASE("options and inputs that fit no image are refused with what would") {
  const auto refused = [](ElementType type, const Shape& shape, const ImageOptions& options, const ImageHeader& header) {
    const auto refusal = refusal_of([&] { ImageInput(input_of(type, shape), options).require(header, "a.png"); });
    REQUIRE(refusal);
    CHECK(refusal->is_one_line());
    return refusal->message;
  };
  const ImageHeader color{{8, 4}, 3};
  const Shape own{1, 4, 8, 3};
  CHECK_THAT(refused(ElementType::uint8, {1, 5, 8, 3}, {}, color),
             contains_text("a.png: an image of 8x4; input 'x' needs 8x5: --resize 8x5"));
  CHECK_THAT(refused(ElementType::uint8, {1, 4, 8, 1}, {}, color), contains_text("--channels gray converts it"));
  CHECK_THAT(refused(ElementType::uint8, own, {.resize = ImageSize{9, 9}}, color),
             contains_text("--resize 9x9: input 'x' needs images of 8x4"));
  CHECK_THAT(refused(ElementType::uint8, own, {.colors = Colors::gray}, color), contains_text("three channels: rgb or bgr"));
  CHECK_THAT(refused(ElementType::uint8, own, {.mean = {1, 2}}, color), contains_text("--mean: 2 numbers; the input has 3 channels"));
  CHECK_THAT(refused(ElementType::uint8, own, {.std = {0}}, color), contains_text("--std: must be above 0"));
  CHECK_THAT(refused(ElementType::uint8, own, {.mean = {1e300}}, color), contains_text("--mean: must be finite"));
  CHECK_THAT(refused(ElementType::int16, own, {}, color), contains_text("--mean and --std must say"));
  CHECK_THAT(refused(ElementType::uint8, {2, 4, 8, 3}, {}, color), contains_text("is 2x4x8x3: no image"));
  CHECK_THAT(refused(ElementType::uint8, {1, 4, 8, 5}, {}, color), contains_text("no image"));
}
