// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How problems are put into lines.
#include <string>

#include "problem.hpp"
#include "support/catch.hpp"

using namespace lastbit;
using tool::problem_text;

namespace {

std::string said(const std::string& message) { return problem_text({{{ErrorCode::bad_input, "f.tflite", message}}, {}}); }

Diagnostic layer(const std::string& kind, const std::string& name, const std::string& message) {
  return {ErrorCode::unsupported_operation, "npu: " + kind + " '" + name + "'", message};
}

}  // namespace

TEST_CASE("a line is folded at a space, and within no name") {
  const std::string long_name = "'" + std::string(120, 'a') + " and " + std::string(120, 'b') + "'", long_word(230, 'w');
  CHECK(said("short") == "lastbit: f.tflite: short\n");
  CHECK(said("--from " + long_name + " keeps 9 of 10") == "lastbit: f.tflite: --from\n  " + long_name + "\n  keeps 9 of 10\n");
  CHECK(said(long_word + " is no option") == "lastbit: f.tflite:\n  " + long_word + "\n  is no option\n");
  const std::string words(195 - std::string("lastbit: f.tflite: ").size(), 'x');
  CHECK(said(words + " four") == "lastbit: f.tflite: " + words + " four\n");  // 200
  CHECK(said(words + " fives") == "lastbit: f.tflite: " + words + "\n  fives\n");
  CHECK(said("the file's " + std::string(100, 'y') + " isn't " + std::string(90, 'z')) ==
        "lastbit: f.tflite: the file's " + std::string(100, 'y') + " isn't\n  " + std::string(90, 'z') + "\n");  // apostrophes open no name
}

TEST_CASE("layers of one kind that are refused for one reason are one line") {
  tool::Problems problems;
  for (const char* const name : {"a", "b", "c", "d", "e"})
    problems.all.push_back(layer("conv2d", name, "tensor '" + std::string(name) + "' is float32"));
  problems.all.push_back(layer("add", "f", "tensor 'x' is float32"));
  problems.all.push_back(layer("conv2d", "g", "no such arithmetic"));
  problems.hint = "--fallback float computes the rest";
  CHECK(problem_text(problems) ==
        "lastbit: 7 problems\n"
        "  npu: conv2d 'a', 'b', 'c' and 2 more: tensor 'a' is float32\n"
        "  npu: add 'f': tensor 'x' is float32\n"
        "  npu: conv2d 'g': no such arithmetic; --fallback float computes the rest\n");
}

TEST_CASE("few alike have a line each") {
  tool::Problems problems;
  for (const char* const name : {"a", "b", "c", "d"}) problems.all.push_back(layer("conv2d", name, "no"));
  CHECK(problem_text(problems) ==
        "lastbit: 4 problems\n  npu: conv2d 'a': no\n  npu: conv2d 'b': no\n  npu: conv2d 'c': no\n  npu: conv2d 'd': no\n");
}
