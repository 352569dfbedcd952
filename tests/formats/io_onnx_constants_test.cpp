// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is computed while an ONNX file is read: shapes, and what follows from them and from other constants.
#include <limits>
#include <tuple>

#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using Bools = std::vector<bool>;

/// x, read by nobody; constants a, b, c → one node → y, a constant.
struct Computed {
  OnnxFile file;
  int operands = 0;
  onnx::NodeProto* node = nullptr;

  explicit Computed(std::int64_t opset = 15) : file(opset) {
    file.input("x", {2, 3});
    file.node("Relu", {"x"}, {"r"});
    file.output("r");
  }
  template <class T>
  Computed& with(const Integers& shape, const std::vector<T>& values) {
    file.constant<T>(std::string(1, static_cast<char>('a' + operands++)), shape, values);
    return *this;
  }
  Computed& with(const Integers& values) { return with<std::int64_t>({static_cast<std::int64_t>(values.size())}, values); }
  Computed& with(const Bools& values) {
    auto& tensor = file.constant<std::int8_t>(std::string(1, static_cast<char>('a' + operands++)),
                                              {static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()});
    tensor.set_data_type(onnx::TensorProto::BOOL);
    return *this;
  }
  Computed& by(const std::string& op) {
    Names names;
    for (int i = 0; i < operands; ++i) names.emplace_back(1, static_cast<char>('a' + i));
    node = &file.node(op, names, {"y"});
    return *this;
  }
  template <class T>
  Computed& by(const std::string& op, const std::string& attribute, const T& value) {
    by(op);
    set(*node, attribute, value);
    return *this;
  }
  [[nodiscard]] Tensor value() {
    const Model model = file.output("y").read();
    CHECK(count(model, K::relu) == static_cast<long>(model.operations.size()));
    return *tensor(model, "y").constant;
  }
  [[nodiscard]] Integers integers() {
    const Tensor found = value();
    Integers list;
    for (std::int64_t i = 0; i < found.element_count(); ++i)
      list.push_back(found.type() == ElementType::boolean ? static_cast<std::int64_t>(found.bytes()[static_cast<std::size_t>(i)])
                                                          : found.integer_at(i));
    return list;
  }
  [[nodiscard]] std::string refused() { return refusal(file.output("y")); }
};

Computed of(const Integers& a) { return Computed().with(a); }
Computed of(const Integers& a, const Integers& b) { return Computed().with(a).with(b); }

}  // namespace

TEST_CASE("integers are computed as the standard says") {
  const Integers a{7, -7, 7, -7}, b{2, 2, -2, -2};
  CHECK(of(a, b).by("Add").integers() == Integers{9, -5, 5, -9});
  CHECK(of(a, b).by("Sub").integers() == Integers{5, -9, 9, -5});
  CHECK(of(a, {2}).by("Mul").integers() == Integers{14, -14, 14, -14});
  CHECK(of(a, b).by("Div").integers() == Integers{3, -3, -3, 3});  // toward zero
  CHECK(of(a, b).by("Mod").integers() == Integers{1, 1, -1, -1});  // of the divisor's sign
  CHECK(of(a, b).by("Mod", "fmod", 1).integers() == Integers{1, -1, 1, -1});
  CHECK(of({3, -2}, {3}).by("Pow").integers() == Integers{27, -8});
  CHECK(of(a, b).by("Min").integers() == Integers{2, -7, -2, -7});
  CHECK(of(a, b).by("Max").integers() == Integers{7, 2, 7, -2});
  CHECK(of(a).by("Neg").integers() == Integers{-7, 7, -7, 7});
  CHECK(of(a).by("Abs").integers() == Integers{7, 7, 7, 7});
  CHECK(of({1, 2, 3}, {3, 2, 1}).by("Equal").integers() == Integers{0, 1, 0});
  CHECK(of({1, 2, 3}, {3, 2, 1}).by("Less").integers() == Integers{1, 0, 0});
  CHECK(of({1, 2, 3}, {3, 2, 1}).by("LessOrEqual").integers() == Integers{1, 1, 0});
  CHECK(of({1, 2, 3}, {3, 2, 1}).by("Greater").integers() == Integers{0, 0, 1});
  CHECK(of({1, 2, 3}, {3, 2, 1}).by("GreaterOrEqual").integers() == Integers{0, 1, 1});
  CHECK(of({5, 2, 4}).by("ReduceProd", "keepdims", 0).integers() == Integers{40});
  CHECK(of({5, 2, 4}).by("ReduceSum").integers() == Integers{11});
  CHECK(of({5, 2, 4}).by("ReduceMin").integers() == Integers{2});
  CHECK(of({5, 2, 4}).by("ReduceMax").integers() == Integers{5});
  CHECK(Computed().with(Bools{false, true, true}).with(Bools{true, true, false}).by("And").integers() == Integers{0, 1, 0});
  CHECK(Computed().with(Bools{false, false, true}).with(Bools{true, false, false}).by("Or").integers() == Integers{1, 0, 1});
  CHECK(Computed().with(Bools{false, true, true}).with(Bools{true, true, false}).by("Xor").integers() == Integers{1, 0, 1});
  CHECK(Computed().with(Bools{false, true}).by("Not").integers() == Integers{1, 0});
}

TEST_CASE("operands broadcast, and a reduction keeps the other axes") {
  Computed sum;
  sum.with<std::int64_t>({2, 1}, {10, 20}).with<std::int64_t>({3}, {1, 2, 3}).by("Add");
  const Tensor value = sum.value();
  CHECK(value.shape() == Shape{2, 3});
  CHECK(value.integer_at(4) == 22);
  Computed columns(13);
  columns.with<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}).with<std::int64_t>({1}, {0}).by("ReduceSum", "keepdims", 0);
  CHECK(columns.value().shape() == Shape{3});
  CHECK(columns.value().integer_at(2) == 9);
}

TEST_CASE("reals are rounded to their type once") {
  CHECK(listed(Computed().with<float>({3}, {1, 10, -7}).with<float>({}, {3}).by("Div").value()) ==
        std::vector<float>{1.0F / 3, 10.0F / 3, -7.0F / 3});
  CHECK(listed(Computed().with<float>({2}, {2.75F, -2.25F}).by("Floor").value()) == std::vector<float>{2, -3});
  CHECK(listed(Computed().with<float>({2}, {2.25F, -2.75F}).by("Ceil").value()) == std::vector<float>{3, -2});
  CHECK(listed(Computed().with<float>({2}, {2, 9}).by("Sqrt").value()) == std::vector<float>{std::sqrt(2.0F), 3});
}

TEST_CASE("values are picked, joined and made") {
  CHECK(of({10, 20, 30}, {2, 0, -1}).by("Gather").integers() == Integers{30, 10, 30});
  CHECK(of({1, 2}, {3}).by("Concat", "axis", 0).integers() == Integers{1, 2, 3});
  CHECK(of({2, 3}).by("ConstantOfShape").value() == Tensor(ElementType::float32, {2, 3}));
  CHECK(of({7, 8}, {2, 2}).by("Expand").integers() == Integers{7, 8, 7, 8});
  CHECK(Computed().with<float>({3}, {1.75F, -1.75F, 0}).by("Cast", "to", 7).integers() == Integers{1, -1, 0});
  CHECK(listed(Computed().with<float>({2}, {0.1F, -70000}).by("Cast", "to", 10).value()) ==
        std::vector<float>{0.0999755859375F, -std::numeric_limits<float>::infinity()});
  CHECK(Computed().with<float>({3}, {0.25F, -1, 0}).by("Cast", "to", 9).integers() == Integers{1, 1, 0});
  CHECK(Computed().with(Bools{true, false, true}).with(Integers{1, 2, 3}).with(Integers{-1}).by("Where").integers() == Integers{1, -1, 3});
  const auto range = [](std::int64_t start, std::int64_t limit, std::int64_t step) {
    return Computed().with<std::int64_t>({}, {start}).with<std::int64_t>({}, {limit}).with<std::int64_t>({}, {step}).by("Range").integers();
  };
  CHECK(range(3, 9, 3) == Integers{3, 6});
  CHECK(range(3, 10, 3) == Integers{3, 6, 9});
  CHECK(range(10, 4, -2) == Integers{10, 8, 6});
  CHECK(range(10, 5, -2) == Integers{10, 8, 6});
  constexpr std::int64_t far = std::int64_t{1} << 62;  // where a double counts in steps of 1024
  CHECK(range(far, far + 3, 2) == Integers{far, far + 2});
  Computed matrix;
  matrix.with<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6}).with<std::int64_t>({}, {-1}).by("Gather", "axis", 1);
  CHECK(matrix.value().shape() == Shape{2});
  CHECK(matrix.integers() == Integers{3, 6});
}

TEST_CASE("what has no elements adds nothing") {
  Computed joined;
  joined.with<std::int64_t>({0}, {}).with(Integers{4, 5}).by("Concat", "axis", 0);
  CHECK(joined.integers() == Integers{4, 5});
  OnnxFile file;  // ConstantOfShape of 0, as exporters write a padding of nothing
  file.input("x", {1, 2}).constant<std::int64_t>("zero", {1}, {0});
  file.constant<std::int64_t>("shape", {1}, {2});
  file.node("ConstantOfShape", {"zero"}, {"none"});
  set(file.node("Concat", {"none", "shape"}, {"joined"}), "axis", 0);
  file.node("Reshape", {"x", "joined"}, {"y"});
  CHECK(tensor(file.output("y").read(), "y").shape == Shape{2});
}

TEST_CASE("a shape is a constant, and what follows from it too") {
  OnnxFile file(15);
  file.input("x", {2, 3, 4}).constant<std::int64_t>("first", {}, {0});
  file.constant<std::int64_t>("rest", {1}, {-1});
  file.node("Relu", {"x"}, {"r"});
  file.node("Shape", {"r"}, {"shape"});
  file.node("Gather", {"shape", "first"}, {"batch"});
  file.constant<std::int64_t>("axes", {1}, {0});
  file.node("Unsqueeze", {"batch", "axes"}, {"row"});
  set(file.node("Concat", {"row", "rest"}, {"target"}), "axis", 0);
  file.node("Reshape", {"r", "target"}, {"y"});
  set(file.node("Shape", {"r"}, {"inner"}), "start", -2);
  file.node("Reshape", {"x", "target"}, {"z"});
  file.node("Size", {"r"}, {"count"});
  const Model model = file.output("y").output("inner").output("count").read();
  CHECK(tensor(model, "y").shape == Shape{2, 12});
  CHECK(tensor(model, "inner").constant->integer_at(0) == 3);
  CHECK(tensor(model, "inner").shape == Shape{2});
  CHECK(tensor(model, "count").constant->integer_at(0) == 24);
  CHECK(kinds(model) == std::vector{K::relu});
}

TEST_CASE("what leaves int64, or its type, is refused") {
  const std::string place = "test.onnx: ";
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  for (auto& [op, a, b] : std::vector<std::tuple<std::string, std::int64_t, std::int64_t>>{{"Add", largest, 1},
                                                                                           {"Sub", least, 1},
                                                                                           {"Mul", largest, 2},
                                                                                           {"Div", 1, 0},
                                                                                           {"Div", least, -1},
                                                                                           {"Pow", 2, 63},
                                                                                           {"Pow", 2, -1}}) {
    INFO(op << " " << a << " " << b);
    CHECK(of({a}, {b}).by(op).refused() == place + op + " (node 1): a result beyond int64");
  }
  CHECK(of({least}, {-1}).by("Mod").integers() == Integers{0});
  CHECK(of({1}, {0}).by("Mod").refused() == place + "Mod (node 1): a division by 0");
  CHECK(of({least}).by("Neg").refused() == place + "Neg (node 1): a result beyond int64");
  CHECK(of({least}).by("Abs").refused() == place + "Abs (node 1): a result beyond int64");
  CHECK(of({300}).by("Cast", "to", 2).refused() == place + "Cast (node 1): 300 does not fit uint8");
  CHECK(Computed().with<float>({1}, {1e30F}).by("Cast", "to", 7).refused() ==
        place + "Cast (node 1): a value beyond int64 is cast to an integer");
  CHECK(of({1, 2}, {2}).by("Gather").refused() == place + "Gather (node 1): index 2 of 2");
  CHECK(of({1, 2}, {-3}).by("Gather").refused() == place + "Gather (node 1): index -3 of 2");
  CHECK(of({1, 2}, {1, 2, 3}).by("Add").refused() == place + "Add (node 1): inputs 2 and 3 do not broadcast");
  CHECK(of({-1}).by("ConstantOfShape").refused() == place + "ConstantOfShape (node 1): a size of -1");
  CHECK_THAT(of({1 << 20, 1 << 10}).by("ConstantOfShape").refused(), contains_text("far more often than is sound"));
  CHECK_THAT(of({1 << 30, 1 << 30}).by("ConstantOfShape").refused(), contains_text("a constant of shape"));
  CHECK_THAT(of({0}, {1 << 30}).by("Expand").refused(), contains_text("far more often than is sound"));
  CHECK_THAT(Computed().with<std::int64_t>({}, {0}).with<std::int64_t>({}, {1 << 30}).with<std::int64_t>({}, {1}).by("Range").refused(),
             contains_text("a range of"));
  CHECK_THAT(Computed().with<std::int64_t>({}, {0}).with<std::int64_t>({}, {1}).with<float>({}, {1}).by("Range").refused(),
             contains_text("three numbers of one type"));
  CHECK_THAT(Computed().with<std::int64_t>({}, {0}).with<std::int64_t>({}, {1}).with<std::int64_t>({}, {0}).by("Range").refused(),
             contains_text("a range of"));
  CHECK(Computed().by("Max").refused() == place + "Max (node 1): no inputs");
}
