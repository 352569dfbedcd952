// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Standard output and error: what a stranger's names do to them, and what becomes of a run whose output nobody can read.
#include "terminal.hpp"

#include <filesystem>
#include <sstream>
#include <string>

#include "lastbit/json_value.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

TEST_CASE("a stream passes harmless text on, however it is cut into pieces") {
  const std::string text = "a\u009bü\x1b層\x9b\n";
  const std::string shown = "a\\u009bü\\u001b層\\x9b\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    std::ostringstream stream;
    {
      const tool::HarmlessOutput guard(stream);
      for (std::size_t at = 0; at < text.size(); at += piece) stream << text.substr(at, piece);
      stream << "\xe5\xb1";  // the rest never comes
    }
    INFO("pieces of " << piece);
    CHECK(stream.str() == shown + "\\xe5\\xb1");
    stream << '\a';
    CHECK(stream.str().ends_with('\a'));  // as it was before
  }
  std::ostringstream stream;
  const tool::HarmlessOutput guard(stream);
  for (const char character : text) stream.put(character);
  stream << std::flush;
  CHECK(stream.str() == shown);
}

TEST_CASE("a path in a message cannot reach the terminal") {
  const Shell shell;
  CHECK(shell.status("describe $(printf 'no\\033[31m\\302\\233\\342\\200\\256such')") == 2);
  CHECK_THAT(shell.text("err"), test::contains_text("no\\u001b[31m\\u009b\\u202esuch"));
  CHECK(shell.text("err").find('\x1b') == std::string::npos);
}

TEST_CASE("output that cannot be written ends every command with 2") {
  const Shell shell;
  const std::string examples = (test::source_directory() / "examples").string();
  const std::string model = examples + "/digits/model.json", images = " --input " + examples + "/digits/test_images.npy";
  for (const std::string& command :
       {std::string("backends"), std::string("backends --json"), std::string("describe tflite_double"), std::string("describe --rules"),
        std::string("diff-backends tflite_double vipnano_v8"), std::string("--help"), std::string("--version"),
        "run " + model + images + " --backend tflite_double", "compare " + model + images + " --a tflite_double --b vipnano_v8",
        "compare " + model + images + " --a tflite_double --b vipnano_v8 --json", "prove " + model + " --backend vipnano_v8",
        "explain " + model + images + " --a tflite_double --b vipnano_v8"}) {
    for (const char* nowhere : {">/dev/full", ">&-"}) {
      INFO(command << " " << nowhere);
      CHECK(shell.status(command, nowhere) == 2);
      CHECK(shell.text("err") == "lastbit: standard output cannot be written\n");
    }
  }
}

TEST_CASE("JSON stays JSON, whatever a file is called") {
  const Shell shell;
  const std::string digits = (test::source_directory() / "examples/digits").string();
  const std::string name = "m\xff\x1b[31m\xc2\x9b\xe2\x80\xae.json", model = "$(printf 'm\\377\\033[31m\\302\\233\\342\\200\\256').json";
  std::filesystem::copy_file(digits + "/model.json", shell.file(name));
  std::filesystem::create_directory(shell.file("d\xff\x1b"));
  std::filesystem::copy(test::source_directory() / "tests/vectors/vipnano", shell.file("d\xff\x1b"),
                        std::filesystem::copy_options::recursive);
  const std::string named = "\"" + model + "\"", images = " --input " + digits + "/test_images.npy",
                    data = " " + digits + "/test_images.npy";
  REQUIRE(shell.status("run " + named + images + " --backend tflite_double --trace trace --trace-samples 0") == 0);
  for (const std::string& command :
       {"run " + named + images + " --backend tflite_double --output outputs",
        "compare " + named + images + " --a tflite_double --b vipnano_v8", "compare " + named + " --dump trace --b vipnano_v8",
        "explain " + named + images + " --a tflite_double --b vipnano_v8", "prove " + named + " --backend vipnano_v8",
        "shrink " + named + images + " --a tflite_double --b vipnano_v8",
        "sweep " + named + " --input" + data + " --backend tflite_double,tflite_single",
        "quantize " + named + " --backend tflite_double --input" + data,
        "gen-golden " + named + images + " --backend tflite_double --output stored", std::string("verify \"$(printf 'd\\377\\033')\""),
        std::string("describe tflite_double"), std::string("backends")}) {
    INFO(command);
    CHECK(shell.status(command + " --json") < 2);
    const std::string text = shell.text("out");
    CHECK_NOTHROW((void)JsonValue::parse(text));
    for (const char* const obeyed : {"\x1b", "\xc2\x9b", "\xe2\x80\xae", "\xff"}) CHECK(text.find(obeyed) == std::string::npos);
  }
}
