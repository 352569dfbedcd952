// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs a .tflite file in TensorFlow Lite Micro's interpreter and writes every tensor that it computes: for each sample, in the order of
// their numbers, the bytes. Not part of our build, as it needs that project's sources; docs/vectors.md says how it is compiled.
//
//   record_tflm MODEL INPUT SAMPLES OUTPUT   (INPUT: the samples' bytes, one after the other)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tensorflow/lite/micro/kernels/micro_ops.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/schema/schema_generated.h"

namespace {

using Bytes = std::vector<char>;

Bytes read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "record_tflm: %s\n", what);
  std::exit(2);
}

void add_operators(tflite::MicroMutableOpResolver<60>& operators) {
  operators.AddAbs();
  operators.AddAdd();
  operators.AddArgMax();
  operators.AddArgMin();
  operators.AddAveragePool2D();
  operators.AddBatchMatMul();
  operators.AddBroadcastTo();
  operators.AddConcatenation();
  operators.AddConv2D();
  operators.AddDepthToSpace();
  operators.AddDepthwiseConv2D();
  operators.AddDequantize();
  operators.AddFullyConnected();
  operators.AddGather();
  operators.AddHardSwish();
  operators.AddLeakyRelu();
  operators.AddLogistic();
  operators.AddMaxPool2D();
  operators.AddMaximum();
  operators.AddMean();
  operators.AddMinimum();
  operators.AddMirrorPad();
  operators.AddMul();
  operators.AddPack();
  operators.AddPad();
  operators.AddPadV2();
  operators.AddPrelu();
  operators.AddQuantize();
  operators.AddReduceMax();
  operators.AddReduceMin();
  operators.AddRelu();
  operators.AddRelu6();
  operators.AddReshape();
  operators.AddResizeBilinear();
  operators.AddResizeNearestNeighbor();
  operators.AddSlice();
  operators.AddSoftmax();
  operators.AddSpaceToDepth();
  operators.AddSplit();
  operators.AddSplitV();
  operators.AddSqueeze();
  operators.AddStridedSlice();
  operators.AddSub();
  operators.AddSum();
  operators.AddSvdf();
  operators.AddTanh();
  operators.AddTranspose();
  operators.AddTransposeConv();
  operators.AddUnidirectionalSequenceLSTM();
  operators.AddUnpack();
}

/// Numbers of the tensors that are neither constants nor the input.
std::vector<int> computed(const tflite::Model& model) {
  const auto& graph = *(*model.subgraphs())[0];
  std::vector<int> numbers;
  for (int i = 0; i < static_cast<int>(graph.tensors()->size()); ++i) {
    const auto* data = (*model.buffers())[(*graph.tensors())[i]->buffer()]->data();
    if (data == nullptr && i != (*graph.inputs())[0]) numbers.push_back(i);
  }
  return numbers;
}

std::size_t bytes_of(const TfLiteEvalTensor& tensor) {
  auto count = static_cast<std::size_t>(tflite::TfLiteTypeGetSize(tensor.type));
  for (int i = 0; i < tensor.dims->size; ++i) count *= static_cast<std::size_t>(tensor.dims->data[i]);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) fail("usage: record_tflm MODEL INPUT SAMPLES OUTPUT");
  const Bytes file = read(argv[1]), input = read(argv[2]);
  const tflite::Model& model = *tflite::GetModel(file.data());
  tflite::MicroMutableOpResolver<60> operators;
  add_operators(operators);
  alignas(16) static unsigned char arena[1 << 20];
  tflite::MicroInterpreter interpreter(&model, operators, arena, sizeof(arena), nullptr, nullptr, true);
  if (interpreter.AllocateTensors() != kTfLiteOk) fail("AllocateTensors refuses the model");
  TfLiteTensor& in = *interpreter.input(0);
  const std::size_t samples = std::stoul(argv[3]);
  if (input.size() != samples * in.bytes) fail("the input has another size");
  std::ofstream output(argv[4], std::ios::binary);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    std::memcpy(in.data.raw, input.data() + sample * in.bytes, in.bytes);
    if (interpreter.Invoke() != kTfLiteOk) fail("Invoke fails");
    for (const int number : computed(model)) {
      const TfLiteEvalTensor& tensor = *interpreter.GetTensor(number);
      output.write(tensor.data.raw, static_cast<std::streamsize>(bytes_of(tensor)));
    }
  }
}
