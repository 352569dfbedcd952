// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit backends --for`, and chips in the place of backends.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
const std::string images = (test::source_directory() / "examples/digits/test_images.npy").string();
const std::string chip_told = "imx8mp: its NPU, a VeriSilicon VIPNano V8, computed by vipnano_v8\n";

}  // namespace

TEST_CASE("a question is answered with backends, their settings and what is not certain") {
  const Shell shell;
  REQUIRE(shell.status("backends --for 'tflite 2.9 aarch64'") == 0);
  const std::string text = shell.text("out");
  CHECK(text.starts_with("TensorFlow Lite on 64-bit Arm"));
  CHECK(text.find("    tflite_builtin_double --set fully_connected.i8.output.chain.2.rounding=half_up\n") != std::string::npos);
  CHECK(text.find("  not certain: ") != std::string::npos);
  REQUIRE(shell.status("backends --for 'aarch64 TFLITE 2.9'") == 0);
  CHECK(shell.text("out") == text);
  REQUIRE(shell.status("backends --for imx8mp") == 0);
  CHECK(shell.text("out").find("computed by vipnano_v8") != std::string::npos);
}

TEST_CASE("the answer in JSON") {
  const Shell shell;
  REQUIRE(shell.status("backends --json --for 'tflite imx8mp 2.9'") == 0);
  const auto answer = nlohmann::json::parse(shell.text("out"));
  CHECK(answer["chips"][0]["backends"] == nlohmann::json::array({"vipnano_v8"}));
  CHECK(answer["cases"][0]["rows"][0]["backend"] == "tflite_ruy_neon");
  CHECK(answer["cases"][0]["rows"][0]["fit"] == "equal");
  REQUIRE(shell.status("backends --runtimes --json") == 0);
  const auto all = nlohmann::json::parse(shell.text("out"));
  CHECK(all["cases"].size() > answer["cases"].size());
  const auto without = [](const nlohmann::json& row) { return row["fit"] == "none" && row["backend"].is_null(); };
  CHECK(std::ranges::any_of(all["cases"], [&](const nlohmann::json& one) { return std::ranges::any_of(one["rows"], without); }));
}

TEST_CASE("a word that is not known, and options that do not go together, are refused") {
  const Shell shell;
  CHECK(shell.status("backends --for 'tfilte 2.9'") == 2);
  CHECK(shell.text("err").starts_with("lastbit: --for \"tfilte 2.9\": unknown word 'tfilte'; did you mean 'tflite'"));
  CHECK(shell.status("backends --for ''") == 2);
  CHECK(shell.status("backends --for tflite --markdown") == 2);
  CHECK(shell.status("backends --for tflite --runtimes") == 2);
  CHECK(shell.status("run " + digits + " --backend gna --input " + images) == 2);
  CHECK(shell.text("err").find("gna1, gna1_embedded, gna2, gna3_0 or gna3_1") != std::string::npos);
  CHECK(shell.status("describe meteorlake") == 2);
  CHECK(shell.text("err").find("computed by no backend; a generation after 3.1") != std::string::npos);
}

TEST_CASE("a chip is a backend's name in every command, which says once what it stands for") {
  const Shell shell;
  const std::string compare = "compare " + digits + " --input " + images + " --a tflite_double --b ";
  REQUIRE(shell.status(compare + "vipnano_v8") == 1);
  const std::string report = shell.text("out");
  CHECK(shell.text("err").empty());
  CHECK(shell.status(compare + "imx8mp") == 1);
  CHECK(shell.text("out") == report);
  CHECK(shell.text("err") == chip_told);
  CHECK(shell.status("diff-backends imx8mp vipnano_v8") == 0);
  CHECK(shell.text("err") == chip_told);
  CHECK(shell.status("describe i.MX8MP") == 0);
  CHECK(shell.text("err") == chip_told);
  CHECK(shell.status("run " + digits + " --input " + images + " --backend tflite_double --keep probabilities=imx8mp --fallback imx8mp") ==
        0);
  CHECK(shell.text("err") == chip_told);
  CHECK(shell.status("quantize --list-options --backend tigerlake") == 0);
  CHECK(shell.text("err").starts_with("tigerlake: its GNA"));
}
