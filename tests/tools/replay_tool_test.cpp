// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit replay` as a shell sees it: a float network, its emulated model and a board, end to end.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/damaged_dump.hpp"
#include "support/digit_images.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;
namespace fs = std::filesystem;

namespace {

const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
const std::string images = " --input images.npy";  // 40 of them
const std::string device = " --backend vipnano_v8";

bool says(const Shell& shell, const std::string& text, const char* where = "out") {
  std::string said = shell.text(where);
  std::ranges::replace(said, '\n', ' ');
  for (std::size_t at = 0; (at = said.find("  ")) != std::string::npos;) said.erase(at, 1);
  return said.find(text) != std::string::npos;
}

/// A board in the folder `board`: the device with this setting.
void make_board(const Shell& shell, const std::string& model, const std::string& setting = {}) {
  fs::remove_all(shell.file("board"));
  write_npy(shell.file("images.npy"), test::digit_images(40));
  REQUIRE(shell.status("run " + model + device + setting + images + " --trace board --trace-samples 0") == 0);
  fs::remove(shell.file("board/trace.json"));
}

}  // namespace

TEST_CASE("replay: 0 the board is its data sheet, 1 it is not, 2 error with one line") {
  const Shell shell;
  const std::string replay = "replay " + digits + " --dump board" + device;
  make_board(shell, digits);
  CHECK(shell.status(replay) == 0);
  CHECK(says(shell, "The board is its data sheet on all 9 layers compared, 9 of them fed with the board's own tensors."));
  CHECK(says(shell, "float: the float path of the model itself"));
  CHECK(shell.text("err").empty());
  CHECK(shell.status(replay + images + " --threads 2") == 0);
  CHECK(shell.status("replay --float " + digits + " --model " + digits + " --dump board --b vipnano_v8") == 0);
  make_board(shell, digits, " --set add.i8.operand.scale.significant_bits=16");
  CHECK(shell.status(replay) == 1);
  CHECK(says(shell, "First layer where the board is not its data sheet: layer 4, add 'residual'"));
  CHECK(says(shell, "explained by add.i8.operand.scale.significant_bits: 8 -> "));
  CHECK(shell.status(replay + " --set add.i8.operand.scale.significant_bits=16") == 0);
  for (const std::string& wrong : {"replay " + digits + " --dump board", "replay " + digits + device, replay + " --float absent.onnx",
                                   replay + "x", "replay " + digits + " --dump absent" + device, replay + " --json --csv",
                                   replay + " --require some", replay + " --layout hwcn", std::string("replay --dump board") + device}) {
    INFO(wrong);
    CHECK(shell.status(wrong) == 2);
    const std::string message = shell.text("err");
    CHECK(std::ranges::count(message, '\n') == 1);
  }
}

TEST_CASE("replay: a quantised network beside the float one that it was made of") {
  const Shell shell;
  write_npy(shell.file("images.npy"), test::digit_images(40));
  REQUIRE(shell.status("quantize " + digits + device + images + " -o npu.tflite") == 0);
  make_board(shell, "npu.tflite");
  const std::string replay = "replay npu.tflite --dump board" + device;
  CHECK(shell.status(replay + " --float " + digits) == 0);
  CHECK(says(shell, "float: " + digits + " emulated: vipnano_v8"));
  CHECK(says(shell, "Loses most by quantisation: layer "));
  CHECK_FALSE(says(shell, "Not matched"));
  CHECK_FALSE(says(shell, "no match"));
  REQUIRE(shell.status(replay + " --float " + digits + " --json") == 0);
  const auto beside = nlohmann::json::parse(shell.text("out"));
  for (const auto& layer : beside["layers"]) CHECK(layer["matched_by"] == "name");
  REQUIRE(shell.status(replay + " --json") == 0);
  const auto alone = nlohmann::json::parse(shell.text("out"));
  CHECK(alone["float_network"].is_null());
  CHECK(alone["layers"][4]["loss"]["accumulated"]["metrics"]["sqnr_db"] !=
        beside["layers"][4]["loss"]["accumulated"]["metrics"]["sqnr_db"]);
  CHECK(alone["layers"][4]["deviation"] == beside["layers"][4]["deviation"]);
}

TEST_CASE("replay: of a part of the network, a changed value, and what is required") {
  const Shell shell;
  make_board(shell, digits);
  fs::create_directory(shell.file("part"));
  for (const char* file : {"tensor_000.npy", "tensor_009.npy", "tensor_012.npy"})
    fs::copy(shell.file("board") / file, shell.file("part") / file);
  const std::string replay = "replay " + digits + " --dump part" + device;
  CHECK(shell.status(replay) == 0);
  CHECK(says(shell, "Of 9 tensors that the network computes, 2 were matched by the dump, its output not among them."));
  CHECK(says(shell, "on all 2 layers compared, 1 of them fed"));
  CHECK(says(shell, " missing"));
  CHECK(shell.status(replay + " --require 20%") == 0);
  CHECK(shell.status(replay + " --require outputs") == 1);
  CHECK(says(shell, "Less than is required."));

  Tensor conv2 = read_npy(shell.file("part/tensor_012.npy"));
  conv2.values<std::int8_t>()[5] = static_cast<std::int8_t>(conv2.values<std::int8_t>()[5] ^ 1);
  write_npy(shell.file("part/tensor_012.npy"), conv2);
  CHECK(shell.status(replay) == 1);
  CHECK(says(shell, "layer 3, conv2d 'conv2': fed with the board's tensors, 1 of 40960 values differ (<0.01%), by at most 1 LSB."));
  fs::remove(shell.file("part/tensor_009.npy"));
  fs::remove(shell.file("part/tensor_012.npy"));
  CHECK(shell.status(replay) == 2);
  CHECK(says(shell, "the dump has the output of no layer", "err"));
}

TEST_CASE("replay: files of a dump are read as compare reads them") {
  const Shell shell;
  make_board(shell, digits);
  fs::create_directory(shell.file("one"));
  Tensor conv2 = read_npy(shell.file("board/tensor_012.npy"));
  const std::int64_t samples = conv2.shape()[0];
  test::put_channels_first(conv2, Shape{1, 8, 8, 16});
  shell.write("one/a.bin", std::string(reinterpret_cast<const char*>(conv2.bytes().data()), conv2.bytes().size()));
  shell.write("map.csv", "a.bin,conv2\n");
  fs::copy(shell.file("board/tensor_000.npy"), shell.file("one/image.npy"));
  const std::string replay = "replay " + digits + device + " --dump one --names map.csv";
  CHECK(shell.status(replay + " --layout nchw") == 0);
  CHECK(says(shell, "Dump: 1 tensor in the order nchw: 'conv2'."));
  CHECK(shell.status(replay) == 1);
  CHECK(samples == 40);
}

TEST_CASE("replay: CSV goes where it is sent, and layers may be computed elsewhere") {
  const Shell shell;
  make_board(shell, digits);
  const std::string replay = "replay " + digits + " --dump board" + device;
  CHECK(shell.status(replay + " --csv report.csv") == 0);
  CHECK(shell.text("report.csv").starts_with("float_tensor,matched_by,number,"));
  CHECK(shell.text("out").starts_with("float: "));
  CHECK(shell.status(replay + " --csv") == 0);
  CHECK(shell.text("out") == shell.text("report.csv"));
  CHECK(shell.status(replay + " --keep pool=tflite_double") == 1);
  CHECK(says(shell, "beside vipnano_v8, tflite_double computes 1 of 9 operations: average_pool2d 'pool' (5)"));
  CHECK(says(shell, "First layer where the board is not its data sheet: layer 5, average_pool2d 'pool'"));
}
