// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX operators that compare computed values and choose between them; an If whose condition is computed.
#include <functional>

#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

const std::vector<float> left{1, 2, 3, -1, 0, -0.0F}, right{2, 2, 2, -1, 1, 0};

Tensor vector_of(const std::vector<float>& values) { return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values); }

/// Truths are 0 and 1 on the golden path.
std::vector<float> computed(OnnxFile& file, const std::vector<Tensor>& inputs) {
  return listed(outputs(file.output("y").read(), "float", inputs)[0]);
}

std::vector<float> compared(const std::string& op) {
  OnnxFile file(16);
  file.input("a", {6}).input("b", {6});
  file.node(op, {"a", "b"}, {"y"});
  return computed(file, {vector_of(left), vector_of(right)});
}

/// An If on whether the first value of x [3] is above 0: x + x, else `otherwise` of x.
OnnxFile decided_by_value(const std::string& otherwise) {
  OnnxFile file(16);
  file.input("x", {3}).constant<std::int64_t>("first", {1}, {0});
  file.constant<float>("zero", {}, {0});
  file.node("Gather", {"x", "first"}, {"head"});
  file.node("Greater", {"head", "zero"}, {"above"});
  auto& node = file.node("If", {"above"}, {"y"});
  const auto branch = [&](const std::string& name, const std::string& op, const Names& inputs) {
    auto& graph = *attribute(node, name, onnx::AttributeProto::GRAPH).mutable_g();
    auto* only = graph.add_node();
    only->set_op_type(op);
    for (const std::string& input : inputs) only->add_input(input);
    only->add_output("inner");
    graph.add_output()->set_name("inner");
  };
  branch("then_branch", "Add", {"x", "x"});
  branch("else_branch", otherwise, {"x"});
  return file;
}

}  // namespace

TEST_CASE("computed values are compared") {
  const auto wanted = [](const std::function<bool(float, float)>& holds) {
    std::vector<float> truths;
    for (std::size_t i = 0; i < left.size(); ++i) truths.push_back(holds(left[i], right[i]) ? 1.0F : 0.0F);
    return truths;
  };
  CHECK(compared("Less") == wanted(std::less<>()));
  CHECK(compared("LessOrEqual") == wanted(std::less_equal<>()));
  CHECK(compared("Greater") == wanted(std::greater<>()));
  CHECK(compared("GreaterOrEqual") == wanted(std::greater_equal<>()));
  CHECK(compared("Equal") == wanted(std::equal_to<>()));
}

TEST_CASE("truths are joined and turned") {
  OnnxFile file(16);
  file.input("a", {4}).input("b", {4}).constant<float>("zero", {}, {0});
  file.node("Greater", {"a", "zero"}, {"p"});
  file.node("Greater", {"b", "zero"}, {"q"});
  file.node("And", {"p", "q"}, {"and"});
  file.node("Or", {"p", "q"}, {"or"});
  file.node("Xor", {"p", "q"}, {"xor"});
  file.node("Not", {"p"}, {"not"});
  const Model model = file.output("and").output("or").output("xor").output("not").read();
  CHECK(tensor(model, "and").type == ElementType::boolean);
  const auto found = outputs(model, "float", {vector_of({1, 1, -1, -1}), vector_of({1, -1, 1, -1})});
  CHECK(listed(found[0]) == std::vector<float>{1, 0, 0, 0});
  CHECK(listed(found[1]) == std::vector<float>{1, 1, 1, 0});
  CHECK(listed(found[2]) == std::vector<float>{0, 1, 1, 0});
  CHECK(listed(found[3]) == std::vector<float>{0, 0, 1, 1});
}

TEST_CASE("Where chooses value by value, and broadcasts") {
  OnnxFile file(16);
  file.input("x", {2, 1}).input("a", {3}).constant<float>("b", {}, {-7});
  file.constant<float>("zero", {}, {0});
  file.node("Less", {"x", "zero"}, {"c"});
  file.node("Where", {"c", "a", "b"}, {"y"});
  const std::vector<Tensor> inputs{Tensor::from<float>({2, 1}, std::vector<float>{-1, 1}), vector_of({1, 2, 3})};
  CHECK(computed(file, inputs) == std::vector<float>{1, 2, 3, -7, -7, -7});
}

TEST_CASE("bools are cast to floats and back") {
  OnnxFile file(16);
  file.input("x", {4});
  set(file.node("Cast", {"x"}, {"truth"}), "to", 9);
  set(file.node("Cast", {"truth"}, {"y"}), "to", 1);
  const Model model = file.output("truth").output("y").read();
  CHECK(tensor(model, "truth").type == ElementType::boolean);
  const auto found = outputs(model, "float", {vector_of({0, 0.25F, -3, -0.0F})});
  CHECK(listed(found[1]) == std::vector<float>{0, 1, 1, 0});
}

TEST_CASE("bools are cast to integers and back") {
  for (const auto type : {onnx::TensorProto::INT32, onnx::TensorProto::INT64}) {
    OnnxFile file(16);
    file.input("a", {4}).input("b", {4});
    file.node("Less", {"a", "b"}, {"below"});
    set(file.node("Cast", {"below"}, {"y"}), "to", type);
    set(file.node("Cast", {"y"}, {"again"}), "to", onnx::TensorProto::BOOL);
    const Model model = file.output("y").output("again").read();
    CHECK(tensor(model, "y").type == (type == onnx::TensorProto::INT32 ? ElementType::int32 : ElementType::int64));
    CHECK(tensor(model, "again").type == ElementType::boolean);
    const auto found = outputs(model, "float", {vector_of({0, 2, -1, 3}), vector_of({1, 2, 0, 2})});
    CHECK(listed(found[0]) == std::vector<float>{1, 0, 1, 0});
    CHECK(listed(found[1]) == std::vector<float>{1, 0, 1, 0});
  }
}

TEST_CASE("numbers are cast to other numbers: a device wraps, and leaves off fractions") {
  OnnxFile file(16);
  file.input("x", {3}).input<std::uint8_t>("bytes", {3});
  set(file.node("Cast", {"x"}, {"whole"}), "to", onnx::TensorProto::INT32);
  set(file.node("Cast", {"whole"}, {"byte"}), "to", onnx::TensorProto::INT8);
  set(file.node("Cast", {"bytes"}, {"wide"}), "to", onnx::TensorProto::INT64);
  const Model model = file.output("whole").output("byte").output("wide").read();
  const std::vector<Tensor> inputs{vector_of({300.75F, -2.75F, 5}), Tensor::from<std::uint8_t>({3}, std::vector<std::uint8_t>{255, 0, 7})};
  const auto found = outputs(model, "tflite_double", inputs);
  const auto integers = [&](std::size_t output) {
    return std::vector<std::int64_t>{found[output].integer_at(0), found[output].integer_at(1), found[output].integer_at(2)};
  };
  CHECK(integers(0) == std::vector<std::int64_t>{300, -2, 5});
  CHECK(integers(1) == std::vector<std::int64_t>{44, -2, 5});
  CHECK(integers(2) == std::vector<std::int64_t>{255, 0, 7});
  CHECK(listed(outputs(model, "float", inputs)[0]) == std::vector<float>{300, -2, 5});
}

TEST_CASE("Add, Sub, Mul, Neg, Abs and Max of int64, and a Gather at what they compute") {
  OnnxFile file(16);
  file.input<std::int64_t>("i", {2}).constant<std::int64_t>("two", {1}, {2});
  file.constant<float>("data", {3, 2}, {1, 2, 3, 4, 5, 6});
  file.node("Add", {"i", "two"}, {"sum"});
  file.node("Sub", {"sum", "two"}, {"difference"});
  file.node("Mul", {"difference", "two"}, {"product"});
  file.node("Neg", {"product"}, {"negative"});
  file.node("Abs", {"negative"}, {"magnitude"});
  file.node("Max", {"magnitude", "two"}, {"largest"});
  file.node("Gather", {"data", "i"}, {"y"});
  const Model model = file.output("sum").output("largest").output("y").read();
  const auto found = outputs(model, "tflite_double", {Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{-1, 0})});
  CHECK((found[0].integer_at(0) == 1 && found[0].integer_at(1) == 2));
  CHECK((found[1].integer_at(0) == 2 && found[1].integer_at(1) == 2));
  CHECK(listed(found[2]) == std::vector<float>{5, 6, 1, 2});  // -1: from the end
}

TEST_CASE("of an If whose condition is computed both branches are, and one is chosen") {
  OnnxFile file = decided_by_value("Relu");
  const Model model = file.output("y").read();
  CHECK(kinds(model) == std::vector{K::strided_slice, K::less, K::add, K::relu, K::select});
  CHECK(listed(outputs(model, "float", {vector_of({1, -2, 3})})[0]) == std::vector<float>{2, -4, 6});
  CHECK(listed(outputs(model, "float", {vector_of({-1, -2, 3})})[0]) == std::vector<float>{0, 0, 3});
  OnnxFile unequal = decided_by_value("Squeeze");
  CHECK(refusal(unequal.output("y")) == "no error");  // of the same shape
  OnnxFile other = decided_by_value("ReduceMax");
  CHECK(refusal(other.output("y")) == "test.onnx: If (node 2): a computed condition between outputs of different shapes is not supported");
  OnnxFile unheard = decided_by_value("Unheard");
  CHECK(refusal(unheard.output("y")) == "test.onnx: If (node 2), else_branch: operators that are not supported: Unheard (1)");
}
