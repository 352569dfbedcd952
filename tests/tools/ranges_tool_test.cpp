// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit quantize --ranges` as a shell sees it: each form of file, what is said of it, and the model that comes out.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

/// x -> fully connected "fc" -> y
constexpr const char* dense_model = R"({"format": "lastbit.model.v1", "tensors": [
  {"name": "x", "type": "float32", "shape": [1, 2]}, {"name": "y", "type": "float32", "shape": [1, 1]},
  {"name": "w", "type": "float32", "shape": [1, 2], "data": [1, -0.5]}],
  "operations": [{"op": "fully_connected", "name": "fc", "inputs": ["x", "w"], "outputs": ["y"]}], "inputs": ["x"], "outputs": ["y"]})";

/// Quantises with a file of this text; the two data tensors' quantisation comes out.
std::vector<Quantization> quantised_with(const Shell& shell, const std::string& text, const std::string& backend = "tflite_double") {
  INFO(text);
  shell.write("m.json", dense_model);
  shell.write("ranges", text);
  const int status = shell.status("quantize m.json --backend " + backend + " --ranges ranges -o q.json --force");
  INFO(shell.text("err"));
  REQUIRE(status == 0);
  const Model model = read_model(shell.file("q.json"));
  return {model.tensor(model.find_tensor("x").value()).quantization, model.tensor(model.find_tensor("y").value()).quantization};
}

std::string refusal_of_ranges(const Shell& shell, const std::string& text, const std::string& more = "") {
  INFO(text);
  shell.write("m.json", dense_model);
  shell.write("ranges", text);
  CHECK(shell.status("quantize m.json --backend tflite_double --ranges ranges " + more) == 2);
  const std::string message = shell.text("err");
  CHECK(message.starts_with("lastbit: "));
  CHECK(message.find('\n') == message.size() - 1);
  return message;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const Quantization thirty_seconds{{1.0 / 32}, {0}, 0}, sixteenths{{1.0 / 16}, {-128}, 0};

}  // namespace

TEST_CASE("quantize --ranges: each form of file, without --input") {
  const Shell shell;
  const std::vector<Quantization> affine{thirty_seconds, sixteenths};
  CHECK(quantised_with(shell, "tensor,min,max\nx,-4,3.96875\ny,0,15.9375\n") == affine);
  CHECK(quantised_with(shell, "tensor,scale,zero_point\nx,0.03125,0\nfc,0.0625,-128\n") == affine);
  CHECK(quantised_with(shell, R"({"fc/fq_input_0": [-4, 3.96875], "fc/fq_output_0": {"input_low": 0, "input_high": 15.9375}})") == affine);
  CHECK(quantised_with(shell, "env -4 3.96875 0 1\nfc 0 15.9375 0 1\n") == affine);
  const Quantization quarter{{0.25}, {0}, 0}, half{{0.5}, {0}, 0};
  CHECK(quantised_with(shell, "TRT-8501-EntropyCalibration2\nx: 3e800000\ny: 3f000000\n") == std::vector<Quantization>{quarter, half});
  CHECK(holds(shell.text("out"), "Note: 2 ranges of ranges, TensorRT's calibration cache"));
  CHECK(holds(shell.text("out"), "Without samples, nothing but the constants is measured."));
}

TEST_CASE("quantize --ranges: hb_mapper's table gives inputs, the samples give the output") {
  const Shell shell;
  shell.write("m.json", dense_model);
  shell.write("log",
              "INFO nodes:\n=====\nNode ON Subgraph Type Cosine Similarity Threshold\n-----\nfc BPU id(0) HzSQuantizedConv 0.99 31.75\n"
              "HZ_PREPROCESS BPU id(0) HzSQuantizedPreprocess 0.99 127.0\n=====\n");
  write_npy(shell.file("x.npy"), Tensor::from<float>({1, 2}, std::vector<float>{31.75F, 0}));
  REQUIRE(shell.status("quantize m.json --backend bernoulli2 --ranges log --input x.npy --json -o q.json") == 0);
  const auto json = nlohmann::json::parse(shell.text("out"));
  CHECK(json["samples"] == 1);
  CHECK(json["notes"][0] == "1 range of log, hb_mapper's table of nodes");
  CHECK(json["notes"][1] == "1 of 2 ranges names no tensor of this network: 'HZ_PREPROCESS'");
  CHECK(json["notes"][2] == "1 tensor calibrated from the samples: 'y'");
  const Model model = read_model(shell.file("q.json"));
  CHECK(model.tensor(model.inputs[0]).quantization == Quantization{{0.25}, {0}, 0});
}

TEST_CASE("quantize --ranges: N2D2's log for N2D2's network") {
  const Shell shell;
  shell.write("m.json", dense_model);
  shell.write("log", "  Quantizing activations:\n  - fc: prev=1, act=4, bias=1\n");
  write_npy(shell.file("x.npy"), Tensor::from<float>({1, 2}, std::vector<float>{255, 0}));
  REQUIRE(shell.status("quantize m.json --backend n2d2_fixed_mult16 --ranges log --input x.npy --save-ranges saved.csv") == 0);
  CHECK(shell.text("saved.csv") == "tensor,min,max\nx,0,255\ny,-4,4\n");
}

TEST_CASE("quantize --ranges: a quantised model") {
  const Shell shell;
  const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
  REQUIRE(shell.status("quantize " + digits + " --backend tflite_double --ranges " + digits + " -o q.json --json") == 0);
  const Model given = read_model(digits), made = read_model(shell.file("q.json"));
  std::size_t compared = 0;
  for (const ModelTensor& tensor : made.tensors) {
    const auto original = given.find_tensor(tensor.name);
    if (!original || tensor.type != ElementType::int8) continue;
    CHECK(tensor.quantization == given.tensor(*original).quantization);
    ++compared;
  }
  CHECK(compared >= 10);
}

TEST_CASE("quantize --save-ranges: given back, the same model") {
  const Shell shell;
  const std::string folder = (test::source_directory() / "examples/digits").string();
  const std::string command = "quantize " + folder + "/model.json --backend tflite_double ";
  REQUIRE(shell.status(command + "--input " + folder + "/test_images.npy --samples 5 --set range=kl --save-ranges r.csv -o a.tflite") == 0);
  CHECK(holds(shell.text("out"), "Written to r.csv."));
  REQUIRE(shell.status(command + "--ranges r.csv --save-ranges again.csv -o b.tflite") == 0);
  CHECK(shell.text("a.tflite") == shell.text("b.tflite"));
  CHECK(!shell.text("a.tflite").empty());
  CHECK(shell.text("r.csv") == shell.text("again.csv"));
  CHECK(shell.text("r.csv").starts_with("tensor,min,max\nimage,"));
}

TEST_CASE("quantize --ranges: 2 and one line for what is wrong") {
  const Shell shell;
  CHECK(holds(refusal_of_ranges(shell, "tensor,min,max\nx,0,1\nyy,0,1\n"), "ranges:3: the network has no tensor 'yy'; did you mean 'y'?"));
  CHECK(holds(refusal_of_ranges(shell, "tensor,min,max\nx,0,1\n"),
              "ranges: no range for 1 tensor, 'y'; samples to calibrate with are needed"));
  CHECK(holds(refusal_of_ranges(shell, "tensor,min,max\nx,0\n"), "ranges:2: 2 cells; the header has 3"));
  CHECK(holds(refusal_of_ranges(shell, "nothing\n"), "ranges: holds no ranges that are known"));
  CHECK(holds(refusal_of_ranges(shell, "tensor,scale,zero_point\nx,1,900\ny,1,0\n"), "ranges:2: 'x': zero point 900"));
  CHECK(shell.status("quantize m.json --backend tflite_double --ranges absent") == 2);
  CHECK(holds(shell.text("err"), "absent"));
  CHECK(shell.status("quantize m.json --backend tflite_double") == 2);
  CHECK(holds(shell.text("err"), "--input is needed: samples to calibrate with; or --ranges"));
}
