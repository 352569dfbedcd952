// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What an ONNX file leaves open until it is read: sizes of inputs, and which branch of an If is taken; and all that a reader lacks, in one
// message.
#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// An input whose sizes of 0 are open; those with a name in the file are called so.
void open_input(OnnxFile& file, const std::string& name, const Integers& sizes, const Names& names) {
  file.input(name, sizes);
  auto* shape = file.graph().mutable_input(file.graph().input_size() - 1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 0) continue;
    shape->mutable_dim(static_cast<int>(i))->clear_value();
    if (!names[i].empty()) shape->mutable_dim(static_cast<int>(i))->set_dim_param(names[i]);
  }
}

OnnxFile one_open(const Integers& sizes, const Names& names) {
  OnnxFile file;
  open_input(file, "x", sizes, names);
  file.node("Relu", {"x"}, {"y"});
  file.output("y");
  return file;
}

std::string refusal(const OnnxFile& file, const OnnxOptions& options) {
  try {
    static_cast<void>(file.read(options));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

onnx::GraphProto& branch(onnx::NodeProto& node, const std::string& name) {
  return *attribute(node, name, onnx::AttributeProto::GRAPH).mutable_g();
}

void add(onnx::GraphProto& graph, const std::string& op, const Names& inputs, const std::string& output) {
  auto* node = graph.add_node();
  node->set_op_type(op);
  for (const std::string& name : inputs) node->add_input(name);
  node->add_output(output);
  graph.clear_output();
  graph.add_output()->set_name(output);
}

/// x [2, 3]; If Equal(its first size, `expected`): Relu, else what `otherwise` says.
OnnxFile decided_by_shape(std::int64_t expected, const std::string& otherwise = "Tanh") {
  OnnxFile file;
  file.input("x", {2, 3}).constant<std::int64_t>("zero", {}, {0});
  file.constant<std::int64_t>("expected", {}, {expected});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Gather", {"shape", "zero"}, {"size"});
  file.node("Equal", {"size", "expected"}, {"same"});
  auto& node = file.node("If", {"same"}, {"y"});
  add(branch(node, "then_branch"), "Relu", {"x"}, "inner");
  add(branch(node, "else_branch"), otherwise, {"x"}, "inner");
  file.output("y");
  return file;
}

}  // namespace

TEST_CASE("a size that is open is the one that is given") {
  const OnnxFile file = one_open({0, 3, 0, 0}, {"N", "", "height", ""});
  CHECK(refusal(file, {}) == "test.onnx: input 'x': dimension 2 'height' is open; --shape x=1x3x?x? says which");
  CHECK(tensor(file.read({.constants = {}, .shapes = {{"x", {2, 3, 4, 5}}}}), "y").shape == Shape{2, 3, 4, 5});
  CHECK(refusal(file, {.constants = {}, .shapes = {{"x", {2, 4, 4, 5}}}}) ==
        "test.onnx: input 'x': shape 2x4x4x5 is given; the file says ?x3x?x?");
  CHECK(refusal(file, {.constants = {}, .shapes = {{"x", {2, 3, 4}}}}) ==
        "test.onnx: input 'x': shape 2x3x4 is given; the file says ?x3x?x?");
  CHECK(refusal(file, {.constants = {}, .shapes = {{"z", {2}}}}) == "test.onnx: a shape is given for 'z'; the inputs are 'x'");
}

TEST_CASE("a size below 1 is an open one") {
  CHECK(refusal(one_open({-1, 0}, {"", ""}), {}) == "test.onnx: input 'x': dimension 1 is open; --shape x=1x? says which");
}

TEST_CASE("sizes of one name are one") {
  OnnxFile file;
  open_input(file, "a", {0, 0}, {"batch", "width"});
  open_input(file, "b", {2, 0, 0}, {"", "batch", "width"});
  file.node("Add", {"a", "b"}, {"y"});
  file.output("y");
  CHECK(refusal(file, {}) == "test.onnx: input 'a': dimension 1 'width' is open; --shape a=1x? --shape b=2x1x? says which");
  CHECK(tensor(file.read({.constants = {}, .shapes = {{"a", {4, 5}}}}), "b").shape == Shape{2, 4, 5});
  CHECK(tensor(file.read({.constants = {}, .shapes = {{"b", {2, 1, 7}}}}), "a").shape == Shape{1, 7});
  CHECK(refusal(file, {.constants = {}, .shapes = {{"a", {4, 5}}, {"b", {2, 3, 5}}}}) == "test.onnx: 'batch' is given as 4 and as 3");
}

TEST_CASE("a layer too large for the open batch of 1 says how another is given") {
  OnnxFile file;
  open_input(file, "x", {0, 4}, {"", ""});
  file.constant<std::int64_t>("image", {4}, {1, 1, -1, 4});
  file.constant<float>("w", {1, 1, 3, 4}, std::vector<float>(12, 1));
  file.node("Reshape", {"x", "image"}, {"rows"});
  file.node("Conv", {"rows", "w"}, {"y"});
  file.output("y");
  CHECK(refusal(file) ==
        "test.onnx: Conv (node 1): the window is larger than the padded image; a batch that the file leaves open counts as 1: "
        "--shape x=?x4 states it");
  CHECK(refusal(file, {.constants = {}, .shapes = {{"x", {2, 4}}}}) ==
        "test.onnx: Conv (node 1): the window is larger than the padded image");
  CHECK(tensor(file.read({.constants = {}, .shapes = {{"x", {8, 4}}}}), "y").shape == Shape{1, 1, 6, 1});
}

TEST_CASE("arithmetic on an input of one integer says how it is made a constant") {
  OnnxFile file;
  file.input("x", {2}).input<std::int64_t>("rate", {}).constant<std::int64_t>("two", {1}, {2});
  file.node("Mul", {"rate", "two"}, {"shape"});
  file.node("Reshape", {"x", "shape"}, {"y"});
  file.output("y");
  CHECK_THAT(refusal(file), contains_text("input 'shape' is not a constant; an input can be a constant: --bind rate=FILE.npy"));
  const Tensor one = Tensor::from<std::int64_t>({}, std::vector<std::int64_t>{1});
  CHECK(refusal(file, {.constants = {{"rate", one}}, .shapes = {}}) == "no error");
}

TEST_CASE("whatever does not fit behind an input of one integer may fit when that is a constant") {
  OnnxFile file;
  file.input("x", {2}).input<std::int64_t>("rate", {}).constant<std::int64_t>("three", {1}, {3});
  file.node("Reshape", {"x", "three"}, {"y"});
  file.output("y");
  CHECK_THAT(refusal(file), contains_text("; an input can be a constant: --bind rate=FILE.npy"));
}

TEST_CASE("an input without a shape can be given one") {
  OnnxFile file = one_open({1}, {""});
  file.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  CHECK(refusal(file, {}) == "test.onnx: input 'x': no shape is stated; --shape x=… says which");
  CHECK(tensor(file.read({.constants = {}, .shapes = {{"x", {2, 2}}}}), "y").shape == Shape{2, 2});
}

TEST_CASE("of an If the branch is read that its constant condition takes") {
  CHECK(kinds(decided_by_shape(2).read()) == std::vector{K::relu});
  CHECK(kinds(decided_by_shape(3).read()) == std::vector{K::tanh});
  CHECK(tensor(decided_by_shape(2).read(), "y").shape == Shape{2, 3});
  CHECK(kinds(decided_by_shape(2, "Unheard").read()) == std::vector{K::relu});  // the other one may be anything
  CHECK(refusal(decided_by_shape(3, "Unheard")) == "test.onnx: If (node 3), else_branch: operators that are not supported: Unheard (1)");
}

TEST_CASE("branches have names, constants and branches of their own") {
  OnnxFile file = decided_by_shape(2);
  auto& nested = *file.graph().mutable_node(3)->mutable_attribute(0)->mutable_g();
  auto* weights = nested.add_initializer();
  weights->set_name("own");
  weights->set_data_type(onnx::TensorProto::FLOAT);
  weights->add_dims(3);
  for (const float value : {1.0F, 2.0F, 3.0F}) weights->add_float_data(value);
  auto* inner = nested.add_node();
  inner->set_op_type("If");
  inner->add_input("same");
  inner->add_output("chosen");
  add(branch(*inner, "then_branch"), "Add", {"inner", "own"}, "sum");
  add(branch(*inner, "else_branch"), "Relu", {"inner"}, "sum");
  nested.mutable_output(0)->set_name("chosen");
  auto& second = file.node("If", {"same"}, {"z"});  // a branch of another If may use the names again
  add(branch(second, "then_branch"), "Relu", {"y"}, "inner");
  add(branch(second, "else_branch"), "Relu", {"y"}, "inner");
  const Model model = file.output("z").read();
  CHECK(kinds(model) == std::vector{K::relu, K::add, K::relu});
  const std::vector<float> x{1, -1, 0, -2, 2, 5};
  CHECK(listed(outputs(model, "float", {Tensor::from<float>({2, 3}, x)})[1]) == std::vector<float>{2, 2, 3, 1, 4, 8});
}

TEST_CASE("what a branch reads is not folded away") {
  OnnxFile file = decided_by_shape(2);
  file.scale<std::int8_t>("s", 0.5F, 0);
  file.node("Tanh", {"x"}, {"t"});
  file.quantize("t", "q", "s");
  file.dequantize("q", "d", "s");
  file.node("Relu", {"d"}, {"r"});
  file.quantize("r", "e", "s");
  auto& node = file.node("If", {"same"}, {"z"});
  add(branch(node, "then_branch"), "Tanh", {"r"}, "u");
  add(branch(node, "else_branch"), "Tanh", {"r"}, "u");
  const Model model = file.output("z").output("e").read();
  CHECK(tensor(model, "r").type == ElementType::float32);
}

TEST_CASE("what is no condition is refused") {
  OnnxFile file = decided_by_shape(2);
  file.graph().mutable_node(3)->set_input(0, "x");
  CHECK(refusal(file) == "test.onnx: If (node 3): the condition is not one bool");
  file.graph().mutable_node(3)->set_input(0, "size");
  CHECK(refusal(file) == "test.onnx: If (node 3): the condition is not one bool");
  OnnxFile bare = decided_by_shape(2);
  bare.graph().mutable_node(3)->clear_attribute();
  CHECK(refusal(bare) == "test.onnx: If (node 3): no then_branch with as many outputs");
  OnnxFile unknown = decided_by_shape(2);
  unknown.graph().mutable_node(3)->mutable_attribute(0)->mutable_g()->mutable_output(0)->set_name("nowhere");
  CHECK(refusal(unknown) == "test.onnx: If (node 3), then_branch: output 'nowhere': nothing computes it");
}

TEST_CASE("a branch gives no name anew that is given around it") {
  OnnxFile file = decided_by_shape(2);
  auto* own = file.graph().mutable_node(3)->mutable_attribute(0)->mutable_g()->add_initializer();
  own->set_name("y");
  own->set_data_type(onnx::TensorProto::FLOAT);
  own->add_float_data(1);
  CHECK(refusal(file) == "test.onnx: If (node 3), then_branch: initializer 0 'y': the name is given already");
}

TEST_CASE("a constant that is given is of an input, and of its type") {
  const OnnxFile file = one_open({1}, {""});
  const Tensor whole = Tensor::from<std::int64_t>({1}, std::vector<std::int64_t>{1});
  CHECK(refusal(file, {.constants = {{"z", whole}}, .shapes = {}}) == "test.onnx: a constant is given for 'z', which is no input");
  CHECK(refusal(file, {.constants = {{"x", whole}}, .shapes = {}}) ==
        "test.onnx: a constant is given for 'x' of int64; the file says FLOAT");
}

TEST_CASE("all operators that a reader lacks are named at once, with their number") {
  OnnxFile file;
  file.add_domain("com.example", 1);
  file.input("x", {2, 3}).constant<float>("c", {1}, {1});
  file.node("Unheard", {"x"}, {"a"});
  file.node("Mod", {"a", "c"}, {"b"});
  file.node("Of", {"b"}, {"d"}).set_domain("com.example");
  file.node("Unheard", {"d"}, {"e"});
  file.node("Floor", {"c"}, {"never"});  // of a constant: no lack
  file.node("", {"x"}, {"f"});
  CHECK(refusal(file.output("e")) ==
        "test.onnx: operators that are not supported: Unheard (2), Mod of computed values (1), com.example:Of (1), one without a name (1)");
}
