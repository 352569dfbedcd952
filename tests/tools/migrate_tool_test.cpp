// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit migrate` as a shell sees it.
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "lastbit/io/json_model.hpp"
#include "lastbit/io/model_file.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using Json = nlohmann::json;
using test::Shell;

namespace {

const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
const std::string digit_images = " --input " + (test::source_directory() / "examples/digits/test_images.npy").string();

ModelTensor& tensor(Model& model, std::string_view name) { return model.tensors[static_cast<std::size_t>(*model.find_tensor(name))]; }

/// The digits with another scale of the weights of conv2.
void write_rescaled(const Shell& shell, const std::string& file, double factor) {
  Model model = read_model(digits);
  for (double& scale : tensor(model, "conv2_weights").quantization.scales) scale *= factor;
  write_json_model(shell.file(file), model);
}

}  // namespace

TEST_CASE("migrate: 0 the same for every input, 1 a layer can differ or is not decided, 2 error with one line") {
  const Shell shell;
  write_rescaled(shell, "near.json", 1 + 1e-13);
  write_rescaled(shell, "far.json", 1.001);
  const auto migrate = [&](const std::string& rest) { return shell.status("migrate " + digits + " " + rest); };
  CHECK(migrate(digits + " --backend tflite_double") == 0);
  CHECK(shell.text("out").find("the same network for every input: 9 layers matched (9 by name), 0 removed, 0 added") != std::string::npos);
  CHECK(migrate("near.json --backend tflite_double") == 0);
  CHECK(shell.text("out").find("equal in 20,547,406 accumulators") != std::string::npos);
  CHECK(migrate("far.json --backend tflite_double" + digit_images) == 1);
  const std::string text = shell.text("out");
  CHECK(text.find("the first that is not equal: 3 'conv2'") != std::string::npos);
  CHECK(text.find("on data: of 'probabilities' the largest value is in the same place in 360 of 360 samples") != std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK((line.size() <= 100 || line.find('/') != std::string::npos));
  CHECK(migrate("far.json --backend ascend310") == 2);
  CHECK(shell.text("err").find("old network: ") != std::string::npos);
  CHECK(migrate("absent.json --backend tflite_double") == 2);
}

TEST_CASE("migrate: the report as JSON has every layer with its match, its changes, what they do and what data show") {
  const Shell shell;
  write_rescaled(shell, "far.json", 1.001);
  REQUIRE(shell.status("migrate " + digits + " far.json --backend tflite_double --json --threads 2" + digit_images) == 1);
  const Json json = Json::parse(shell.text("out"));
  CHECK(json["equal"] == false);
  REQUIRE(json["layers"].size() == 9);
  const Json& layer = json["layers"][3];
  CHECK(layer["name"] == "conv2");
  CHECK(layer["matched_by"] == "name");
  CHECK(layer["verdict"] == "differs");
  CHECK(layer["changes"][0]["what"] == "weights scales");
  CHECK(layer["on_data"]["own"]["differing"].get<int>() > 0);
  CHECK(layer["on_data"]["own"] == layer["on_data"]["accumulated"]);
  CHECK(json["layers"][4]["on_data"]["own"]["differing"] == 0);
  CHECK(json["layers"][4]["on_data"]["accumulated"]["differing"].get<int>() > 0);
  CHECK(json["outputs"][0]["samples"] == 360);
}

TEST_CASE("migrate: two versions of a device file, of which one rule that the network reads changed") {
  const Shell shell;
  const auto device = [&](const std::string& file, const std::string& rounding) {
    shell.write(file, R"({"format": "lastbit.backend.v1", "name": "mine", "title": "mine", "extends": "tflite_double", "rules": )"
                      R"({"fully_connected.i8.output.chain": [{"kind": "shift_left", "bits": 32, "overflow": "wrap"}, )"
                      R"({"kind": "doubling_high_multiply", "bits": 32, "rounding": ")" +
                          rounding +
                          R"("}, {"kind": "shift_right", "rounding": "half_away", "amount": "negative_exponent"}, )"
                          R"({"kind": "add_zero_point"}, {"kind": "clamp"}]}})");
  };
  device("old.json", "half_up");
  device("same.json", "half_up");
  device("new.json", "floor");
  CHECK(shell.status("migrate old.json new.json --model " + digits) == 1);
  CHECK(shell.text("out").find("old.json to new.json: 1 rule changed, of which this network reads 1\n"
                               "  fully_connected.i8.output.chain.1.rounding: half_up -> floor (1 layer)\n") != std::string::npos);
  CHECK(shell.text("out").find("8 of 9 layers equal for every input, 1 can differ, 0 open") != std::string::npos);
  CHECK(shell.status("migrate old.json same.json --model " + digits) == 0);
  CHECK(shell.text("out").find("old.json to same.json: 0 rules changed, of which this network reads 0") != std::string::npos);
  CHECK(shell.status("migrate tflite_double tflite_builtin_double --model " + digits) == 0);
  CHECK(shell.status("migrate tflite_double vipnano_v8 --model " + digits + digit_images) == 1);
  const std::string text = shell.text("out");
  CHECK(text.find("tflite_double against vipnano_v8") != std::string::npos);
  CHECK(text.find("\non data:\n") != std::string::npos);
  CHECK(shell.status("migrate tflite_double vipnano_v8 --json --model " + digits) == 1);
  const Json json = Json::parse(shell.text("out"));
  CHECK(json["certificate"]["format"] == "lastbit.certificate.v2");
  CHECK_FALSE(json["rules"].empty());
}

TEST_CASE("migrate: either the device of two networks or the network of two devices") {
  const Shell shell;
  CHECK(shell.status("migrate " + digits + " " + digits) == 2);
  CHECK(shell.text("err").find("--backend is needed, the device of both networks; or --model, the network of two devices") !=
        std::string::npos);
  CHECK(shell.status("migrate tflite_double xnnpack --model " + digits + " --backend float") == 2);
  CHECK(shell.status("migrate " + digits) == 2);
  CHECK(shell.status("migrate " + digits + " " + digits + " --backend tflite_double --input absent.npy") == 2);
}
