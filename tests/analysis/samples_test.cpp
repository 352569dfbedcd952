// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/samples.hpp"

#include <algorithm>

#include "lastbit/error.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"
#include "support/two_convolutions.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

constexpr std::int64_t samples = 40;

/// A network with one input [1,12,12,8], and samples of it in one file.
struct Fixture {
  Fixture() {
    std::mt19937 random(7);
    write_npy(file, random_int8({samples, 1, 12, 12, 8}, random));
  }
  [[nodiscard]] SampleSource source() const { return SampleSource(model, std::vector{file}); }

  Scratch folder;
  Model model = TwoConvolutions(3, 0.5).model;
  std::filesystem::path file = folder.path() / "data.npy";
};

}  // namespace

TEST_CASE("Samples are read a few at a time from one file or many, in either order of the axes") {
  const Fixture fixture;
  const Model& model = fixture.model;
  const Tensor whole = read_npy(fixture.file);
  const std::size_t size = whole.bytes().size() / samples;
  const std::filesystem::path parts = fixture.folder.path() / "parts";
  std::filesystem::create_directory(parts);
  const auto part = [&](std::int64_t first, std::int64_t count, bool alone) {
    Tensor tensor(ElementType::int8, alone ? Shape{1, 12, 12, 8} : Shape{count, 1, 12, 12, 8});
    std::ranges::copy(whole.bytes().subspan(static_cast<std::size_t>(first) * size, tensor.bytes().size()), tensor.bytes().begin());
    return tensor;
  };
  write_npy(parts / "a.npy", part(0, 13, false));
  write_npy(parts / "b.npy", part(13, 1, true));
  write_npy(parts / "c.npy", part(14, 1, false));
  write_npy(parts / "d.npy", part(15, 25, false));
  SampleSource one = fixture.source(), many(model, std::vector{parts});
  REQUIRE(many.samples() == samples);
  for (std::int64_t first = 0; first < samples; first += 3) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{2}, std::min<std::int64_t>(17, samples - first)}) {
      if (first + count > samples) continue;
      const Tensor expected = part(first, count, false);
      REQUIRE(one.read(first, count)[0] == expected);
      REQUIRE(many.read(first, count)[0] == expected);
    }
  }
  CHECK(one.identity() != many.identity());
  CHECK(one.identity() == fixture.source().identity());
}

TEST_CASE("Data that does not fit the network is refused by the name of its file") {
  const Fixture fixture;
  const Model& model = fixture.model;
  const std::filesystem::path folder = fixture.folder.path() / "mixed";
  std::filesystem::create_directory(folder);
  const auto refusal = [&](const std::filesystem::path& place) {
    const auto found = refusal_of([&] { const SampleSource source(model, std::vector{place}); });
    REQUIRE(found);
    return found->message;
  };
  CHECK_THAT(refusal(folder), contains_text("mixed: no .npy file"));
  CHECK_THAT(refusal(folder / "none.npy"), contains_text("none.npy: No such file"));
  write_npy(folder / "a.npy", Tensor(ElementType::int8, {1, 12, 12, 8}));
  write_npy(folder / "b.npy", Tensor(ElementType::float32, {2, 1, 12, 12, 8}));
  CHECK_THAT(refusal(folder), contains_text("b.npy: float32, but a.npy is int8"));
  write_npy(folder / "b.npy", Tensor(ElementType::int8, {2, 12, 12, 4}));
  CHECK_THAT(refusal(folder), contains_text("b.npy: shape 2x12x12x4"));
  write_npy(folder / "b.npy", Tensor(ElementType::int16, {2, 1, 12, 12, 8}));
  CHECK_THAT(refusal(folder), contains_text("b.npy: int16"));
  write_npy(folder / "b.npy", Tensor(ElementType::int8, {2, 1, 12, 12, 8}));
  SampleSource source(model, std::vector{folder});
  REQUIRE(source.samples() == 3);
  std::filesystem::resize_file(folder / "b.npy", 500);
  CHECK_THROWS_WITH((void)source.read(0, 3), contains_text("b.npy"));
}
