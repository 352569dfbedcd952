// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The forms of inputs on the command line: what each gives is what the array of the same values gives.
#include <algorithm>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/digit_images.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"
#include "support/zip_file.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

const std::string digits = (source_directory() / "examples/digits/model.json").string();
constexpr std::size_t pixels = 64;

std::string bytes_text(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()}; }

/// Image `number`, each pixel `times` times in both directions.
std::string pgm(const Tensor& codes, std::size_t number, std::size_t times = 1) {
  std::string text = "P5 " + std::to_string(8 * times) + " " + std::to_string(8 * times) + " 255\n";
  for (std::size_t y = 0; y < 8 * times; ++y)
    for (std::size_t x = 0; x < 8 * times; ++x)
      text += static_cast<char>(codes.values<std::int8_t>()[number * pixels + y / times * 8 + x / times] + 128);
  return text;
}

/// In the working folder: x.npy, three images.
struct Inputs {
  Shell shell;
  Tensor codes = digit_images(3);
  Tensor expected;

  Inputs() {
    write_npy(shell.file("x.npy"), codes);
    expected = outputs("x.npy");
  }
  [[nodiscard]] Tensor outputs(const std::string& input) const {
    INFO(input);
    REQUIRE(shell.status("run " + digits + " --backend tflite_double --input " + input) == 0);
    return read_npy(shell.file("probabilities.npy"));
  }
  /// Of what fails.
  [[nodiscard]] std::string refusal(const std::string& words) const {
    INFO(words);
    CHECK(shell.status(words) == 2);
    const std::string said = shell.text("err");
    CHECK(std::ranges::count(said, '\n') == 1);
    return said;
  }
  [[nodiscard]] std::string run_refusal(const std::string& words) const {
    return refusal("run " + digits + " --backend tflite_double --input " + words);
  }
};

}  // namespace

TEST_CASE("an .npz, raw values and arrays without the leading 1 are inputs as the .npy is") {
  const Inputs in;
  write_bytes(in.shell.file("x.npz"), zip_text({packed("image.npy", npy_text(in.codes))}));
  write_bytes(in.shell.file("x.bin"), bytes_text(in.codes));
  Tensor flat = in.codes;
  flat.reshape({3, 8, 8, 1});
  write_npy(in.shell.file("flat.npy"), flat);
  for (const char* file : {"x.npz", "x.bin", "flat.npy", "image=x.npz"}) CHECK(in.outputs(file) == in.expected);
  CHECK(in.outputs("x.bin") == in.expected);
  CHECK_THAT(in.shell.text("out"), contains_text("input 'image': raw values, read as int8\n"));
  write_bytes(in.shell.file("x.bin"), bytes_text(in.codes) + "!");
  CHECK_THAT(in.run_refusal("x.bin"), contains_text("x.bin: 193 bytes; a sample of input 'image' has 64 (int8) or 256 (float32)"));
  write_bytes(in.shell.file("x.npz"), "PK");
  CHECK_THAT(in.run_refusal("x.npz"), contains_text("x.npz: not a zip file"));
}

TEST_CASE("images are inputs: as codes, by mean and deviation, resized") {
  const Inputs in;
  std::filesystem::create_directory(in.shell.file("photos"));
  for (std::size_t i = 0; i < 3; ++i) write_bytes(in.shell.file("photos/" + std::to_string(i) + ".pgm"), pgm(in.codes, i));
  CHECK(in.outputs("photos") == in.expected);
  CHECK_THAT(in.shell.text("out"), contains_text("input 'image': images: gray; codes are the pixels less 128\n"));
  CHECK(in.outputs("photos --std 255 --mean 0") == in.expected);  // the input's scale is 1/255
  CHECK_THAT(in.shell.text("out"),
             contains_text("images: gray; real values are (pixel - mean) / std\ninput 'image': real values 0 … 1 become"));
  CHECK(in.outputs("photos --std 255 --json").shape() == in.expected.shape());
  CHECK_THAT(in.shell.text("out"), contains_text("\"readings\": ["));
  write_bytes(in.shell.file("large.pgm"), pgm(in.codes, 0, 2));
  CHECK_THAT(in.run_refusal("large.pgm"), contains_text("large.pgm: an image of 16x16; input 'image' needs 8x8: --resize 8x8"));
  Tensor first = in.outputs("large.pgm --resize 8x8");  // four equal pixels have themselves as their mean
  CHECK(std::ranges::equal(first.bytes(), in.expected.bytes().first(first.bytes().size())));
  CHECK_THAT(in.run_refusal("x.npy --mean 3"), contains_text("--mean: no input is an image"));
  CHECK_THAT(in.run_refusal("large.pgm --resize 8"), contains_text("--resize 8: must be a width and a height"));
  CHECK_THAT(in.run_refusal("large.pgm --mean 1,x"), contains_text("--mean 1,x: must be a number"));
  CHECK_THAT(in.run_refusal("large.pgm --channels bgr"), contains_text("--channels: input 'image' has one channel"));
  CHECK_THAT(in.run_refusal("large.pgm --channels hsv"), contains_text("--channels"));
}

TEST_CASE("every command takes a folder of images") {
  const Inputs in;
  std::filesystem::create_directory(in.shell.file("photos"));
  for (std::size_t i = 0; i < 3; ++i) write_bytes(in.shell.file("photos/" + std::to_string(i) + ".pgm"), pgm(in.codes, i));
  const std::vector<std::string> commands{"compare " + digits + " --a tflite_double --b vipnano_v8 --json",
                                          "explain " + digits + " --a tflite_double --b vipnano_v8",
                                          "sweep " + digits + " --backend tflite_double,vipnano_v8 --json",
                                          "prove " + digits + " --backend tflite_double",
                                          "shrink " + digits + " --a tflite_double --b vipnano_v8 --force -o shrunk",
                                          "gen-golden " + digits + " --backend tflite_double --force -o store"};
  for (const std::string& command : commands) {
    INFO(command);
    const int status = in.shell.status(command + " --input x.npy");
    const std::string text = in.shell.text("out");
    REQUIRE(status < 2);
    CHECK(in.shell.status(command + " --input photos") == status);
    if (command.starts_with("sweep")) continue;  // which names its data
    CHECK(in.shell.text("out") == text);
  }
  CHECK(in.shell.status("quantize " + digits + " --backend vipnano_v8 --input photos --std 255 -o q.json") == 0);
}

TEST_CASE("what an .npz unpacks to is not more than a run may need") {
  const Inputs in;
  write_bytes(in.shell.file("x.npz"), zip_text({packed("image.npy", npy_text(Tensor(ElementType::int8, {100000, 1, 8, 8, 1})))}));
  CHECK_THAT(in.run_refusal("x.npz --max-memory 4M"), contains_text("the inputs alone need 6.1 MiB of memory; 4.0 MiB are allowed"));
}

TEST_CASE("an .npz is a dump, alone or in a folder") {
  const Inputs in;
  REQUIRE(in.shell.status("run " + digits + " --backend vipnano_v8 --trace board --trace-samples 0 --input x.npy") == 0);
  std::vector<ZipEntry> entries;
  for (const auto& file : std::filesystem::directory_iterator(in.shell.file("board")))
    if (file.path().extension() == ".npy") entries.push_back(packed(file.path().filename().string(), file_text(file.path())));
  REQUIRE(entries.size() == 10);
  write_bytes(in.shell.file("dump.npz"), zip_text(entries));
  std::filesystem::create_directory(in.shell.file("folder"));
  write_bytes(in.shell.file("folder/part.npz"), zip_text(entries));
  const std::string beside = " " + digits + " --backend vipnano_v8 --dump ";
  for (const char* command : {"compare", "explain", "replay"}) {
    CHECK(in.shell.status(command + beside + "board") == 0);
    const std::string text = in.shell.text("out");
    for (const char* dump : {"dump.npz", "folder"}) {
      CHECK(in.shell.status(command + beside + dump) == 0);
      std::string other = in.shell.text("out");
      for (std::size_t at = 0; (at = other.find(dump, at)) != std::string::npos; at += 5)
        other.replace(at, std::string(dump).size(), "board");
      CHECK(other == text);
    }
  }
  entries.push_back(packed("probabilities.npy", entries.front().packed));
  write_bytes(in.shell.file("dump.npz"), zip_text(entries));
  CHECK_THAT(in.refusal("compare" + beside + "dump.npz"),
             contains_text("dump.npz: probabilities: fits tensor 'probabilities' as tensor_019 does"));
}
