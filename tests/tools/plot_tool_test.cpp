// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// --plot: the picture of a report.
#include <cstdlib>
#include <string>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

const std::string folder = (test::source_directory() / "examples/digits").string();
const std::string digits = folder + "/model.json", images = " --input " + folder + "/test_images.npy";

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("every command with figures of each layer draws them, as SVG or PNG, and prints what it prints without") {
  const Shell shell;
  const std::string sides = " --a tflite_double --b vipnano_v8";
  for (const std::string& command :
       {"compare " + digits + sides + images, "explain " + digits + sides + images, "certify " + digits + sides,
        "prove " + digits + " --backend vipnano_v8", "advise " + digits + sides + images,
        "quantize " + digits + " --backend vipnano_v8" + images, "migrate tflite_double vipnano_v8 --model " + digits,
        "sweep " + digits + " --backend tflite_double,vipnano_v8" + images}) {
    INFO(command);
    const int status = shell.status(command);
    CHECK(status < 2);
    const std::string printed = shell.text("out");
    CHECK(shell.status(command + " --plot report.svg") == status);
    CHECK(shell.text("out") == printed);
    const std::string svg = shell.text("report.svg");
    CHECK(svg.starts_with("<?xml"));
    CHECK(svg.find("conv1") != std::string::npos);
    CHECK(shell.status(command + " --plot report.png") == status);
    CHECK(shell.text("report.png").starts_with("\x89PNG\r\n"));
  }
}

TEST_CASE("compare draws a bar for each layer that differs, and the share that differs with the same input") {
  const Shell shell;
  REQUIRE(shell.status("compare " + digits + " --a vipnano_v8 --b vipnano_v8" + images + " --plot compare.svg") == 0);
  const std::string equal = shell.text("compare.svg");
  REQUIRE(shell.status("compare " + digits + " --a tflite_double --b vipnano_v8" + images + " --plot compare.svg") == 1);
  CHECK(shell.text("compare.svg") != equal);
  CHECK(count_of(shell.text("compare.svg"), "same input") > 0);
}

TEST_CASE("without gnuplot a plot is refused before anything is computed, and the package that is missing is named") {
  const Shell shell;
  const std::string path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  ::setenv("PATH", shell.file("").c_str(), 1);   // NOLINT(concurrency-mt-unsafe)
  const int status = shell.status("compare " + digits + " --a tflite_double --b vipnano_v8" + images + " --plot compare.svg");
  ::setenv("PATH", path.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  CHECK(status == 2);
  CHECK(shell.text("out").empty());
  CHECK(shell.text("err").find("--plot: plots are drawn by gnuplot, which is not installed (Debian package gnuplot-nox)") !=
        std::string::npos);
}

TEST_CASE("what is no picture, or is another's file, is not written") {
  const Shell shell;
  const std::string compare = "compare " + digits + " --a tflite_double --b vipnano_v8" + images + " --plot ";
  CHECK(shell.status(compare + "report.pdf") == 2);
  CHECK(shell.text("err").find("does not end in .svg or .png") != std::string::npos);
  shell.write("mine.svg", "my own notes");
  CHECK(shell.status(compare + "mine.svg") == 2);
  CHECK(shell.text("mine.svg") == "my own notes");
  CHECK(shell.status(compare + "mine.svg" + " --force") == 1);
  CHECK(shell.text("mine.svg").starts_with("<?xml"));
}
