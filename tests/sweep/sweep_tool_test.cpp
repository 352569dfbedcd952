// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit sweep` as a shell sees it: reports, refusals, kills.
#include <sstream>

#include "sweep/sweeping.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

std::string tool(const std::string& arguments) { return std::string(LASTBIT_TOOL) + " " + arguments; }

}  // namespace

TEST_CASE("sweep on the command line: the figures, as text, JSON and CSV") {
  const Sweeping digits(360);
  REQUIRE(digits.shell.status(Sweeping::arguments("--json report.json --csv report.csv")) == 1);
  const auto json = nlohmann::json::parse(digits.shell.text("report.json"));
  CHECK(json["format"] == "lastbit.sweep.v1");
  CHECK(json["complete"] == true);
  CHECK(json["samples"] == 360);
  CHECK(json["reference"] == "tflite_double");
  const auto& conv1 = json["backends"][1]["tensors"][1];  // the table of examples/digits/README.md
  CHECK(conv1["name"] == "conv1");
  CHECK(conv1["values"] == 184320);
  CHECK(conv1["differing"] == 160);
  CHECK(json["backends"][2]["tensors"][3]["differing"] == 3172);
  CHECK(json["backends"][2]["answers"][0]["as_reference"]["samples"] == 360);
  std::istringstream csv(digits.shell.text("report.csv"));
  std::int64_t lines = 0, commas = -1;
  for (std::string line; std::getline(csv, line); ++lines) {
    const auto count = std::count(line.begin(), line.end(), ',');
    if (commas >= 0) CHECK(count == commas);
    commas = count;
  }
  CHECK(lines == 1 + 3 * 10);
  CHECK_THAT(digits.shell.text("out"), contains_text("vipnano_v8 against tflite_double"));
  CHECK(digits.shell.text("err").empty());
  REQUIRE(digits.shell.status(Sweeping::arguments("--json --batch 11 --threads 2")) == 1);
  CHECK(digits.shell.text("out") == digits.shell.text("report.json"));
}

TEST_CASE("sweep on the command line: equal is 0") {
  const Sweeping digits(8);
  const std::string model = (source_directory() / "examples/digits/model.json").string();
  CHECK(digits.shell.status("sweep " + model + " --input image=data.npy --backend tflite_single,tflite_single") == 0);
}

TEST_CASE("sweep on the command line: bad input is one line and 2") {
  const Sweeping digits(8);
  const std::string model = (source_directory() / "examples/digits/model.json").string();
  digits.shell.write("state.json", "{}");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"--input none.npy --backend tflite_double", "none.npy: No such file"},
      {"--input wrong=data.npy --backend tflite_double", "no input of this name"},
      {"--input data.npy --input data.npy --backend tflite_double", "one too many"},
      {"--input data.npy --backend tflite_double,nothing", "nothing"},
      {"--input data.npy --backend tflite_double,ascend310", "ascend310"},
      {"--input data.npy --backend tflite_double --state state.json", "state.json"},
      {"--input data.npy --backend tflite_double --state none/state.json", "none/state.json"},
      {"--input data.npy --backend tflite_double --threads 0", "--threads"},
      {"--input data.npy", "--backend"}};
  for (const auto& [arguments, why] : cases) {
    INFO(arguments);
    CHECK(digits.shell.status("sweep " + model + " " + arguments) == 2);
    const std::string error = digits.shell.text("err");
    INFO(error);
    CHECK(error.find(why) != std::string::npos);
    CHECK(error.starts_with("lastbit: "));
  }
}

TEST_CASE("A sweep that was killed goes on: the report is the one of an undisturbed sweep, byte by byte") {
  const Sweeping digits(6000);
  REQUIRE(digits.shell.status(Sweeping::arguments("--json whole.json")) == 1);
  const std::string whole = digits.shell.text("out");
  int kills = 0;
  for (const int signal : {SIGKILL, SIGTERM, SIGHUP, SIGKILL}) {
    const std::int64_t before = digits.samples_done("state.json");
    const pid_t process = digits.start(tool(Sweeping::arguments("--json report.json --state state.json --checkpoint 0.02 --batch 4")));
    REQUIRE(digits.wait_for("state.json", before + 300));
    ::kill(process, signal);
    const int status = Sweeping::wait(process);
    CHECK(status == (signal == SIGKILL ? -SIGKILL : 2));
    CHECK(!std::filesystem::exists(digits.shell.file("report.json")));
    if (signal != SIGKILL) CHECK_THAT(digits.shell.text("err"), contains_text("the same command goes on from there"));
    ++kills;
    REQUIRE(digits.samples_done("state.json") > before);
    REQUIRE(digits.samples_done("state.json") < 6000);
  }
  REQUIRE(kills == 4);
  REQUIRE(digits.shell.status(Sweeping::arguments("--json report.json --state state.json")) == 1);
  CHECK(digits.shell.text("report.json") == digits.shell.text("whole.json"));
  CHECK(digits.shell.text("out") == whole);
  REQUIRE(digits.shell.status(Sweeping::arguments("--json again.json --state state.json")) == 1);  // nothing left to compute
  CHECK(digits.shell.text("again.json") == digits.shell.text("whole.json"));
}
