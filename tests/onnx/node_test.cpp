// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The test models that come with ONNX (Debian's libonnx-testdata), for every operator that the reader knows: floats to 1e-5 on `float`,
// integers by their bits on `onnxruntime`. A model that is refused is listed with the refusal; one that differs fails.
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "onnx/node_case.hpp"
#include "support/catch.hpp"

using namespace lastbit::test;

namespace {

const std::vector<std::string> operators{"Conv",
                                         "ConvTranspose",
                                         "Gemm",
                                         "MatMul",
                                         "MaxPool",
                                         "AveragePool",
                                         "GlobalAveragePool",
                                         "GlobalMaxPool",
                                         "Add",
                                         "Sum",
                                         "Mul",
                                         "Sub",
                                         "Div",
                                         "Concat",
                                         "Split",
                                         "Slice",
                                         "Pad",
                                         "Reshape",
                                         "Flatten",
                                         "Squeeze",
                                         "Unsqueeze",
                                         "Transpose",
                                         "Resize",
                                         "Upsample",
                                         "Clip",
                                         "Relu",
                                         "LeakyRelu",
                                         "PRelu",
                                         "Sigmoid",
                                         "Tanh",
                                         "Exp",
                                         "Softmax",
                                         "HardSwish",
                                         "HardSigmoid",
                                         "BatchNormalization",
                                         "ReduceMean",
                                         "QuantizeLinear",
                                         "DequantizeLinear",
                                         "DynamicQuantizeLinear",
                                         "QLinearConv",
                                         "QLinearMatMul",
                                         "ConvInteger",
                                         "MatMulInteger",
                                         "Constant",
                                         "Identity",
                                         "Dropout",
                                         "Pow",
                                         "Sqrt",
                                         "Log",
                                         "Erf",
                                         "Max",
                                         "Min",
                                         "Neg",
                                         "Abs",
                                         "Reciprocal",
                                         "Expand",
                                         "ReduceSum",
                                         "ReduceMax",
                                         "ReduceMin",
                                         "ArgMax",
                                         "LayerNormalization",
                                         "InstanceNormalization",
                                         "LSTM",
                                         "Gather",
                                         "Shape",
                                         "Size",
                                         "Less",
                                         "LessOrEqual",
                                         "Greater",
                                         "GreaterOrEqual",
                                         "Equal",
                                         "And",
                                         "Or",
                                         "Xor",
                                         "Not",
                                         "Where",
                                         "If",
                                         "DepthToSpace",
                                         "SpaceToDepth",
                                         "Round"};

// Their outputs wrap to int8 where the standard saturates: the reference that wrote them casts, and -235.8 became 20.
const std::set<std::string> wrapped{"test_qlinearmatmul_2D_int8_float16", "test_qlinearmatmul_2D_int8_float32",
                                    "test_qlinearmatmul_3D_int8_float16", "test_qlinearmatmul_3D_int8_float32"};

// What passed when this was last looked at. More is welcome; fewer is a loss.
constexpr int recorded_float = 420, recorded_exact = 40;

}  // namespace

TEST_CASE("ONNX's own test models", "[onnx]") {
  const std::filesystem::path root = LASTBIT_ONNX_TESTDATA;
  if (!std::filesystem::is_directory(root)) {
    std::cout << "skipped: no folder of ONNX test models at " << root.string() << "\n";
    return;
  }
  std::map<Verdict, int> counts;
  int in_float = 0, exact = 0, total = 0;
  std::set<std::string> passed_operators;
  for (const char* const group : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    std::set<std::filesystem::path> folders;
    for (const auto& entry : std::filesystem::directory_iterator(root / group)) folders.insert(entry.path());
    for (const auto& folder : folders) {
      const NodeCase node(folder);
      if (!node.uses_only(operators) || wrapped.contains(folder.filename().string())) continue;
      const Outcome outcome = node.run();
      const std::string name = std::string(group) + "/" + folder.filename().string();
      INFO(name << ": " << outcome.reason);
      CHECK(outcome.verdict != Verdict::different);
      ++total;
      if (outcome.verdict == Verdict::equal) ++(outcome.exact ? exact : in_float);
      if (outcome.verdict == Verdict::left_out) std::cout << "left out: " << name << ": " << outcome.reason << "\n";
    }
  }
  std::cout << "passed: " << in_float << " in float, " << exact << " exactly, of " << total << "; left out: " << total - in_float - exact
            << "\n";
  CHECK(total > 0);
  CHECK(in_float >= recorded_float);
  CHECK(exact >= recorded_exact);
}
