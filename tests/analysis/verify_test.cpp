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

/// A primitive of tflite_double on integers.
std::string primitive(const std::string& name, const std::vector<std::pair<std::string, std::int64_t>>& inputs,
                      const std::string& expected = R"({"type": "int64", "shape": [1], "data": [0]})") {
  std::string given;
  for (const auto& [input, value] : inputs)
    given += (given.empty() ? "\"" : ", \"") + input + R"(": {"type": "int64", "shape": [1], "data": [)" + std::to_string(value) + "]}";
  return head + R"({"name": "p", "primitive": ")" + name + R"(", "backend": "tflite_double", "inputs": {)" + given +
         R"(}, "expected": {"value": )" + expected + "}}]}";
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
  CHECK(reason_of(
            head +
            R"({"name": "m", "primitive": "metrics", "inputs": {"mine": "x.npy", "truth": {"type": "float32", "shape": [1], "data": [1]}},
                             "report": {"CosineSimilarity": "1.0"}}]})") == "mine: 2 values; 'truth' has 1");
  CHECK(verified(figure(R"("-")")).failures.size() == 1);
  CHECK(verified(figure(R"("1e9999")")).failures.size() == 1);
}

TEST_CASE("a primitive refuses what its arithmetic is not defined for") {
  constexpr std::int64_t wide = std::int64_t{1} << 31;
  CHECK(verified(primitive("rounding_divide_by_power_of_two", {{"a", 1}, {"exponent", 62}})).passed == 1);
  CHECK(reason_of(primitive("rounding_divide_by_power_of_two", {{"a", 1}, {"exponent", 63}})) ==
        "rounding_divide_by_power_of_two: input 'exponent' is 63, not from 0 to 62");
  CHECK(reason_of(primitive("exp_on_negative_q5_26", {{"a", 1}})) == "exp_on_negative_q5_26: input 'a' is 1, not from -2147483648 to 0");
  CHECK(reason_of(primitive("tanh_q4_27", {{"a", wide}})) == "tanh_q4_27: input 'a' is 2147483648, not from -2147483648 to 2147483647");
  CHECK(reason_of(primitive("doubling_high_multiply_i16", {{"a", 0}, {"b", 32768}})) ==
        "doubling_high_multiply_i16: input 'b' is 32768, not from -32768 to 32767");
  CHECK(reason_of(primitive("rescale_i32", {{"accumulator", wide}, {"multiplier", 1}, {"shift", 0}})).ends_with("to 2147483647"));
  CHECK(reason_of(primitive("rescale_i64", {{"accumulator", wide}, {"multiplier", wide}, {"shift", 0}})).ends_with("to 2147483647"));
  CHECK(reason_of(primitive("rescale_i32", {{"accumulator", 1}, {"multiplier", 1}, {"shift", -500}}))
            .starts_with("rescale: input 'shift' is -500"));
  CHECK(reason_of(primitive("tanh_q4_27", {{"a", 0}}, R"({"type": "float32", "shape": [1], "data": [7]})")) ==
        "value: expected float32, computed int64");
  const std::string scale = head + R"({"name": "e", "primitive": "encode_multiplier", "backend": "tflite_double", "inputs": {"real":
    {"type": "float64", "shape": [1], "data": [-0.5]}}, "expected": {"shift": "i.npy"}}]})";
  CHECK(reason_of(scale) == "encode_multiplier: input 'real' holds a scale that is negative or not finite");
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
