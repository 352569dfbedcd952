// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of every path are given as the input of a convolution: each value of each window is the tensor's, or the padding.
#include "engine/ops/conv_input.hpp"

#include <memory>
#include <random>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr std::uint64_t seed = 20261129;

/// Codes that end where their memory does: a sanitizer sees who reads beyond.
struct Codes {
  std::size_t count = 0;
  std::unique_ptr<std::byte[]> bytes;
  ConvInput input;

  Codes(const ConvShape& s, bool is_signed, std::mt19937_64& random)
      : count(static_cast<std::size_t>(s.batch * s.in_height * s.in_width * s.in_channels)), bytes(new std::byte[count]) {
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(random());
    const auto zero_point = static_cast<std::int64_t>(random() % 256) - (is_signed ? 128 : 0);
    input = {is_signed ? ElementType::int8 : ElementType::uint8, bytes.get(), count, zero_point};
  }
  /// As an unsigned byte; the zero point outside the image.
  [[nodiscard]] std::int64_t at(const ConvShape& s, std::int64_t sample, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t flip = input.type == ElementType::int8 ? 128 : 0;
    if (y < 0 || y >= s.in_height || x < 0 || x >= s.in_width) return input.zero_point + flip;
    const std::int64_t place = ((sample * s.in_height + y) * s.in_width + x) * s.in_channels + c;
    return std::to_integer<std::int64_t>(bytes[static_cast<std::size_t>(place)]) ^ flip;
  }
};

ConvGeometry random_geometry(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
  ConvGeometry geometry;
  ConvShape& s = geometry.shape;
  s.batch = 1 + below(2);
  s.in_height = 1 + below(9), s.in_width = 1 + below(9);
  s.in_channels = s.out_channels = s.groups = 1 + below(70);
  s.kernel_height = 1 + below(9), s.kernel_width = 1 + below(5);
  s.stride_height = 1 + below(3), s.stride_width = 1 + below(3);
  s.dilation_height = 1 + below(2), s.dilation_width = below(8) == 0 ? 20 : 1 + below(2);
  s.pad_top = below(4), s.pad_left = below(4);
  s.out_height = 1 + below(4), s.out_width = 1 + below(5);
  return geometry;
}

TEST_CASE("bands of bytes hold every window, row by row and with rows side by side, on every path") {
  INFO("seed " << seed);
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    INFO(path.name);
    std::mt19937_64 random(seed);
    Tally tally;
    Band band;  // kept from one to the next, as a thread does
    for (int round = 0; round < 300; ++round) {
      const ConvGeometry geometry = random_geometry(random);
      const ConvShape& s = geometry.shape;
      const Codes codes(s, random() % 2 == 0, random);
      const OutputArea area{s.batch - 1, s.out_height / 2, s.out_height, 0, s.out_width};
      std::vector<const std::byte*> windows(static_cast<std::size_t>(area.pixels()));
      for (const bool interleaved : {false, true}) {
        if (interleaved) band.fill_interleaved(geometry, codes.input, area, BandForm::unsigned_bytes, path);
        else band.fill(geometry, codes.input, area, BandForm::unsigned_bytes, path);
        if (interleaved) band.interleaved_windows(0, windows);
        else band.windows(0, windows);
        for (std::int64_t pixel = 0; pixel < area.pixels(); ++pixel) {
          const std::int64_t y = (area.first_row + pixel / s.out_width) * s.stride_height - s.pad_top;
          const std::int64_t x = pixel % s.out_width * s.stride_width - s.pad_left;
          for (std::int64_t ky = 0; ky < s.kernel_height; ++ky) {
            for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
              const std::ptrdiff_t offset = interleaved ? band.interleaved_offset(ky / 4, kx) + ky % 4 : band.offset(ky, kx);
              const std::byte* const at = windows[static_cast<std::size_t>(pixel)] + offset;
              for (std::int64_t c = 0; c < s.in_channels; ++c)
                tally.equal(std::to_integer<std::int64_t>(at[interleaved ? 4 * c : c]),
                            codes.at(s, area.sample, y + ky * s.dilation_height, x + kx * s.dilation_width, c), round, interleaved, pixel,
                            ky, kx, c);
            }
          }
        }
      }
    }
    tally.check(1'000'000);
  }
}

}  // namespace
}  // namespace lastbit
