// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// lastbit shrink and lastbit gen-golden as a shell sees them.
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit::test;

namespace {

std::string digits() {
  const auto folder = source_directory() / "examples" / "digits";
  return (folder / "model.json").string() + " --input " + (folder / "test_images.npy").string();
}
std::string digits_model() { return (source_directory() / "examples" / "digits" / "model.json").string(); }

}  // namespace

TEST_CASE("lastbit shrink: a case is found, written, and verified") {
  const Shell shell;
  CHECK(shell.status("shrink " + digits() + " --a tflite_double --b vipnano_v8 --output case") == 1);
  CHECK_THAT(shell.text("out"), contains_text("the case     1 multiply-accumulates"));
  CHECK_THAT(shell.text("out"), contains_text("cause        first rounding: half_up -> none"));
  for (const char* file : {"case/cases.json", "case/x.npy", "case/test_catch2.cpp", "case/test_googletest.cpp", "case/layer.tflite"})
    CHECK(std::filesystem::exists(shell.file(file)));
  CHECK(shell.status("verify case") == 0);
  CHECK(shell.status("verify case --backend tflite_double") == 1);  // the other one's case
  CHECK(shell.status("explain case/layer.tflite --a tflite_double --b vipnano_v8 --input case/x.npy") == 1);
  CHECK_THAT(shell.text("out"), contains_text("1 of 1 differ"));
}

TEST_CASE("lastbit shrink: settings, a layer by number, JSON") {
  const Shell shell;
  const std::string pair = " --a vipnano_v8 --b vipnano_v8 --set-b \"*.i8.output.chain.2.rounding=floor\"";
  CHECK(shell.status("shrink " + digits() + pair + " --layer 0 --json --output case") == 1);
  CHECK_THAT(shell.text("out"), contains_text("\"number\": 0"));
  CHECK_THAT(shell.text("out"), contains_text("conv.i8.output.chain.2.rounding"));
  CHECK(shell.status("verify case") == 0);
}

TEST_CASE("lastbit shrink: equal, and one line for a mistake") {
  const Shell shell;
  CHECK(shell.status("shrink " + digits() + " --a vipnano_v8 --b vipnano_v8") == 0);
  CHECK_THAT(shell.text("out"), contains_text("every layer is equal on both"));
  CHECK(shell.status("shrink " + digits() + " --a tflite_double --b vipnano_v8 --layer nowhere") == 2);
  CHECK(shell.text("err") == "lastbit: shrink: no layer is called 'nowhere'; it has a name, or a number from 0 to 8\n");
  CHECK(shell.status("shrink " + digits() + " --a tflite_double --b vipnano_v8 --index 0") == 2);
  CHECK(shell.text("err") == "lastbit: shrink: value 0 does not differ\n");
  shell.write("file", "");
  CHECK(shell.status("shrink " + digits() + " --a tflite_double --b vipnano_v8 --output file/case") == 2);
}

TEST_CASE("lastbit gen-golden: written, checked, changed") {
  const Shell shell;
  CHECK(shell.status("gen-golden " + digits() + " --backend vipnano_v8 --output store") == 0);
  CHECK(shell.status("gen-golden " + digits_model() + " --check store") == 0);
  CHECK_THAT(shell.text("out"), contains_text("all equal; no rule changed"));
  CHECK(shell.status("gen-golden " + digits_model() + " --check store --backend vipnano_v8 --set conv.i8.output.chain.2.rounding=floor") ==
        1);
  CHECK_THAT(shell.text("out"), contains_text("conv.i8.output.chain.2.rounding: half_even -> floor"));
  CHECK_THAT(shell.text("out"), contains_text("the first that differs: conv2d 'conv1'["));
  CHECK(shell.status("gen-golden " + digits_model() + " --check store --backend tflite_double --json") == 1);
  CHECK_THAT(shell.text("out"), contains_text("\"passed\": false"));
  CHECK(shell.status("gen-golden " + digits() + " --output store") == 2);
  CHECK(shell.text("err") == "lastbit: gen-golden: --backend is needed\n");
  CHECK(shell.status("gen-golden " + digits() + " --check store") == 2);
  CHECK(shell.status("gen-golden " + digits_model() + " --check nowhere") == 2);
}
