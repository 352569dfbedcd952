// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Files that are damaged, or that lie: each is refused, or is still sound.
#include <cmath>

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
          {"sparse", malformed, "traversal order",
           [](TfliteFile& file) {
             file.tensors[1].sparsity = [](flatbuffers::FlatBufferBuilder& builder) {
               return tflite_format::CreateSparsityParameters(builder);
             };
           }},
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
      add_file, {
                    {"unknown number", unsupported, "not supported: number 4711 (1)",
                     [](TfliteFile& file) { file.code = static_cast<BuiltinOperator>(4711); }},
                    {"negative number", unsupported, "not supported: number -3 (1)",
                     [](TfliteFile& file) {
                       file.code = static_cast<BuiltinOperator>(-3);
                       file.deprecated_code = -3;
                     }},
                    {"custom", unsupported, "not supported: CUSTOM 'Frob?nicate' (1)",
                     [](TfliteFile& file) {
                       file.code = BuiltinOperator::CUSTOM;
                       file.custom_code = "Frob\nnicate";
                     }},
                    {"stateful", unsupported, "not supported: RNN (1)", [](TfliteFile& file) { file.code = BuiltinOperator::RNN; }},
                    {"operator code index", malformed, "operator code 5 of 1", [](TfliteFile& file) { file.opcode_index = 5; }},
                    {"input index", malformed, "tensor 3 of 3", [](TfliteFile& file) { file.op_inputs[0] = 3; }},
                    {"negative input", malformed, "tensor -2 of 3", [](TfliteFile& file) { file.op_inputs[0] = -2; }},
                    {"huge output", malformed, "tensor 2147483647 of 3", [](TfliteFile& file) { file.op_outputs[0] = INT32_MAX; }},
                    {"no output", malformed, "no output", [](TfliteFile& file) { file.op_outputs.clear(); }},
                    {"absent output", malformed, "output 0 is missing", [](TfliteFile& file) { file.op_outputs = {-1}; }},
                    {"absent second output", malformed, "output 1 is missing", [](TfliteFile& file) { file.op_outputs.push_back(-1); }},
                    {"one input", malformed, "1 input; 2 needed", [](TfliteFile& file) { file.op_inputs.pop_back(); }},
                    {"three inputs", malformed, "3 inputs; 2 needed", [](TfliteFile& file) { file.op_inputs.push_back(0); }},
                    {"absent input", malformed, "input 1 is missing", [](TfliteFile& file) { file.op_inputs[1] = -1; }},
                    {"cycle", malformed, "which nothing has computed yet", [](TfliteFile& file) { file.op_inputs[1] = 2; }},
                    {"output into the input", malformed, "already given", [](TfliteFile& file) { file.op_outputs = {0}; }},
                    {"output into a constant", malformed, "a constant", [](TfliteFile& file) { file.op_outputs = {1}; }},
                    {"subgraph input index", malformed, "tensor 9 of 3", [](TfliteFile& file) { file.inputs = {9}; }},
                    {"absent subgraph output", malformed, "tensor -1", [](TfliteFile& file) { file.outputs = {-1}; }},
                    {"no subgraph", malformed, "no subgraph", [](TfliteFile& file) { file.subgraphs = 0; }},
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
