// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sweeps: however the samples are split, merged and interrupted, the bytes are the same; and they say what `compare` says of all at once.
#include "lastbit/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "lastbit/io/json_model.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/sweep_fixture.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

std::string whole_report(const Sweeper& sweeper, const SweepStatistics& statistics) {
  const SweepReport report{"model", "data", &sweeper, &statistics, samples};
  return to_json(report) + to_csv(report) + to_text(report);
}

bool close(double a, double b, double relative) { return a == b || std::abs(a - b) <= relative * std::abs(b); }

}  // namespace

TEST_CASE("Any split of the samples, merged in any order, gives the same bytes") {
  const SweepFixture fixture;
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  SweepStatistics whole = sweeper.nothing();
  sweeper.add(whole, source, 0, samples);
  const std::string expected = whole.text(), report = whole_report(sweeper, whole);
  REQUIRE(nlohmann::json::parse(to_json(SweepReport{"", "", &sweeper, &whole, samples}))["equal"] == false);
  std::mt19937 random(GENERATE(1U, 2U, 3U, 4U, 5U));
  std::vector<SweepStatistics> parts;
  for (std::int64_t first = 0; first < samples;) {
    const auto count = std::min<std::int64_t>(1 + static_cast<std::int64_t>(random() % 9), samples - first);
    parts.push_back(sweeper.nothing());
    sweeper.add(parts.back(), source, first, count);
    first += count;
  }
  std::shuffle(parts.begin(), parts.end(), random);
  while (parts.size() > 1) {  // a random tree of merges, each part through its text
    const std::size_t from = random() % parts.size(), into = (from + 1 + random() % (parts.size() - 1)) % parts.size();
    SweepStatistics read = sweeper.nothing();
    read.read(parts[from].text(), "part");
    parts[into].merge(read);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(from));
  }
  REQUIRE(parts[0].text() == expected);
  REQUIRE(whole_report(sweeper, parts[0]) == report);
}

TEST_CASE("Threads and batches do not show in a sweep") {
  const SweepFixture fixture;
  std::string first;
  for (const SweepOptions& options :
       {SweepOptions{.threads = 1, .batch = 0, .golden = Golden::with}, SweepOptions{.threads = 3, .batch = 7, .golden = Golden::with},
        SweepOptions{.threads = 2, .batch = 1, .golden = Golden::with}}) {
    const Sweeper sweeper = fixture.sweeper(options);
    SampleSource source = fixture.source();
    SweepState state({}, sweeper, source);
    sweep(state, sweeper, source);
    const std::string report = whole_report(sweeper, state.statistics);
    if (first.empty()) first = report;
    REQUIRE(report == first);
  }
}

TEST_CASE("A sweep says what compare says of the whole data set at once") {
  const SweepFixture fixture;
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  SweepState state({}, sweeper, source);
  sweep(state, sweeper, source);
  const std::vector<Tensor> inputs{read_npy(fixture.file)};
  for (std::size_t b = 1; b < 3; ++b) {
    const CompareReport compared =
        compare_backends(fixture.network.model, sweeper.backends()[0], sweeper.backends()[b], inputs, {.golden = Golden::with});
    const BackendSums& sums = state.statistics.backends[b];
    REQUIRE(compared.layers.size() == sums.tensors.size());
    for (std::size_t t = 0; t < sums.tensors.size(); ++t) {
      const LayerDifference& layer = compared.layers[t];
      INFO(sweeper.backends()[b].name << " " << layer.name);
      CHECK(sweeper.tensors()[t].name == layer.name);
      CHECK(sums.tensors[t].values == layer.accumulated.values);
      CHECK(sums.tensors[t].differing == layer.accumulated.differing);
      CHECK(sums.tensors[t].histogram == layer.accumulated.histogram);
      CHECK(std::abs(sums.tensors[t].largest_lsb()) == std::abs(layer.accumulated.largest_lsb.value()));
      CHECK(close(sums.tensors[t].golden.cosine(), layer.golden->b.cosine, 1e-12));
      CHECK(close(sums.tensors[t].golden.root_mean_square_error(), layer.golden->b.root_mean_square_error, 1e-12));
      CHECK(close(sums.tensors[t].golden.sqnr_db(), layer.golden->b.sqnr_db, 1e-9));
      CHECK(close(sums.tensors[t].golden.relative_euclidean(), layer.golden->b.relative_euclidean, 1e-12));
      CHECK(sums.tensors[t].golden.largest_error == layer.golden->b.max_absolute_error);
    }
    CHECK(sums.tensors.back().differing > 0);
    REQUIRE(compared.outputs.size() == sums.answers.size());
    CHECK(sums.answers[0].as_reference == compared.outputs[0].same_top);
    CHECK(sums.answers[0].samples == samples);
  }
}

TEST_CASE("A sweep's sums of differences, samples and events, by hand") {
  const SweepFixture fixture;
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  SweepState state({}, sweeper, source);
  sweep(state, sweeper, source);
  const std::vector<Tensor> inputs{read_npy(fixture.file)};
  const RunOptions all{.keep_all = true, .count_events = true};
  const Trace a = run(fixture.network.model, sweeper.backends()[0].backend, inputs, all);
  const Trace b = run(fixture.network.model, sweeper.backends()[1].backend, inputs, all);
  for (const std::size_t t : {std::size_t{1}, std::size_t{2}}) {
    const auto index = static_cast<std::size_t>(sweeper.tensors()[t].index);
    const auto x = a.tensors[index]->values<std::int8_t>(), y = b.tensors[index]->values<std::int8_t>();
    std::int64_t sum = 0, magnitudes = 0;
    std::vector<bool> differs(samples);
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += y[i] - x[i];
      magnitudes += std::abs(y[i] - x[i]);
      if (x[i] != y[i]) differs[i / (x.size() / samples)] = true;
    }
    const TensorSums& sums = state.statistics.backends[1].tensors[t];
    REQUIRE(sums.lsb_sum == sum);
    REQUIRE(sums.lsb_magnitude_sum == magnitudes);
    REQUIRE(magnitudes > 0);
    REQUIRE(sums.samples_differing == std::count(differs.begin(), differs.end(), true));
    REQUIRE(sums.first_sample == std::find(differs.begin(), differs.end(), true) - differs.begin());
  }
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(state.statistics.backends[1].events[i].outputs == b.events[i].outputs);
    REQUIRE(state.statistics.backends[1].events[i].saturated_outputs == b.events[i].saturated_outputs);
  }
}

TEST_CASE("Integers against reals are compared as real values") {
  const SweepFixture fixture;
  const Sweeper sweeper(fixture.network.model, sheets({"tflite_double", "float"}), {.batch = 8});
  SampleSource source = fixture.source();
  SweepState state({}, sweeper, source);
  sweep(state, sweeper, source);
  const TensorSums& output = state.statistics.backends[1].tensors.back();
  CHECK(!sweeper.as_integers(1, 2));
  CHECK(output.differing > 0);
  CHECK(output.reference.values == output.values);
  CHECK(output.histogram == LsbHistogram());
  const CompareReport compared = compare_backends(fixture.network.model, sweeper.backends()[0], sweeper.backends()[1],
                                                  std::vector<Tensor>{read_npy(fixture.file)}, {});
  CHECK(output.differing == compared.layers.back().accumulated.differing);
  CHECK(close(output.reference.cosine(), compared.layers.back().accumulated.metrics.cosine, 1e-12));
}

TEST_CASE("Values that are not finite are counted apart") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  RealSums sums;
  sums.add(std::vector<float>{3, inf, 1, nan, 0}, std::vector<float>{4, 1, -inf, nan, 1});
  CHECK(sums.values == 2);
  CHECK(sums.non_finite == 3);
  CHECK(sums.judged.to_double() == 9);
  CHECK(sums.truth.to_double() == 17);
  CHECK(sums.product.to_double() == 12);
  CHECK(sums.largest_error == 1);
  CHECK(sums.root_mean_square_error() == 1);
}

TEST_CASE("Of two largest differences the positive one, whichever came first") {
  TensorSums a, b;
  a.lowest_lsb = -3;
  b.highest_lsb = 3;
  TensorSums ab = a, ba = b;
  ab.merge(b);
  ba.merge(a);
  CHECK(ab.largest_lsb() == 3);
  CHECK(ba.largest_lsb() == 3);
  ab.lowest_lsb = std::numeric_limits<std::int64_t>::min();
  CHECK(ab.largest_lsb() == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("Statistics of extreme values read back") {
  const SweepFixture fixture;
  const Sweeper sweeper = fixture.sweeper();
  SweepStatistics statistics = sweeper.nothing();
  statistics.samples.add({3, 9});
  statistics.samples.add({0, 1});
  TensorSums& sums = statistics.backends[2].tensors[1];
  sums.lowest_lsb = std::numeric_limits<std::int64_t>::min();
  sums.highest_lsb = std::numeric_limits<std::int64_t>::max();
  sums.lsb_sum = -(Int128{1} << 100);
  sums.lsb_magnitude_sum = (Int128{1} << 120) + 1;
  sums.first_sample = 0;
  sums.golden.add(std::vector<float>{0x1p127F, 0x1p-149F}, std::vector<float>{-0x1p127F, 0x1p-149F});
  SweepStatistics read = sweeper.nothing();
  read.read(statistics.text(), "text");
  CHECK(read.text() == statistics.text());
  CHECK(read.backends[2].tensors[1] == sums);
  CHECK(read.samples == statistics.samples);
}

TEST_CASE("Sets of samples") {
  SampleSet set;
  set.add({4, 6});
  set.add({8, 9});
  set.add({6, 8});
  set.add({0, 1});
  set.add({2, 2});
  CHECK(std::ranges::equal(set.ranges(), std::vector<SampleRange>{{0, 1}, {4, 9}}));
  CHECK(set.count() == 6);
  CHECK(std::ranges::equal(set.missing(12).ranges(), std::vector<SampleRange>{{1, 4}, {9, 12}}));
  CHECK(set.missing(9).count() == 3);
  for (const SampleRange& twice : {SampleRange{0, 1}, {3, 5}, {5, 6}, {8, 20}, {0, 20}}) CHECK_THROWS_AS(set.add(twice), Error);
  CHECK(set.count() == 6);
}

TEST_CASE("What was counted is not counted twice") {
  const SweepFixture fixture;
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  SweepStatistics a = sweeper.nothing(), b = sweeper.nothing();
  sweeper.add(a, source, 0, 8);
  sweeper.add(b, source, 4, 8);
  const std::string before = a.text();
  CHECK_THROWS_WITH(a.merge(b), contains_text("samples 4 to 11"));
  CHECK(a.text() == before);
}

TEST_CASE("A network that remembers is reset for every sample: their order does not matter") {
  const Model model = parse_json_model(file_text(seed_directory("json_model_fuzz") / "svdf.json"), "/nonexistent", "svdf");
  const Scratch folder;
  write_npy(folder.path() / "data.npy", random_batch(model, 12, 1));
  SampleSource source(model, std::vector{folder.path() / "data.npy"});
  const Sweeper sweeper(model, sheets({"tflite_double", "float"}), {.batch = 12});
  SweepStatistics forwards = sweeper.nothing(), backwards = sweeper.nothing();
  sweeper.add(forwards, source, 0, 12);
  for (std::int64_t first = 12; first-- > 0;) sweeper.add(backwards, source, first, 1);
  CHECK(forwards.text() == backwards.text());
  CHECK(forwards.backends[1].tensors.back().values > 0);
}

TEST_CASE("A text report fits 100 columns") {
  const SweepFixture fixture;
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  SweepState state({}, sweeper, source);
  sweep(state, sweeper, source, {.stop = [n = 0]() mutable { return n++ == 2; }});
  const SweepReport report{"a model with a long name, in a long folder name/model.json", "data", &sweeper, &state.statistics, samples};
  std::istringstream text(to_text(report));
  std::size_t longest = 0;
  for (std::string line; std::getline(text, line);) longest = std::max(longest, line.size());
  CHECK(longest <= 100);
  CHECK(longest > 60);
  CHECK_THAT(to_text(report), contains_text("INCOMPLETE: of 40 samples these are missing: 8 to 39"));
  CHECK(nlohmann::json::parse(to_json(report))["missing"] == nlohmann::json::parse("[[8, 39]]"));
  CHECK(!report.complete());
}
