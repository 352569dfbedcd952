// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit certify` as a shell sees it.
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

const std::string certify_digits = "certify " + (test::source_directory() / "examples/digits/model.json").string();
const std::string digit_images = " --input " + (test::source_directory() / "examples/digits/test_images.npy").string();

}  // namespace

TEST_CASE("certify: 0 equal for every input, 1 a layer can differ or is open, 2 error with one line") {
  const Shell shell;
  CHECK(shell.status(certify_digits + " --a tflite_double --b tflite_builtin_double") == 0);
  CHECK(shell.text("out").find("equal for every input: tflite_double and tflite_builtin_double compute the same network") !=
        std::string::npos);
  CHECK(shell.status(certify_digits + " --a tflite_double --b vipnano_v8") == 1);
  std::istringstream lines(shell.text("out"));
  for (std::string line; std::getline(lines, line);) CHECK((line.size() <= 100 || line.find('/') != std::string::npos));
  CHECK(shell.status(certify_digits + " --a tflite_double --b ascend310") == 2);
  CHECK(shell.status(certify_digits + " --a tflite_double --b float") == 1);
  CHECK(shell.text("out").find("one side computes in real numbers") != std::string::npos);
}

TEST_CASE("certify asks about the range of the data, about one layer, and takes layers that others compute") {
  const Shell shell;
  CHECK(shell.status(certify_digits + " --a tflite_double --b vipnano_v8 --layer conv2 --input-range data" + digit_images) == 1);
  CHECK(shell.text("out").find("0 of 1 layers equal for every input within the range of the data") != std::string::npos);
  CHECK(shell.status(certify_digits + " --a tflite_double --b vipnano_v8 --keep " + "0,1,2,3,4,5,7,8=tflite_double") == 0);
  CHECK(shell.status(certify_digits + " --a tflite_double --b vipnano_v8 --threads 2 --json") == 1);
  CHECK(shell.text("out").find("\"lastbit.certificate.v1\"") != std::string::npos);
}
