// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A device of one's own: a 24-bit accumulator that wraps, ties rounded down, two shifts.
#include <cstdio>
#include <lastbit/core.hpp>

using namespace lastbit;

constexpr Backend mine = [] {
  Backend device = vipnano_v8;
  ConvArithmetic& conv = device.conv.i8;
  conv.sum.accumulator = {.bits = 24, .overflow = Overflow::wrap, .when = NarrowingPoint::every_add};
  conv.sum.output.chain = {stage::multiply(), stage::shift_right_by_fraction(Rounding::half_up), stage::shift_right(Rounding::half_down),
                           stage::add_zero_point(), stage::clamp()};
  return device;
}();

int main() {
  const std::vector<std::int8_t> image{10, -20, 6, 6}, kernel{1, 2, 3, 4};
  const View x(image, {1, 2, 2, 1}, 0.5), w(kernel, {1, 2, 2, 1}, 0.25);
  const Conv2dOptions how{.scale = 1};
  // 12 * 0.125 = 1.5
  std::printf("mine %d, vipnano_v8 %d\n", int{conv2d<mine>(x, w, {}, how).values[0]}, int{conv2d<vipnano_v8>(x, w, {}, how).values[0]});
  return conv2d<mine>(x, w, {}, how) == conv2d(mine, x, w, {}, how) ? 0 : 1;
}
