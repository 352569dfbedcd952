// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What `verify` says of case files and cases that cannot be computed.
#include "lastbit/verify.hpp"

#include <fstream>

#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"

using namespace lastbit;

namespace {

const std::string head = R"({"format": "lastbit.cases.v1", "cases": [)";

/// The report of one cases.json with this text; beside it lie the float32 x.npy and the int32 i.npy.
VerifyReport verified(const std::string& text) {
  const test::Scratch folder;
  write_npy(folder.path() / "x.npy", Tensor::from<float>({2}, std::vector<float>{1, 2}));
  write_npy(folder.path() / "i.npy", Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{1, 2}));
  std::ofstream(folder.path() / "cases.json") << text;
  return verify(folder.path());
}

std::string figure(const std::string& value) {
  return head + R"({"name": "m", "primitive": "metrics", "inputs": {"mine": "x.npy", "truth": "x.npy"}, "report": {"CosineSimilarity": )" +
         value + "}}]}";
}

/// A relu whose output is what comes in, with more keys.
std::string relu(const std::string& keys) {
  return head + R"({"name": "r", "model": {"format": "lastbit.model.v1", "tensors": [{"name": "a", "type": "float32", "shape": [2]},
    {"name": "b", "type": "float32", "shape": [2]}], "operations": [{"op": "relu", "inputs": ["a"], "outputs": ["b"]}], "inputs": ["a"],
    "outputs": ["b"]}, "inputs": ["x.npy"], )" +
         keys + "}]}";
}

std::string reason_of(const std::string& text) {
  const VerifyReport report = verified(text);
  REQUIRE(report.failures.size() == 1);
  CHECK(report.passed == 0);
  return report.failures[0].reason;
}

}  // namespace

TEST_CASE("a case that holds passes, one that does not is told by tensor and index") {
  CHECK(verified(relu(R"("backend": "float", "expected": ["x.npy"])")).passed == 1);
  CHECK(verified(relu(R"("backend": "float", "expected": {"b": "x.npy"})")).passed == 1);
  CHECK(verified(figure(R"("1.0")")).passed == 1);
  const VerifyReport report = verified(figure(R"("0.5")"));
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures[0].tensor == "CosineSimilarity");
}

TEST_CASE("a case that cannot be computed fails with its reason") {
  CHECK(reason_of(relu(R"("backend": "float")")) == "case: 'expected' is missing");
  CHECK(reason_of(relu(R"("expected": ["x.npy"])")) == "case: 'backend' is missing, and none was given");
  CHECK(reason_of(relu(R"("backend": 1, "expected": ["x.npy"])")) == "case.backend: a text is needed");
  CHECK(reason_of(relu(R"("backend": "float", "expected": ["i.npy"])")) == "b: expected int32, computed float32");
  CHECK(reason_of(head + R"({"backend": "float", "inputs": [], "expected": []}]})") == "case: 'model' is missing");
  CHECK(verified(figure(R"("-")")).failures.size() == 1);
  CHECK(verified(figure(R"("1e9999")")).failures.size() == 1);
}

TEST_CASE("settings are rules: integers as numbers or text") {
  const auto text = [](const std::string& bits) {
    return head + R"({"name": "p", "primitive": "rounding_divide_by_power_of_two", "backend": "tflite_double",
      "settings": {"conv.i8.accumulator.bits": )" +
           bits + R"(}, "inputs": {"a": "i.npy", "exponent": "i.npy"}, "expected": {"value": "i.npy"}}]})";
  };
  CHECK(verified(text("24")).failures[0].reason.empty());
  CHECK(verified(text("\"24\"")).failures[0].reason.empty());
  CHECK(reason_of(text("65")).find("integers from 2 to 64") != std::string::npos);
  CHECK(reason_of(text("1.5")) == "case.settings.conv.i8.accumulator.bits: a text is needed");
}

TEST_CASE("a file that is no case file is refused in one line with file and place") {
  const auto refusal = [](const std::string& text) {
    const auto found = test::refusal_of([&] { verified(text); });
    REQUIRE(found);
    CHECK(found->is_one_line());
    return found->message.substr(found->message.find("cases.json"));
  };
  CHECK(refusal(head) == "cases.json: not JSON at line 1, column 42");
  CHECK(refusal(std::string(100'000, '[')) == "cases.json: values nested more than 32 deep");
  CHECK(refusal(R"({"format": "lastbit.cases.v1", "format": "", "cases": []})") == "cases.json: key 'format' stands twice in one object");
  CHECK(refusal("{}") == "cases.json: not a case file of format lastbit.cases.v1");
  const test::Scratch folder;
  std::filesystem::create_directory(folder.path() / "cases.json");
  CHECK(test::refusal_of([&] { static_cast<void>(verify(folder.path())); })->says("cases.json: not a regular file"));
}
