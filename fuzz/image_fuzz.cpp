// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "lastbit/io/image.hpp"
#include "reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lastbit::fuzz::expect_value_or_error([&] {
    const auto bytes = std::as_bytes(std::span(data, size));
    const lastbit::ImageHeader header = lastbit::parse_image_header(bytes, "a.png");
    const std::int64_t count = header.size.width * header.size.height * header.channels;
    if (count > 1 << 20) return;  // a large one says no more, and takes longer
    const lastbit::Image image = lastbit::parse_image(bytes, "a.png");
    if (image.header != header || static_cast<std::int64_t>(image.pixels.size()) != count) std::abort();
    static_cast<void>(lastbit::resized(image, {3, 2}));
  });
}
