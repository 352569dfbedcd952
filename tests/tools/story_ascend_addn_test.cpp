// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story_ascend_addn.hpp"

#include <cmath>

#include "lastbit/float16_network.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::tool::ascend_addn;

namespace {

Network story() { return read_network(test::source_directory() / "examples"); }

bool rounds_to(double value, double printed, int digits) { return std::abs(value - printed) <= 0.5 * std::pow(10.0, -digits); }

}  // namespace

TEST_CASE("ascend-addn: in saturation mode every sum is 65504, which RED and KLD show and cosine does not") {
  const DeviceFigures found = run_on(story(), "ascend310", "none");
  REQUIRE(found.sums.size() == 1000);
  for (const float sum : found.sums) REQUIRE(sum == 65504.0F);
  CHECK(rounds_to(found.metrics.cosine, 0.992, 3));
  CHECK(rounds_to(found.metrics.relative_euclidean, 0.302, 3));
  CHECK(rounds_to(found.metrics.kullback_leibler, 0.335, 3));
  CHECK(found.kept.empty());
  CHECK(found.same_class < 500);
  CHECK(found.left_float16 == 1000);
}

TEST_CASE("ascend-addn: no values of the range can bring a constant's cosine below the bound") {
  CHECK(rounds_to(smallest_cosine(smallest_value, largest_value), 0.9765, 4));
  // The bound is reached by values at both ends, in the ratio that makes their cosine smallest.
  const double a = smallest_value, b = largest_value;
  double smallest = 1;
  for (int percent = 0; percent <= 100; ++percent) {
    const double share = percent / 100.0;
    smallest = std::min(smallest, (share * a + (1 - share) * b) / std::sqrt(share * a * a + (1 - share) * b * b));
  }
  CHECK(smallest >= smallest_cosine(a, b));
  CHECK(smallest < smallest_cosine(a, b) + 1e-5);
}

TEST_CASE("ascend-addn: in infinity mode every sum is infinite") {
  for (const float sum : run_on(story(), "ascend910b", "none").sums) REQUIRE(sum == INFINITY);
}

TEST_CASE("ascend-addn: the sum is the first to leave float16, and the only one") {
  const Network network = story();
  CHECK(first_leaving(network) == "AddN");
  for (const HeadroomFigures& at : headroom(network)) {
    INFO(at.name << " " << at.bits);
    CHECK((at.bits < 0) == (at.name == "AddN"));
    CHECK(at.bits == Approx(std::log2(65504 / at.largest)));
  }
}

TEST_CASE("ascend-addn: the smallest set kept in float32 cures it, and no operation of it can be left out") {
  const Network network = story();
  const DeviceFigures cured = run_on(network, "ascend310", "auto");
  CHECK(cured.kept == "AddN, scale");
  CHECK(cured.left_float16 == 0);
  CHECK(cured.same_class > 950);  // some scores near a border between classes tie in float16
  CHECK(cured.metrics.relative_euclidean < 0.001);
  for (const char* one : {"AddN", "scale"}) CHECK(run_on(network, "ascend310", one).left_float16 > 0);
}

TEST_CASE("ascend-addn: with saturating sums the order is part of the result") {
  std::vector<float> sums;
  for (const OrderFigures& at : orders()) sums.push_back(at.sum);
  CHECK(sums == std::vector<float>{5504, 60000, INFINITY, 60000});
}
