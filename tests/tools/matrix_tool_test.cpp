// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// `lastbit matrix` as a shell sees it.
#include <string>

#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

const std::string matrix_digits = "matrix " + (test::source_directory() / "examples/digits/model.json").string();

}  // namespace

TEST_CASE("matrix: 0 all equal for every input, 1 some can differ or are open, 2 error with one line") {
  const Shell shell;
  CHECK(shell.status(matrix_digits + " --backend tflite_double,tflite_builtin_double") == 0);
  CHECK(shell.text("out").find("tflite_builtin_double        =") != std::string::npos);
  CHECK(shell.status(matrix_digits + " --backend tflite_double,imx8mp") == 1);
  CHECK(shell.text("out").find("tflite_double against vipnano_v8") != std::string::npos);
  CHECK(shell.status(matrix_digits + " --backend tflite_double,gna2") == 2);
  CHECK(shell.text("err").find("fewer than two of the backends run this network") != std::string::npos);
  CHECK(shell.status(matrix_digits + " --backend tflite_double,nobody") == 2);
}

TEST_CASE("matrix takes every device that runs the network, and writes its figures and its picture") {
  const Shell shell;
  CHECK(shell.status(matrix_digits + " --threads 2 --csv m.csv --plot m.svg") == 1);
  CHECK(shell.text("out").find("onnxruntime_unfused") != std::string::npos);
  CHECK(shell.text("out").find("left out: ") != std::string::npos);
  CHECK(shell.text("out").find(" against ") == std::string::npos);
  CHECK(shell.text("m.csv").starts_with("a,b,number,name,kind,outputs,verdict,decided_by,cases,differing,"));
  CHECK(shell.text("m.csv").find("\ntflite_double,vipnano_v8,3,conv2,conv2d,1024,differs,accumulators,20547406,2984,") !=
        std::string::npos);
  CHECK(shell.text("m.svg").find("<svg") != std::string::npos);
  CHECK(shell.status(matrix_digits + " --backend tflite_double,vipnano_v8 --json") == 1);
  CHECK(shell.text("out").find("\"lastbit.matrix.v1\"") != std::string::npos);
}

TEST_CASE("matrix shows of a pair the layers that are asked for") {
  const Shell shell;
  const std::string pair = matrix_digits + " --backend tflite_double,vipnano_v8";
  CHECK(shell.status(pair + " --only-differing") == 1);
  CHECK(shell.text("out").find("  6 features") == std::string::npos);
  CHECK(shell.text("out").find("  8 probabilities") != std::string::npos);  // open
  CHECK(shell.text("out").find("8 of 9 layers are shown.\n") != std::string::npos);
  CHECK(shell.status(pair + " --sort differing") == 1);
  const std::string sorted = shell.text("out");
  CHECK(sorted.find("  4 residual") < sorted.find("  5 pool"));
  CHECK(sorted.find("  5 pool") < sorted.find("  0 conv1"));
  CHECK(shell.status(pair + " --layer conv2") == 1);
  CHECK(shell.text("out").find("1 of 9 layers is shown.\n") != std::string::npos);
  CHECK(shell.status(pair + " --layer conv9") == 2);
  CHECK(shell.text("err").find("did you mean 'conv") != std::string::npos);
  CHECK(shell.status(pair + " --sort largest") == 2);
  CHECK(shell.text("err").find("--sort largest: a matrix has shares, and no difference in LSB") != std::string::npos);
}
