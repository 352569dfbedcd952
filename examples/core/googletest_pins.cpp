// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One layer on two devices, pinned in a unit test of GoogleTest: no network, no file, no library of ours. (With gMock also EXPECT_THAT(npu, matcher).)
#include <gtest/gtest.h>

#include <lastbit/core.hpp>
#include <lastbit/core/matchers.hpp>

using namespace lastbit;
using lastbit::testing::exactly_equal_to;
using lastbit::testing::within_lsb;

TEST(Npu, RoundsOneOfEightValuesTheOtherWay) {
  const std::vector<std::int8_t> image{1, 2, 3, 4, 5, 6, 7, 8}, kernel{1, -1, 2, 3};
  const View x(image, {1, 2, 2, 2}, 0.5), w(kernel, {2, 1, 1, 2}, 0.25);
  const auto npu = conv2d<vipnano_v8>(x, w, {}, {.scale = 0.5});
  const auto cpu = conv2d<tflite_double>(x, w, {}, {.scale = 0.5});
  EXPECT_TRUE(judge(npu, within_lsb(1, 0.125).of(cpu)));
  EXPECT_FALSE(judge(npu, exactly_equal_to(cpu)));
  EXPECT_EQ(npu.values, (std::vector<std::int8_t>{0, 2, 0, 4, 0, 7, 0, 10}));
}
