// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network of floats on a device of codes: no command is green, and each says what to type.
#include <algorithm>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

namespace {

using namespace lastbit;
using test::Shell;

const std::string codes = (test::source_directory() / "examples/digits/model.json").string();
const std::string images = " --input " + (test::source_directory() / "examples/digits/test_images.npy").string();

/// x [1,2] -dense-> y, with weights of this type and what its sum is.
std::string dense(const std::string& type, const std::string& quantization, const std::string& weights) {
  return R"({"format": "lastbit.model.v1", "name": "dense", "inputs": ["x"], "outputs": ["y"],
    "tensors": [{"name": "x", "type": "float32", "shape": [1, 2]}, {"name": "y", "type": "float32", "shape": [1, 2]},
                {"name": "w", "type": ")" +
         type + R"(", "shape": [2, 2], )" + quantization + R"("data": )" + weights + R"(}],
    "operations": [{"op": "fully_connected", "name": "y", "inputs": ["x", "w", null], "outputs": ["y"]}]})";
}

/// In the working folder: "my net.json", a float network; hybrid.json, of weights that are codes; x.npy, their input; board, what a board computed.
void write_networks(const Shell& shell) {
  shell.write("my net.json", dense("float32", "", "[1, 2, 3, 4]"));
  shell.write("hybrid.json", dense("int8", R"("quantization": {"scale": [0.5], "zero_point": [0]}, )", "[1, 2, 3, 4]"));
  write_npy(shell.file("x.npy"), Tensor::from<float>({1, 2}, std::vector<float>{0.5F, -1.25F}));
  std::filesystem::create_directory(shell.file("board"));
  write_npy(shell.file("board/y.npy"), Tensor::from<float>({1, 2}, std::vector<float>{-2, -3.5F}));
  std::filesystem::copy_file(shell.file("x.npy"), shell.file("board/x.npy"));
}

bool says(const Shell& shell, const std::string& text, const char* where = "out") {
  return shell.text(where).find(text) != std::string::npos;
}

const std::string prepare =
    "lastbit: float network: prepare it: lastbit quantize 'my net.json' --backend imx8mp --calibrate DIR -o 'my net_imx8mp.json'";

}  // namespace

TEST_CASE("no command is green on a float network: it says how to prepare it, in the user's own words") {
  const Shell shell;
  write_networks(shell);
  const std::vector<std::string> commands{
      "run 'my net.json' --backend imx8mp --input x.npy",
      "run 'my net.json' --backend imx8mp --input x.npy --fallback float",
      "run 'my net.json' --backend imx8mp --input x.npy --keep y=float",
      "run 'my net.json' --backend imx8mp --input x.npy --json",
      "run 'my net.json' --backend imx8mp --set conv.i8.accumulator.bits=24 --input x.npy",
      "run 'my net.json' --backend imx8mp",  // told before an input is asked for
      "compare 'my net.json' --a float --b imx8mp --input x.npy",
      "compare 'my net.json' --a imx8mp --b float --input x.npy --fallback float",
      "compare 'my net.json' --a tflite_double --b imx8mp --input x.npy --fallback float",  // b is judged
      "compare 'my net.json' --dump board --backend imx8mp --fallback float",
      "explain 'my net.json' --a float --b imx8mp --input x.npy --fallback float",
      "explain 'my net.json' --dump board --backend imx8mp --fallback float",
      "sweep 'my net.json' --input x.npy --backend float,imx8mp --fallback float",
      "advise 'my net.json' --a float --b imx8mp --input x.npy",
      "prove 'my net.json' --backend imx8mp",
      "prove 'my net.json' --backend imx8mp --fallback float",
      "replay 'my net.json' --dump board --backend imx8mp --fallback float",
      "certify 'my net.json' --a float --b imx8mp --fallback float",
      "matrix 'my net.json' --backend float,imx8mp --fallback float",
      "migrate 'my net.json' 'my net.json' --backend imx8mp --fallback float",
      "migrate float imx8mp --model 'my net.json' --fallback float",
      "shrink 'my net.json' --a float --b imx8mp --input x.npy --fallback float",
  };
  for (const std::string& command : commands) {
    CAPTURE(command);
    CHECK(shell.status(command) == 2);
    CHECK(shell.text("out").empty());
    CAPTURE(shell.text("err"));
    CHECK(says(shell, prepare, "err"));
  }
  // One line, but for that which says what the chip's name stands for.
  REQUIRE(shell.status("-q run 'my net.json' --backend imx8mp --input x.npy") == 2);
  CHECK(shell.text("err") == prepare + "; or --allow-float\n");
}

TEST_CASE("a device that leaves floats to its CPU is not green on a float network either; --allow-float is for whoever means it") {
  const Shell shell;
  write_networks(shell);
  const std::string run = "run 'my net.json' --input x.npy --output out_folder --force --backend bernoulli2";
  CHECK(shell.status(run) == 2);
  CHECK(says(shell, "lastbit quantize 'my net.json' --backend bernoulli2 --calibrate DIR -o 'my net_bernoulli2.json'", "err"));
  REQUIRE(shell.status(run + " --allow-float") == 0);
  CHECK(says(shell, "Not emulated: bernoulli2: 1 of 1 operations have float32 tensors and are computed on the float path"));
  REQUIRE(shell.status(run + " --allow-float --json") == 0);
  CHECK(says(shell, "\"not_emulated\": [\n    \"bernoulli2: 1 of 1 operations"));
  CHECK(shell.status("compare 'my net.json' --a float --b bernoulli2 --input x.npy") == 2);
  CHECK(shell.status("compare 'my net.json' --a float --b bernoulli2 --input x.npy --allow-float") == 0);
  CHECK(shell.status("sweep 'my net.json' --backend float,bernoulli2 --input x.npy --allow-float") == 0);
  CHECK(shell.status("advise 'my net.json' --a float --b bernoulli2 --input x.npy") == 2);
  CHECK(shell.status("advise 'my net.json' --a float --b bernoulli2 --input x.npy --allow-float") == 0);
  // A device without floats then says so of each layer; with a fallback they are the fallback's.
  const std::string chip = "run 'my net.json' --input x.npy --output out_folder --force --backend imx8mp --allow-float";
  CHECK(shell.status(chip) == 2);
  CHECK(says(shell, "integer backends need quantised data", "err"));
  REQUIRE(shell.status(chip + " --fallback float") == 0);
  CHECK(says(shell, "float computes 1 of 1 operations"));
}

TEST_CASE("a network of codes of which a fallback in float would compute every sum is no better") {
  const Shell shell;
  write_networks(shell);
  const std::string run = "run hybrid.json --input x.npy --output out_folder --force --backend imx8mp";
  CHECK(shell.status(run) == 2);  // the device's own refusal
  CHECK_FALSE(says(shell, "prepare it", "err"));
  CHECK_FALSE(says(shell, "--fallback float computes", "err"));  // which would be refused in turn
  CHECK(shell.status(run + " --fallback float") == 2);
  CHECK(says(shell, "--fallback would compute every sum in float: prepare it: lastbit quantize hybrid.json --backend imx8mp", "err"));
  CHECK(shell.status(run + " --fallback float --allow-float") == 0);
  CHECK(shell.status(run + " --fallback tflite_builtin_double") == 0);
  CHECK(shell.status(run + " --fallback tflite_builtin_double --fallback float") == 0);
  CHECK(shell.status(run + " --keep y=float") == 0);
  CHECK(shell.status("run " + codes + images + " --output out_folder --force --backend imx8mp --fallback float") == 0);
}

TEST_CASE("a float network is what a device with sums of floats runs: run says so and goes on") {
  const Shell shell;
  write_networks(shell);
  const std::string run = "run 'my net.json' --input x.npy --output out_folder --force --backend ";
  REQUIRE(shell.status(run + "ascend310") == 0);
  CHECK(says(shell,
             "float network: ascend310 has sums of floats in float16; this network's 1 sum, on float32 tensors, is computed on "
             "the float path; lastbit quantize prepares it for the device\n"));
  REQUIRE(shell.status(run + "onnxruntime") == 0);
  CHECK(says(shell, "float network: onnxruntime computes its 1 sum in float32\n"));
  REQUIRE(shell.status(run + "onnxruntime --json") == 0);
  CHECK(says(shell, R"("float_network": "float network: onnxruntime computes its 1 sum in float32")"));
  CHECK(shell.status("prove 'my net.json' --backend ascend310 --input x.npy") != 2);
  CHECK(shell.status("compare 'my net.json' --a float --b ascend310 --input x.npy") == 0);
  CHECK(shell.status("advise 'my net.json' --a float --b ascend310 --input x.npy") != 2);
  // The float path is what others are held against.
  REQUIRE(shell.status(run + "float") == 0);
  CHECK_FALSE(says(shell, "float network"));
  CHECK(shell.status("compare 'my net.json' --a float --b float_unbounded --input x.npy") == 0);
  // The command that it tells makes a network that runs.
  REQUIRE(shell.status("quantize 'my net.json' --backend imx8mp --calibrate x.npy -o 'my net_imx8mp.json'") == 0);
  CHECK(shell.status("run 'my net_imx8mp.json' --backend imx8mp --input x.npy --output out_folder --force") == 0);
}

TEST_CASE("what is told has the options that the network is read with, and no quantiser that there is not") {
  const Shell shell;
  write_networks(shell);
  CHECK(shell.status("run 'my net.json' --to y --backend imx8mp --input x.npy") == 2);
  CHECK(says(shell, "quantize 'my net.json' --to y --backend imx8mp", "err"));
  CHECK(shell.status("run 'my net.json' --backend gap8 --input x.npy") == 2);
  CHECK(says(shell, "float network: gap8 computes codes, and lastbit has no quantiser for it: quantise it with the vendor's tools", "err"));
  // Of all devices the matrix takes those that have sums of floats.
  CHECK(shell.status("matrix 'my net.json'") != 2);
  CHECK(says(shell, "ascend310"));
  CHECK(says(shell, "vipnano_v8"));  // left out
}
