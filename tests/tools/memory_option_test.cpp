// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "memory_option.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

TEST_CASE("numbers of bytes") {
  CHECK(tool::bytes_from("4096") == 4096);
  CHECK(tool::bytes_from("512M") == std::size_t{512} << 20);
  CHECK(tool::bytes_from("1.5GiB") == std::size_t{3} << 29);
  CHECK(tool::bytes_from("2KB") == 2048);
  CHECK(tool::bytes_from("3T") == std::size_t{3} << 40);
  for (const char* text : {"", "0", "-1", "M", "5X", "1e3", "2 G", "0.5", "12MM", "nan", "inf", "99999999999T", "0x10"}) {
    INFO(text);
    const auto refusal = test::refusal_of([&] { (void)tool::bytes_from(text); });
    REQUIRE(refusal);
    CHECK(refusal->says("--max-memory "));
  }
}

TEST_CASE("every command that runs a model refuses one that needs more memory than it may, and names the layer") {
  const Shell shell;
  const std::string digits = (test::source_directory() / "examples/digits").string();
  const std::string model = digits + "/model.json", input = " --input " + digits + "/test_images.npy",
                    data = " " + digits + "/test_images.npy";
  REQUIRE(shell.status("run " + model + input + " --backend tflite_double --trace trace --max-memory 1G") == 0);
  for (const std::string& command :
       {"run " + model + input + " --backend tflite_double", "compare " + model + input + " --a tflite_double --b vipnano_v8",
        "compare " + model + " --dump trace --b vipnano_v8" + input, "explain " + model + input + " --a tflite_double --b vipnano_v8",
        "explain " + model + " --a vipnano_v8 --dump trace" + input, "prove " + model + input + " --input-range data --backend vipnano_v8",
        "shrink " + model + input + " --a tflite_double --b vipnano_v8",
        "gen-golden " + model + input + " --backend vipnano_v8 --output stored",
        "advise " + model + " --a float --b vipnano_v8 --input" + data, "quantize " + model + " --backend vipnano_v8 --input" + data,
        "sweep " + model + " --backend tflite_double,vipnano_v8 --input" + data, "identify " + model + " --dump trace",
        "verify " + (test::source_directory() / "tests/vectors/tflite").string()}) {
    INFO(command);
    CHECK(shell.status(command + " --max-memory 3000") == 2);
    const std::string said = shell.text("err");
    CHECK_THAT(said, test::contains_text("layer "));
    CHECK_THAT(said, test::contains_text("2.9 KiB are allowed"));
    CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  }
}
