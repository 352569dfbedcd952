// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A converter's or a compiler's mistake on the command line: explain names it, quantize warns of it, compare tries the other way.
#include <string>

#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

const std::string cases = (test::source_directory() / "tests/vectors/converter_mistakes").string();

bool says(const Shell& shell, const std::string& text, const char* where = "out") {
  return shell.text(where).find(text) != std::string::npos;
}

/// Three inputs of 2 channels and 16 places, joined, and a convolution along the places that reads them.
constexpr const char* joined_network = R"({"format": "lastbit.model.v1", "tensors": [
  {"name": "a", "type": "float32", "shape": [1, 1, 16, 2]}, {"name": "b", "type": "float32", "shape": [1, 1, 16, 2]},
  {"name": "all", "type": "float32", "shape": [1, 1, 16, 4]},
  {"name": "w", "type": "float32", "shape": [4, 1, 3, 4], "data": [
    0.5, -0.25, 0.125, 1, -0.5, 0.75, 0.3, -1, 0.9, -0.2, 0.6, 0.1, -0.1, -0.6, 0.2, -0.9, 1, -0.3, -0.75, 0.5, -1, -0.125, 0.25, -0.5,
    0.75, 0.3, -1, 0.9, -0.2, 0.6, 0.1, 0.5, -0.25, 0.125, 1, -0.5, 0.25, -0.125, 0.0625, 0.5, -0.25, 0.375, 0.15, -0.5, 0.45, -0.1, 0.3, 0.05]},
  {"name": "y", "type": "float32", "shape": [1, 1, 14, 4]}],
  "operations": [{"op": "concat", "name": "all", "inputs": ["a", "b"], "outputs": ["all"], "attributes": {"axis": 3}},
                 {"op": "conv2d", "name": "conv", "inputs": ["all", "w"], "outputs": ["y"], "attributes": {}}],
  "inputs": ["a", "b"], "outputs": ["y"]})";

void write_joined(const Shell& shell) {
  shell.write("float.json", joined_network);
  for (const float start : {0.1F, 0.7F}) {
    Tensor values(ElementType::float32, {1, 1, 16, 2});
    float next = start;
    for (float& value : values.values<float>()) value = next = 3.7F * next * (1 - next);
    write_npy(shell.file(start < 0.5F ? "a.npy" : "b.npy"), values);
  }
}

}  // namespace

TEST_CASE("explain names what a converter got wrong, in text, JSON and on a page") {
  const Shell shell;
  struct Case {
    std::string dump, mistake, text;
  };
  const Case all[] = {
      {"bias_ignored", "bias_missing", "explained by a mistake, not by arithmetic: the bias is missing"},
      {"padding_other_side", "padding_elsewhere", "padding stands on another side: [0, 2, 0, 2] for [1, 1, 1, 1]"},
      {"scale_of_channel_0", "scales_of_other_channels", "the scale of channel 0 is used for all channels"},
  };
  for (const Case& one : all) {
    INFO(one.dump);
    const std::string explain = "explain " + cases + "/model.json --backend tflite_double --dump " + cases + "/" + one.dump;
    CHECK(shell.status(explain) == 1);
    CHECK(says(shell, one.text));
    CHECK_FALSE(says(shell, "nearest"));
    CHECK_FALSE(says(shell, "try identify"));
    CHECK(says(shell, "0 of 1 layers are equal, 0 are explained, 1 by a mistake outside of the arithmetic, 0 are not."));
    CHECK(shell.status(explain + " --json") == 1);
    CHECK(says(shell, "\"name\": \"" + one.mistake + "\""));
    CHECK(shell.status(explain + " --html page.html") == 1);
    CHECK(says(shell, "a mistake: ", "page.html"));
  }
}

TEST_CASE("quantize warns of what OpenVINO's plugin compiles, and float stays the user's network") {
  const Shell shell;
  write_joined(shell);
  const std::string inputs = " --input a=a.npy --input b=b.npy";
  REQUIRE(shell.status("quantize float.json --backend gna2" + inputs + " -o meant.json --force") == 0);
  CHECK(says(shell, "OpenVINO's plugin compiles 'conv' to read the joined memory as it lies"));
  CHECK(says(shell, "--set behind_concat=as_it_lies"));
  REQUIRE(shell.status("quantize float.json --backend gna2 --set behind_concat=as_it_lies" + inputs + " -o compiled.json --force") == 0);
  CHECK_FALSE(says(shell, "OpenVINO's plugin compiles"));

  // The compiled network is far from what the user means.
  CHECK(shell.status("compare compiled.json --a float --b gna2" + inputs + " --min-cosine 0.99") == 1);
  CHECK(shell.status("compare meant.json --a float --b gna2" + inputs + " --min-cosine 0.99") == 0);

  // A dump of either is explained by the other, and compare tries it.
  REQUIRE(shell.status("run compiled.json --backend gna2" + inputs + " --output board --force") == 0);
  CHECK(shell.status("compare meant.json --backend gna2 --dump board" + inputs) == 1);
  CHECK(says(shell, "Compiled otherwise: OpenVINO's plugin compiles 'conv' to read the joined memory as it lies"));
  CHECK(says(shell, "read so, 0 of the dump's tensors differ"));
  CHECK(shell.status("explain meant.json --backend gna2 --dump board" + inputs) == 1);
  CHECK(says(shell, "is read as it lies: [channel][place] as [place][channel]"));
  REQUIRE(shell.status("run meant.json --backend gna2" + inputs + " --output board2 --force") == 0);
  CHECK(shell.status("compare compiled.json --backend gna2 --dump board2" + inputs) == 1);
  CHECK(says(shell, "Compiled otherwise: the network means 'all', not its memory as it lies"));
  CHECK(shell.status("explain compiled.json --backend gna2 --dump board2" + inputs) == 1);
  CHECK(says(shell, "'all' is read as the network means it, not as its memory lies"));
}

TEST_CASE("quantize: what the CPU computes of an ONNX keeps its type, the file's own layout included") {
  const Shell shell;
  const std::string model = (test::source_directory() / "tests/tools/exp.onnx").string();
  Tensor image(ElementType::float32, {1, 8, 4, 4});
  float next = 0.3F;
  for (float& value : image.values<float>()) value = next = 3.7F * next * (1 - next);
  write_npy(shell.file("x.npy"), image);
  REQUIRE(shell.status("quantize " + model + " --backend bernoulli2 --set cpu=Exp_474 --calibrate x.npy -o e.json --json") == 0);
  const Model written = read_json_model(shell.file("e.json"));
  CHECK(written.tensor(written.outputs.at(0)).type == ElementType::float32);
  REQUIRE(shell.status("quantize " + model + " --backend bernoulli2 --calibrate x.npy -o bpu.json --force") == 0);
  const Model on_bpu = read_json_model(shell.file("bpu.json"));
  CHECK(on_bpu.tensor(on_bpu.outputs.at(0)).type == ElementType::int8);
  CHECK(shell.status("run e.json --backend bernoulli2 --input x.npy --output o --force") == 0);
}
