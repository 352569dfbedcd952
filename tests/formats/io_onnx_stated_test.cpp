// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How an ONNX file states an operation on codes, and which devices compute it on codes.
#include "lastbit/io/json_model.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// OPERATOR, and perhaps an activation, between DequantizeLinear and QuantizeLinear; with weights where there are any.
struct Pairs {
  std::string op;
  std::string activation{};
  bool has_weights = false;
  std::int64_t output_zero_point = 7;

  template <class T>
  [[nodiscard]] Statement stated() const {
    OnnxFile file;
    file.scale<T>("x", 0.05F, static_cast<T>(3));
    file.scale<T>("y", 0.06F, static_cast<T>(output_zero_point));
    file.scale<std::int8_t>("w", 0.01F, 0);
    file.constant<std::int8_t>("w", {2, 2, 1, 1}, {1, 2, 3, 4});
    file.input<T>("x", {1, 2, 4, 4});
    file.dequantize("x", "xf", "x");
    Names inputs{"xf"};
    if (has_weights) {
      file.dequantize("w", "wf", "w");
      inputs.push_back("wf");
    } else if (op == "Add" || op == "Sub") {
      inputs.push_back("xf");
    }
    file.node(op, inputs, {"cf"});
    if (!activation.empty()) file.node(activation, {"cf"}, {"rf"});
    file.quantize(activation.empty() ? "cf" : "rf", "y", "y");
    const Model model = file.output("y").read();
    const Model again = parse_json_model(json_model_text(model), {}, "again");
    for (std::size_t i = 0; i < model.operations.size(); ++i) CHECK(again.operations[i].stated == model.operations[i].stated);
    for (const Operation& operation : model.operations)
      if (!is_movement(operation.kind)) return operation.stated;
    return Statement::on_codes;
  }
};

/// What lies between the first two layers and has another reader.
enum class Shared { nothing, codes, reals };

/// Conv, Conv, Softmax, each between pairs of int8 codes.
std::vector<Statement> chain(Shared shared) {
  OnnxFile file;
  for (const char* name : {"x", "a", "b", "y", "w"}) file.scale<std::int8_t>(name, 0.05F, name[0] == 'w' ? 0 : 3);
  file.constant<std::int8_t>("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  file.input<std::int8_t>("x", {1, 2, 4, 4});
  file.dequantize("w", "wf", "w");
  file.dequantize("x", "xf", "x");
  file.node("Conv", {"xf", "wf"}, {"ar"});
  file.quantize("ar", "a", "a");
  file.dequantize("a", "af", "a");
  file.node("Conv", {"af", "wf"}, {"br"});
  file.quantize("br", "b", "b");
  file.dequantize("b", "bf", "b");
  file.node("Softmax", {"bf"}, {"yr"});
  file.quantize("yr", "y", "y");
  if (shared == Shared::codes) file.dequantize("a", "second", "a");
  if (shared != Shared::nothing) {
    file.node("Relu", {shared == Shared::codes ? "second" : "af"}, {"z"});
    file.output("z");
  }
  std::vector<Statement> statements;
  for (const Operation& operation : file.output("y").read().operations) {
    const bool counts = operation.kind == OperationKind::conv2d || operation.kind == OperationKind::softmax;
    if (counts) statements.push_back(operation.stated);
  }
  return statements;
}

}  // namespace

TEST_CASE("what ONNX Runtime fuses between DequantizeLinear and QuantizeLinear is said of each operation") {
  using enum Statement;
  CHECK(Pairs{"Conv", "", true}.stated<std::uint8_t>() == fusible);
  CHECK(Pairs{"Conv", "", true}.stated<std::int8_t>() == fusible_by_option);
  CHECK(Pairs{"ConvTranspose", "", true}.stated<std::uint8_t>() == not_fusible);
  CHECK(Pairs{"Add"}.stated<std::int8_t>() == fusible);
  CHECK(Pairs{"Sub"}.stated<std::int8_t>() == not_fusible);
  CHECK(Pairs{"Tanh"}.stated<std::uint8_t>() == not_fusible);
  // A Relu is implied where no code stands for less than 0.
  CHECK(Pairs{"Conv", "Relu", true, 7}.stated<std::uint8_t>() == not_fusible);
  CHECK(Pairs{"Conv", "Relu", true, 0}.stated<std::uint8_t>() == fusible);
  CHECK(Pairs{"Add", "Relu", false, -128}.stated<std::int8_t>() == fusible);
  CHECK(Pairs{"Add", "Relu", false, -127}.stated<std::int8_t>() == not_fusible);
}

TEST_CASE("int8 codes that lie between two layers alone are uint8 ones to ONNX Runtime by default") {
  using enum Statement;
  CHECK(chain(Shared::nothing) ==
        std::vector{fusible_by_option, fusible_as_uint8, fusible_by_option});  // int8 in, nothing but uint8, int8 out
  CHECK(chain(Shared::codes) == std::vector{fusible_by_option, fusible_by_option, fusible_by_option});
  CHECK(chain(Shared::reals) == std::vector{fusible_by_option, fusible_by_option, fusible_by_option});  // a residual network's
}

TEST_CASE("int8 codes that are moved first, or read by a float output of the graph, are uint8 ones to ONNX Runtime as well") {
  for (const bool moved : {false, true}) {
    OnnxFile file;
    for (const char* name : {"x", "a", "w"}) file.scale<std::int8_t>(name, 0.05F, name[0] == 'w' ? 0 : 3);
    file.constant<std::int8_t>("w", {2, 2, 1, 1}, {1, 2, 3, 4});
    file.input<std::int8_t>("x", {1, 2, 4, 4});
    file.dequantize("w", "wf", "w");
    file.dequantize("x", "xf", "x");
    if (moved) set(file.node("Transpose", {"xf"}, {"xt"}), "perm", Integers{0, 1, 3, 2});
    file.node("Conv", {moved ? "xt" : "xf", "wf"}, {"ar"});
    file.quantize("ar", "a", "a");
    file.dequantize("a", "y", "a");
    const Model model = file.output("y").read();
    const auto conv = std::ranges::find(model.operations, OperationKind::conv2d, &Operation::kind);
    CHECK(conv->stated == (moved ? Statement::fusible_as_uint8 : Statement::fusible_by_option));
  }
}

namespace {

/// Codes, an operator, pairs of these zero points one directly behind the other, and an operator that reads the last.
OnnxFile pairs_in_a_row(const std::vector<std::uint8_t>& zero_points, const std::string& first = "Relu", const std::string& last = "Relu") {
  OnnxFile file;
  file.scale<std::uint8_t>("x", 0.5F, 0);
  file.input<std::uint8_t>("x", {1, 8});
  file.dequantize("x", "real", "x");
  file.node(first, {"real"}, {"real 0"});
  for (std::size_t i = 0; i < zero_points.size(); ++i) {
    const std::string codes = "codes " + std::to_string(i);
    file.scale<std::uint8_t>(codes, 0.5F, zero_points[i]);
    file.quantize("real " + std::to_string(i), codes, codes);
    file.dequantize(codes, "real " + std::to_string(i + 1), codes);
  }
  file.node(last, {"real " + std::to_string(zero_points.size())}, {"y"});
  file.output("y");
  return file;
}

/// (scale, zero point) that the tensors of these codes are merged to; nothing where they are not.
std::vector<std::pair<double, std::int64_t>> merged_in(const Model& model) {
  std::vector<std::pair<double, std::int64_t>> list;
  for (const ModelTensor& tensor : model.tensors)
    if (tensor.merged && tensor.name.starts_with("codes ")) list.emplace_back(tensor.merged->scale(), tensor.merged->zero_point());
  return list;
}

}  // namespace

TEST_CASE("pairs of QuantizeLinear and DequantizeLinear one directly behind the other are one pair to ONNX Runtime") {
  using List = std::vector<std::pair<double, std::int64_t>>;
  CHECK(merged_in(pairs_in_a_row({100}).read()).empty());
  CHECK(merged_in(pairs_in_a_row({100, 100}).read()).empty());  // they mean the same
  // -50…77.5 and -25…102.5 have -25…77.5 in common: 205 halves in 255 steps; 62.2 of them below zero.
  const double step = static_cast<double>(102.5F / 255.0F);
  CHECK(merged_in(pairs_in_a_row({100, 50}).read()) == List{{step, 62}, {step, 62}});
  // The third has all of that: nothing changes but that it takes part.
  CHECK(merged_in(pairs_in_a_row({100, 50, 70}).read()).size() == 3);
  CHECK(merged_in(pairs_in_a_row({0, 255}).read()).empty());  // nothing but 0 in common
  CHECK(merged_in(pairs_in_a_row({100, 50}, "Clip").read()).empty());
}

TEST_CASE("the rule of fusion and the statement decide what is computed in float32") {
  using enum Statement;
  const auto in_float32 = [](Fusion fusion) {
    Backend backend = no_rules;
    backend.fusion = fusion;
    std::vector<Statement> list;
    for (const Statement stated : {on_codes, fusible, fusible_as_uint8, fusible_by_option, not_fusible}) {
      Operation operation;
      operation.stated = stated;
      if (computes_in_float32(operation, backend)) list.push_back(stated);
    }
    return list;
  };
  CHECK(in_float32(Fusion::every).empty());
  CHECK(in_float32(Fusion::by_option) == std::vector{not_fusible});
  CHECK(in_float32(Fusion::by_default) == std::vector{fusible_by_option, not_fusible});
  CHECK(in_float32(Fusion::none) == std::vector{fusible, fusible_as_uint8, fusible_by_option, not_fusible});
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    CHECK((sheet.backend.fusion != Fusion::every) == sheet.name.starts_with("onnxruntime"));
  }
}
