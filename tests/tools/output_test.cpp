// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a command writes over, and what it does not.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

namespace fs = std::filesystem;

const std::string digits = (test::source_directory() / "examples/digits").string();

/// The digits network beside its input, and a comparison of two backends that writes a table.
struct Work {
  Shell shell;
  Work() {
    fs::copy_file(digits + "/model.json", shell.file("model.json"));
    fs::copy_file(digits + "/test_images.npy", shell.file("x.npy"));
  }
  /// Exit status 2 and one line that says so.
  void refuses(const std::string& arguments, const std::string& why) const {
    INFO(arguments);
    CHECK(shell.status(arguments) == 2);
    says(why);
  }
  /// The same, instead of waiting.
  void refuses_at_once(const std::string& arguments, const std::string& why) const {
    INFO(arguments);
    CHECK(status_of("timeout -s KILL 60 " LASTBIT_TOOL " " + arguments + " >out 2>err") == 2);
    says(why);
  }
  void says(const std::string& why) const {
    CHECK_THAT(shell.text("err"), test::contains_text(why));
    const std::string said = shell.text("err");
    CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  }
  /// Of what a shell does in the folder.
  [[nodiscard]] int status_of(const std::string& command) const {
    return WEXITSTATUS(std::system(("cd " + shell.file("").string() + "\n" + command).c_str()));  // NOLINT(cert-env33-c): a test of shells
  }
};

const std::string compare = "compare model.json --input x.npy --a tflite_double --b vipnano_v8 ";

}  // namespace

TEST_CASE("an output never goes through a link") {
  const Work work;
  work.shell.write("elsewhere", "kept");
  fs::create_symlink(work.shell.file("elsewhere"), work.shell.file("table.csv"));
  for (const char* force : {"", " --force"})
    work.refuses(compare + "--csv table.csv" + force, "table.csv: is a link, which no output follows");
  fs::create_symlink(work.shell.file("new"), work.shell.file("report.csv"));  // to nothing
  work.refuses(compare + "--csv report.csv", "report.csv: is a link");
  fs::create_symlink(work.shell.file("elsewhere"), work.shell.file("state.json"));
  work.refuses("sweep model.json --input x.npy --backend tflite_double --state state.json", "state.json: is a link");
  CHECK(work.shell.text("elsewhere") == "kept");
  CHECK(!fs::exists(work.shell.file("new")));
}

TEST_CASE("a pipe is refused where a file is needed, not waited for") {
  const Work work;
  for (const char* name : {"s.json", "b.json"}) REQUIRE(::mkfifo(work.shell.file(name).c_str(), 0600) == 0);
  const std::string sweep = "sweep model.json --input x.npy --backend tflite_double ";
  work.refuses_at_once(sweep + "--state s.json", "s.json: not a regular file");
  fs::create_directory(work.shell.file("states"));
  fs::rename(work.shell.file("s.json"), work.shell.file("states/sweep.json"));
  work.refuses_at_once(sweep + "--state states", "sweep.json: not a regular file");
  work.refuses_at_once("describe b.json", "b.json: not a regular file");
  work.refuses_at_once("identify --layer b.json --dump x.npy", "b.json: not a regular file");
}

TEST_CASE("an output goes to a pipe that is read") {
  const Work work;
  REQUIRE(::mkfifo(work.shell.file("table.csv").c_str(), 0600) == 0);
  CHECK(work.status_of("timeout 60 cat table.csv >read & timeout 60 " LASTBIT_TOOL " " + compare + "--csv table.csv >out; wait") == 0);
  CHECK(work.shell.status(compare + "--csv table") == 1);
  CHECK(work.shell.text("read") == work.shell.text("table"));
}

TEST_CASE("an output never replaces an input, whatever it is called") {
  const Work work;
  fs::create_hard_link(work.shell.file("model.json"), work.shell.file("other.json"));
  const std::string model = work.shell.text("model.json"), input = work.shell.text("x.npy");
  for (const char* force : {"", " --force"}) {
    work.refuses(compare + "--csv x.npy" + force, "x.npy: is an input of this command");
    work.refuses("sweep model.json --input x.npy --backend tflite_double,tflite_single --json other.json" + std::string(force),
                 "is an input of this command");
    work.refuses("quantize model.json --backend tflite_double --input x.npy -o model.json" + std::string(force),
                 "is an input of this command");
    work.refuses(
        "layer --op relu --input x.npy --input-scale 1 --output-scale 1 --backend tflite_double --output ./x.npy" + std::string(force), "");
  }
  CHECK(work.shell.text("model.json") == model);
  CHECK(work.shell.text("x.npy") == input);
}

TEST_CASE("a folder of outputs is not a file") {
  const Work work;
  work.refuses("run model.json --input x.npy --backend tflite_double -o model.json",
               "model.json: is a file; what is written here is a folder of files");
  work.refuses("run model.json --input x.npy --backend tflite_double --trace x.npy", "x.npy: is a file");
}

TEST_CASE("with --force, outputs and traces of an earlier run do not stay beside those of a later one") {
  const Work work;
  const auto is_there = [&](const char* name) { return fs::exists(work.shell.file(name)); };
  const std::string whole = "run model.json --backend tflite_double --input x.npy ", part = whole + "--to conv1 ";
  REQUIRE(work.shell.status(whole + "-o made --trace board") == 0);
  work.shell.write("made/kept.npy", "of somebody else");
  work.shell.write("board/kept.npy", "of somebody else");
  REQUIRE(work.shell.status(part + "-o made --trace board") == 0);
  CHECK(is_there("made/probabilities.npy"));
  CHECK(is_there("made/conv1.npy"));
  REQUIRE(work.shell.status(whole + "-o made --trace board") == 0);
  REQUIRE(work.shell.status(part + "-o made --trace board --force") == 0);
  CHECK_FALSE(is_there("made/probabilities.npy"));
  CHECK(is_there("made/conv1.npy"));
  CHECK(is_there("made/kept.npy"));
  CHECK_FALSE(is_there("board/tensor_019.npy"));
  CHECK(is_there("board/tensor_003.npy"));
  CHECK(is_there("board/kept.npy"));
  fs::copy_file(work.shell.file("x.npy"), work.shell.file("made/given.npy"));
  work.shell.write("made/.lastbit-outputs", "files that lastbit run wrote here:\ngiven.npy\n../x.npy\n");
  REQUIRE(work.shell.status("run model.json --backend tflite_double --input made/given.npy -o made --force") == 0);
  CHECK(is_there("made/given.npy"));  // an input
  CHECK(is_there("x.npy"));
}

TEST_CASE("what lastbit did not write is replaced with --force alone; its own files are") {
  const Work work;
  for (const char* theirs : {"#!/bin/sh\n", "a,b\n1,2\n", "x"}) {
    work.shell.write("table.csv", theirs);
    work.refuses(compare + "--csv table.csv",
                 "table.csv: is there, and does not begin as what lastbit writes: give another name, or --force");
    CHECK(work.shell.text("table.csv") == theirs);
  }
  CHECK(work.shell.status(compare + "--csv table.csv --force") == 1);
  const std::string table = work.shell.text("table.csv");
  CHECK(table.size() > 1000);
  CHECK(work.shell.status(compare + "--csv table.csv") == 1);
  CHECK(work.shell.text("table.csv") == table);
  work.shell.write("empty.csv", "");
  CHECK(work.shell.status(compare + "--csv empty.csv") == 1);
  CHECK(work.shell.text("empty.csv") == table);
  work.refuses("quantize model.json --backend tflite_double --input x.npy -o table.csv", "a model is written as .json or .tflite");
  for (const auto& entry : fs::directory_iterator(work.shell.file("."))) CHECK(!entry.path().filename().string().starts_with(".lastbit"));
}

TEST_CASE("a second run of each command replaces what the first one wrote") {
  const Work work;
  for (const std::string& command :
       {std::string("run model.json --input x.npy --backend tflite_double --output outputs --trace trace"),
        std::string("gen-golden model.json --input x.npy --backend tflite_double --output stored"),
        std::string("quantize model.json --backend tflite_double --input x.npy -o q.json"),
        std::string("quantize model.json --backend tflite_double --input x.npy -o q.tflite"),
        std::string(
            "sweep model.json --input x.npy --backend tflite_double,tflite_single --json report.json --csv report.csv --state s.json")}) {
    INFO(command);
    CHECK(work.shell.status(command) < 2);
    CHECK(work.shell.text("err").empty());
    CHECK(work.shell.status(command) < 2);
    CHECK(work.shell.text("err").empty());
  }
  const std::string shrink = "shrink model.json --input x.npy --output case --a tflite_double --b ";
  CHECK(work.shell.status(shrink + "vipnano_v8") == 1);
  CHECK(work.shell.status(shrink + "xnnpack --set-b *.i8.per_channel=float_scale") < 2);
}

TEST_CASE("a model is written as its name says") {
  const Work work;
  REQUIRE(work.shell.status("quantize model.json --backend tflite_double --input x.npy -o q.tflite") == 0);
  CHECK(work.shell.text("q.tflite").substr(4, 4) == "TFL3");
  CHECK(work.shell.status("run q.tflite --input x.npy --backend tflite_double --output outputs") == 0);
  work.refuses("quantize model.json --backend tflite_double --input x.npy -o q.onnx",
               "--output q.onnx: a model is written as .json or .tflite");
  work.refuses("quantize model.json --backend tflite_double --input x.npy -o q", "a model is written as");
}

TEST_CASE("a second sweep on the same state is told so") {
  const Work work;
  work.shell.write(
      "sweeps", std::string(LASTBIT_TOOL) +
                    " sweep model.json --input x.npy --backend tflite_double,vipnano_v8 --golden --batch 1 --checkpoint 0 --state s.json "
                    ">first 2>&1 & first=$!\n"
                    "for i in $(seq 500); do test -s s.json && break; sleep 0.01; done\n" +
                    std::string(LASTBIT_TOOL) +
                    " sweep model.json --input x.npy --backend tflite_double,vipnano_v8 --golden --state s.json >second 2>&1\n"
                    "echo $? >status\nwait $first\n");
  REQUIRE(work.status_of("sh sweeps") == 1);
  CHECK(work.shell.text("status") == "2\n");
  CHECK(work.shell.text("second") == "lastbit: s.json: another process is at work on it\n");
  CHECK(work.shell.text("first").find("vipnano_v8 against tflite_double") != std::string::npos);
}
