// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit prove` as a shell sees it.
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>

#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
const std::string images = " --input " + (test::source_directory() / "examples/digits/test_images.npy").string();
const std::string prove_digits = "prove " + digits + " --backend vipnano_v8";

/// Beyond 100 columns; file names and the line with the model's are as long as they are.
bool has_wide_line(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.size() > 100 && line.find('/') == std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("prove: 0 safe, 1 an accumulator can overflow, 2 error with one line") {
  const Shell shell;
  CHECK(shell.status(prove_digits) == 0);
  CHECK(shell.text("out").find("are safe") != std::string::npos);
  CHECK_FALSE(has_wide_line(shell.text("out")));
  CHECK(shell.status(prove_digits + images + " --input-range data --bits 12") == 1);
  CHECK(shell.text("out").find("no proof for other data") != std::string::npos);
  CHECK(shell.text("out").find("first in sample") != std::string::npos);
  CHECK_FALSE(has_wide_line(shell.text("out")));
  CHECK(shell.text("err").empty());
  CHECK(shell.status(prove_digits + " --json") == 0);
  CHECK(shell.text("out").starts_with("{"));
  for (const char* wrong :
       {" --input-range data", " --input-range all", " --bits 1", " --bits 65", " --layer none", " --set x", " --threads 0"}) {
    INFO(wrong);
    CHECK(shell.status(prove_digits + wrong) == 2);
    const std::string message = shell.text("err");
    CHECK(std::count(message.begin(), message.end(), '\n') == 1);
  }
  CHECK(shell.status("prove " + digits + " --backend float") == 2);
  CHECK(shell.status("prove absent.tflite --backend vipnano_v8") == 2);
}

TEST_CASE("prove: where there is nothing to prove, nothing is safe") {
  const Shell shell;
  shell.write("relu.json", R"({"format": "lastbit.model.v1", "name": "relu",
    "tensors": [{"name": "x", "type": "int8", "shape": [2], "quantization": {"scale": [1]}},
                {"name": "y", "type": "int8", "shape": [2], "quantization": {"scale": [1]}}],
    "operations": [{"op": "relu", "name": "relu", "inputs": ["x"], "outputs": ["y"], "attributes": {}}], "inputs": ["x"], "outputs": ["y"]})");
  CHECK(shell.status("prove relu.json --backend vipnano_v8") == 2);
  CHECK(shell.text("err") == "lastbit: relu.json: nothing was proven: no operation adds anything up in vipnano_v8's arithmetic\n");
}

TEST_CASE("prove --without-vnni: 0 where every layer is the same, 1 where one may differ") {
  const Shell shell;
  const auto write = [&](const std::string& file, const std::string& weights) {
    shell.write(file, R"({"format": "lastbit.model.v1", "name": "fc", "tensors": [
      {"name": "x", "type": "uint8", "shape": [1, 2], "quantization": {"scale": [1], "zero_point": [0]}},
      {"name": "w", "type": "int8", "shape": [1, 2], "quantization": {"scale": [1], "zero_point": [0]}, "data": )" +
                          weights + R"(},
      {"name": "y", "type": "uint8", "shape": [1, 1], "quantization": {"scale": [1], "zero_point": [0]}}],
      "operations": [{"op": "fully_connected", "inputs": ["x", "w"], "outputs": ["y"]}], "inputs": ["x"], "outputs": ["y"]})");
  };
  write("same.json", "[64, 64]");
  write("differs.json", "[65, 64]");
  CHECK(shell.status("prove same.json --without-vnni") == 0);
  CHECK(shell.status("prove differs.json --without-vnni") == 1);
}

TEST_CASE("prove: --output leaves the inputs that overflow") {
  const Shell shell;
  CHECK(shell.status(prove_digits + " --bits 14 --output there") == 1);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shell.file("there"))) {
    CHECK(read_npy(entry.path()).element_count() > 0);
    ++files;
  }
  CHECK(files >= 2);
}
