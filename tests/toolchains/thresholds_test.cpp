// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Histograms small enough to work out by hand.
#include "toolchains/thresholds.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "toolchains/statistics.hpp"

using namespace lastbit;

TEST_CASE("histogram: equal bins, the last one includes the largest value") {
  TensorStatistics statistics;
  const std::vector<float> values{-1, -0.5F, 0, 0.25F, 2.99F, 3, std::numeric_limits<float>::infinity()};
  add_range(statistics, values);
  CHECK(statistics.min == -1);
  CHECK(statistics.max == 3);
  CHECK(statistics.values == 6);
  CHECK(statistics.non_finite == 1);
  CHECK(statistics.largest_magnitude() == 3);
  prepare_histograms(statistics, 4);
  add_counts(statistics, values);
  CHECK(statistics.histogram.counts == std::vector<std::int64_t>{2, 2, 0, 2});   // [-1,0) [0,1) [1,2) [2,3]
  CHECK(statistics.magnitudes.counts == std::vector<std::int64_t>{3, 1, 0, 2});  // [0,.75) [.75,1.5) [1.5,2.25) [2.25,3]
}

TEST_CASE("histogram: a tensor of one value has one bin in use") {
  TensorStatistics statistics;
  const std::vector<float> values{0, 0};
  add_range(statistics, values);
  prepare_histograms(statistics, 3);
  add_counts(statistics, values);
  CHECK(statistics.histogram.counts == std::vector<std::int64_t>{2, 0, 0});
  CHECK(statistics.magnitudes.counts == std::vector<std::int64_t>{2, 0, 0});
}

TEST_CASE("histogram: ranges of parts merge; an empty part changes nothing") {
  TensorStatistics a, b, empty;
  add_range(a, std::vector<float>{1, 2});
  add_range(b, std::vector<float>{-4});
  merge_range(a, empty);
  merge_range(a, b);
  merge_range(empty, a);
  CHECK(empty.min == -4);
  CHECK(empty.max == 2);
  CHECK(empty.values == 3);
  CHECK(empty.largest_magnitude() == 4);
}

TEST_CASE("quantile: the first edge below which the share lies") {
  const Histogram histogram{0, 8, {1, 2, 4, 1}};  // edges 2, 4, 6, 8
  CHECK(quantile(histogram, 0.125) == 2);
  CHECK(quantile(histogram, 0.126) == 4);
  CHECK(quantile(histogram, 0.375) == 4);
  CHECK(quantile(histogram, 0.875) == 6);
  CHECK(quantile(histogram, 0.88) == 8);
  CHECK(quantile(histogram, 1) == 8);
  CHECK(quantile(histogram, 0) == 2);
  CHECK(quantile({0, 8, {0, 0, 0, 0}}, 0.5) == 8);
}

TEST_CASE("central range: at most so much is left out at either end") {
  const Histogram histogram{-4, 4, {1, 1, 6, 0, 0, 10, 1, 1}};
  const auto is = [&](double left_out, double min, double max) { return central_range(histogram, left_out) == ClippingRange{min, max}; };
  CHECK(is(0, -4, 4));
  CHECK(is(0.05, -3, 3));   // one of 20
  CHECK(is(0.1, -2, 2));    // two
  CHECK(is(0.395, -2, 2));  // below, the six would make eight: 7.9 are allowed
  CHECK(is(0.4, 1, 2));     // above, the ten would make twelve
}

TEST_CASE("mse threshold: clipping a rare value against coarser steps for all") {
  // Two bins in [0, 2], two codes 0 and 1 (levels = 1). Middles 0.5 and 1.5.
  // T = 1: 0.5 -> 1 (tie up), error 0.25; 1.5 -> 1, error 0.25. T = 2: 0.5 -> 0, error 0.25; 1.5 -> 2, error 0.25.
  CHECK(mse_threshold({0, 2, {1, 1}}, 1, {}) == 1);
  // Four bins in [0, 4], levels = 2, middles 0.5 1.5 2.5 3.5, counts 8 0 0 1.
  // T = 1 (s = .5): errors 0, 2.5^2 = 6.25. T = 2 (s = 1): 0.5 -> 1: 8 * .25 = 2; 3.5 -> 2: 2.25; together 4.25.
  // T = 3 (s = 1.5): 0.5 -> 0: 2; 3.5 -> 3: 0.25; 2.25. T = 4 (s = 2): 0.5 -> 0: 2; 3.5 -> 4: .25; 2.25, no better.
  CHECK(mse_threshold({0, 4, {8, 0, 0, 1}}, 2, {}) == 3);
  // Many small values outweigh: 80 * 0 + 6.25 against 20 + 0.25.
  CHECK(mse_threshold({0, 4, {80, 0, 0, 1}}, 2, {}) == 1);
  CHECK(mse_threshold({0, 4, {80, 0, 0, 1}}, 2, {.first = 1, .step = 1}) == 3);  // 20.25 at 3 and 4, 22.25 at 2
  CHECK(mse_threshold({0, 4, {80, 0, 0, 1}}, 2, {.first = 1, .step = 2}) == 4);  // tried: 2 and, always, the last
  CHECK(mse_threshold({0, 0, {5, 0}}, 1, {}) == 0);
}

TEST_CASE("divergence: sums are taken out, absent mass is infinitely far") {
  const std::vector<double> p{1, 1}, q{3, 1}, none{0, 4};
  CHECK(kl_divergence(p, p) == 0);
  CHECK(kl_divergence(p, q) == Approx(0.5 * std::log(0.5 / 0.75) + 0.5 * std::log(0.5 / 0.25)));
  CHECK(kl_divergence(std::vector<double>{10, 10}, q) == Approx(kl_divergence(p, q)));
  CHECK(kl_divergence(p, none) == std::numeric_limits<double>::infinity());
  CHECK(kl_divergence(none, p) == Approx(std::log(2)));
  CHECK(kl_divergence(p, none, 0.001) == Approx(0.5 * std::log(0.5 / 0.001) + 0.5 * std::log(0.5)));
}

TEST_CASE("joined and spread: sums of groups over their filled bins") {
  CHECK(joined_and_spread(std::vector<double>{1, 3, 0, 5}, 2) == std::vector<double>{2, 2, 0, 5});
  CHECK(joined_and_spread(std::vector<double>{1, 2, 3, 0, 5}, 2) == std::vector<double>{1.5, 1.5, 4, 0, 4});  // groups of 2 and 3
  CHECK(joined_and_spread(std::vector<double>{0, 0, 7, 1}, 2) == std::vector<double>{0, 0, 4, 4});
  CHECK(joined_and_spread(std::vector<double>{1, 3, 2}, 3) == std::vector<double>{1, 3, 2});
}

TEST_CASE("kl threshold: the first of the least divergences") {
  // Pairs of equal bins are exactly representable by two levels: all four bins are kept, at no loss. Two bins with the rest added to the
  // last one: P = 4, 6, Q = 4, 4; three: P = 4, 4, 2 against groups {4}, {4, 1}: Q = 4, 2.5, 2.5.
  CHECK(kl_threshold({0, 4, {4, 4, 1, 1}}, 2, {}) == 4);
  // One outlier far away: P = {6, 6 + 1}, Q = {6, 6} at two bins loses less than joining the sixes with emptiness does not lose at all:
  // at four bins groups {6, 6}, {0, 1} are exact as well, but two bins come out second to that only by the outlier's mass.
  const std::vector<double> clipped{6, 7}, kept{6, 6};
  CHECK(kl_divergence(clipped, kept) > 0);
  CHECK(kl_threshold({0, 4, {6, 6, 0, 1}}, 2, {}) == 4);
  // Uneven small values, and a tail: at 2 of 4 bins P = {8, 3}, Q = {8, 2}; at 4 the eight and the two would be joined to fives.
  CHECK(kl_threshold({0, 4, {8, 2, 0, 1}}, 2, {}) == 2);
  // With 3 bins the last is empty but for the tail: infinitely far, or just far enough away.
  CHECK(kl_threshold({0, 4, {8, 2, 0, 1}}, 2, {.first = 2, .step = 1}) == 4);
  CHECK(kl_threshold({0, 4, {8, 8, 0, 1}}, 3, {.first = 2, .step = 1}) == 4);
  CHECK(kl_threshold({0, 4, {80, 20, 0, 1}}, 2, {.first = 2, .step = 1}, 0.01) == 3);
}
