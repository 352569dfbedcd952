// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Samples of every form: arrays, arrays by name, raw values, images.
#include "lastbit/samples.hpp"

#include <bit>
#include <cstring>

#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "support/catch.hpp"
#include "support/image_file.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"
#include "support/zip_file.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t elements = 24;

/// A network with one input, [1,2,4,3].
Model one_input(ElementType type = ElementType::int8) {
  ModelBuilder builder("one");
  const auto x = builder.input({"image:0", type, {1, 2, 4, 3}, {{1.0 / 128}, {0}}});
  return builder.finished({builder.operation(OperationKind::relu, {x}, {"y", type, {1, 2, 4, 3}, {{1.0 / 128}, {0}}})});
}

Model two_inputs() {
  ModelBuilder builder("two");
  const auto a = builder.input({"a", ElementType::int8, {1, 4}, {{1}, {0}}});
  const auto b = builder.input({"b", ElementType::int8, {1, 4}, {{1}, {0}}});
  return builder.finished({builder.operation(OperationKind::add, {a, b}, {"y", ElementType::int8, {1, 4}, {{1}, {0}}})});
}

Tensor counted(Shape shape, int first = 0) {
  Tensor tensor(ElementType::int8, std::move(shape));
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(first++ % 100);
  return tensor;
}

std::string text_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()}; }

/// All samples of a place, and what is said of them.
struct Read {
  Tensor values;
  std::vector<std::string> readings;
};
Read all_of(const Model& model, const fs::path& place, const ImageOptions& images = {}) {
  SampleSource source(model, std::vector{place}, images);
  return {source.read(0, source.samples())[0], source.readings()};
}

std::string refusal(const Model& model, const fs::path& place, const ImageOptions& images = {}) {
  const auto found = refusal_of([&] { static_cast<void>(all_of(model, place, images)); });
  REQUIRE(found);
  CHECK(found->is_one_line());
  return found->message;
}

}  // namespace

TEST_CASE("an array is a sample, or several, with a leading 1 or without") {
  const Scratch folder;
  const Model model = one_input();
  const fs::path file = folder.path() / "x.npy";
  for (const Shape& shape : {Shape{1, 2, 4, 3}, Shape{2, 4, 3}, Shape{1, 1, 2, 4, 3}}) {
    write_npy(file, counted(shape));
    CHECK(all_of(model, file).values == counted({1, 1, 2, 4, 3}));
  }
  for (const Shape& shape : {Shape{3, 1, 2, 4, 3}, Shape{3, 2, 4, 3}}) {
    write_npy(file, counted(shape));
    CHECK(all_of(model, file).values == counted({3, 1, 2, 4, 3}));
  }
  CHECK(all_of(model, file).readings.empty());
  for (const Shape& shape : {Shape{4, 3}, Shape{3, 2, 4, 1}, Shape{2, 2, 2, 4, 3}}) {
    write_npy(file, counted(shape));
    CHECK_THAT(refusal(model, file), contains_text("x.npy: shape " + shape.text() + "; input 'image:0' needs 1x2x4x3"));
  }
  CHECK(samples_in({4, 4}, {4}) == 4);
  CHECK_FALSE(samples_in({}, {1}));
}

TEST_CASE("of a .npz it is the array of the input's name, its file name, its only one, or the one of its number") {
  const Scratch folder;
  const Model model = one_input(), two = two_inputs();
  const fs::path file = folder.path() / "x.npz";
  const std::string array = npy_text(counted({2, 1, 2, 4, 3})), other = npy_text(counted({7}));
  for (const char* name : {"image:0", "image_0"}) {
    write_bytes(file, zip_text({stored("z.npy", other), packed(std::string(name) + ".npy", array)}));
    CHECK(all_of(model, file).values == counted({2, 1, 2, 4, 3}));
  }
  write_bytes(file, zip_text({packed("whatever.npy", array)}));
  CHECK(all_of(model, file).values == counted({2, 1, 2, 4, 3}));
  write_bytes(file, zip_text({stored("z.npy", other), stored("arr_0.npy", array)}));
  CHECK_THAT(refusal(model, file), contains_text("x.npz: holds no array 'image:0', but 'z', 'arr_0'"));

  const std::string a = npy_text(counted({1, 4})), b = npy_text(counted({1, 4}, 50));
  for (const std::vector<std::string>& names : {std::vector<std::string>{"a", "b"}, {"arr_0", "arr_1"}}) {
    write_bytes(file, zip_text({stored(names[1] + ".npy", b), stored(names[0] + ".npy", a)}));
    SampleSource source(two, places_of_inputs(two, file));
    CHECK(source.read(0, 1) == std::vector<Tensor>{counted({1, 1, 4}), counted({1, 1, 4}, 50)});
  }
}

TEST_CASE("raw values are of the input's type or float32, and as many samples as they fill") {
  const Scratch folder;
  const Model model = one_input();
  const fs::path file = folder.path() / "x.bin";
  for (const std::int64_t count : {1, 2, 3, 4, 5}) {
    const Tensor codes = counted({count, 1, 2, 4, 3}, count == 4 ? -100 : 0);
    write_bytes(file, text_of(codes));
    const Read read = all_of(model, file);
    CHECK(read.values == codes);
    CHECK(read.readings == std::vector<std::string>{"input 'image:0': raw values, read as int8"});
  }
  std::vector<float> values(2 * elements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 64 - 0.25F;
  const Tensor real = Tensor::from<float>({2, 1, 2, 4, 3}, values);
  write_bytes(file, text_of(real));
  CHECK(all_of(model, file).values == real);
  CHECK(all_of(model, file).readings == std::vector<std::string>{"input 'image:0': raw values, read as float32"});
  values[3] = std::numeric_limits<float>::quiet_NaN();
  write_bytes(file, text_of(Tensor::from<float>({2, 1, 2, 4, 3}, values)));
  CHECK_THAT(refusal(one_input(ElementType::float32), file), contains_text("x.bin: value 3 of sample 0 is NaN"));
  for (const std::size_t size : {0U, 1U, 23U, 25U, 95U}) {
    write_bytes(file, std::string(size, 'a'));
    CHECK_THAT(refusal(model, file), contains_text("; a sample of input 'image:0' has 24 (int8) or 96 (float32)"));
  }
  write_bytes(file, std::string(25, 'a'));
  CHECK_THAT(refusal(one_input(ElementType::float32), file), contains_text("25 bytes; a sample of input 'image:0' has 96 (float32)"));
}

TEST_CASE("images are samples in the order of their names, and what their pixels became is said") {
  const Scratch folder;
  const Model model = one_input();
  const Image a = test_image(4, 2, 3), b = test_image(8, 8, 3);
  write_bytes(folder.path() / "b.PNG", as_png(a));
  write_bytes(folder.path() / "a.ppm", as_netpbm(resized(b, {4, 2})));
  write_bytes(folder.path() / "readme.txt", "no sample");
  const Read read = all_of(model, folder.path());
  CHECK(read.readings == std::vector<std::string>{"input 'image:0': images: rgb; codes are the pixels less 128"});
  REQUIRE(read.values.shape() == Shape{2, 1, 2, 4, 3});
  for (std::size_t i = 0; i < elements; ++i) {
    REQUIRE(int{read.values.values<std::int8_t>()[i]} == int{resized(b, {4, 2}).pixels[i]} - 128);
    REQUIRE(int{read.values.values<std::int8_t>()[elements + i]} == int{a.pixels[i]} - 128);
  }
  write_bytes(folder.path() / "a.ppm", as_netpbm(b));
  CHECK_THAT(refusal(model, folder.path()), contains_text("a.ppm: an image of 8x8; input 'image:0' needs 4x2: --resize 4x2"));
  CHECK(all_of(model, folder.path(), {.resize = ImageSize{4, 2}}).values == read.values);
  const Tensor real = all_of(model, folder.path() / "b.PNG", {.mean = {127.5}, .std = {127.5}}).values;
  REQUIRE(real.type() == ElementType::float32);
  for (std::size_t i = 0; i < elements; ++i) REQUIRE(real.values<float>()[i] == (static_cast<float>(a.pixels[i]) - 127.5F) / 127.5F);
  const auto identity = [&](const ImageOptions& images) {
    return SampleSource(model, std::vector{folder.path() / "b.PNG"}, images).identity();
  };
  CHECK(identity({.mean = {1}}) == identity({.mean = {1}}));
  for (const ImageOptions& images : {ImageOptions{.mean = {2}}, ImageOptions{.std = {1}}, ImageOptions{.mean = {1}, .colors = Colors::bgr}})
    CHECK(identity({.mean = {1}}) != identity(images));
  write_bytes(folder.path() / "c.bin", std::string(elements, 'a'));
  CHECK_THAT(refusal(model, folder.path()), contains_text("a.ppm and c.bin; the files of one input need one kind"));
}

TEST_CASE("a folder holds a file for each input, whatever its form") {
  const Scratch folder;
  const Model two = two_inputs();
  write_bytes(folder.path() / "a.bin", text_of(counted({2, 1, 4})));
  write_npy(folder.path() / "b.npy", counted({2, 4}, 9));
  SampleSource source(two, places_of_inputs(two, folder.path()));
  CHECK(source.read(0, 2) == std::vector<Tensor>{counted({2, 1, 4}), counted({2, 1, 4}, 9)});
  CHECK(source.bytes_per_sample() == 8);
  write_bytes(folder.path() / "a.npz", "");
  CHECK_THROWS_WITH(places_of_inputs(two, folder.path()), contains_text("for one input"));
}
