// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit advise` as a shell sees it.
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;

namespace {

std::string example(const std::string& name) { return (test::source_directory() / "examples/digits" / name).string(); }

std::string advise(const std::string& rest) {
  return "advise " + example("model.json") + " --input " + example("test_images.npy") + " --samples 12 " + rest;
}

}  // namespace

TEST_CASE("advise on the command line: a device that differs, everything as JSON") {
  const test::Shell shell;
  REQUIRE(shell.status(advise("--a cpu --b vipnano_v8 --candidates 4 --json")) == 1);
  const auto json = nlohmann::json::parse(shell.text("out"));
  REQUIRE(json["format"] == "lastbit.advise.v1");
  REQUIRE(json["a"] == "tflite_double");
  REQUIRE(json["samples"] == 12);
  REQUIRE(json["equal"] == false);
  REQUIRE(json["search"]["candidates"].size() == 4);
  REQUIRE(json["search"]["exact"].size() == 5);
  REQUIRE(json["search"]["by_count"].back()["agreement"]["differing"] == 0);
  REQUIRE(json["layers"].size() == 8);
  REQUIRE(json["consequences"][0]["answers_changed_interval"].size() == 2);
  REQUIRE(shell.text("err").empty());
}

TEST_CASE("advise on the command line: judged at a tensor on the way, by another objective, against float") {
  const test::Shell shell;
  REQUIRE(shell.status(advise("--a float --b vipnano_v8 --candidates 3 --at logits --objective distance --json")) == 1);
  const auto json = nlohmann::json::parse(shell.text("out"));
  REQUIRE(json["judged_at"] == "logits");
  REQUIRE(json["objective"] == "distance");
  REQUIRE(json["layers"].size() == 7);
  REQUIRE(json["layers"][0]["ties"].is_null());
  REQUIRE(json["scales"].is_null());
}

TEST_CASE("advise on the command line: the scales alone need no data, and the network on them is certified as they say") {
  const test::Shell shell;
  const std::string sides = " --a tflite_single --b xnnpack";
  REQUIRE(shell.status("advise " + example("model.json") + sides + " --scales --json -o scaled.json") == 1);
  const auto json = nlohmann::json::parse(shell.text("out"));
  CHECK(json["format"] == "lastbit.scales.v1");
  REQUIRE(shell.status("certify scaled.json" + sides + " --json") == (json["all_equal"] == true ? 0 : 1));
  const auto proof = nlohmann::json::parse(shell.text("out"));
  CHECK_FALSE(json["layers"].empty());
  for (const auto& layer : json["layers"]) {
    const auto& proven = proof["layers"][layer["operation"].get<std::size_t>()];
    CHECK(proven["differing"] == layer["left"]);
    CHECK((proven["verdict"] == "equal") == layer["equal"]);
  }
  REQUIRE(shell.status("advise " + example("model.json") + " --a xnnpack --b xnnpack --scales") == 0);
  CHECK(shell.text("out").find("Every layer is equal for every input as it is.") != std::string::npos);
  REQUIRE(shell.status("advise " + example("model.json") + sides) == 2);
  CHECK(shell.text("err").find("only --scales does without") != std::string::npos);
}

TEST_CASE("advise on the command line: the layers to keep, as the vendor's tool reads them") {
  const test::Shell shell;
  const std::string folder = (test::source_directory() / "examples/ascend-addn").string();
  const std::string command = "advise " + folder + "/model.json --a float --input " + folder + "/image.npy -o list.cfg --b ";
  REQUIRE(shell.status(command + "ascend310") == 1);
  CHECK(shell.text("out").find("list.cfg: 2 layers of 'what has to stay in float32', for atc --keep_dtype=FILE\n") != std::string::npos);
  CHECK(shell.text("list.cfg") == "# lastbit: layers kept off the device\nAddN\nscale\n");
  REQUIRE(shell.status(advise("--a cpu --b vipnano_v8 -o never")) == 2);
  CHECK(shell.text("err").find("one is written for: ascend310") != std::string::npos);
  CHECK(shell.text("out").empty());
}

TEST_CASE("advise on the command line: equal, and refused in one line") {
  const test::Shell shell;
  REQUIRE(shell.status(advise("--a vipnano_v8 --b vipnano_v8")) == 0);
  REQUIRE(shell.text("out").find("nothing to advise") != std::string::npos);
  for (const std::string& wrong : {std::string("--a cpu --b vipnano_v8 --at nowhere"), std::string("--a cpu --b nothing"),
                                   std::string("--a cpu --b ascend310"), std::string("--a cpu --b vipnano_v8 --objective best")}) {
    INFO(wrong);
    REQUIRE(shell.status(advise(wrong)) != 0);
    REQUIRE(shell.status(advise(wrong)) != 1);
    REQUIRE(shell.text("out").empty());
  }
  REQUIRE(shell.status(advise("--a cpu --b vipnano_v8 --at nowhere")) == 2);
  const std::string error = shell.text("err");
  REQUIRE(error.find("'nowhere'") != std::string::npos);
  REQUIRE(error.find('\n') == error.size() - 1);
}
