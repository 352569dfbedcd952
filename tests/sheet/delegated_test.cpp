// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which layers xnnpack's delegate takes: each row is what TensorFlow Lite's profile said of such a layer (tfjs-tflite 0.0.1-alpha.10).
#include "lastbit/operation_rules.hpp"

#include <utility>

#include "lastbit/registry.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

using enum ElementType;

struct Layer {
  Operation operation;
  ElementType in = int8, out = int8;
  double ratio = 1;         ///< first input's scale, the output's and the second input's being 1
  double second_ratio = 1;  ///< of two inputs
  Shape shape{1, 4, 5, 6};
};

std::string rules_of(const Layer& layer) {
  Model model;
  Operation operation = layer.operation;
  const auto add = [&](ElementType type, double scale) {
    model.tensors.push_back({"t", type, layer.shape, Quantization{{scale}, {0}, 0}, {}});
    return static_cast<std::int32_t>(model.tensors.size() - 1);
  };
  operation.inputs = {add(layer.in, layer.ratio)};
  if (operation.kind == OperationKind::add || operation.kind == OperationKind::sub)
    operation.inputs.push_back(add(layer.in, layer.second_ratio));
  operation.outputs = {add(layer.out, 1)};
  return rule_prefix(model, operation, find_backend("xnnpack").backend);
}

Operation with(OperationKind kind, Attributes attributes) {
  Operation operation;
  operation.kind = kind;
  operation.attributes = std::move(attributes);
  return operation;
}
Operation plain(OperationKind kind) { return with(kind, default_attributes(kind)); }
Operation leaky(double alpha) { return with(OperationKind::leaky_relu, LeakyReluAttributes{alpha}); }
Operation mean_over(std::vector<std::int64_t> axes) { return with(OperationKind::mean, MeanAttributes{std::move(axes), true}); }

TEST_CASE("the delegate goes by the types of data") {
  for (const OperationKind kind : {OperationKind::logistic, OperationKind::tanh, OperationKind::requantize, OperationKind::leaky_relu}) {
    const std::string name(name_of(kind));
    INFO(name);
    const Operation operation = kind == OperationKind::leaky_relu ? leaky(0.5) : plain(kind);
    CHECK(rules_of({operation}) == name);
    CHECK(rules_of({operation, uint8, uint8}) == name);
    CHECK(rules_of({operation, int16, int16}) == "left." + name);
    CHECK(rules_of({operation, int8, uint8}) == "left." + name);
  }
  CHECK(rules_of({mean_over({1, 2}), int16, int16}) == "left.mean");
  CHECK(rules_of({plain(OperationKind::add), int16, int16}) == "add.i16");
}

TEST_CASE("by the ratio of scales, at each end and beside it") {
  const double below = 0.99, above = 1.01;
  CHECK(rules_of({plain(OperationKind::requantize), int8, int8, 0x1p-8}) == "requantize");
  CHECK(rules_of({plain(OperationKind::requantize), int8, int8, 0x1p-8 * below}) == "left.requantize");
  CHECK(rules_of({plain(OperationKind::requantize), int8, int8, 128}) == "requantize");
  CHECK(rules_of({plain(OperationKind::requantize), int8, int8, 128 * above}) == "left.requantize");
  for (const OperationKind kind : {OperationKind::add, OperationKind::sub}) {
    const std::string name(name_of(kind));
    CHECK(rules_of({plain(kind), int8, int8, 0x1p-10}) == name + ".i8");
    CHECK(rules_of({plain(kind), int8, int8, 0x1p-10 * below}) == "left." + name);
    CHECK(rules_of({plain(kind), int8, int8, 1, 0x1p-10 * below}) == "left." + name);
    CHECK(rules_of({plain(kind), int8, int8, 256 * below}) == name + ".i8");
    CHECK(rules_of({plain(kind), int8, int8, 256}) == "left." + name);
    CHECK(rules_of({plain(kind), int8, int8, 1, 256}) == "left." + name);
  }
  CHECK(rules_of({mean_over({1, 2}), int8, int8, 0x1p-8}) == "mean");
  CHECK(rules_of({mean_over({1, 2}), int8, int8, 0x1p-8 * below}) == "left.mean");
  CHECK(rules_of({mean_over({1, 2}), int8, int8, 256 * below}) == "mean");
  CHECK(rules_of({mean_over({1, 2}), int8, int8, 256}) == "left.mean");
}

TEST_CASE("of leaky_relu by the slope as well, whose upper end is out of range where it is negative") {
  struct Row {
    double ratio, alpha;
    bool taken;
  };
  for (const Row& row : {Row{1, 1.0 / 256, true},
                         {1, 1.0 / 257, false},
                         {1, -0.1, true},
                         {1, -127.99, true},
                         {1, -128, false},
                         {1, 128, true},
                         {1, 129, false},
                         {128, 0.1, true},
                         {129, 0.1, false},
                         {1.0 / 256, 1, true},
                         {1.0 / 257, 1.5, false},
                         {0.3, 0.01, false},
                         {1, 0, false}}) {
    INFO("in/out " << row.ratio << ", alpha " << row.alpha);
    CHECK(rules_of({leaky(row.alpha), int8, int8, row.ratio}) == (row.taken ? "leaky_relu" : "left.leaky_relu"));
  }
}

TEST_CASE("and of a mean by its axes, as the file counts them") {
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1, 2}, {2, 1}, {2}}) CHECK(rules_of({mean_over(axes)}) == "mean");
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1}, {3}, {1, 2, 3}, {0, 1, 2}, {-3, -2}})
    CHECK(rules_of({mean_over(axes)}) == "left.mean");
  CHECK(rules_of({mean_over({2}), int8, int8, 1, 1, Shape{1, 5, 6}}) == "left.mean");
}

}  // namespace
}  // namespace lastbit
