// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit run` and `lastbit compare` as a shell sees them: exit status, and what they leave behind.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/damaged_dump.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

namespace fs = std::filesystem;
using namespace lastbit;
using test::Shell;

namespace {

const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
const std::string images = " --input " + (test::source_directory() / "examples/digits/test_images.npy").string();

}  // namespace

TEST_CASE("compare: 0 equal, 1 different, 2 error with one line") {
  const Shell shell;
  const std::string compare = "compare " + digits + images;
  CHECK(shell.status(compare + " --a tflite_double --b tflite_double") == 0);
  CHECK(shell.text("out").find("Every value is equal.") != std::string::npos);
  CHECK(shell.status(compare + " --a tflite_double --b vipnano_v8 --golden --details") == 1);
  CHECK(shell.text("err").empty());
  for (const char* wrong :
       {" --a tflite_double", " --b tflite_double", " --a none --b tflite_double", " --a float --b xnnpack --json --csv",
        " --a float --b xnnpack --set-a x", " --b xnnpack --dump absent", " --a float --b xnnpack --threads 0"}) {
    INFO(wrong);
    CHECK(shell.status(compare + wrong) == 2);
    const std::string message = shell.text("err");
    CHECK(std::count(message.begin(), message.end(), '\n') == 1);
  }
}

TEST_CASE("compare shows the layers that are asked for; the verdict is of all") {
  const Shell shell;
  const std::string compare = "compare " + digits + images + " --a tflite_double --b vipnano_v8";
  const auto line_of = [&](const char* layer) { return shell.text("out").find(layer); };
  CHECK(shell.status(compare + " --layer conv1") == 1);
  CHECK(line_of(" conv1 ") != std::string::npos);
  CHECK(line_of(" of 10 layers is shown.\n") != std::string::npos);
  CHECK(shell.status(compare + " --layer 1") == 1);
  CHECK(shell.status(compare + " --only-differing --sort largest") == 1);
  CHECK(line_of(" image ") == std::string::npos);
  CHECK(shell.status("compare " + digits + images + " --a tflite_double --b tflite_double --only-differing") == 0);
  CHECK(line_of("0 of ") != std::string::npos);
  CHECK(shell.status(compare + " --layer conv7") == 2);
  CHECK(shell.text("err").find("'conv1'") != std::string::npos);
  CHECK(shell.status(compare + " --sort name") == 2);
  CHECK(shell.status("sweep " + digits + images + " --backend tflite_double,vipnano_v8 --sort own") == 2);
  CHECK(shell.status("sweep " + digits + images + " --backend tflite_double,vipnano_v8 --sort differing --only-differing") == 1);
  CHECK(shell.text("out").find(" image ") == std::string::npos);
}

TEST_CASE("a rule set on one side makes the difference") {
  const Shell shell;
  const std::string compare =
      "compare " + digits + images + " --a tflite_double --b tflite_double --set-b conv.i8.output.chain.2.rounding=floor";
  CHECK(shell.status(compare) == 1);
  CHECK(shell.text("out").find("conv.i8.output.chain.2.rounding=floor") != std::string::npos);
}

TEST_CASE("CSV and JSON go where they are sent") {
  const Shell shell;
  const std::string compare = "compare " + digits + images + " --a tflite_double --b vipnano_v8";
  CHECK(shell.status(compare + " --csv report.csv") == 1);
  CHECK(shell.text("report.csv").starts_with("number,tensor,name,"));
  CHECK(shell.text("out").starts_with("a: tflite_double"));
  CHECK(shell.status(compare + " --csv") == 1);
  CHECK(shell.text("out") == shell.text("report.csv"));
  CHECK(shell.status(compare + " --json") == 1);
  CHECK(shell.text("out").starts_with("{"));
  CHECK(shell.status(compare + " --csv absent/report.csv") == 2);
}

TEST_CASE("run leaves outputs or a trace, which compare takes as traces and as a dump") {
  const Shell shell;
  CHECK(shell.status("run " + digits + images + " --backend vipnano_v8 --output results --threads 2") == 0);
  CHECK(read_npy(shell.file("results/probabilities.npy")).shape().text() == "360x1x10");
  CHECK_FALSE(fs::exists(shell.file("probabilities.npy")));
  CHECK(shell.status("run " + digits + images + " --backend vipnano_v8 --trace npu") == 0);
  CHECK_FALSE(fs::exists(shell.file("probabilities.npy")));
  CHECK(shell.status("run " + digits + images + " --backend tflite_double --trace cpu") == 0);
  CHECK(shell.status("compare npu npu") == 0);
  CHECK(shell.status("compare cpu npu") == 1);
  CHECK(shell.status("compare cpu npu --a float") == 2);
  CHECK(shell.status("compare cpu absent") == 2);
  CHECK(shell.status("compare " + digits + " --b vipnano_v8 --dump npu") == 0);
  CHECK(shell.status("compare " + digits + " --b vipnano_v8 --dump cpu") == 1);
}

TEST_CASE("verify: where nothing was compared nothing has passed") {
  const Shell shell;
  shell.write("cases.json", R"({"format": "lastbit.cases.v1", "cases": []})");
  CHECK(shell.status("verify cases.json") == 1);
}

TEST_CASE("run: outputs whose names make one file name get a file each") {
  const Shell shell;
  shell.write("two.json", R"({"format": "lastbit.model.v1", "tensors": [
    {"name": "x", "type": "int8", "shape": [2], "quantization": {"scale": [1]}},
    {"name": "a/b", "type": "int8", "shape": [2], "quantization": {"scale": [1]}},
    {"name": "a b", "type": "int8", "shape": [2], "quantization": {"scale": [2]}}],
    "operations": [{"op": "requantize", "inputs": ["x"], "outputs": ["a/b"]}, {"op": "requantize", "inputs": ["x"], "outputs": ["a b"]}],
    "inputs": ["x"], "outputs": ["a/b", "a b"]})");
  write_npy(shell.file("x.npy"), Tensor::from<std::int8_t>({2}, std::vector<std::int8_t>{20, -8}));
  REQUIRE(shell.status("run two.json --input x.npy --backend tflite_double --output results") == 0);
  CHECK(read_npy(shell.file("results/a_b.npy")) == Tensor::from<std::int8_t>({2}, std::vector<std::int8_t>{20, -8}));
  CHECK(read_npy(shell.file("results/a_b_2.npy")) == Tensor::from<std::int8_t>({2}, std::vector<std::int8_t>{10, -4}));
}

TEST_CASE("compare and explain name what is wrong with a dump") {
  const Shell shell;
  const std::string compare = "compare " + digits + " --b vipnano_v8 --dump board";
  const std::string explain = "explain " + digits + " --a vipnano_v8 --dump board";
  const auto fresh = [&] {
    fs::remove_all(shell.file("board"));
    REQUIRE(shell.status("run " + digits + images + " --backend vipnano_v8 --trace board --trace-samples 0") == 0);
    fs::remove(shell.file("board/trace.json"));
  };
  const auto change = [&](const char* file, auto&& damage) {
    Tensor values = read_npy(shell.file(file));
    damage(values);
    write_npy(shell.file(file), values);
  };
  const auto check_named = [&](const std::string& tensor, const std::string& cause) {
    for (const std::string& command : {compare, explain}) {
      INFO(command << ": " << cause);
      CHECK(shell.status(command) == 1);
      std::string text = shell.text("out");
      std::replace(text.begin(), text.end(), '\n', ' ');
      for (std::size_t at; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
      CHECK((text.find("isread: tensor '" + tensor + "': " + cause) != std::string::npos));
    }
    fresh();
  };
  fresh();
  CHECK(shell.status(compare) == 0);
  CHECK(shell.status(explain) == 0);
  const char* const conv2 = "board/tensor_012.npy";
  REQUIRE(fs::exists(shell.file(conv2)));
  change(conv2, [](Tensor& values) { test::add_offset(values, 5); });
  check_named("conv2", "every value is off by +5");
  change(conv2, [](Tensor& values) { test::invert_sign(values); });
  check_named("conv2", "the highest bit of every value is inverted (xor 0x80)");
  change(conv2, [](Tensor& values) { test::exchange_samples(values, Shape{1, 8, 8, 16}); });
  const std::int64_t samples = read_npy(shell.file(conv2)).shape()[0];
  check_named("conv2", "it is of another sample");
  change(conv2, [](Tensor& values) { test::put_channels_first(values, Shape{1, 8, 8, 16}); });
  check_named("conv2", "its values stand in the order NCHW");
  change(conv2, [&](Tensor& values) {  // what its shape tells is read so
    test::put_channels_first(values, Shape{1, 8, 8, 16});
    values.reshape({samples, 16, 8, 8});
  });
  for (const std::string& command : {compare, explain}) {
    CHECK(shell.status(command) == 0);
    CHECK(shell.text("out").find("1 tensor in the order nchw: 'conv2'") != std::string::npos);
  }
  change(conv2, [&](Tensor& values) {
    values = Tensor(ElementType::int8, {values.element_count() / 64 - 1, 8, 8});  // cut
  });
  CHECK(shell.status(compare) == 2);
  CHECK(shell.status(explain) == 2);
}

TEST_CASE("run --json says of every sum how it was found, and counts as proven all that are not followed step by step") {
  const Shell shell;
  const std::string narrow =
      " --set '*.i8.accumulator.bits=16' --set '*.i8.accumulator.overflow=saturate' --set '*.i8.accumulator.when=every_add'";
  REQUIRE(shell.status("run " + digits + images + " --backend tflite_double --json" + narrow) == 0);
  const auto report = nlohmann::json::parse(shell.text("out"));
  std::int64_t by_output = 0, step_by_step = 0;
  for (const auto& layer : report["layers"]) {
    if (!layer.contains("sums")) continue;
    INFO(layer["name"]);
    std::int64_t all = 0;
    for (const char* way : {"order_free", "proven_by_type", "proven_by_input", "proven_by_output", "step_by_step"})
      all += layer["sums"][way].get<std::int64_t>();
    const auto steps = layer["sums"]["step_by_step"].get<std::int64_t>();
    CHECK(layer["sums"]["outputs"] == all);
    CHECK(layer["proven"] == static_cast<double>(all - steps) / static_cast<double>(all));
    by_output += layer["sums"]["proven_by_output"].get<std::int64_t>();
    step_by_step += steps;
  }
  CHECK(by_output > 0);
  CHECK(step_by_step > 0);
}

TEST_CASE("run names an input that is missing, unknown or one too many") {
  const Shell shell;
  const std::string run = "run " + digits + " --backend tflite_double";
  for (const std::string& wrong :
       std::vector<std::string>{"", " --input nobody=x.npy", images + images, " --input image=absent.npy",
                                " --input image=", " --input image=a.npy --input image=b.npy", images + " --trace-samples -1"}) {
    INFO(wrong);
    CHECK(shell.status(run + wrong) == 2);
    const std::string message = shell.text("err");
    CHECK(std::count(message.begin(), message.end(), '\n') == 1);
    CHECK(message.size() < 200);
  }
  CHECK(shell.status(run + " --input image=" + images.substr(9)) == 0);
}
