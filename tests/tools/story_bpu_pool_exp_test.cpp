// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The figures that the thread and its analysis gave. Their random data are not known; a figure is reproduced where it lies within the 5–95 %
// of 201 seeds of our own.
#include "story_bpu_pool_exp.hpp"

#include <cmath>

#include "lastbit/backends/bernoulli2.hpp"
#include "lastbit/rules.hpp"
#include "story.hpp"
#include "support/catch.hpp"

using namespace lastbit;
using namespace lastbit::tool;
using namespace lastbit::tool::bpu_pool_exp;

namespace {

constexpr std::uint64_t seeds = 201;

bool within(double figure, std::vector<double> values) {
  const Spread spread = spread_of(std::move(values));
  INFO(figure << " in " << spread.low << " … " << spread.high);
  CHECK((figure >= spread.low && figure <= spread.high));
  return figure >= spread.low && figure <= spread.high;
}

std::vector<double> column(const std::vector<PoolFigures>& all, double PoolFigures::*figure) {
  std::vector<double> values;
  for (const PoolFigures& at : all) values.push_back(at.*figure);
  return values;
}

std::vector<PoolFigures> pools_over_seeds(double centre, double noise) {
  std::vector<PoolFigures> all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) all.push_back(pool_figures(bernoulli2, pool_sample(seed, centre, noise)));
  return all;
}

struct ExpColumns {
  std::vector<double> levels, cosines;
};
ExpColumns over_seeds(double largest_input) {
  ExpColumns all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const ExpFigures at = exp_figures(bernoulli2, largest_input, exp_sample(seed));
    all.levels.push_back(static_cast<double>(at.levels));
    all.cosines.push_back(at.cosine);
  }
  return all;
}

}  // namespace

TEST_CASE("bpu-pool-exp: calibrated to x = 9.2 a step of exp is 77.9, and typical inputs give one value") {
  const ExpFigures at = exp_figures(bernoulli2, 9.2, exp_sample(1));
  REQUIRE(fixed(at.output_scale, 1) == "77.9");
  REQUIRE(at.zero_entries == 179);
  REQUIRE(fixed(at.first_answer, 2) == "3.69");  // the first code beyond ln(77.93 / 2) = 3.66
  REQUIRE(std::log(at.output_scale / 2) < at.first_answer);
  REQUIRE(std::log(at.output_scale / 2) > at.first_answer - 9.2 / 127);
  REQUIRE(at.typical_levels == 1);
  REQUIRE(at.cosine_on_cpu > 0.999);  // the input is not to blame
}

TEST_CASE("bpu-pool-exp: with smaller maxima the levels and cosines of the record come back") {
  const ExpColumns five = over_seeds(5.0), three_and_a_half = over_seeds(3.5);
  REQUIRE(within(18, five.levels));
  REQUIRE(within(0.9986, five.cosines));
  REQUIRE(within(64, three_and_a_half.levels));
  REQUIRE(fixed(spread_of(three_and_a_half.cosines).median, 4) == "0.9999");
}

TEST_CASE("bpu-pool-exp: five levels and cosine .977 are what a maximum of 6.4 gives, not 7.6 as recorded") {
  const ExpColumns at_6_4 = over_seeds(6.4), at_7_6 = over_seeds(7.6);
  REQUIRE(within(0.977, at_6_4.cosines));
  REQUIRE(spread_of(at_6_4.levels).low <= 6);
  REQUIRE(spread_of(at_7_6.cosines).high < 0.85);
  REQUIRE(spread_of(at_7_6.levels).high <= 4);
}

TEST_CASE("bpu-pool-exp: the pool loses in its input, and once more on the input's scale") {
  const std::vector<PoolFigures> all = pools_over_seeds(0, 0.075);
  REQUIRE(within(0.894, column(all, &PoolFigures::input_only)));
  REQUIRE(within(0.893, column(all, &PoolFigures::own_scale)));
  REQUIRE(within(0.839, column(all, &PoolFigures::input_scale)));
  for (const PoolFigures& at : all) {
    REQUIRE(at.step == 1.0);
    REQUIRE(std::abs(at.input_only - at.own_scale) < 0.005);
    REQUIRE(at.input_scale < at.own_scale);
    REQUIRE((at.levels >= 3 && at.levels <= 5));
  }
}

TEST_CASE("bpu-pool-exp: one of the seeds gives the figures of the analysis to 0.0015") {
  const PoolFigures at = pool_figures(bernoulli2, pool_sample(nearest_seed));
  REQUIRE(std::abs(at.input_only - 0.894) < 0.0015);
  REQUIRE(std::abs(at.own_scale - 0.893) < 0.0015);
  REQUIRE(std::abs(at.input_scale - 0.839) < 0.0015);
  REQUIRE(at.levels == 3);
}

TEST_CASE("bpu-pool-exp: noise of one step dithers, and only the input's scale still loses") {
  const std::vector<PoolFigures> all = pools_over_seeds(1, 1);
  REQUIRE(fixed(spread_of(column(all, &PoolFigures::input_only)).median, 4) == "0.9999");
  REQUIRE(fixed(spread_of(column(all, &PoolFigures::own_scale)).median, 4) == "0.9999");
  REQUIRE(within(0.9645, column(all, &PoolFigures::input_scale)));
}

TEST_CASE("bpu-pool-exp: no tie rule changes any of it") {
  const Tensor sample = exp_sample(1), image = pool_sample(nearest_seed);
  const ExpFigures exp = exp_figures(bernoulli2, 5.0, sample);
  const PoolFigures pool = pool_figures(bernoulli2, image);
  for (const std::string rounding : {"half_up", "half_down", "half_even", "half_toward_zero"}) {
    const Backend backend = rounded_by(rounding);
    INFO(rounding);
    REQUIRE(backend != bernoulli2);
    REQUIRE(exp_figures(backend, 9.2, sample).typical_levels == 1);
    REQUIRE(std::abs(exp_figures(backend, 5.0, sample).cosine - exp.cosine) < 1e-4);
    REQUIRE(std::abs(pool_figures(backend, image).own_scale - pool.own_scale) < 1e-4);
    REQUIRE(std::abs(pool_figures(backend, image).input_scale - pool.input_scale) < 1e-4);
  }
}
