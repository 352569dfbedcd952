// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the command line says on standard error beside its results.
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

const std::string digits = (test::source_directory() / "examples/digits/model.json").string();
const std::string images = (test::source_directory() / "examples/digits/test_images.npy").string();
const std::string run_on_chip = "run " + digits + " --backend imx8mp --input " + images;

std::string said(const Shell& shell, const std::string& words, int status) {
  CHECK(shell.status(words) == status);
  return shell.text("err");
}

}  // namespace

TEST_CASE("-v tells the path, what is read and how long each stage takes; the results stay as they are") {
  const Shell shell;
  const std::string note = said(shell, run_on_chip, 0), result = shell.text("out");
  CHECK(note.find('\n') == note.size() - 1);  // which backend the chip is, alone
  for (const char* more : {" -v", " --verbose", " --log-level debug"}) {
    INFO(more);
    const std::string details = said(shell, run_on_chip + more, 0);
    CHECK(shell.text("out") == result);
    CHECK_THAT(details, test::contains_text(note));
    CHECK_THAT(details, test::contains_text(", on the path "));
    CHECK_THAT(details, test::contains_text("read " + digits + ": "));
    CHECK_THAT(details, test::contains_text("input: " + images + "\n"));
    CHECK_THAT(details, test::contains_text(" ms\nall of it: "));
  }
}

TEST_CASE("-q tells why a command fails and nothing else; off not even that") {
  const Shell shell;
  const std::string missing = "run " + digits + " --backend imx8mp --input no_such_file.npy";
  for (const char* less : {" -q", " --quiet", " --log-level error", " --log-level off"}) {
    INFO(less);
    CHECK(said(shell, run_on_chip + less, 0).empty());
    const std::string failure = said(shell, missing + less, 2);
    if (std::string(less) == " --log-level off") CHECK(failure.empty());
    else CHECK_THAT(failure, test::contains_text("no_such_file.npy"));
  }
  CHECK_THAT(said(shell, run_on_chip + " --log-level loud", 2), test::contains_text("--log-level"));
}

TEST_CASE("--color marks the words of a verdict, and nothing where there is no terminal; JSON stays JSON") {
  const Shell shell;
  const std::string compared = "compare " + digits + " --a tflite_double --b vipnano_v8 --input " + images;
  const std::string command = compared + " --layer features";
  const auto shown = [&](const std::string& words) {
    CHECK(shell.status(words) == 1);
    return shell.text("out");
  };
  const std::string plain = shown(command);
  CHECK_THAT(plain, test::contains_text("equal"));
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(shown(command + " --color never") == plain);
  std::string colored = shown(command + " --color always");
  CHECK_THAT(colored, test::contains_text("\x1b[32mequal\x1b[0m"));
  CHECK_THAT(colored, test::contains_text("\x1b[33massumptions\x1b[0m"));
  for (const char* mark : {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"}) {
    for (std::size_t at = 0; (at = colored.find(mark)) != std::string::npos;) colored.erase(at, std::string(mark).size());
  }
  CHECK(colored == plain);
  CHECK(shown(command + " --json --color always") == shown(command + " --json"));
}
