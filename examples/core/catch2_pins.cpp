// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One layer on two devices, pinned in a unit test of Catch2 (2 or 3): no network, no file, no library of ours.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <lastbit/core.hpp>
#include <lastbit/core/matchers.hpp>

using namespace lastbit;
using testing::exactly_equal_to;
using testing::within_lsb;

TEST_CASE("the NPU rounds one of eight values the other way") {
  const std::vector<std::int8_t> image{1, 2, 3, 4, 5, 6, 7, 8}, kernel{1, -1, 2, 3};
  const View x(image, {1, 2, 2, 2}, 0.5), w(kernel, {2, 1, 1, 2}, 0.25);
  const auto npu = conv2d<vipnano_v8>(x, w, {}, {.scale = 0.5});
  const auto cpu = conv2d<tflite_double>(x, w, {}, {.scale = 0.5});
  REQUIRE_THAT(npu, within_lsb(1, 0.125).of(cpu));
  CHECK_FALSE(exactly_equal_to(cpu).match(npu));
  CHECK(npu.values == std::vector<std::int8_t>{0, 2, 0, 4, 0, 7, 0, 10});
}
