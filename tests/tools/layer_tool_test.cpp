// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit layer` as a shell sees it.
#include <algorithm>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/shell.hpp"

using namespace lastbit;

namespace {

void write(const test::Shell& shell, const std::string& name, const Shape& shape, const std::vector<std::int8_t>& values) {
  write_npy(shell.file(name), Tensor::from<std::int8_t>(shape, values));
}

}  // namespace

TEST_CASE("layer: options say what the JSON form says") {
  const test::Shell shell;
  write(shell, "x.npy", {1, 2, 2, 1}, {1, 2, 3, 4});
  write(shell, "w.npy", {1, 1, 1, 1}, {3});
  const std::string options = "layer conv2d --backend tflite_double --input x.npy --weights w.npy ";
  REQUIRE(shell.status(options + "--output y.npy --stride 2,1 --padding=same") == 0);
  const Tensor output = read_npy(shell.file("y.npy"));
  CHECK(output.shape() == Shape{1, 1, 2, 1});
  CHECK(output.integer_at(0) == 3);
  CHECK(output.integer_at(1) == 6);
  shell.write("layer.json",
              R"({"format": "lastbit.layer.v1", "op": "conv2d", "backend": "tflite_double", "inputs": ["x.npy"], "weights": "w.npy",
                                "attributes": {"stride": [2, 1], "padding": "same"}})");
  REQUIRE(shell.status("layer layer.json --output z.npy") == 0);
  CHECK(read_npy(shell.file("z.npy")) == output);
  CHECK(shell.status("layer layer.json --stride 1") == 2);

  REQUIRE(shell.status("layer layer.json --emit-model model.json --trace trace") == 0);
  REQUIRE(shell.status("run model.json --backend tflite_double --input x.npy") == 0);
  CHECK(read_npy(shell.file("output.npy")) == output);
  CHECK(std::filesystem::exists(shell.file("trace/trace.json")));
}

TEST_CASE("layer: the emitted model takes the arrays that the layer took") {
  const test::Shell shell;
  write(shell, "x.npy", {1, 2, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24});
  write(shell, "one.npy", {2, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24});
  write(shell, "w.npy", {1, 2, 2, 2}, {1, -2, 3, 4, -5, 6, 7, 8});
  write(shell, "line.npy", {2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  write(shell, "short.npy", {3, 2, 2}, {1, -2, 3, 4, -5, 6, 7, 8, 9, 1, 2, 3});
  const std::string layer = "layer conv2d --backend tflite_double --layout nchw --input-scale 1 --weights-scale 1 --output-scale 4 ";
  for (const std::string arrays :
       {"--input x.npy --weights w.npy", "--input one.npy --weights w.npy", "--input line.npy --weights short.npy"}) {
    for (const std::string model : {"model.json", "model.tflite"}) {
      INFO(arrays << " " << model);
      REQUIRE(shell.status(layer + arrays + " --output wanted.npy --emit-model " + model + " --force") == 0);
      const std::string input = arrays.substr(0, arrays.find(" --weights"));
      REQUIRE(shell.status("run " + model + " --backend tflite_double " + input + " --force") == 0);
      CHECK(read_npy(shell.file("output.npy")) == read_npy(shell.file("wanted.npy")));
    }
  }
}

TEST_CASE("layer: the multiplier and the shift of the scale are shown") {
  const test::Shell shell;
  write(shell, "x.npy", {1, 2}, {10, 3});
  write(shell, "w.npy", {2, 2}, {1, 2, 3, 4});
  const std::string command = "layer fully_connected --input x.npy --weights w.npy --input-scale 0.5 --output-scale 2 --weights-scale ";
  REQUIRE(shell.status(command + "0.25 --backend tflite_double") == 0);
  CHECK(shell.text("out").find("multiplier 1073741824, shift 34: the sum times 0.0625\n") != std::string::npos);
  REQUIRE(shell.status(command + "0.25,0.75 --backend tflite_double") == 0);
  CHECK(shell.text("out").find("multiplier/2^shift of 2 channels: 1073741824/2^34 1610612736/2^33\n") != std::string::npos);
  REQUIRE(shell.status(command + "0.25 --backend onnxruntime") == 0);
  CHECK(shell.text("out").find("the sum times 0.0625, in floating point\n") != std::string::npos);
  REQUIRE(shell.status(command + "0.25 --backend tflite_double --json") == 0);
  CHECK(shell.text("out").find("\"multiplier\": 1073741824") != std::string::npos);
}

TEST_CASE("layer: one number stands for a list of one") {
  const test::Shell shell;
  write(shell, "x.npy", {1, 2, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  const std::string command = "layer mean --backend tflite_double --input x.npy --input-scale 1 ";
  REQUIRE(shell.status(command + "--axes 3 --output one.npy") == 0);
  REQUIRE(shell.status(command + "--axes '[3]' --output list.npy") == 0);
  CHECK(read_npy(shell.file("one.npy")) == read_npy(shell.file("list.npy")));
  CHECK(read_npy(shell.file("one.npy")).shape() == Shape{1, 2, 2});
}

TEST_CASE("layer: 1 where backends differ, 2 and one line where something is wrong") {
  const test::Shell shell;
  write(shell, "x.npy", {1, 2}, {100, 3});
  const std::string options = "layer average_pool2d --input x.npy ";
  write(shell, "x.npy", {1, 1, 2, 1}, {-2, 1});  // a mean of -0.5: ties part the devices
  CHECK(shell.status(options + "--filter 1,2 --backend tflite_double --a tflite_double") == 0);
  CHECK(shell.status(options + "--filter 1,2 --input-scale 1 --backend onnxruntime --a tflite_double --json") == 1);
  for (const char* wrong :
       {"", "--backend none --filter 2", "--backend tflite_double", "--backend tflite_double --filter 9",
        "--backend tflite_double --filter 1,2 foo", "--backend tflite_double --filter 1 --filter 2", "--filter 1 --weights-scale 3",
        "--backend tflite_double --filter 1 --input-scale 1 --input-scale 2 --input-scale 3"}) {
    INFO(wrong);
    CHECK(shell.status(options + wrong) == 2);
    const std::string message = shell.text("err");
    CHECK(std::count(message.begin(), message.end(), '\n') == 1);
  }
}
