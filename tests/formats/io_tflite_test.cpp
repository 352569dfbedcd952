// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "lastbit/io/model_file.hpp"
#include "lastbit/io/tflite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/tflite_file.hpp"

using namespace lastbit;
using namespace lastbit::test;
using tflite_format::BuiltinOperator;
using tflite_format::TensorType;

namespace {

Model parsed(const std::vector<std::byte>& bytes) { return parse_tflite(bytes, "bad.tflite"); }
Model seed_model(const std::string& name) { return read_tflite(seed_directory("tflite_fuzz") / (name + ".tflite")); }

SliceAttributes slice_of(const TfliteFile& file) { return std::get<SliceAttributes>(parsed(file.bytes()).operations.front().attributes); }

}  // namespace

TEST_CASE("tensors keep their indices, and constants of an operator become attributes") {
  const Model model = seed_model("transposed_conv2d");  // output shape, weights, input, bias
  REQUIRE(model.tensors.size() == 5);
  CHECK(model.inputs == std::vector<std::int32_t>{2});
  CHECK(model.operations[0].inputs == std::vector<std::int32_t>{2, 1, 3});
  CHECK(model.tensors[1].quantization == Quantization{{0.5}, {0}, 0});
  CHECK(model.tensors[0].constant->integer_at(3) == 2);
  const auto& attributes = std::get<Conv2dAttributes>(model.operations[0].attributes);
  CHECK(attributes.stride == Extent2d{2, 2});
  CHECK(attributes.padding.mode == PaddingMode::same);
  CHECK(std::get<PadAttributes>(seed_model("pad_value").operations[0].attributes).value == 3);
  CHECK(std::get<MeanAttributes>(seed_model("mean").operations[0].attributes).axes == std::vector<std::int64_t>{1, 2});
  CHECK(std::get<ConcatAttributes>(seed_model("concat").operations[0].attributes).axis == 3);
  CHECK(std::get<TransposeAttributes>(parsed(transpose_file().bytes()).operations[0].attributes).permutation ==
        std::vector<std::int64_t>{1, 0});
}

TEST_CASE("a zero point is read whatever the rank of its tensor, of uint8 as of int8") {
  for (const std::vector<std::int32_t>& shape : {std::vector<std::int32_t>{6}, {2, 3}, {1, 2, 3}, {1, 1, 2, 3}, {1, 1, 1, 2, 3}}) {
    TfliteFile file;
    const FileTensor codes{.shape = shape, .type = tflite_format::TensorType::UINT8, .scale = {0.5F}, .zero_point = {130}};
    file.tensors = {codes, codes, codes};
    file.op_inputs = file.inputs = {0, 1};
    file.op_outputs = file.outputs = {2};
    for (const ModelTensor& tensor : parsed(file.bytes()).tensors) {
      CHECK(tensor.type == ElementType::uint8);
      CHECK(tensor.quantization == Quantization{{0.5}, {130}, 0});
    }
  }
}

TEST_CASE("every operation of the model format that has an operator is read") {
  std::set<OperationKind> kinds;
  for (const auto& path : seeds("tflite_fuzz")) kinds.insert(read_model(path).operations.front().kind);
  CHECK(kinds.size() == 46);
  CHECK_FALSE(kinds.contains(OperationKind::global_average_pool));
}

TEST_CASE("strided slices with masks, negative ends and dropped dimensions") {
  CHECK(slice_of(strided_slice_file({5}, {1}, {-1}, {2}, {2})).begin == std::vector<std::int64_t>{1});
  CHECK(slice_of(strided_slice_file({5}, {9}, {-9}, {-2}, {3})).begin == std::vector<std::int64_t>{4});       // clamped to the last
  CHECK(slice_of(strided_slice_file({5}, {3}, {0}, {-1}, {4}, 0, 1)).begin == std::vector<std::int64_t>{3});  // backwards to the first
  CHECK(slice_of(strided_slice_file({5}, {3}, {0}, {-1}, {5}, 1, 1)).begin == std::vector<std::int64_t>{4});  // all of it, backwards
  const Model model = parsed(strided_slice_file({4, 5}, {-1, 0}, {0, 5}, {1, 1}, {5}, 0, 0, 1).bytes());
  REQUIRE(model.operations.size() == 2);
  REQUIRE(model.tensors.size() == 6);
  CHECK(model.tensors[5].shape == Shape{1, 5});
  CHECK(std::get<SliceAttributes>(model.operations[0].attributes).begin == std::vector<std::int64_t>{3, 0});
  CHECK(model.operations[1].kind == OperationKind::reshape);
  CHECK(model.operations[1].outputs == std::vector<std::int32_t>{4});
}

TEST_CASE("the larger of both operator codes counts") {
  TfliteFile file = add_file();
  file.deprecated_code = 18;  // MUL
  CHECK(parsed(file.bytes()).operations[0].kind == OperationKind::mul);
  file.deprecated_code = 127;
  file.code = BuiltinOperator::GELU;
  const auto refusal = refusal_of([&] { parsed(file.bytes()); });
  REQUIRE(refusal);
  CHECK(refusal->says("operators that are not supported: GELU (1)"));
}

TEST_CASE("shifts serve 16-bit sums whose scales are all powers of two, where the file asks for them") {
  TfliteFile file = add_file();
  for (FileTensor& tensor : file.tensors) tensor.type = TensorType::INT16;
  file.tensors[1].data = {1, 0, 2, 0};
  file.options_type = tflite_format::BuiltinOptions::AddOptions;
  const auto ask = [&](bool wanted) {
    file.options = [=](flatbuffers::FlatBufferBuilder& builder) {
      return tflite_format::CreateAddOptions(builder, tflite_format::ActivationFunctionType::NONE, wanted).Union();
    };
    return std::get<ElementwiseAttributes>(parsed(file.bytes()).operations[0].attributes).power_of_two_scales;
  };
  CHECK(ask(true));
  CHECK_FALSE(ask(false));
  file.tensors[2].scale = {0.3F};
  CHECK_FALSE(ask(true));
}

TEST_CASE("float16 constants are widened exactly") {
  TfliteFile file;
  file.code = BuiltinOperator::DEQUANTIZE;
  // 1, -2, the smallest subnormal, the largest value, infinity
  file.tensors = {{.shape = {5}, .type = TensorType::FLOAT16, .data = {0x00, 0x3C, 0x00, 0xC0, 0x01, 0x00, 0xFF, 0x7B, 0x00, 0x7C}},
                  {.shape = {5}, .type = TensorType::FLOAT32},
                  {.shape = {1}}};
  file.op_inputs = {0};
  file.op_outputs = file.outputs = {1};
  file.inputs = {2};
  const Model model = parsed(file.bytes());
  CHECK(model.operations[0].kind == OperationKind::reshape);
  const auto values = model.tensors[0].constant->values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{1, -2, 0x1p-24F, 65504, HUGE_VALF});
}

TEST_CASE("a buffer may lie behind the FlatBuffer") {
  TfliteFile file = add_file();
  file.tensors[1].data.clear();
  file.tensors[1].buffer = 1;
  file.far_buffers = {{.offset = 1000, .size = 2}};
  std::vector<std::byte> bytes = file.bytes();
  REQUIRE(bytes.size() <= 1000);
  bytes.resize(1002);
  bytes[1000] = std::byte{7};
  CHECK(parsed(bytes).tensors[1].constant->integer_at(0) == 7);
  bytes.resize(1001);
  CHECK(refusal_of([&] { parsed(bytes); })->says("its buffer lies outside the file"));
  file.far_buffers = {{.offset = UINT64_MAX, .size = 2}};
  CHECK(refusal_of([&] { parsed(file.bytes()); })->says("its buffer lies outside the file"));
}

TEST_CASE("bytes need not be aligned") {
  std::vector<std::byte> shifted{std::byte{0}};
  const auto bytes = add_file().bytes();
  shifted.insert(shifted.end(), bytes.begin(), bytes.end());
  CHECK(parse_tflite(std::span(shifted).subspan(1), "shifted").operations.size() == 1);
}

namespace {

/// svdf(x, features, times, bias, state) -> y
TfliteFile svdf_file() {
  TfliteFile file;
  file.code = BuiltinOperator::SVDF;
  file.tensors = {{.shape = {1, 2}, .name = "x"},
                  {.shape = {2, 2}, .data = {1, 2, 3, 4}, .name = "features"},
                  {.shape = {2, 3}, .data = {1, 2, 3, 4, 5, 6}, .name = "times"},
                  {.shape = {1}, .type = TensorType::INT32, .data = int32_bytes({7}), .name = "bias"},
                  {.shape = {1, 6}, .name = "state"},
                  {.shape = {1, 1}, .name = "y"}};
  file.op_inputs = {0, 1, 2, 3, 4};
  file.op_outputs = file.outputs = {5};
  file.inputs = {0};
  file.options_type = tflite_format::BuiltinOptions::SVDFOptions;
  file.options = [](flatbuffers::FlatBufferBuilder& builder) {
    return tflite_format::CreateSVDFOptions(builder, 2, tflite_format::ActivationFunctionType::RELU).Union();
  };
  return file;
}

/// An LSTM of one cell: x, 4 + 4 weights, 4 biases, hidden and cell state -> y; tensors 16 and 17 are for optional inputs.
TfliteFile lstm_file(tflite_format::ActivationFunctionType activation = tflite_format::ActivationFunctionType::TANH) {
  TfliteFile file;
  file.code = BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM;
  file.tensors = {{.shape = {1, 2, 1}, .name = "x"}};
  for (const char* weights : {"i", "f", "c", "o", "ri", "rf", "rc", "ro"})
    file.tensors.push_back({.shape = {1, 1}, .data = {1}, .name = weights});
  for (const char* bias : {"bi", "bf", "bc", "bo"})
    file.tensors.push_back({.shape = {1}, .type = TensorType::INT32, .data = int32_bytes({1}), .name = bias});
  file.tensors.push_back({.shape = {1, 1}, .name = "h"});
  file.tensors.push_back({.shape = {1, 1}, .type = TensorType::INT16, .name = "c state"});
  file.tensors.push_back({.shape = {1, 2, 1}, .name = "y"});
  file.tensors.push_back({.shape = {1}, .data = {1}, .name = "extra"});
  file.tensors.push_back({.shape = {0}, .type = TensorType::STRING, .name = "scratch"});
  file.op_inputs = {0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1, 9, 10, 11, 12, -1, -1, 13, 14, -1, -1, -1, -1};
  file.op_outputs = file.outputs = {15};
  file.inputs = {0};
  file.options_type = tflite_format::BuiltinOptions::UnidirectionalSequenceLSTMOptions;
  file.options = [activation](flatbuffers::FlatBufferBuilder& builder) {
    return tflite_format::CreateUnidirectionalSequenceLSTMOptions(builder, activation, 10.0F, false).Union();
  };
  return file;
}

void require_refused(const TfliteFile& file, const std::string& reason, ErrorCode code) {
  const auto refusal = refusal_of([&] { static_cast<void>(parsed(file.bytes())); });
  REQUIRE(refusal);
  INFO(refusal->message);
  CHECK(refusal->code == code);
  CHECK(refusal->says(reason));
  CHECK(refusal->is_one_line());
}

}  // namespace

TEST_CASE("a variable tensor becomes a state: what it was before is a tensor of its own") {
  const Model model = parsed(svdf_file().bytes());
  REQUIRE(model.states.size() == 1);
  CHECK(model.states[0].after == 4);
  CHECK(model.states[0].before == 6);
  CHECK(model.tensor(6).name == "state (before)");
  const Operation& operation = model.operations.at(0);
  CHECK(operation.kind == OperationKind::svdf);
  CHECK(operation.inputs == std::vector<std::int32_t>{0, 1, 2, 6, 3});
  CHECK(operation.outputs == std::vector<std::int32_t>{5, 4});
  CHECK(std::get<SvdfAttributes>(operation.attributes).rank == 2);
  CHECK(std::get<SvdfAttributes>(operation.attributes).activation == Activation::relu);
}

TEST_CASE("an LSTM has two states, and its scratch tensors only take their numbers") {
  const Model model = parsed(lstm_file().bytes());
  REQUIRE(model.states.size() == 2);
  CHECK(model.states[0].after == 13);
  CHECK(model.states[1].after == 14);
  const Operation& operation = model.operations.at(0);
  CHECK(operation.kind == OperationKind::lstm);
  CHECK(operation.inputs == std::vector<std::int32_t>{0, 18, 19, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(operation.outputs == std::vector<std::int32_t>{15, 13, 14});
  CHECK(std::get<LstmAttributes>(operation.attributes).cell_clip == 10.0);
  CHECK(!std::get<LstmAttributes>(operation.attributes).time_major);
  CHECK(model.tensor(17).name == "scratch");
}

TEST_CASE("what remembers in another way is refused") {
  TfliteFile file = svdf_file();
  file.tensors[4].data = {1, 2, 3, 4, 5, 6};
  require_refused(file, "values of its own", ErrorCode::unsupported_operation);
  file = svdf_file();
  file.op_inputs.pop_back();
  require_refused(file, "the state is missing", ErrorCode::malformed_file);
  file = svdf_file();
  file.inputs = {0, 4};
  require_refused(file, "already given", ErrorCode::malformed_file);
  file = svdf_file();
  file.tensors[4].shape = {1, 5};
  require_refused(file, "1x6 is needed", ErrorCode::shape_mismatch);
  require_refused(lstm_file(tflite_format::ActivationFunctionType::RELU), "not tanh", ErrorCode::unsupported_operation);
  for (const std::size_t optional : {9U, 16U, 20U}) {
    file = lstm_file();
    file.op_inputs[optional] = 16;
    require_refused(file, "peephole, projection or layer normalisation", ErrorCode::unsupported_operation);
  }
  file = lstm_file();
  file.op_inputs[1] = -1;
  require_refused(file, "input 1 is missing", ErrorCode::unsupported_operation);
}
