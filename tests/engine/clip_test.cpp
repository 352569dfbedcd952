// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// clip bounds codes as they are where nothing is rescaled, and rescales by the backend's requantisation where it must.
#include "lastbit/emulator.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

Model clipped(ElementType type, Quantization from, Quantization to, const OutputBounds& bounds) {
  Model model;
  model.tensors = {{"x", type, {4}, std::move(from), {}}, {"y", type, {4}, std::move(to), {}}};
  model.operations = {{OperationKind::clip, "y", {0}, {1}, ClipAttributes{bounds}}};
  model.inputs = {0};
  model.outputs = {1};
  validate(model, "clip");
  return model;
}

std::vector<int> codes(const Model& model, const char* backend, const std::vector<std::int8_t>& input) {
  const Trace trace = run(model, find_backend(backend).backend, std::vector{Tensor::from<std::int8_t>({4}, input)});
  const auto values = trace.tensors[1]->values<std::int8_t>();
  return {values.begin(), values.end()};
}

OutputBounds within(std::int64_t low, std::int64_t high) { return {.activation = {}, .clamp = IntegerRange{low, high}, .real_clamp = {}}; }

}  // namespace

TEST_CASE("clip of one quantisation, or none, only bounds") {
  const std::vector<std::int8_t> x{-128, -3, 5, 127};
  const Quantization half{{0.5}, {3}, 0};
  for (const char* const backend : {"onnxruntime", "vipnano_v8", "tflite_double"}) {
    CHECK(codes(clipped(ElementType::int8, {}, {}, within(-10, 4)), backend, x) == std::vector<int>{-10, -3, 4, 4});
    CHECK(codes(clipped(ElementType::int8, half, half, within(-3, 100)), backend, x) == std::vector<int>{-3, -3, 5, 100});
  }
}

TEST_CASE("clip between two quantisations rescales, then bounds") {
  const Model model = clipped(ElementType::int8, {{0.5}, {3}, 0}, {{0.25}, {-1}, 0}, within(-20, 9));
  CHECK(codes(model, "tflite_double", {-7, 3, 8, 4}) == std::vector<int>{-20, -1, 9, 1});  // (x - 3) * 2 - 1
}

TEST_CASE("clip of floats") {
  const Model model = clipped(ElementType::float32, {}, {}, {.activation = {}, .clamp = {}, .real_clamp = std::array{-0.5F, 2.0F}});
  const std::vector<float> x{-3, -0.25F, 2, 7};
  const Trace trace = run(model, find_backend("float").backend, std::vector{Tensor::from<float>({4}, x)});
  CHECK(*trace.tensors[1] == Tensor::from<float>({4}, std::vector<float>{-0.5F, -0.25F, 2, 2}));
}
