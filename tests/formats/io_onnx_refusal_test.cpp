// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX files that are unsound or ask for what is not supported: each is refused in one line that says where and why.
#include <fstream>

#include "support/onnx_checks.hpp"
#include "support/scratch.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// x [1, 2, 4, 4] → one node → y.
OnnxFile one(const std::string& op, const Names& more = {}) {
  OnnxFile file;
  file.input("x", {1, 2, 4, 4}).output("y");
  Names inputs{"x"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  file.node(op, inputs, {"y"});
  return file;
}

}  // namespace

TEST_CASE("bytes that are no model") {
  const auto read = [](std::string_view bytes) { static_cast<void>(parse_onnx(std::as_bytes(std::span(bytes)), "f.onnx")); };
  CHECK_THROWS_WITH(read(""), "f.onnx: not an .onnx model: it has no graph");
  CHECK_THROWS_WITH(read("\x08\x08\x3a\x7f"), "f.onnx: truncated or corrupt .onnx file");
  const std::string nested(1000, '\x3a');
  CHECK_THROWS_WITH(read(nested), "f.onnx: truncated or corrupt .onnx file");
}

TEST_CASE("every prefix of a model is refused or read") {
  OnnxFile file = one("Relu");
  file.constant<float>("unused", {2}, {1, 2});
  const std::string bytes = file.proto.SerializeAsString();
  int refused = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    try {
      static_cast<void>(parse_onnx(std::as_bytes(std::span(bytes)).first(length), "f.onnx"));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("graphs that are not sound") {
  SECTION("no operator set") {
    OnnxFile file = one("Relu");
    file.proto.clear_opset_import();
    CHECK(refusal(file) == "test.onnx: model: no version of the operator set");
    OnnxFile elsewhere = one("Relu");  // one of another domain alone needs none
    elsewhere.proto.clear_opset_import();
    elsewhere.add_domain("com.example", 1);
    elsewhere.graph().mutable_node(0)->set_domain("com.example");
    CHECK(refusal(elsewhere) == "test.onnx: operators that are not supported: com.example:Relu (1)");
  }
  SECTION("an operator set of the future") {
    OnnxFile file(99);
    CHECK(refusal(file) == "test.onnx: model: opset 99; 7 to 22 are supported");
  }
  SECTION("an unknown operator") { CHECK(refusal(one("Foo\n")) == "test.onnx: operators that are not supported: Foo? (1)"); }
  SECTION("a value that nothing computes") {
    CHECK(refusal(one("Add", {"z"})) == "test.onnx: Add (node 0): input 'z' is not computed before it is read");
  }
  SECTION("a cycle") {
    OnnxFile file;
    file.input("x", {1, 2}).output("y");
    file.node("Add", {"x", "b"}, {"a"});
    file.node("Relu", {"a"}, {"b"});
    file.node("Relu", {"b"}, {"y"});
    CHECK(refusal(file) == "test.onnx: Add (node 0): input 'b' is not computed before it is read");
  }
  SECTION("a name given twice") {
    OnnxFile file = one("Relu");
    file.node("Relu", {"x"}, {"y"});
    CHECK(refusal(file) == "test.onnx: Relu (node 1): output 'y' is given already");
  }
  SECTION("a name that is no text") {
    OnnxFile file = one("Relu");
    file.node("Relu", {"x"}, {"z\x01"});
    CHECK(refusal(file) == "test.onnx: Relu (node 1): the name of a tensor is not printable text");
  }
  SECTION("an output that nothing computes") {
    OnnxFile file = one("Relu");
    file.output("z");
    CHECK(refusal(file) == "test.onnx: output 'z': nothing computes it");
  }
  SECTION("too many dimensions") {
    OnnxFile file;
    file.input("x", Integers(9, 1)).output("y");
    file.node("Relu", {"x"}, {"y"});
    CHECK_THAT(refusal(file), contains_text("more than 8 dimensions"));
  }
  SECTION("a size beyond memory") {
    OnnxFile file;
    file.input("x", {1, std::int64_t{1} << 40, std::int64_t{1} << 40}).output("y");
    file.node("Relu", {"x"}, {"y"});
    CHECK_THAT(refusal(file), contains_text("has a size below 1 or is larger than 2^31 bytes"));
  }
}

TEST_CASE("stored tensors that are not sound") {
  OnnxFile file = one("Add", {"c"});
  onnx::TensorProto& tensor = file.constant<float>("c", {2}, {1, 2});
  const std::string place = "test.onnx: initializer 0 'c': ";
  SECTION("fewer values than the shape says") {
    tensor.set_dims(0, 1 << 28);
    CHECK(refusal(file) == place + "shape 268435456 needs more values than there are");
  }
  SECTION("more values than the shape says") {
    tensor.set_dims(0, 1);
    CHECK(refusal(file) == place + "8 bytes of values; shape 1 needs 4");
  }
  SECTION("a negative size") {
    tensor.set_dims(0, -2);
    CHECK_THAT(refusal(file), contains_text(place + "shape -2 has a size below 1"));
  }
  SECTION("a type without meaning") {
    tensor.set_data_type(77);
    CHECK(refusal(file) == place + "element type number 77 is not supported");
  }
  SECTION("a small integer out of range") {
    tensor.clear_raw_data();
    tensor.set_data_type(onnx::TensorProto::INT8);
    tensor.add_int32_data(1);
    tensor.add_int32_data(128);
    CHECK(refusal(file) == place + "value 128 is outside the tensor's type");
  }
  SECTION("values outside the file") {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    CHECK(refusal(file) == place + "its values lie outside the file");
  }
}

TEST_CASE("values outside the file are read below the model's folder, and nowhere else") {
  const Scratch scratch;
  const auto folder = scratch.path() / "model";
  std::filesystem::create_directories(folder / "data");
  const float values[] = {7, 1, 2};
  std::ofstream(folder / "data" / "weights.bin", std::ios::binary).write(reinterpret_cast<const char*>(values), sizeof values);
  std::filesystem::copy_file(folder / "data" / "weights.bin", scratch.path() / "secret.bin");
  std::filesystem::create_symlink(scratch.path() / "secret.bin", folder / "link.bin");
  const auto refusal_for = [&](const std::string& location, const std::string& offset) -> std::string {
    OnnxFile file;
    file.input("x", {2}).output("y");
    onnx::TensorProto& tensor = file.constant<float>("c", {2}, {});
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      auto* added = tensor.add_external_data();
      added->set_key(key);
      added->set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    file.node("Add", {"x", "c"}, {"y"});
    std::ofstream(folder / "model.onnx", std::ios::binary) << file.proto.SerializeAsString();
    try {
      const Model model = read_onnx(folder / "model.onnx");
      const auto found = model.tensor(*model.find_tensor("c")).constant->values<float>();
      return found[0] == 1 && found[1] == 2 ? "read" : "wrong values";
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK(refusal_for("data/weights.bin", "4") == "read");
  CHECK_THAT(refusal_for("data/weights.bin", "5"), contains_text("external data ends before the tensor does"));
  CHECK_THAT(refusal_for("data/weights.bin", "-4"), contains_text("'-4' is no number"));
  CHECK_THAT(refusal_for("../secret.bin", "4"), contains_text("lies outside the model's folder"));
  CHECK_THAT(refusal_for((scratch.path() / "secret.bin").string(), "4"), contains_text("lies outside the model's folder"));
  CHECK_THAT(refusal_for("link.bin", "4"), contains_text("lies outside the model's folder"));
  CHECK_THAT(refusal_for("data", "0"), contains_text("is not a regular file"));
}

TEST_CASE("attributes that are not sound") {
  const auto with = [](const std::string& op, const Names& more, const auto& change) {
    OnnxFile file = one(op, more);
    file.constant<float>("w", {2, 2, 3, 3}, std::vector<float>(36, 1));
    change(*file.graph().mutable_node(0));
    return refusal(file);
  };
  using Node = onnx::NodeProto;
  CHECK(with("Conv", {"w"}, [](Node& n) { set(n, "strides", 2); }) == "test.onnx: Conv (node 0): attribute strides has the wrong type");
  CHECK(with("Conv", {"w"}, [](Node& n) {
          set(n, "strides", Integers{0, 1});
        }) == "test.onnx: Conv (node 0): a stride, dilation or filter of 0");
  CHECK(with("Conv", {"w"}, [](Node& n) {
          set(n, "dilations", Integers{1, std::int64_t{1} << 62});
        }) == "test.onnx: Conv (node 0): a stride, dilation or filter of 4611686018427387904");
  CHECK(with("Conv", {"w"}, [](Node& n) { set(n, "pads", Integers{1, 1, 1}); }) == "test.onnx: Conv (node 0): 3 pads for 2 spatial axes");
  CHECK(with("Conv", {"w"}, [](Node& n) { set(n, "group", 3); }) == "test.onnx: Conv (node 0): 3 groups of 2 channels");
  CHECK(with("Conv", {"w"}, [](Node& n) { set(n, "auto_pad", "SOME"); }) == "test.onnx: Conv (node 0): auto_pad 'SOME'");
  // Behind the one window of one row lie three others.
  CHECK(with("MaxPool", {}, [](Node& n) {
          set(n, "kernel_shape", Integers{1, 1});
          set(n, "strides", Integers{4, 4});
          set(n, "auto_pad", "SAME_UPPER");
        }) == "test.onnx: MaxPool (node 0): auto_pad with a padding of -3 is not supported");
  CHECK(with("Conv", {"w"}, [](Node& n) {
          set(n, "kernel_shape", Integers{5, 5});
        }) == "test.onnx: Conv (node 0): kernel_shape is not that of the weights");
  CHECK(with("Conv", {}, [](Node&) {}) == "test.onnx: Conv (node 0): 1 input; 2 to 3 needed");
  CHECK(with("Conv", {""}, [](Node&) {}) == "test.onnx: Conv (node 0): input 1 is missing");
  CHECK(with("MaxPool", {}, [](Node& n) {
          set(n, "kernel_shape", Integers{5, 5});
        }) == "test.onnx: MaxPool (node 0): the window is larger than the padded image");
  CHECK(with("Transpose", {}, [](Node& n) {
          set(n, "perm", Integers{0, 1, 2, 4});
        }) == "test.onnx: Transpose (node 0): axis 4 of a tensor with 4 dimensions");
  CHECK_THAT(with("Transpose", {}, [](Node& n) { set(n, "perm", Integers{0, 1, 2, 2}); }), contains_text("names an axis twice"));
  CHECK(with("Flatten", {}, [](Node& n) { set(n, "axis", -5); }) == "test.onnx: Flatten (node 0): axis -5 of 1x2x4x4");
}

TEST_CASE("integers with two meanings are refused") {
  OnnxFile file;
  file.scale<std::uint8_t>("a", 0.5F, 10);
  file.scale<std::uint8_t>("b", 0.25F, 10);
  file.input<std::uint8_t>("x", {1, 2}).output("y");
  file.dequantize("x", "f", "a");
  file.dequantize("x", "g", "b");
  file.node("Add", {"f", "g"}, {"y"});
  CHECK(refusal(file) == "test.onnx: DequantizeLinear (node 1): 'x' was given another scale or zero point before");
}

TEST_CASE("scales that do not fit their axis are refused before they are read") {
  OnnxFile file;
  file.input("x", {1, 4}).output("y");
  file.constant<std::int8_t>("w", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  file.constant<float>("s", {3}, {1, 2, 3});
  set(file.node("DequantizeLinear", {"w", "s"}, {"f"}), "axis", 0);
  file.node("Gemm", {"x", "f"}, {"y"});
  CHECK(refusal(file) == "test.onnx: DequantizeLinear (node 0): 3 scales along axis 0 of shape 2x4");
}

TEST_CASE("a scale that has a companion as an image lends it to nobody") {
  OnnxFile file;
  file.input("x", {2, 3}).input("i", {1, 1, 2, 2}).output("y").output("z");
  file.constant<float>("s", {1, 1, 1, 1}, {0.5F});
  set(file.node("MaxPool", {"i"}, {"p"}), "kernel_shape", Integers{1, 1});
  file.node("Add", {"p", "s"}, {"z"});
  file.node("QuantizeLinear", {"x", "s"}, {"y"});
  const Model model = file.read();
  CHECK(model.tensor(model.outputs[0]).shape == Shape{2, 3});
}

TEST_CASE("a node without an output") {
  OnnxFile file = one("Relu");
  file.node("Relu", {"x"}, {""});
  CHECK(refusal(file) == "test.onnx: Relu (node 1): no output");
}

TEST_CASE("a constant without elements is an input left out") {
  OnnxFile file;
  file.input("x", {1, 1, 2, 2}).output("y");
  file.constant<float>("none", {0}, {});
  file.constant<std::int64_t>("sizes", {4}, {1, 1, 4, 4});
  file.node("Resize", {"x", "none", "none", "sizes"}, {"y"});
  const Model model = file.read();
  CHECK(model.tensor(model.outputs[0]).shape == Shape{1, 1, 4, 4});
}
