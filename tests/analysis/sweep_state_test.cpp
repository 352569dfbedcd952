// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The state of a sweep, from which it goes on where it was: whole after every interruption, and refused where it is another sweep's or damaged.
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <limits>

#include "lastbit/error.hpp"
#include "lastbit/rules.hpp"
#include "model/checksum.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/sweep_fixture.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

void write_text(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("An interrupted sweep goes on where it was, with other batches and threads") {
  const SweepFixture fixture;
  const Sweeper sweeper = fixture.sweeper(),
                others = fixture.sweeper({.threads = 2, .batch = 3, .golden = Golden::with, .count_events = true});
  SampleSource source = fixture.source();
  SweepState whole({}, sweeper, source);
  sweep(whole, sweeper, source);
  const std::filesystem::path file = fixture.folder.path() / "state.json";
  for (int rounds = 0;; ++rounds) {
    const Sweeper& now = rounds % 2 == 0 ? sweeper : others;
    SweepState state(file, now, source);
    REQUIRE(state.statistics.samples.count() == std::min<std::int64_t>(samples, rounds / 2 * 14 + rounds % 2 * 8));
    int batches = 0;
    sweep(state, now, source, {.interval = std::chrono::milliseconds(0), .stop = [&] { return batches++ == 2; }});
    if (state.missing().count() > 0) continue;
    REQUIRE(rounds > 3);
    REQUIRE(state.statistics.text() == whole.statistics.text());
    break;
  }
  SweepState finished(fixture.folder.path() / "state.json", sweeper, source);
  REQUIRE(finished.missing().count() == 0);
}

TEST_CASE("A sweep that meets a bad sample keeps what came before it") {
  const SweepFixture fixture;
  Tensor data(ElementType::float32, {10, 1, 12, 12, 8});
  const std::filesystem::path file = fixture.folder.path() / "bad.npy", kept = fixture.folder.path() / "state.json";
  data.values<float>()[5 * 12 * 12 * 8 + 3] = std::numeric_limits<float>::quiet_NaN();
  write_npy(file, data);
  const Sweeper sweeper = fixture.sweeper({.batch = 2});
  SampleSource source(fixture.network.model, std::vector{file});
  {
    SweepState state(kept, sweeper, source);
    CHECK_THROWS_WITH(sweep(state, sweeper, source, {.interval = std::chrono::hours(1)}),
                      contains_text("bad.npy: value 3 of sample 5 is NaN"));
  }
  const SweepState again(kept, sweeper, source);
  CHECK(again.statistics.samples.count() == 4);
  CHECK(std::ranges::equal(again.missing().ranges(), std::vector<SampleRange>{{4, 10}}));
}

TEST_CASE("A state of something else is refused in one line that says of what") {
  const SweepFixture fixture;
  const std::filesystem::path file = fixture.folder.path() / "state.json";
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  {
    SweepState state(file, sweeper, source);
    sweep(state, sweeper, source, {.stop = [n = 0]() mutable { return n++ == 2; }});
  }
  const auto refused = [&](const Sweeper& other, const SampleSource& data, const std::string& why) {
    const auto refusal = refusal_of([&] { const SweepState again(file, other, data); });
    INFO(why << ": " << (refusal ? refusal->message : "accepted"));
    REQUIRE(refusal);
    CHECK(refusal->says(why));
    CHECK(refusal->says("state.json"));
    CHECK(refusal->is_one_line());
  };
  const TwoConvolutions another(4, 0.5);
  refused(Sweeper(another.model, sheets({"tflite_double", "tflite_single", "vipnano_v8"}), {.golden = Golden::with, .count_events = true}),
          source, "another model");
  refused(Sweeper(fixture.network.model, sheets({"tflite_double", "tflite_single"}), {.golden = Golden::with, .count_events = true}),
          source, "other backends");
  auto changed = sheets({"tflite_double", "tflite_single", "vipnano_v8"});
  set_rule(changed[2].backend, "*.i8.per_channel", "float_scale");
  refused(Sweeper(fixture.network.model, changed, {.golden = Golden::with, .count_events = true}), source, "other backends");
  refused(fixture.sweeper({.golden = Golden::without, .count_events = true}), source, "'golden'");
  refused(fixture.sweeper({.golden = Golden::with, .count_events = false}), source, "'events'");
  const std::filesystem::path moved = fixture.folder.path() / "other.npy";
  write_npy(moved, random_batch(fixture.network.model, samples, 8));
  refused(sweeper, SampleSource(fixture.network.model, std::vector{moved}), "other data");
  write_npy(fixture.file, random_batch(fixture.network.model, samples, 9));
  refused(sweeper, fixture.source(), "other data");
}

TEST_CASE("A damaged state is refused in one line") {
  const SweepFixture fixture;
  const std::filesystem::path file = fixture.folder.path() / "state.json";
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  std::string counted;
  {
    SweepState state(file, sweeper, source);
    sweep(state, sweeper, source);
    counted = state.statistics.text();
  }
  const std::string good = file_text(file);
  const std::vector<std::string> damaged{"",
                                         good.substr(0, good.size() / 2),
                                         replaced(good, "sweep.state.v2", "sweep.state.v1"),
                                         replaced(good, "[[0,40]]", "[[0,41]]"),
                                         replaced(good, "[[0,40]]", "[[0,20],[20,40]]"),
                                         replaced(good, "[[0,40]]", "[[20,10]]"),
                                         replaced(good, "[[0,40]]", "[[-1,40]]"),
                                         replaced(good, "\"values\":46080", "\"values\":-1"),
                                         replaced(good, "*16^", "*17^"),
                                         replaced(good, "\"lsb_sum\":\"0\"", "\"lsb_sum\":\"99999999999999999999999999999999999999999\""),
                                         replaced(good, "\"tensors\":[{", "\"tensors\":[{\"more\":1,"),
                                         replaced(good, "\"answers\":[{", "\"answers\":[{},{")};
  for (const std::string& text : damaged) {
    write_text(file, text);
    const auto refusal = refusal_of([&] { const SweepState again(file, sweeper, source); });
    REQUIRE(refusal);
    INFO(refusal->message);
    CHECK(refusal->is_one_line());
    CHECK(refusal->says("state.json"));
  }
  write_text(file, good);
  const SweepState again(file, sweeper, source);
  CHECK(again.statistics.text() == counted);
}

TEST_CASE("No digit of a state can be another one") {
  const SweepFixture fixture;
  const std::filesystem::path file = fixture.folder.path() / "state.json";
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  {
    SweepState state(file, sweeper, source);
    sweep(state, sweeper, source);
  }
  const std::string good = file_text(file);
  int digits = 0, accepted = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (std::isxdigit(static_cast<unsigned char>(good[i])) == 0) continue;
    std::string text = good;
    text[i] = text[i] == '7' ? '3' : '7';
    write_text(file, text);
    const auto refusal = refusal_of([&] { const SweepState again(file, sweeper, source); });
    if (!refusal) UNSCOPED_INFO("accepted: digit " << i << " behind " << good.substr(i < 40 ? 0 : i - 40, 40));
    accepted += refusal ? 0 : 1;
    ++digits;
  }
  CHECK(digits > 1000);
  CHECK(accepted == 0);
}

TEST_CASE("Counts that contradict each other are refused, whatever the checksum says") {
  const SweepFixture fixture;
  const std::filesystem::path file = fixture.folder.path() / "state.json";
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  {
    SweepState state(file, sweeper, source);
    sweep(state, sweeper, source);
  }
  const std::string good = file_text(file), rest = good.substr(good.find('\n') + 1);
  const auto refusal_with = [&](const std::string& changed) {
    Checksum sum;
    sum.add(changed);
    write_text(file, R"({"format": "lastbit.sweep.state.v2", "checksum": ")" + sum.text() + "\",\n" + changed);
    return refusal_of([&] { const SweepState again(file, sweeper, source); });
  };
  CHECK_FALSE(refusal_with(rest));
  const std::size_t first = rest.find("\"first_sample\"");
  REQUIRE(first != std::string::npos);
  const auto with_count = [&](const std::string& name, const std::string& number) {
    const std::size_t at = rest.find(':', rest.rfind("\"" + name + "\":", first)) + 1;
    return refusal_with(rest.substr(0, at) + number + rest.substr(rest.find(',', at)));
  };
  for (const auto& [name, number, why] :
       std::vector<std::array<std::string, 3>>{{"samples_differing", "0", "contradict each other"},
                                               {"samples_differing", "9999999999", "other numbers"},
                                               {"differing", "0", "contradict each other"},
                                               {"values", "46081", "other numbers of values"},
                                               {"histogram", "[7", "contradict each other"},
                                               {"non_finite", "5", "contradict each other"},
                                               {"saturated_outputs", "9223372036854775807", "a count is needed"}}) {
    INFO(name << " " << number);
    const auto refusal = with_count(name, number);
    REQUIRE(refusal);
    CHECK(refusal->says(why));
  }
}

TEST_CASE("A state belongs to one sweep at a time") {
  const SweepFixture fixture;
  const std::filesystem::path file = fixture.folder.path() / "state.json";
  const Sweeper sweeper = fixture.sweeper();
  SampleSource source = fixture.source();
  const auto second = [&] { return refusal_of([&] { const SweepState again(file, sweeper, source); }); };
  {
    SweepState first(file, sweeper, source);
    REQUIRE(second());
    CHECK(second()->says("state.json: another process is at work on it"));
    sweep(first, sweeper, source, {.interval = std::chrono::milliseconds(0)});  // replaced many times
    REQUIRE(second());
    CHECK(second()->says("another process is at work on it"));
  }
  CHECK_FALSE(second());
  CHECK(std::distance(std::filesystem::directory_iterator(fixture.folder.path()), {}) ==
        2);  // the data, the state, and nothing left behind
}
