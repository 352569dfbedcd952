// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
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

/// add(t0, constant t1) -> t2
TfliteFile add_file() {
  TfliteFile file;
  file.tensors = {{.shape = {1, 2}}, {.shape = {2}, .data = {1, 2}}, {.shape = {1, 2}}};
  file.op_inputs = {0, 1};
  file.op_outputs = file.outputs = {2};
  file.inputs = {0};
  return file;
}

/// transpose(t0, constant permutation t1) -> t2
TfliteFile transpose_file() {
  TfliteFile file = add_file();
  file.code = BuiltinOperator::TRANSPOSE;
  file.tensors[1] = {.shape = {2}, .type = TensorType::INT32, .data = int32_bytes({1, -2}), .scale = {}, .zero_point = {}};
  file.tensors[2].shape = {2, 1};
  return file;
}

TfliteFile strided_slice_file(std::vector<std::int32_t> shape, std::vector<std::int32_t> begin, std::vector<std::int32_t> end,
                              std::vector<std::int32_t> strides, std::vector<std::int32_t> out, std::int32_t begin_mask = 0,
                              std::int32_t end_mask = 0, std::int32_t shrink_mask = 0) {
  TfliteFile file;
  file.code = BuiltinOperator::STRIDED_SLICE;
  file.tensors = {{.shape = std::move(shape)}};
  for (const auto& numbers : {begin, end, strides}) {
    file.tensors.push_back({.shape = {static_cast<std::int32_t>(numbers.size())},
                            .type = TensorType::INT32,
                            .data = int32_bytes(numbers),
                            .scale = {},
                            .zero_point = {}});
  }
  file.tensors.push_back({.shape = std::move(out)});
  file.op_inputs = {0, 1, 2, 3};
  file.op_outputs = file.outputs = {4};
  file.inputs = {0};
  file.options_type = tflite_format::BuiltinOptions::StridedSliceOptions;
  file.options = [=](flatbuffers::FlatBufferBuilder& builder) {
    return tflite_format::CreateStridedSliceOptions(builder, begin_mask, end_mask, 0, 0, shrink_mask).Union();
  };
  return file;
}

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
  CHECK(kinds.size() == 31);  // all but global_average_pool
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
  CHECK(refusal->says("operation 0: operator GELU is not supported"));
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

struct Hostile {
  const char* name;
  ErrorCode code;
  const char* reason;
  void (*spoil)(TfliteFile&);
};

void require_refusals(TfliteFile (*sound)(), const std::vector<Hostile>& table) {
  CHECK_FALSE(refusal_of([&] { parsed(sound().bytes()); }));
  for (const Hostile& hostile : table) {
    DYNAMIC_SECTION(hostile.name) {
      TfliteFile file = sound();
      hostile.spoil(file);
      const auto refusal = refusal_of([&] { parsed(file.bytes()); });
      REQUIRE(refusal);
      INFO(refusal->message);
      CHECK(refusal->code == hostile.code);
      CHECK(refusal->says("bad.tflite: "));
      CHECK(refusal->says(hostile.reason));
      CHECK(refusal->is_one_line());
    }
  }
}

constexpr auto malformed = ErrorCode::malformed_file;
constexpr auto unsupported = ErrorCode::unsupported_operation;

}  // namespace

TEST_CASE("hostile tensors of a .tflite are refused") {
  require_refusals(
      add_file,
      {
          {"size 0", malformed, "tensor 0 't': dimension 1 has size 0",
           [](TfliteFile& file) {
             file.tensors[0].shape = {1, 0};
           }},
          {"dynamic size", malformed, "dimension 0 has size -1",
           [](TfliteFile& file) {
             file.tensors[0].shape = {-1, 2};
           }},
          {"product beyond 64 bits", malformed, "is too large",
           [](TfliteFile& file) {
             file.tensors[0].shape = {INT32_MAX, INT32_MAX, INT32_MAX};
           }},
          {"activation of 2^32 bytes", malformed, "2^31 bytes",
           [](TfliteFile& file) {
             file.tensors[0].shape = {65536, 65536};
           }},
          {"nine dimensions", malformed, "8 dimensions", [](TfliteFile& file) { file.tensors[0].shape.assign(9, 1); }},
          {"text", unsupported, "element type STRING", [](TfliteFile& file) { file.tensors[0].type = TensorType::STRING; }},
          {"unknown type", unsupported, "element type", [](TfliteFile& file) { file.tensors[0].type = static_cast<TensorType>(99); }},
          {"sparse", unsupported, "sparse", [](TfliteFile& file) { file.tensors[1].sparse = true; }},
          {"custom quantization", unsupported, "custom quantization", [](TfliteFile& file) { file.tensors[1].quantization_details = 1; }},
          {"buffer index", malformed, "buffer 77 of 2", [](TfliteFile& file) { file.tensors[1].buffer = 77; }},
          {"buffer too short", malformed, "its buffer has 1 bytes", [](TfliteFile& file) { file.tensors[1].data = {1}; }},
          {"buffer too long", malformed, "its buffer has 3 bytes",
           [](TfliteFile& file) {
             file.tensors[1].data = {1, 2, 3};
           }},
          {"constant without data", malformed, "which nothing has computed yet", [](TfliteFile& file) { file.tensors[1].data.clear(); }},
          {"NaN scale", ErrorCode::bad_quantization, "scale nan", [](TfliteFile& file) { file.tensors[0].scale = {NAN}; }},
          {"infinite scale", ErrorCode::bad_quantization, "scale inf", [](TfliteFile& file) { file.tensors[0].scale = {HUGE_VALF}; }},
          {"scale 0", ErrorCode::bad_quantization, "scale 0", [](TfliteFile& file) { file.tensors[0].scale = {0}; }},
          {"zero point", ErrorCode::bad_quantization, "zero point -129", [](TfliteFile& file) { file.tensors[0].zero_point = {-129}; }},
          {"scales that do not fit", ErrorCode::bad_quantization, "3 scales along axis 1",
           [](TfliteFile& file) {
             file.tensors[0].scale = {1, 1, 1};
             file.tensors[0].zero_point = {};
             file.tensors[0].axis = 1;
           }},
          {"a name with control characters", malformed, "not printable", [](TfliteFile& file) { file.tensors[0].name = "a\x1b[2J"; }},
          {"a name that is not UTF-8", malformed, "not printable", [](TfliteFile& file) { file.tensors[0].name = "\xC3("; }},
      });
}

TEST_CASE("hostile operators of a .tflite are refused") {
  require_refusals(
      add_file,
      {
          {"unknown number", unsupported, "operator number 4711", [](TfliteFile& file) { file.code = static_cast<BuiltinOperator>(4711); }},
          {"negative number", unsupported, "operator number -3",
           [](TfliteFile& file) {
             file.code = static_cast<BuiltinOperator>(-3);
             file.deprecated_code = -3;
           }},
          {"custom", unsupported, "operator CUSTOM 'Frob?nicate'",
           [](TfliteFile& file) {
             file.code = BuiltinOperator::CUSTOM;
             file.custom_code = "Frob\nnicate";
           }},
          {"stateful", unsupported, "operator RNN", [](TfliteFile& file) { file.code = BuiltinOperator::RNN; }},
          {"operator code index", malformed, "operator code 5 of 1", [](TfliteFile& file) { file.opcode_index = 5; }},
          {"input index", malformed, "tensor 3 of 3", [](TfliteFile& file) { file.op_inputs[0] = 3; }},
          {"negative input", malformed, "tensor -2 of 3", [](TfliteFile& file) { file.op_inputs[0] = -2; }},
          {"huge output", malformed, "tensor 2147483647 of 3", [](TfliteFile& file) { file.op_outputs[0] = INT32_MAX; }},
          {"no output", malformed, "no output", [](TfliteFile& file) { file.op_outputs.clear(); }},
          {"absent output", malformed, "no output", [](TfliteFile& file) { file.op_outputs = {-1}; }},
          {"one input", malformed, "1 inputs; 2 needed", [](TfliteFile& file) { file.op_inputs.pop_back(); }},
          {"three inputs", malformed, "3 inputs; 2 needed", [](TfliteFile& file) { file.op_inputs.push_back(0); }},
          {"absent input", malformed, "input 1 is missing", [](TfliteFile& file) { file.op_inputs[1] = -1; }},
          {"cycle", malformed, "which nothing has computed yet", [](TfliteFile& file) { file.op_inputs[1] = 2; }},
          {"output into the input", malformed, "already given", [](TfliteFile& file) { file.op_outputs = {0}; }},
          {"output into a constant", malformed, "a constant", [](TfliteFile& file) { file.op_outputs = {1}; }},
          {"subgraph input index", malformed, "tensor 9 of 3", [](TfliteFile& file) { file.inputs = {9}; }},
          {"absent subgraph output", malformed, "tensor -1", [](TfliteFile& file) { file.outputs = {-1}; }},
          {"no subgraph", unsupported, "0 subgraphs", [](TfliteFile& file) { file.subgraphs = 0; }},
          {"two subgraphs", unsupported, "2 subgraphs", [](TfliteFile& file) { file.subgraphs = 2; }},
          {"options missing", malformed, "options are missing", [](TfliteFile& file) { file.code = BuiltinOperator::CONV_2D; }},
          {"output shape", ErrorCode::shape_mismatch, "1x2 is needed",
           [](TfliteFile& file) {
             file.tensors[2].shape = {1, 3};
           }},
          {"unknown activation", unsupported, "fused activation 5",
           [](TfliteFile& file) {
             file.options_type = tflite_format::BuiltinOptions::AddOptions;
             file.options = [](flatbuffers::FlatBufferBuilder& builder) {
               return tflite_format::CreateAddOptions(builder, tflite_format::ActivationFunctionType::SIGN_BIT).Union();
             };
           }},
      });
}

TEST_CASE("hostile constants behind attributes are refused") {
  require_refusals(transpose_file, {
                                       {"not a constant", unsupported, "is not a constant",
                                        [](TfliteFile& file) {
                                          file.tensors[1].data.clear();
                                          file.inputs = {0, 1};
                                        }},
                                       {"with control characters in its name", malformed, "not printable",
                                        [](TfliteFile& file) {
                                          file.tensors[1].name = "t\x01";
                                          file.tensors[1].data.clear();
                                        }},
                                       {"of another type", malformed, "is int8; int32 is needed",
                                        [](TfliteFile& file) {
                                          file.tensors[1] = {.shape = {2}, .data = {1, 0}};
                                        }},
                                       {"axis outside", malformed, "axis 2 of a tensor with 2 dimensions",
                                        [](TfliteFile& file) {
                                          file.tensors[1].data = int32_bytes({2, 0});
                                        }},
                                       {"most negative axis", malformed, "axis -2147483648",
                                        [](TfliteFile& file) {
                                          file.tensors[1].data = int32_bytes({INT32_MIN, 0});
                                        }},
                                       {"axis twice", ErrorCode::bad_attribute, "names an axis twice",
                                        [](TfliteFile& file) {
                                          file.tensors[1].data = int32_bytes({1, 1});
                                        }},
                                   });
}

TEST_CASE("hostile slices are refused") {
  const auto says = [](const TfliteFile& file, const std::string& reason) {
    const auto refusal = refusal_of([&] { parsed(file.bytes()); });
    return refusal && refusal->says(reason);
  };
  CHECK(says(strided_slice_file({5}, {0}, {5}, {0}, {5}), "a stride of 0"));
  CHECK(says(strided_slice_file({5}, {4}, {1}, {1}, {1}), "give 0, the output is 1"));
  CHECK(says(strided_slice_file({5}, {0}, {5}, {1}, {4}), "give 5, the output is 4"));
  CHECK(says(strided_slice_file({5}, {7}, {8}, {1}, {}, 0, 0, 1), "begin is outside"));
  CHECK(says(strided_slice_file({5}, {-7}, {8}, {1}, {}, 0, 0, 1), "begin is outside"));
  CHECK(says(strided_slice_file({5}, {0, 0}, {5, 5}, {1, 1}, {5}), "one entry per dimension"));
  CHECK_FALSE(says(strided_slice_file({5}, {INT32_MIN}, {INT32_MAX}, {INT32_MAX}, {1}), ""));  // clamped: one element
}

TEST_CASE("one buffer under many tensors does not fill the memory") {
  TfliteFile file = add_file();
  file.tensors.push_back({.shape = {1 << 16}, .data = std::vector<std::uint8_t>(1 << 16)});
  FileTensor again = file.tensors.back();
  again.data.clear();
  again.buffer = 2;
  for (std::int32_t copy = 0; copy < 100; ++copy) {
    file.op_inputs.push_back(static_cast<std::int32_t>(file.tensors.size()));
    file.tensors.push_back(again);
  }
  const auto refusal = refusal_of([&] { parsed(file.bytes()); });
  REQUIRE(refusal);
  CHECK(refusal->says("far more often than is sound"));
}

TEST_CASE("a .tflite cut anywhere is refused or still sound") {
  for (const auto& path : seeds("tflite_fuzz")) {
    const std::string whole = file_text(path);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto refusal = refusal_of([&] { parsed(bytes_of(whole.substr(0, length))); });
      INFO(path.filename() << " cut to " << length);
      REQUIRE(((refusal && refusal->is_one_line()) || length + 16 > whole.size()));  // what pads the end may go
    }
  }
}

TEST_CASE("a .tflite with any one byte changed is refused or still sound") {
  std::size_t refused = 0, accepted = 0;
  for (const auto& path : seeds("tflite_fuzz")) {
    const auto whole = bytes_of(file_text(path));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const std::byte flip : {std::byte{0xFF}, std::byte{0x80}, std::byte{0x01}}) {
        auto changed = whole;
        changed[i] ^= flip;
        const auto refusal = refusal_of([&] { validate(parsed(changed), "again"); });
        if (refusal) REQUIRE(refusal->is_one_line());
        ++(refusal ? refused : accepted);
      }
    }
  }
  CHECK(refused > 10000);
  CHECK(accepted > 10000);
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
