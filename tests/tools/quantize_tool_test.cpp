// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit quantize` as a shell sees it: what it reads, writes and refuses.
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/scratch.hpp"

namespace fs = std::filesystem;
using namespace lastbit;

namespace {

const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
const std::string images = (test::source_directory() / "examples/digits/test_images.npy").string();

/// A fresh working folder, gone afterwards, in which the tool runs.
class Shell {
 public:
  [[nodiscard]] int status(const std::string& arguments) const {
    const std::string command = "cd " + folder_.path().string() + " && " + LASTBIT_TOOL + " " + arguments + " >out 2>err";
    return WEXITSTATUS(std::system(command.c_str()));  // NOLINT(cert-env33-c): a test of the command line
  }
  /// What it says as it fails.
  [[nodiscard]] std::string refusal(const std::string& arguments) const {
    INFO(arguments);
    CHECK(status(arguments) == 2);
    const std::string message = text("err");
    CHECK(message.starts_with("lastbit: "));
    return message;
  }
  [[nodiscard]] fs::path file(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  test::Scratch folder_;
};

void write_text(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// a, b -> add -> y
constexpr const char* two_inputs = R"({"format": "lastbit.model.v1", "tensors": [
  {"name": "a/left", "type": "float32", "shape": [1, 2]}, {"name": "b", "type": "float32", "shape": [1, 2]},
  {"name": "y", "type": "float32", "shape": [1, 2]}],
  "operations": [{"op": "add", "inputs": ["a/left", "b"], "outputs": ["y"]}], "inputs": ["a/left", "b"], "outputs": ["y"]})";

Tensor pair(float first, float second) { return Tensor::from<float>({1, 2}, std::vector<float>{first, second}); }

}  // namespace

TEST_CASE("quantize: the written model is the quantised one, and runs") {
  const Shell shell;
  REQUIRE(shell.status("quantize " + digits + " --backend tflite_single --input " + images + " --samples 20 -o q.json") == 0);
  CHECK(contains(shell.text("out"), "Quantised for tflite_single by int8 "));
  CHECK(contains(shell.text("out"), " 20 samples."));
  CHECK(contains(shell.text("out"), "Written to q.json."));
  CHECK(fs::exists(shell.file("q.conv2_weights.npy")));  // 2304 values; smaller constants are inline
  CHECK(!fs::exists(shell.file("q.conv1_weights.npy")));
  const Model model = read_model(shell.file("q.json"));
  CHECK(model.tensor(model.inputs[0]).name == "image");
  CHECK(shell.status("run q.json --backend tflite_single --input " + images) == 0);
}

TEST_CASE("quantize: the report as JSON") {
  const Shell shell;
  REQUIRE(shell.status("quantize " + digits + " --backend xnnpack --input " + images + " --samples 3 --set range=mse --json") == 0);
  const auto json = nlohmann::json::parse(shell.text("out"));
  CHECK(json["backend"] == "xnnpack");
  CHECK(json["samples"] == 3);
  CHECK(json["options"]["range"] == "mse");
  CHECK(json["tensors"].size() == 20);
  CHECK(json["tensors"][0]["values"] == 3 * 64);
  CHECK(json["outputs"][0]["samples"] == 3);
}

TEST_CASE("quantize: the options of one quantiser or of all") {
  const Shell shell;
  REQUIRE(shell.status("quantize --list-options --backend vipnano_v8 --json") == 0);
  const auto one = nlohmann::json::parse(shell.text("out"));
  REQUIRE(one.size() == 1);
  CHECK(one[0]["quantizer"] == "int8");
  CHECK(one[0]["options"][0]["name"] == "data");
  REQUIRE(shell.status("quantize --list-options") == 0);
  CHECK(contains(shell.text("out"), "--set data=int8  (int8 | int16)"));
}

TEST_CASE("quantize: samples of several inputs, by their names; a file or a folder each") {
  const Shell shell;
  write_text(shell.file("m.json"), two_inputs);
  fs::create_directories(shell.file("s/b"));
  write_npy(shell.file("s/a_left.npy"), Tensor::from<float>({2, 1, 2}, std::vector<float>{1, 2, 3, 4}));
  write_npy(shell.file("s/b/1.npy"), pair(10, 20));
  const std::string command = "quantize m.json --backend tflite_double --input s";
  CHECK(contains(shell.refusal(command), "s/b: 1 sample, but 2 of the first input"));
  write_npy(shell.file("s/b/2.npy"), pair(-30, 20));
  REQUIRE(shell.status(command + " --json") == 0);
  const auto json = nlohmann::json::parse(shell.text("out"));
  CHECK(json["tensors"][0]["max"] == 4);
  CHECK(json["tensors"][1]["min"] == -30);
  CHECK(json["tensors"][2]["min"] == -27);
  fs::remove(shell.file("s/a_left.npy"));
  CHECK(contains(shell.refusal(command), "holds neither a_left.npy nor a folder a_left for input 'a/left'"));
}

TEST_CASE("quantize: 2 and one line for what is wrong") {
  const Shell shell;
  const std::string command = "quantize " + digits + " --backend tflite_double";
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor bad(ElementType::float32, {1, 8, 8, 1});
  bad.values<float>()[5] = nan;
  fs::create_directories(shell.file("empty"));
  fs::create_directories(shell.file("samples"));
  write_npy(shell.file("samples/bad.npy"), bad);
  write_npy(shell.file("small.npy"), pair(1, 2));
  write_npy(shell.file("wide.npy"), Tensor(ElementType::int16, {1, 8, 8, 1}));
  CHECK(contains(shell.refusal(command), "--input is needed"));
  CHECK(contains(shell.refusal("quantize --backend tflite_double"), "MODEL is needed"));
  CHECK(contains(shell.refusal("quantize " + digits), "--backend is needed"));
  CHECK(contains(shell.refusal(command + " --input absent"), "absent"));
  CHECK(contains(shell.refusal(command + " --input empty"), "empty: no .npy file is in this folder"));
  CHECK(contains(shell.refusal(command + " --input samples"), "samples/bad.npy: value 5 is NaN"));
  CHECK(contains(shell.refusal(command + " --input small.npy"), "small.npy: shape 1x2; input 'image' needs 1x8x8x1"));
  CHECK(contains(shell.refusal(command + " --input wide.npy"), "wide.npy: int16; input 'image' needs float32 or int8"));
  CHECK(contains(shell.refusal(command + " --set range --input " + images), "must be OPTION=VALUE"));
  CHECK(contains(shell.refusal(command + " --set range=all --input " + images), "allowed: max, percentile, mse, kl"));
  CHECK(contains(shell.refusal(command + " --samples -1 --input " + images), "--samples"));
  CHECK(contains(shell.refusal("quantize " + digits + " --backend float --input " + images), "no quantiser"));
  CHECK(contains(shell.refusal(command + " -o absent/q.json --input " + images), "absent/q"));
}

TEST_CASE("quantize: a refusal is the quantiser's, not what the backend lacks for the network as it was given") {
  const Shell shell;
  const std::string message = shell.refusal("quantize " + digits + " --backend gna1 --input " + images + " --samples 1");
  CHECK(contains(message, "gna1: conv2d 'conv1': a two-dimensional convolution"));
  CHECK(!contains(message, "no arithmetic"));
}

TEST_CASE("quantize: a padding that .tflite lacks becomes a pad there, and no value another") {
  const Shell shell;
  write_text(shell.file("net.json"), R"({"format": "lastbit.model.v1", "name": "padded", "tensors": [
    {"name": "x", "type": "float32", "shape": [1, 6, 6, 2]},
    {"name": "w", "type": "float32", "shape": [2, 3, 3, 2], "data": [0.5, -0.25, 1, 2, 0.125, 0.5, 1, 1, 0.5, -1, 2, 0.25, -0.5, 1, 1, 0.5, 0.25, 0.75,
      0.5, 0.25, -1, 2, 0.125, 0.5, 1, 1, 0.5, 1, 2, -0.25, 0.5, 1, 1, 0.5, 0.25, 2]},
    {"name": "c", "type": "float32", "shape": [1, 4, 4, 2]}, {"name": "y", "type": "float32", "shape": [1, 3, 3, 2]}],
    "operations": [{"op": "conv2d", "inputs": ["x", "w"], "outputs": ["c"], "attributes": {"stride": [2, 2], "padding": [2, 1, 2, 1]}},
      {"op": "max_pool2d", "inputs": ["c"], "outputs": ["y"], "attributes": {"filter": [2, 2], "stride": [2, 2], "padding": [1, 1, 1, 1]}}],
    "inputs": ["x"], "outputs": ["y"]})");
  Tensor x(ElementType::float32, {1, 6, 6, 2});
  for (std::size_t i = 0; i < 72; ++i) x.values<float>()[i] = static_cast<float>(i % 17) * 0.25F - 2;
  write_npy(shell.file("x.npy"), x);
  REQUIRE(shell.status("quantize net.json --backend tflite_double --input x.npy -o q.json") == 0);
  REQUIRE(shell.status("quantize net.json --backend tflite_double --input x.npy -o q.tflite") == 0);
  CHECK(contains(shell.text("out"), "2 paddings are pads there: .tflite has SAME and VALID alone.\n"));
  REQUIRE(shell.status("run q.json --backend tflite_double --input x.npy -o a") == 0);
  REQUIRE(shell.status("run q.tflite --backend tflite_double --input x.npy -o b") == 0);
  CHECK(read_npy(shell.file("a/y.npy")) == read_npy(shell.file("b/y.npy")));
}

TEST_CASE("run: values of float16 are real values for an input of another type") {
  const Shell shell;
  Tensor wide(ElementType::float32, {1, 8, 8, 1}), half(ElementType::float16, {1, 8, 8, 1});
  for (std::size_t i = 0; i < 64; ++i) {
    wide.values<float>()[i] = static_cast<float>(i) / 64;
    half.values<Float16>()[i] = to_float16(static_cast<float>(i) / 64, ieee_float16);
  }
  write_npy(shell.file("wide.npy"), wide);
  write_npy(shell.file("half.npy"), half);
  for (const std::string backend : {"float", "tflite_double"}) {
    REQUIRE(shell.status("run " + digits + " --backend " + backend + " --input wide.npy -o wide --force") == 0);
    REQUIRE(shell.status("run " + digits + " --backend " + backend + " --input half.npy -o half --force") == 0);
    for (const auto& file : fs::directory_iterator(shell.file("wide")))
      if (file.path().extension() == ".npy") CHECK(read_npy(file.path()) == read_npy(shell.file("half") / file.path().filename()));
  }
  REQUIRE(shell.status("quantize " + digits + " --backend tflite_double --input half.npy -o q.json") == 0);
}

TEST_CASE("run: a float input that is not finite is refused where it would become a code") {
  const Shell shell;
  Tensor bad(ElementType::float32, {1, 8, 8, 1});
  bad.values<float>()[7] = -std::numeric_limits<float>::infinity();
  write_npy(shell.file("bad.npy"), bad);
  CHECK(contains(shell.refusal("run " + digits + " --backend tflite_double --input bad.npy"),
                 "input 'image': value 7 is infinite and cannot be quantised"));
}
