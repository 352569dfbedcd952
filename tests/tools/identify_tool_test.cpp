// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit identify` as a shell sees it: a layer of two inputs.
#include <algorithm>
#include <string>

#include "lastbit/io/json_model.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/damaged_dump.hpp"
#include "support/residual_network.hpp"
#include "support/shell.hpp"

using namespace lastbit;

namespace {

constexpr const char* layer = R"({"format": "lastbit.model.v1", "name": "sum", "tensors": [
  {"name": "a", "type": "int8", "shape": [64], "quantization": {"scale": [0.031], "zero_point": [3]}},
  {"name": "b", "type": "int8", "shape": [64], "quantization": {"scale": [0.047], "zero_point": [-7]}},
  {"name": "y", "type": "int8", "shape": [64], "quantization": {"scale": [0.06], "zero_point": [5]}}],
  "operations": [{"op": "add", "inputs": ["a", "b"], "outputs": ["y"]}], "inputs": ["a", "b"], "outputs": ["y"]})";

void write_codes(const test::Shell& shell, const std::string& name, int factor) {
  Tensor codes(ElementType::int8, {64});
  for (int i = 0; i < 64; ++i) codes.values<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i * factor % 251 - 125);
  write_npy(shell.file(name), codes);
}

/// The file of a tensor of net.json in the folder dump.
std::string dumped(const test::Shell& shell, const std::string& tensor) {
  const std::string index = std::to_string(*read_model(shell.file("net.json")).find_tensor(tensor));
  return "dump/tensor_" + std::string(3 - index.size(), '0') + index + ".npy";
}

}  // namespace

TEST_CASE("identify on the command line: a sum of two tensors, saved and run again") {
  const test::Shell shell;
  shell.write("sum.json", layer);
  write_codes(shell, "a.npy", 37);
  write_codes(shell, "b.npy", 91);
  REQUIRE(shell.status("run sum.json --backend xnnpack --output device --input a.npy b.npy") == 0);
  REQUIRE(shell.status("identify --layer-file sum.json --dump device/y.npy --input a.npy b.npy --output found.json") == 0);
  CHECK(shell.text("out").find("add.i8: 1 layer, 64 values") != std::string::npos);
  CHECK(shell.text("out").find("xnnpack") != std::string::npos);
  REQUIRE(shell.status("run sum.json --backend found.json --output mine --input a.npy b.npy") == 0);
  CHECK(read_npy(shell.file("mine/y.npy")) == read_npy(shell.file("device/y.npy")));
  CHECK(shell.status("identify --layer-file sum.json --dump device/y.npy --input a.npy") == 2);
  CHECK(shell.text("err").find("needs another one") != std::string::npos);
}

TEST_CASE("identify on the command line: a network whose max pool alone differs is not explained") {
  const test::Shell shell;
  const test::ResidualNetwork network(2);
  write_json_model(shell.file("net.json"), network.model);
  write_npy(shell.file("x.npy"), network.inputs[0]);
  REQUIRE(shell.status("run net.json --backend tflite_double --input x.npy --trace dump --trace-samples 0") == 0);
  REQUIRE(shell.status("identify net.json --dump dump --output found.json") == 0);
  CHECK(shell.text("out").find("in 2 samples, every one equal") != std::string::npos);
  CHECK(shell.status("compare net.json --dump dump --b found.json") == 0);

  const std::string file = dumped(shell, "peak");
  Tensor values = read_npy(shell.file(file));
  values.values<std::int8_t>()[5] ^= 1;
  write_npy(shell.file(file), values);
  CHECK(shell.status("identify net.json --dump dump --max-time 60") == 1);
  CHECK(shell.text("out").find("layer 3 'peak': the space has no rules for max_pool2d; 1 of 256 values differs") != std::string::npos);

  test::invert_sign(values);
  write_npy(shell.file(file), values);
  CHECK(shell.status("identify net.json --dump dump") == 2);
  CHECK(shell.text("err").find("tensor 'peak': misread: the highest bit of every value is inverted (xor 0x80)") != std::string::npos);
  CHECK(shell.text("err").find("(--as-is takes the dump as it is)") != std::string::npos);
  CHECK(shell.status("identify net.json --dump dump --as-is --max-time 60") == 1);
  CHECK(shell.text("out").find("layer 3 'peak': the space has no rules for max_pool2d; 256 of 256 values differ") != std::string::npos);

  // The fact is in the JSON.
  CHECK(shell.status("identify net.json --dump dump --as-is --max-time 60 --json") == 1);
  CHECK(shell.text("out").find("\"tensor 'peak': the highest bit of every value is inverted (xor 0x80): ") != std::string::npos);
}

TEST_CASE("identify on the command line: a suspicion ends no search, and what a rule explains is none") {
  const test::Shell shell;
  const test::ResidualNetwork network(2);
  write_json_model(shell.file("net.json"), network.model);
  write_npy(shell.file("x.npy"), network.inputs[0]);
  REQUIRE(shell.status("run net.json --backend tflite_double --input x.npy --trace dump --trace-samples 0") == 0);
  const std::string file = dumped(shell, "peak");
  Tensor values = read_npy(shell.file(file));
  std::rotate(values.bytes().begin(), values.bytes().end() - 1, values.bytes().end());
  write_npy(shell.file(file), values);
  CHECK(shell.status("identify net.json --dump dump --max-time 60") == 1);
  CHECK(shell.text("err").find("suspected: tensor 'peak': its values stand 1 place further on") != std::string::npos);
  CHECK(shell.text("out").find("conv.i8: ") != std::string::npos);

  shell.write("leaky.json", R"({"format": "lastbit.model.v1", "name": "leaky", "tensors": [
    {"name": "x", "type": "int8", "shape": [1, 300], "quantization": {"scale": [0.06527090817689896], "zero_point": [67]}},
    {"name": "y", "type": "int8", "shape": [1, 300], "quantization": {"scale": [0.09886974841356277], "zero_point": [-70]}}],
    "operations": [{"op": "leaky_relu", "inputs": ["x"], "outputs": ["y"], "attributes": {"alpha": 0.1}}],
    "inputs": ["x"], "outputs": ["y"]})");
  Tensor codes(ElementType::int8, {1, 300});
  for (int i = 0; i < 300; ++i) codes.values<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i * 37 % 255 - 127);
  write_npy(shell.file("codes.npy"), codes);
  REQUIRE(shell.status("run leaky.json --backend tflite_single --set leaky_relu.rescale.chain.1.rounding=toward_zero --input codes.npy "
                       "--trace leaky") == 0);
  CHECK(shell.status("identify leaky.json --dump leaky") == 0);
  CHECK(shell.text("out").find("every one equal") != std::string::npos);
}

TEST_CASE("identify on the command line: at --max-time it is undecided") {
  const test::Shell shell;
  const test::ResidualNetwork network(2);
  write_json_model(shell.file("net.json"), network.model);
  write_npy(shell.file("x.npy"), network.inputs[0]);
  REQUIRE(shell.status("run net.json --backend tflite_double --input x.npy --trace dump --trace-samples 0") == 0);
  const std::string file = dumped(shell, "y");
  Tensor values = read_npy(shell.file(file));
  for (std::size_t i = 0; i < 100; ++i) values.values<std::int8_t>()[i] ^= 1;
  write_npy(shell.file(file), values);
  CHECK(shell.status("identify net.json --dump dump --max-time 0.01") == 2);
  CHECK(shell.text("out").find("undecided: time was up") != std::string::npos);
  CHECK(shell.text("err").find("undecided: stopped after 0.01 s (--max-time)") != std::string::npos);
}

TEST_CASE("identify on the command line: probes for a sum, answered and taken in") {
  const test::Shell shell;
  shell.write("sum.json", layer);
  write_codes(shell, "a.npy", 37);
  write_codes(shell, "b.npy", 91);
  REQUIRE(shell.status("run sum.json --backend tflite_single --output device --input a.npy b.npy") == 0);
  const std::string first = "identify --layer-file sum.json --dump device/y.npy --input a.npy b.npy";
  REQUIRE(shell.status(first + " --probe probe --free-weights") == 0);
  CHECK(shell.text("err").find("of the remaining combinations") != std::string::npos);
  REQUIRE(shell.status("layer probe/probe_1.json --backend tflite_single --output answer.npy") == 0);
  REQUIRE(shell.status("identify --layer-file sum.json probe/probe_1.json --dump device/y.npy answer.npy "
                       "--input a.npy b.npy probe/probe_1_input.npy probe/probe_1_input_2.npy") == 0);
  CHECK(shell.text("out").find("add.i8: 2 layers, 128 values") != std::string::npos);
  CHECK(shell.text("out").find("tflite_single") != std::string::npos);
}

TEST_CASE("identify on the command line: a model of one layer and a file, the layer between the tensors of an .onnx file") {
  const test::Shell shell;
  shell.write("image.json", R"json({"format": "lastbit.model.v1", "name": "image", "tensors": [
    {"name": "x", "type": "int8", "shape": [1, 2, 9, 9], "quantization": {"scale": [0.05], "zero_point": [3]}},
    {"name": "x (NHWC)", "type": "int8", "shape": [1, 9, 9, 2], "quantization": {"scale": [0.05], "zero_point": [3]}},
    {"name": "w", "type": "int8", "shape": [3, 1, 1, 2], "quantization": {"scale": [0.011], "zero_point": [0]}, "data": [91, -47, 18, 120, -77, 66]},
    {"name": "y (NHWC)", "type": "int8", "shape": [1, 9, 9, 3], "quantization": {"scale": [0.083], "zero_point": [-5]}},
    {"name": "y", "type": "int8", "shape": [1, 3, 9, 9], "quantization": {"scale": [0.083], "zero_point": [-5]}}],
    "operations": [{"op": "transpose", "inputs": ["x"], "outputs": ["x (NHWC)"], "attributes": {"permutation": [0, 2, 3, 1]}},
                   {"op": "conv2d", "inputs": ["x (NHWC)", "w"], "outputs": ["y (NHWC)"]},
                   {"op": "transpose", "inputs": ["y (NHWC)"], "outputs": ["y"], "attributes": {"permutation": [0, 3, 1, 2]}}],
    "inputs": ["x"], "outputs": ["y"]
})json");
  ;
  Tensor codes(ElementType::int8, {1, 2, 9, 9});
  for (int i = 0; i < 162; ++i) codes.values<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i * 37 % 251 - 125);
  write_npy(shell.file("x.npy"), codes);
  REQUIRE(shell.status("run image.json --backend tflite_single --output device --input x.npy") == 0);
  for (const char* const how :
       {"identify image.json --dump device/y.npy --input x.npy", "identify --layer-file image.json --dump device/y.npy --input x.npy"}) {
    INFO(how);
    CHECK(shell.status(how) == 0);
    CHECK(shell.text("out").find("conv.i8: 1 layer, 243 values") != std::string::npos);
    CHECK(shell.text("out").find("tflite_single") != std::string::npos);
  }
  CHECK(shell.status("identify image.json --dump device --input x.npy --json") == 0);
  CHECK(shell.text("out").find("\"assumptions\": []") != std::string::npos);
  CHECK(shell.text("out").find("\"Of 3 tensors that the network computes, 1 were matched by the dump\"") != std::string::npos);
  CHECK(shell.status("identify image.json --dump device/y.npy") == 2);
  CHECK(shell.text("err").find("a model needs --input") != std::string::npos);
}
