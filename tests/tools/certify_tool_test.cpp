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

TEST_CASE("certify: equal only if assumptions hold is 1 until they are accepted, with a plain last line") {
  const Shell shell;
  const std::string sides = certify_digits + " --a tflite_double --b esp_nn";
  CHECK(shell.status(sides) == 1);
  CHECK(shell.text("out").find("equal for every input only if 1 assumption holds: every rule of esp_nn; --accept-assumptions takes it\n") !=
        std::string::npos);
  CHECK(shell.status(sides + " --accept-assumptions") == 0);
  CHECK(shell.text("out").find("accepted: tflite_double and esp_nn compute the same network") != std::string::npos);
  CHECK(shell.text("out").find("Rests on assumptions:\n  every rule of esp_nn (8 layers): equal in its C code") != std::string::npos);
  CHECK(shell.status(sides + " --output c.json") == 1);
  CHECK(shell.status(sides + " --check c.json") == 0);
  CHECK(shell.text("out").find("Rests on assumptions:") != std::string::npos);
}

TEST_CASE("certify asks about the range of the data, about one layer, and takes layers that others compute") {
  const Shell shell;
  CHECK(shell.status(certify_digits + " --a tflite_double --b vipnano_v8 --layer conv2 --input-range data" + digit_images) == 1);
  CHECK(shell.text("out").find("0 of 1 layers equal for every input within the range of the data") != std::string::npos);
  CHECK(shell.status(certify_digits + " --a tflite_double --b vipnano_v8 --keep " + "0,1,2,3,4,5,7,8=tflite_double") == 0);
  CHECK(shell.status(certify_digits + " --a tflite_double --b vipnano_v8 --threads 2 --json") == 1);
  CHECK(shell.text("out").find("\"lastbit.certificate.v2\"") != std::string::npos);
}

TEST_CASE("certify writes a certificate, checks it, and refuses one of something else") {
  const Shell shell;
  const std::string sides = " --a tflite_double --b vipnano_v8";
  CHECK(shell.status(certify_digits + sides + " --output c.json") == 1);
  CHECK(shell.status(certify_digits + sides + " --check c.json") == 0);
  CHECK(shell.text("out").find("the certificate holds: 9 layers, ") != std::string::npos);
  CHECK(shell.status(certify_digits + " --a tflite_double --b vipnano_v7 --check c.json") == 2);
  CHECK(shell.text("err").find("the checksum of the rules of side b is fnv1a64:") != std::string::npos);
  std::string text = shell.text("c.json");
  text.replace(text.find("\"differing\": 904"), 16, "\"differing\": 905");
  shell.write("changed.json", text);
  CHECK(shell.status(certify_digits + sides + " --check changed.json") == 1);
  CHECK(shell.text("out").find("layer 0 'conv1': differing 905; found 904") != std::string::npos);
  CHECK(shell.status(certify_digits + sides + " --check missing.json") == 2);
  CHECK(shell.status(certify_digits + sides + " --output out.json --layer conv2") == 1);
  CHECK(shell.status(certify_digits + sides + " --check out.json") == 0);
  CHECK(shell.text("out").find("the certificate holds: 1 layer, layer 3 'conv2' alone, 20,547,406 cases") != std::string::npos);
  CHECK(shell.status(certify_digits + sides + " --check out.json --layer conv1") == 2);
  CHECK(shell.text("err").find("it is of layer 3, not of layer 0 alone") != std::string::npos);
}

TEST_CASE("certify --check holds a certificate to the layers that others compute, and to the names of all it is of") {
  const Shell shell;
  const std::string kept = certify_digits + " --a tflite_double --b vipnano_v8 --keep conv2=tflite_double";
  CHECK(shell.status(kept + " --json") == 1);
  const std::string text = shell.text("out");
  const auto status_with = [&](const std::string& stated, const std::string& other) {
    std::string changed = text;
    const std::size_t at = changed.find(stated);
    REQUIRE(at != std::string::npos);
    changed.replace(at, stated.size(), other);
    shell.write("kept.json", changed);
    return shell.status(kept + " --check kept.json");
  };
  CHECK(status_with("", "") == 0);
  CHECK(status_with("computes 1 of 9", "computes 2 of 9") == 1);
  CHECK(shell.text("out").find("the network: elsewhere 0 \"beside vipnano_v8, ") != std::string::npos);
  CHECK(status_with("\"model\": \"model.json\"", "\"model\": \"other.json\"") == 1);
  CHECK(shell.text("out").find("the network: model \"other.json\"; found \"model.json\"") != std::string::npos);
  CHECK(status_with("\"name\": \"vipnano_v8\"", "\"name\": \"vipnano_v7\"") == 1);
  CHECK(status_with("\"name\": \"vipnano_v8\"", "\"named\": \"vipnano_v8\"") == 2);
  CHECK(shell.text("err").find("unknown key 'named'") != std::string::npos);
}

TEST_CASE("a fingerprint is of one backend, and the same where nothing differs") {
  const Shell shell;
  const auto last_line = [&](const std::string& backend) {
    CHECK(shell.status(certify_digits + " --fingerprint --a " + backend) == 0);
    const std::string text = shell.text("out");
    return text.substr(text.rfind('\n', text.size() - 2) + 1, 24);
  };
  CHECK(last_line("tflite_double") == last_line("tflite_builtin_double"));
  CHECK(last_line("tflite_double") != last_line("tflite_single"));
  CHECK(shell.status(certify_digits + " --fingerprint --a tflite_double --b vipnano_v8") == 2);
  CHECK(shell.text("err").find("--fingerprint is of one backend, --a") != std::string::npos);
  CHECK(shell.status(certify_digits + " --fingerprint --a tflite_double --json") == 0);
  CHECK(shell.text("out").find("\"lastbit.fingerprint.v1\"") != std::string::npos);
}
