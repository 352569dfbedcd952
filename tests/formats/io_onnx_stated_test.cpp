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

/// Conv, Conv, Softmax, each between pairs of int8 codes; `shared`: the codes between the first two have another reader.
std::vector<Statement> chain(bool shared) {
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
  if (shared) {
    file.dequantize("a", "second", "a");
    file.node("Relu", {"second"}, {"z"});
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
  CHECK(chain(false) == std::vector{fusible_by_option, fusible, fusible_by_option});  // int8 in, nothing but uint8, int8 out
  CHECK(chain(true) == std::vector{fusible_by_option, fusible_by_option, fusible_by_option});
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
    CHECK(conv->stated == (moved ? Statement::fusible : Statement::fusible_by_option));
  }
}

TEST_CASE("the rule of fusion and the statement decide what is computed in float32") {
  using enum Statement;
  const auto in_float32 = [](Fusion fusion) {
    Backend backend;
    backend.fusion = fusion;
    std::vector<Statement> list;
    for (const Statement stated : {on_codes, fusible, fusible_by_option, not_fusible}) {
      Operation operation;
      operation.stated = stated;
      if (computes_in_float32(operation, backend)) list.push_back(stated);
    }
    return list;
  };
  CHECK(in_float32(Fusion::every).empty());
  CHECK(in_float32(Fusion::by_option) == std::vector{not_fusible});
  CHECK(in_float32(Fusion::by_default) == std::vector{fusible_by_option, not_fusible});
  CHECK(in_float32(Fusion::none) == std::vector{fusible, fusible_by_option, not_fusible});
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    CHECK((sheet.backend.fusion != Fusion::every) == sheet.name.starts_with("onnxruntime"));
  }
}
