// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "lastbit/io/json_model.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Model parsed(const std::string& text) { return parse_json_model(text, seed_directory("npy_fuzz"), "bad.json"); }

std::string seed(const std::string& name) { return file_text(seed_directory("json_model_fuzz") / (name + ".json")); }

/// A seed with the first occurrence of a text replaced; the text must be there.
std::string edited(const std::string& name, const std::string& from, const std::string& to) {
  std::string text = seed(name);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// A valid model around one constant tensor.
std::string with_constant(const std::string& tensor) {
  return R"({"format": "lastbit.model.v1", "tensors": [{"name": "x", "type": "int8", "shape": [2]}, )" + tensor +
         R"(], "operations": [], "inputs": ["x"], "outputs": ["x"]})";
}

void require_refusal(const std::string& text, const std::string& reason, ErrorCode code) {
  const auto refusal = refusal_of([&] { parsed(text); });
  REQUIRE(refusal);
  INFO(refusal->message);
  CHECK(refusal->code == code);
  CHECK(refusal->says("bad.json"));
  CHECK(refusal->says(reason));
  CHECK(refusal->is_one_line());
}

}  // namespace

TEST_CASE("a convolution means what the format says") {
  const Model model = parsed(seed("conv2d"));
  CHECK(model.name == "conv2d");
  REQUIRE(model.tensors.size() == 4);
  CHECK(model.tensors[1].quantization == Quantization{{0.5, 0.25}, {}, 0});
  REQUIRE(model.tensors[2].constant);
  CHECK(*model.tensors[2].constant == Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{-2, -1}));
  CHECK_FALSE(model.tensors[0].constant);
  REQUIRE(model.operations.size() == 1);
  const Operation& operation = model.operations[0];
  CHECK(operation.kind == OperationKind::conv2d);
  CHECK(operation.name == "t3");
  CHECK(operation.inputs == std::vector<std::int32_t>{0, 1, 2});
  const auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
  CHECK(attributes.stride == Extent2d{2, 2});
  CHECK(attributes.dilation == Extent2d{1, 1});
  CHECK(attributes.padding.mode == PaddingMode::same);
  CHECK(attributes.bounds.activation == Activation::relu6);
  CHECK(parsed(seed("conv2d_no_bias")).operations[0].inputs == std::vector<std::int32_t>{0, 1, absent_tensor});
}

TEST_CASE("the sizes of a padding are top, bottom, left and right") {
  const Model model = parsed(R"({"format": "lastbit.model.v1", "tensors": [
    {"name": "x", "type": "int8", "shape": [1, 4, 4, 1], "quantization": {"scale": [1]}},
    {"name": "y", "type": "int8", "shape": [1, 3, 7, 1], "quantization": {"scale": [1]}}],
    "operations": [{"op": "max_pool2d", "inputs": ["x"], "outputs": ["y"], "attributes": {"filter": [5, 5], "padding": [1, 2, 3, 4]}}],
    "inputs": ["x"], "outputs": ["y"]})");
  const Padding2d& padding = std::get<Pool2dAttributes>(model.operations[0].attributes).padding;
  CHECK(padding.mode == PaddingMode::explicit_sizes);
  CHECK(std::vector{padding.top, padding.bottom, padding.left, padding.right} == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("every seed of the fuzz target is a model") {
  for (const auto& path : seeds("json_model_fuzz")) {
    const Model model = read_model(path);
    CHECK(model.operations.size() == 1);
    CHECK(name_of(model.operations[0].kind) != "");
  }
}

TEST_CASE("values may lie in a .npy beside the model") {
  const Model model = parsed(with_constant(R"({"name": "k", "type": "int16", "shape": [24], "file": "fortran.npy"})"));
  CHECK(model.tensors[1].constant->integer_at(23) == 23);
  CHECK(model.tensors[1].constant->shape() == Shape{24});
}

TEST_CASE("values lie below the model's folder, as those of an ONNX model do") {
  const Scratch scratch;
  const std::filesystem::path folder = scratch.path() / "model";
  std::filesystem::create_directories(folder / "values");
  const Tensor values = Tensor::from<std::int8_t>({1}, std::vector<std::int8_t>{5});
  write_npy(scratch.path() / "secret.npy", values);
  write_npy(folder / "values" / "k.npy", values);
  std::filesystem::create_symlink(scratch.path() / "secret.npy", folder / "link.npy");
  std::filesystem::create_symlink("values/k.npy", folder / "inside.npy");
  std::filesystem::create_directory_symlink(scratch.path(), folder / "up");
  const auto reading = [&](const std::string& file) {
    const std::string tensor = R"({"name": "k", "type": "int8", "shape": [1], "file": ")" + file + R"("})";
    return refusal_of([&] { (void)parse_json_model(with_constant(tensor), folder, "bad.json"); });
  };
  for (const char* file : {"values/k.npy", "./values/../values/k.npy", "inside.npy"}) {
    INFO(file);
    CHECK_FALSE(reading(file));
  }
  for (const std::string& file :
       {std::string("../secret.npy"), (scratch.path() / "secret.npy").string(), (folder / "values/k.npy").string(), std::string("link.npy"),
        std::string("up/secret.npy"), std::string("values/../../secret.npy")}) {
    INFO(file);
    const auto refusal = reading(file);
    REQUIRE(refusal);
    CHECK(refusal->says("lies outside the model's folder"));
    CHECK(refusal->is_one_line());
  }
  REQUIRE(reading("values"));
  CHECK(reading("values")->says("is not a regular file"));
}

TEST_CASE("values are read to the last bit") {
  const Model ints =
      parsed(with_constant(R"({"name": "k", "type": "int64", "shape": [2], "data": [-9223372036854775808, 9223372036854775807]})"));
  CHECK(ints.tensors[1].constant->integer_at(0) == INT64_MIN);
  CHECK(ints.tensors[1].constant->integer_at(1) == INT64_MAX);
  const Model scale = parsed(
      with_constant(R"({"name": "k", "type": "int8", "shape": [1], "data": [1], "quantization": {"scale": [4.656612873077393e-10]}})"));
  CHECK(scale.tensors[1].quantization.scale() == 0x1p-31);
}

TEST_CASE("hostile JSON is refused with a reason") {
  struct Hostile {
    const char* name;
    std::string text;
    const char* reason;
  };
  const std::string deep(100000, '[');
  const Hostile table[] = {
      {"empty", "", "not JSON at line 1, column 1"},
      {"not JSON", "{\n  \"format\": oops}", "not JSON at line 2, column 13"},
      {"nested a hundred thousand deep", deep, "nested more than 32 deep"},
      {"a list", "[]", "an object is needed"},
      {"another format", edited("add", "lastbit.model.v1", "lastbit.model.v9"), ".format"},
      {"key twice", edited("add", R"("name":"add")", R"("name":"add","name":"sub")"), "key 'name' stands twice"},
      {"unknown key", edited("concat", R"("axis":3)", R"("axis":3,"axes":3)"), "unknown key 'axes'"},
      {"misspelt attribute", edited("conv2d", R"("stride")", R"("strides")"), "attributes: unknown key 'strides'"},
      {"number out of range of double", edited("add", "0.5", "1e999"), "a number is too large"},
      {"NaN", edited("add", "0.5", "NaN"), "not JSON"},
      {"text for a number", edited("add", "0.5", "\"0.5\""), "tensors[0].quantization.scale[0]: a number"},
      {"fraction in a shape", edited("add", "[1,4,4,2]", "[1,4,4,2.0]"), "tensors[0].shape[3]: an integer"},
      {"integer beyond 64 bits", edited("add", "[1,4,4,2]", "[1,4,4,18446744073709551615]"), "beyond 64 bits"},
      {"name with a newline", edited("add", R"("name":"t0")", R"("name":"t\n0")"), "control characters"},
      {"unknown type", edited("add", "int8", "int7"), "unknown type 'int7'"},
      {"unknown tensor", edited("add", R"("inputs":["t0")", R"("inputs":["t9")"), "no tensor is named 't9'"},
      {"name taken", edited("add", R"("name":"t1")", R"("name":"t0")"), "tensors[1]: the name 't0' is taken"},
      {"size 0", edited("add", "[1,4,4,2]", "[1,0,4,2]"), "tensors[0].shape"},
      {"negative size", edited("add", "[1,4,4,2]", "[1,-4,-4,2]"), "tensors[0].shape"},
      {"product beyond 64 bits", edited("add", "[1,4,4,2]", "[4294967296,4294967296,4294967296]"), "tensors[0].shape"},
      {"an activation of 2^32 bytes", edited("add", "[1,4,4,2]", "[65536,65536]"), "larger than 2^31 bytes"},
      {"too few values", edited("prelu", "[-2,-1]", "[-2]"), "1 values; shape 1x1x2 needs 2"},
      {"a value outside its type", edited("prelu", "[-2,-1]", "[-2,128]"), "data[1]: 128 is outside int8"},
      {"float32 data beyond float32", with_constant(R"({"name": "k", "type": "float32", "shape": [1], "data": [1e39]})"), "beyond float32"},
      {"data and file", with_constant(R"({"name": "k", "type": "int8", "shape": [1], "data": [1], "file": "int8.npy"})"),
       "exclude each other"},
      {"file of another type", with_constant(R"({"name": "k", "type": "int8", "shape": [6], "file": "int16.npy"})"), "holds int16"},
      {"file of another size", with_constant(R"({"name": "k", "type": "int8", "shape": [7], "file": "int8.npy"})"), "holds 2x3"},
      {"no inputs", edited("add", R"(}],"inputs":["t0"])", R"(}],"inputs":[])"), "the model has no inputs"},
      {"no outputs", edited("add", R"("outputs":["t2"]})", R"("outputs":[]})"), "the model has no outputs"},
      {"operation without input", edited("add", R"("inputs":["t0","t1"])", R"("inputs":[])"), "an operation needs an input"},
      {"cycle", edited("add", R"("inputs":["t0","t1"])", R"("inputs":["t0","t2"])"), "'t2', which nothing has computed yet"},
      {"written twice", edited("split", R"("outputs":["t1","t2"])", R"("outputs":["t1","t1"])"), "already given"},
      {"output into a constant", edited("add", R"("outputs":["t2"])", R"("outputs":["t1"])"), "a constant"},
      {"absent first input", edited("add", R"("inputs":["t0","t1"])", R"("inputs":[null,"t1"])"), "an operation needs an input"},
      {"absent second input", edited("add", R"("inputs":["t0","t1"])", R"("inputs":["t0",null])"), "an input is tensor -1"},
      {"too many inputs", edited("relu", R"("inputs":["t0"])", R"("inputs":["t0","t0"])"), "2 inputs; 1 needed"},
  };
  for (const Hostile& hostile : table) {
    DYNAMIC_SECTION(hostile.name) { require_refusal(hostile.text, hostile.reason, ErrorCode::malformed_file); }
  }
}

TEST_CASE("an unknown operation and a missing file are named") {
  require_refusal(edited("add", R"("op":"add")", R"("op":"divide")"), "operations[0]: unknown operation 'divide'",
                  ErrorCode::unsupported_operation);
  const auto refusal = refusal_of([] { parsed(with_constant(R"({"name": "k", "type": "int8", "shape": [1], "file": "gone.npy"})")); });
  REQUIRE(refusal);
  CHECK(refusal->code == ErrorCode::unreadable_file);
  CHECK(refusal->says("gone.npy"));
}

TEST_CASE("a JSON model cut anywhere is refused") {
  for (const auto& path : seeds("json_model_fuzz")) {
    const std::string whole = file_text(path);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto refusal = refusal_of([&] { parsed(whole.substr(0, length)); });
      INFO(path.filename() << " cut to " << length);
      REQUIRE((refusal && refusal->is_one_line()));
    }
  }
}

TEST_CASE("a file is a model by its name or its first characters") {
  CHECK(read_model(seed_directory("json_model_fuzz") / "add.json").name == "add");
  const auto refusal = refusal_of([] { static_cast<void>(read_model(seed_directory("npy_fuzz") / "int8.npy")); });
  REQUIRE(refusal);
  CHECK(refusal->says("neither a .tflite file, an .onnx file nor a JSON model"));
}
