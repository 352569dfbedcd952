// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/metrics.hpp"

#include <cmath>
#include <limits>

#include "lastbit/verify.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

ElementMetrics metrics(const std::vector<float>& mine, const std::vector<float>& truth) { return element_metrics(mine, truth); }

void check_near(double found, double expected) { CHECK(std::abs(found - expected) <= 1e-12 * std::max(1.0, std::abs(expected))); }

}  // namespace

TEST_CASE("every figure by hand") {
  const ElementMetrics m = metrics({1, 2, 2}, {2, 2, 0});
  CHECK(m.values == 3);
  check_near(m.cosine, 6 / (3 * std::sqrt(8)));
  check_near(m.sqnr_db, 10 * std::log10(8.0 / 5));
  check_near(m.max_absolute_error, 2);
  check_near(m.mean_absolute_error, 1);
  check_near(m.root_mean_square_error, std::sqrt(5.0 / 3));
  check_near(m.relative_euclidean, std::sqrt(5.0 / 8));
  check_near(m.accumulated_relative_error, 0.5);  // the zero of the truth does not count
  check_near(m.max_relative_error, 0.5);
  check_near(m.mean_relative_error, 0.5 / 3);
  check_near(m.mine.mean, 5.0 / 3);
  check_near(m.mine.deviation, std::sqrt(2.0 / 9));
  const double floor = std::exp2(-23);  // p = {floor, 1, 1} / (2 + floor), q = {1, 1, floor} / (2 + floor)
  check_near(m.kullback_leibler, (floor * std::log(floor) - std::log(floor)) / (2 + floor));
}

TEST_CASE("equal values") {
  const ElementMetrics m = metrics({1, -2, 3}, {1, -2, 3});
  CHECK(m.cosine == 1);
  CHECK(m.sqnr_db == std::numeric_limits<double>::infinity());
  CHECK(m.relative_euclidean == 0);
  CHECK(m.kullback_leibler == 0);
}

TEST_CASE("vanishing sides: both make the cosine 1, one makes it NaN") {
  CHECK(metrics({0, 0}, {0, 0}).cosine == 1);
  CHECK(std::isnan(metrics({0, 0}, {1, 0}).cosine));
  CHECK(std::isnan(metrics({1, 0}, {0, 0}).cosine));
  CHECK(metrics({1, 0}, {0, 0}).relative_euclidean == 0);
}

TEST_CASE("a cosine is that of the directions, however short both are; the analyzer's is not") {
  const std::vector<float> x{1e-18F, 0}, y{0, 1e-18F};
  CHECK(metrics(x, y).cosine == 0);
  CHECK(metrics(x, {-1e-18F, 0}).cosine == -1);
  CHECK(metrics(x, {1e-3F, 0}).cosine == 1);
  CHECK(metrics_report(x, y)[0].second == "1.0");
  const std::vector<double> tiny{1e-200, 0}, other{0, 1e-200};
  CHECK(element_metrics(tiny, other).cosine == 0);
  CHECK(element_metrics(tiny, std::vector<double>{2e-200, 0}).cosine == 1);
  check_near(element_metrics(tiny, std::vector<double>{2e-200, 0}).sqnr_db, 20 * std::log10(2.0));
  CHECK(cosine_of(0x1p-200, 0x1p-100, 0x1p-100) == 1);
}

TEST_CASE("non-finite values are counted and show in the figures") {
  const ElementMetrics m = metrics({infinity, not_a_number, 1, -infinity}, {1, 2, not_a_number, 3});
  CHECK(m.non_finite_mine == 3);
  CHECK(m.non_finite_truth == 1);
  CHECK(std::isnan(m.max_absolute_error));
  CHECK(std::isnan(m.cosine));
  CHECK(metrics({infinity, 1}, {1, 1}).max_absolute_error == std::numeric_limits<double>::infinity());
}

TEST_CASE("a NaN anywhere is not dropped by a maximum") {
  CHECK(std::isnan(metrics({not_a_number, 1}, {1, 9}).max_absolute_error));
  CHECK(std::isnan(metrics({1, not_a_number}, {9, 1}).max_absolute_error));
}

TEST_CASE("the analyzer's own reports") {
  const VerifyReport report = verify(test::source_directory() / "tests/vectors/ascend/metrics");
  CHECK(report.passed == 16);
  CHECK(report.failures.empty());
}
