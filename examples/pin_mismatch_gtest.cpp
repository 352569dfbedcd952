// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The same in GoogleTest: how far a VIPNano is from the CPU on a network. (With gMock also EXPECT_THAT(actual, matcher).)
#include <gtest/gtest.h>

#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/testing.hpp"

using lastbit::testing::exactly_equal_to;
using lastbit::testing::judge;
using lastbit::testing::within_lsb;

namespace {

lastbit::Tensor compute(const char* backend, const char* tensor) {
  const lastbit::Model model = lastbit::read_json_model("examples/digits/model.json");
  const std::vector<lastbit::Tensor> images{lastbit::read_npy("examples/digits/test_images.npy")};
  const lastbit::Trace trace = lastbit::run(model, lastbit::find_backend(backend).backend, images, {.keep_all = true});
  return *trace.tensors[static_cast<std::size_t>(*model.find_tensor(tensor))];
}

TEST(VipNano, FirstConvolutionDiffersInOneValueOfAThousandByOne) {
  EXPECT_TRUE(judge(compute("vipnano_v8", "conv1"), within_lsb(1, 0.001).of(compute("tflite_double", "conv1"))));
  EXPECT_FALSE(judge(compute("vipnano_v8", "conv1"), exactly_equal_to(compute("tflite_double", "conv1"))));
}

TEST(VipNano, LogitsOfTheFirstImageStayWhatTheyAre) {
  const lastbit::Tensor logits = compute("vipnano_v8", "logits");
  const std::vector<std::int8_t> pinned{90, -22, -1, -18, -6, 11, -17, 5, 8, -11};
  EXPECT_TRUE(judge(logits.values<std::int8_t>().first(10), exactly_equal_to(pinned)));
}

}  // namespace
