// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer of an .onnx file: its tensors are NCHW, and the convolution stands between transpositions that no dump holds.
#include "analysis/layout_copies.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/two_convolutions.hpp"

namespace lastbit {
namespace {

using namespace test;

/// x [1,8,12,12] -> x (NHWC) -3x3 'same'-> y (NHWC) -> y [1,16,12,12], as the reader of .onnx files makes it.
Model image_layer(std::mt19937& random) {
  Model model;
  model.name = "image";
  model.tensors = {int8_tensor("x", {1, 8, 12, 12}, 0.0625, -1), int8_tensor("x (NHWC)", {1, 12, 12, 8}, 0.0625, -1),
                   int8_tensor("w", {16, 3, 3, 8}, 1.0 / 64, 0), int8_tensor("y (NHWC)", {1, 12, 12, 16}, 3.7, 5),
                   int8_tensor("y", {1, 16, 12, 12}, 3.7, 5)};
  model.tensors[2].constant = random_int8({16, 3, 3, 8}, random);
  Conv2dAttributes same;
  same.padding.mode = PaddingMode::same;
  model.operations = {{OperationKind::transpose, "in", {0}, {1}, TransposeAttributes{{0, 2, 3, 1}}},
                      {OperationKind::conv2d, "conv", {1, 2}, {3}, same},
                      {OperationKind::transpose, "out", {3}, {4}, TransposeAttributes{{0, 3, 1, 2}}}};
  model.inputs = {0};
  model.outputs = {4};
  validate(model, "test");
  return model;
}

/// The file's own tensors alone, of two samples.
NamedTrace dump_of(const Model& model, const SpecSheet& device, std::mt19937& random) {
  NamedTrace dump = run_named(model, device, std::vector{random_int8({2, 1, 8, 12, 12}, random)});
  std::erase_if(dump.tensors, [](const NamedTensor& tensor) { return tensor.name.ends_with("(NHWC)"); });
  REQUIRE(dump.tensors.size() == 2);
  return dump;
}

TEST_CASE("layout copies: what a transposition makes, and what it is made of") {
  std::mt19937 random(3);
  const Model model = image_layer(random);
  const NamedTrace whole = run_named(model, find_backend("tflite_double"), std::vector{random_int8({2, 1, 8, 12, 12}, random)});
  NamedTrace dump = whole;
  std::erase_if(dump.tensors, [](const NamedTensor& tensor) { return tensor.name.ends_with("(NHWC)"); });
  const NamedTrace copied = with_layout_copies(model, dump);
  for (const std::int32_t index : {1, 3}) {
    REQUIRE(copied.find(index) != nullptr);
    CHECK(std::ranges::equal(copied.find(index)->values.bytes(), whole.find(index)->values.bytes()));
  }
  CHECK(name_in_file(model, 3) == "y");
  CHECK(name_in_file(model, 2) == "w");
}

TEST_CASE("identify and explain: a convolution between the tensors of an .onnx file") {
  std::mt19937 random(4);
  const Model model = image_layer(random);
  SpecSheet device = find_backend("tflite_double");
  set_rule(device.backend, "conv.i8.output.chain.2.rounding", "floor");
  const NamedTrace dump = dump_of(model, device, random);

  std::vector<SkippedPair> skipped;
  const std::vector<IdentifyPair> pairs = pairs_of(model, dump, &skipped);
  REQUIRE(pairs.size() == 1);
  CHECK(skipped.empty());
  CHECK(pairs[0].name == "layer 1 'y'");
  CHECK(pairs[0].layer.operations[0].kind == OperationKind::conv2d);
  const Identification found = identify(pairs);
  CHECK(found.exact());

  const DumpReport report = explain_dump(model, dump, find_backend("tflite_double"), {});
  REQUIRE(report.layers.size() == 1);
  CHECK(report.layers[0].name == "y");
  CHECK(report.layers[0].operation == "conv2d");
  CHECK(report.layers[0].note.empty());
  const auto is_it = [](const RuleChange& change) { return change.rules == std::vector<std::string>{"conv.i8.output.chain.2.rounding"}; };
  CHECK(std::ranges::any_of(report.layers[0].explanations, is_it));
}

}  // namespace
}  // namespace lastbit
