// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Dumps on the command line: what compare, explain and identify read, they read alike, and they say how.
#include <filesystem>
#include <string>

#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/digit_images.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;
namespace fs = std::filesystem;

namespace {

const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
const std::string images = " --input images.npy";  // 40 of them

bool says(const Shell& shell, const std::string& text, const char* where = "out") {
  return shell.text(where).find(text) != std::string::npos;
}

/// A trace of the digits network, and of its image tensors [samples,1,h,w,c] those with 16 channels as [samples,c,h,w] in `folder`.
void write_channels_first(const Shell& shell, const std::string& folder) {
  write_npy(shell.file("images.npy"), test::digit_images(40));
  REQUIRE(shell.status("run " + digits + " --backend vipnano_v8" + images + " --trace board --trace-samples 0") == 0);
  fs::create_directory(shell.file(folder));
  const Model model = read_json_model(digits);
  for (const auto& entry : fs::directory_iterator(shell.file("board"))) {
    if (entry.path().extension() != ".npy") continue;
    const Tensor tensor = read_npy(entry.path());
    const auto sizes = tensor.shape().sizes();
    if (sizes.size() != 5 || sizes[4] != 16) {
      fs::copy(entry.path(), shell.file(folder) / entry.path().filename());
      continue;
    }
    Tensor first(ElementType::int8, Shape({sizes[0], sizes[4], sizes[2], sizes[3]}));
    std::size_t at = 0;
    for (std::int64_t n = 0; n < sizes[0]; ++n)
      for (std::int64_t c = 0; c < sizes[4]; ++c)
        for (std::int64_t i = 0; i < sizes[2] * sizes[3]; ++i)
          first.values<std::int8_t>()[at++] =
              tensor.values<std::int8_t>()[static_cast<std::size_t>((n * sizes[2] * sizes[3] + i) * sizes[4] + c)];
    write_npy(shell.file(folder) / entry.path().filename(), first);
  }
}

}  // namespace

TEST_CASE("compare, explain and identify judge a batch alike of which one tensor holds fewer samples") {
  const Shell shell;
  const std::string run = "run " + digits + " --backend vipnano_v8" + images;
  write_npy(shell.file("images.npy"), test::digit_images(40));
  REQUIRE(shell.status(run + " --trace board --trace-samples 0") == 0);
  REQUIRE(shell.status(run + " --trace few --trace-samples 2") == 0);
  const Model model = read_json_model(digits);
  const auto file = [](std::int32_t tensor) {
    return "board/tensor_0" + std::string(tensor < 10 ? "0" : "") + std::to_string(tensor) + ".npy";
  };
  const std::int32_t inner = model.operations[0].outputs[0], output = model.outputs[0];
  fs::copy(shell.file("few") / fs::path(file(inner)).filename(), shell.file(file(inner)), fs::copy_options::overwrite_existing);
  const std::string said = "tensors hold from 2 to 40 samples";
  const auto each_is = [&](int status) {
    const std::string arguments = digits + " --dump board --backend vipnano_v8";
    CHECK(shell.status("compare " + arguments) == status);
    CHECK(shell.status("explain " + arguments) == status);
    CHECK(says(shell, said));
  };
  each_is(0);
  Tensor values = read_npy(shell.file(file(output)));
  values.values<std::int8_t>().back() ^= 1;  // of the last sample, by which explain judges no layer
  write_npy(shell.file(file(output)), values);
  each_is(1);
  CHECK(shell.status("identify " + digits + " --dump board") == 1);
  CHECK(says(shell, said, "err"));
  CHECK(says(shell, "1 differ, first in '" + model.tensor(output).name + "'"));
}

TEST_CASE("compare, explain and identify read one folder alike and say how") {
  const Shell shell;
  write_channels_first(shell, "nchw");
  const std::string dump = digits + " --dump nchw";
  CHECK(shell.status("compare " + dump + " --backend vipnano_v8") == 0);
  CHECK(says(shell, "Dump: 4 tensors in the order nchw: 'pointwise1' (40x16x8x8), …."));
  CHECK(shell.status("compare " + dump + " --backend vipnano_v8 --json") == 0);
  CHECK(says(shell, "in the order nchw"));
  CHECK(shell.status("explain " + dump + " --backend vipnano_v8") == 0);
  CHECK(says(shell, "dump: 4 tensors in the order nchw"));
  CHECK(shell.status("identify " + dump + " --max-time 60") == 0);
  CHECK(says(shell, "dump: 4 tensors in the order nchw", "err"));
  CHECK(shell.status("compare " + dump + " --backend tflite_double") == 1);
}

TEST_CASE("compare, explain, identify and replay read the real values of codes as codes, and say so") {
  const Shell shell;
  write_npy(shell.file("images.npy"), test::digit_images(4));
  REQUIRE(shell.status("run " + digits + " --backend vipnano_v8" + images + " --trace board --trace-samples 0") == 0);
  const Model model = read_json_model(digits);
  fs::create_directory(shell.file("text"));
  for (const auto& entry : fs::directory_iterator(shell.file("board"))) {
    if (entry.path().extension() != ".npy") continue;
    const Tensor codes = read_npy(entry.path());
    const ModelTensor& tensor = model.tensor(std::stoi(entry.path().stem().string().substr(7)));
    std::string text;
    for (std::int64_t i = 0; i < codes.element_count(); ++i)
      text +=
          std::to_string(tensor.quantization.scale() * static_cast<double>(codes.integer_at(i) - tensor.quantization.zero_point())) + "\n";
    shell.write("text/" + entry.path().stem().string() + ".txt", text);
  }
  const std::string dump = digits + " --dump text", said = "10 tensors with the real values of codes";
  CHECK(shell.status("compare " + dump + " --backend vipnano_v8") == 0);
  CHECK(says(shell, "Dump: " + said));
  CHECK(shell.status("explain " + dump + " --backend vipnano_v8") == 0);
  CHECK(says(shell, "dump: " + said));
  CHECK(shell.status("replay " + dump + " --backend vipnano_v8") == 0);
  CHECK(says(shell, "Dump: " + said));
  CHECK(shell.status("identify " + dump + " --max-time 60") == 0);
  CHECK(says(shell, "dump: " + said, "err"));
}

TEST_CASE("files without a tensor's name are told by their values, used, and written as names.csv") {
  const Shell shell;
  write_npy(shell.file("images.npy"), test::digit_images(4));
  REQUIRE(shell.status("run " + digits + " --backend vipnano_v8" + images + " --trace board --trace-samples 0") == 0);
  fs::create_directory(shell.file("unnamed"));
  for (const int number : {3, 6, 9, 12, 13, 14, 15, 18, 19}) {
    const std::string file = "board/tensor_0" + std::string(number < 10 ? "0" : "") + std::to_string(number) + ".npy";
    fs::copy(shell.file(file), shell.file("unnamed/part" + std::string(1, static_cast<char>('z' - number)) + ".npy"));
  }
  const std::string dump = digits + " --dump unnamed" + images;
  CHECK(shell.status("compare " + digits + " --dump unnamed --backend vipnano_v8") == 2);
  CHECK(says(shell, "or --input what the board was given", "err"));
  CHECK(shell.status("compare " + dump + " --backend vipnano_v8") == 0);
  CHECK(says(shell, "matched by the values alone: 'part"));
  CHECK(says(shell, "say --names names.csv", "err"));
  const std::string table = shell.text("names.csv");
  CHECK(table.starts_with("file,tensor\npart"));
  CHECK(shell.status("compare " + dump + " --backend vipnano_v8 --names names.csv") == 0);
  CHECK_FALSE(says(shell, "by the values"));
  for (const char* command : {"explain ", "replay "}) {
    CHECK(shell.status(command + dump + " --backend vipnano_v8") == 0);
    CHECK(says(shell, "matched by the values alone"));
  }
  CHECK(shell.status("identify " + dump + " --max-time 60") == 0);
  CHECK(says(shell, "matched by the values alone", "err"));
  fs::remove(shell.file("names.csv"));
  shell.write("names.csv", "mine");
  CHECK(shell.status("compare " + dump + " --backend vipnano_v8") == 0);
  CHECK(shell.text("names.csv") == "mine");
}

TEST_CASE("--names and --layout say what files do not") {
  const Shell shell;
  write_channels_first(shell, "nchw");
  const Tensor conv2 = read_npy(shell.file("nchw") / "tensor_012.npy");
  fs::remove(shell.file("nchw") / "tensor_012.npy");
  shell.write("nchw/a.bin", std::string(reinterpret_cast<const char*>(conv2.bytes().data()), conv2.bytes().size()));
  shell.write("map.csv", "a.bin,conv2\n");
  const std::string compare = "compare " + digits + " --backend vipnano_v8 --require all";
  CHECK(shell.status(compare + " --dump nchw") == 0);
  CHECK(says(shell, "1 file matched by the values alone: 'a.bin' is 'conv2' (cosine 0.99"));
  shell.write("nchw/b.bin", "nothing of this network");
  CHECK(shell.status(compare + " --dump nchw") == 0);
  CHECK(says(shell, "1 file fits no tensor: 'b.bin'"));
  CHECK(shell.status(compare + " --dump nchw --names map.csv") == 1);  // the model's order, which it is not
  CHECK(says(shell, "Misread: tensor 'conv2': its values stand in the order NCHW"));
  fs::create_directory(shell.file("one"));
  fs::rename(shell.file("nchw/a.bin"), shell.file("one/a.bin"));
  fs::copy(shell.file("board/tensor_000.npy"), shell.file("one/image.npy"));
  CHECK(shell.status("compare " + digits + " --backend vipnano_v8 --require 10% --dump one --names map.csv --layout nchw") == 0);
  CHECK(says(shell, "Dump: 1 tensor in the order nchw: 'conv2'."));
  CHECK(shell.status(compare + " --dump one --names map.csv --layout hwcn") == 2);
  CHECK(says(shell, "is no layout of a dump", "err"));
  CHECK(shell.status(compare + " --dump one --names absent.csv") == 2);
}
