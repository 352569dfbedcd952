// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Parts of networks: each computes what the whole computes there.
#include "lastbit/io/cut.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "formats/kept_part.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "support/onnx_checks.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using namespace lastbit::test;
namespace fs = std::filesystem;

namespace {

std::string refusal(const OnnxFile& file, const Cut& cut, const std::map<std::string, Shape, std::less<>>& shapes = {}) {
  try {
    static_cast<void>(file.read({.constants = {}, .shapes = shapes, .cut = cut}));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Names names_of(const Model& model, const std::vector<std::int32_t>& tensors) {
  Names names;
  for (const std::int32_t index : tensors) names.push_back(model.tensor(index).name);
  return names;
}

/// What the part is fed with, and what it computes, out of the whole network's tensors.
void require_as_whole(const Model& part, const Model& whole, const Trace& trace, const Backend& backend) {
  const auto of_whole = [&](std::int32_t index) {
    return *trace.tensors[static_cast<std::size_t>(*whole.find_tensor(part.tensor(index).name))];
  };
  std::vector<Tensor> inputs;
  for (const std::int32_t input : part.inputs) inputs.push_back(of_whole(input));
  const Trace found = run(part, backend, inputs);
  for (const std::int32_t output : part.outputs) REQUIRE(*found.tensors[static_cast<std::size_t>(output)] == of_whole(output));
}

/// Tensors that an output is computed from.
std::set<std::int32_t> read_for_outputs(const Model& model) {
  std::set<std::int32_t> read, wanted(model.outputs.begin(), model.outputs.end());
  for (auto operation = model.operations.rbegin(); operation != model.operations.rend(); ++operation) {
    const auto is_wanted = [&](std::int32_t output) { return wanted.contains(output); };
    if (std::ranges::none_of(operation->outputs, is_wanted)) continue;
    read.insert(operation->inputs.begin(), operation->inputs.end());
    wanted.insert(operation->inputs.begin(), operation->inputs.end());
  }
  return read;
}

/// x → Conv → c → Relu → r → Add(r, c) → a → Relu → y, without any shape in between.
OnnxFile residual() {
  OnnxFile file;
  file.input("x", {1, 2, 5, 4});
  file.constant<float>("w", {2, 2, 3, 3}, listed(floats({2, 2, 3, 3})));
  set(file.node("Conv", {"x", "w"}, {"c"}), "pads", Integers{1, 1, 1, 1});
  file.node("Relu", {"c"}, {"r"}).set_name("first relu");
  file.node("Add", {"r", "c"}, {"a"});
  file.node("Relu", {"a"}, {"y"});
  return file.output("y");
}

}  // namespace

TEST_CASE("cut: to every tensor of the small networks, and from it, a part computes what the whole does") {
  const fs::path root = source_directory() / "tests/vectors/networks";
  int parts = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const fs::path file = entry.path() / "model.tflite";
    if (!fs::exists(file)) continue;
    INFO(file);
    const Backend backend = find_backend("tflite_double").backend;
    const Model whole = read_model(file);
    if (!check(whole, backend).empty()) continue;
    const Tensor samples = read_npy(entry.path() / "input.npy");
    const ModelTensor& input = whole.tensor(whole.inputs[0]);
    Tensor sample(input.type, input.shape);
    std::ranges::copy(samples.bytes().first(sample.bytes().size()), sample.bytes().begin());
    const Trace trace = run(whole, backend, {&sample, 1}, {.keep_all = true});
    const std::set<std::int32_t> needed = read_for_outputs(whole);
    for (const Operation& operation : whole.operations) {
      const std::string name = whole.tensor(operation.outputs[0]).name;
      if (std::ranges::count(whole.tensors, name, &ModelTensor::name) != 1) continue;
      INFO(name);
      Cut behind;
      for (const std::int32_t output : operation.outputs)
        if (needed.contains(output)) behind.from.push_back(whole.tensor(output).name);
      for (const Cut& cut : {Cut{{}, {name}}, behind}) {
        if (cut.is_whole()) continue;
        require_as_whole(cut_model(whole, cut, "test"), whole, trace, backend);
        if (name.find('/') != std::string::npos) continue;  // the reader's own, between operations that the file has as one
        try {
          require_as_whole(read_model(file, {.constants = {}, .shapes = {}, .cut = cut}), whole, trace, backend);
          ++parts;
        } catch (const Error& error) {  // one operation of the file, several here, each with an output
          REQUIRE(std::string_view(error.what()).ends_with("of the same operation too; name it as well"));
        }
      }
    }
  }
  CHECK(parts > 100);
}

TEST_CASE("cut: of an ONNX file the part has the values' names, and shapes that the nodes before give") {
  const OnnxFile file = residual();
  const Backend backend = find_backend("float").backend;
  const Model whole = file.read();
  const Trace trace = run(whole, backend, std::vector{floats({1, 2, 5, 4}, 3)}, {.keep_all = true});
  struct Case {
    Cut cut;
    Names inputs, outputs;
    std::size_t nodes;
  };
  for (const auto& [cut, inputs, outputs, nodes] :
       {Case{{{}, {"c"}}, {"x"}, {"c"}, 1}, Case{{{}, {"first relu"}}, {"x"}, {"r"}, 2}, Case{{{"c"}, {}}, {"c"}, {"y"}, 3},
        Case{{{"r"}, {}}, {"r", "x"}, {"y"}, 3}, Case{{{"r", "c"}, {"a"}}, {"r", "c"}, {"a"}, 1},
        Case{{{"c"}, {"a", "r"}}, {"c"}, {"a", "r"}, 2}}) {
    const Model part = file.read({.constants = {}, .shapes = {}, .cut = cut});
    CHECK(names_of(part, part.inputs) == inputs);
    CHECK(names_of(part, part.outputs) == outputs);
    CHECK(kinds(part).size() == nodes);
    require_as_whole(part, whole, trace, backend);
  }
}

TEST_CASE("cut: an ONNX input whose shape follows from nothing is given one") {
  OnnxFile file;
  file.input("x", {1, 3});
  file.node("Unknown", {"x"}, {"u"});
  file.node("Relu", {"u"}, {"y"});
  file.output("y");
  CHECK(refusal(file, {{"u"}, {}}) == "test.onnx: input 'u': no shape is stated; --shape u=… says which");
  const Model part = file.read({.constants = {}, .shapes = {{"u", {2, 3}}}, .cut = {{"u"}, {}}});
  CHECK(tensor(part, "y").shape == Shape{2, 3});
  CHECK(names_of(part, part.inputs) == Names{"u"});
}

TEST_CASE("cut: sizes of inputs that lie before the part serve to find its own") {
  OnnxFile file;
  file.input("x", {1, 4});
  file.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->clear_value();
  file.node("Relu", {"x"}, {"r"});
  file.node("Tanh", {"r"}, {"y"});
  file.output("y");
  const Model part = file.read({.constants = {}, .shapes = {{"x", {1, 7}}}, .cut = {{"r"}, {}}});
  CHECK(tensor(part, "r").shape == Shape{1, 7});
}

TEST_CASE("cut: what the branches of an If take from around it belongs to the part") {
  OnnxFile file;
  file.input("x", {2, 3}).constant<std::int64_t>("zero", {}, {0});
  file.constant<std::int64_t>("two", {}, {2});
  file.node("Tanh", {"x"}, {"t"});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Gather", {"shape", "zero"}, {"size"});
  file.node("Equal", {"size", "two"}, {"same"});
  auto& node = file.node("If", {"same"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& branch = *attribute(node, name, onnx::AttributeProto::GRAPH).mutable_g();
    auto* inner = branch.add_node();
    inner->set_op_type("Relu");
    inner->add_input("t");
    inner->add_output("inner");
    branch.add_output()->set_name("inner");
  }
  file.node("Relu", {"y"}, {"z"});
  file.output("z");
  const Model part = file.read({.constants = {}, .shapes = {}, .cut = {{}, {"y"}}});
  CHECK(std::ranges::count(kinds(part), K::tanh) == 1);
  const Model behind = file.read({.constants = {}, .shapes = {}, .cut = {{"t"}, {}}});
  CHECK(names_of(behind, behind.inputs) == Names{"t"});  // x gives nothing but a shape
}

TEST_CASE("cut: names that nothing has, and parts that hold nothing, are refused") {
  const OnnxFile file = residual();
  CHECK(refusal(file, {{}, {"cc"}}) == "test.onnx: --to 'cc': nothing in the network is called so; did you mean 'c'?");
  CHECK(refusal(file, {{"y"}, {"c"}}) == "test.onnx: --from 'y': no output of the part needs it");
  CHECK(refusal(file, {{"c"}, {"c"}}) == "test.onnx: no operation lies between --from and --to");
  CHECK(refusal(file, {{"w"}, {}}) == "test.onnx: --from 'w': it is a constant");
}

TEST_CASE("cut: of an operation with several outputs all that are needed are named") {
  OnnxFile file;
  file.input("x", {4, 3});
  file.node("Split", {"x"}, {"a", "b"});
  file.node("Add", {"a", "b"}, {"y"});
  file.output("y");
  CHECK(refusal(file, {{"a"}, {}}) == "test.onnx: --from 'a': the part needs 'b' of the same operation too; name it as well");
  CHECK(refusal(file, {{"a", "b"}, {}}) == "no error");
}

TEST_CASE("cut: where operators are not supported, the cut that keeps most is proposed") {
  OnnxFile tail = residual();
  tail.node("NonMaxSuppression", {"y", "a"}, {"boxes"});
  tail.node("Relu", {"boxes"}, {"z"});
  tail.output("z");
  CHECK(refusal(tail, {}) == "test.onnx: operators that are not supported: NonMaxSuppression (1); --to y --to a keeps 4 of 6 operators");
  CHECK(refusal(tail, {{}, {"a", "y"}}) == "no error");
  OnnxFile head;
  head.input("x", {1, 3});
  head.node("Unknown", {"x"}, {"the first"});
  head.node("Relu", {"the first"}, {"r"});
  head.node("Tanh", {"r"}, {"y"});
  head.output("y");
  CHECK(refusal(head, {}) ==
        "test.onnx: operators that are not supported: Unknown (1); --from 'the first' --shape 'the first'=… keeps 2 of 3 operators");
  head.graph().add_value_info()->CopyFrom(head.graph().input(0));
  head.graph().mutable_value_info(0)->set_name("the first");
  CHECK(refusal(head, {}) == "test.onnx: operators that are not supported: Unknown (1); --from 'the first' keeps 2 of 3 operators");
  OnnxFile all;
  all.input("x", {1, 3});
  all.node("Unknown", {"x"}, {"y"});
  all.output("y");
  CHECK(refusal(all, {}) == "test.onnx: operators that are not supported: Unknown (1)");
}

/// A value of this name has the shape of the input.
void state_shape(OnnxFile& file, const std::string& name) {
  auto& info = *file.graph().add_value_info();
  info = file.graph().input(0);
  info.set_name(name);
}

TEST_CASE("cut: what is proposed lies between what is not supported, where that keeps more") {
  OnnxFile file;
  file.input("x", {1, 3});
  file.node("Decode", {"x"}, {"a"});
  for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "d")}) file.node("Relu", {from}, {to});
  file.node("Encode", {"d"}, {"e"});
  file.node("Relu", {"e"}, {"y"});
  state_shape(file.output("y"), "a");
  CHECK(refusal(file, {}) == "test.onnx: operators that are not supported: Decode (1), Encode (1); --from a --to d keeps 3 of 6 operators");
  CHECK(refusal(file, {{"a"}, {"d"}}) == "no error");
}

TEST_CASE("cut: what is proposed can be read") {
  OnnxFile file;
  file.input("x", {1, 3});
  file.node("Unknown", {"x"}, {"a"});
  file.node("Relu", {"a"}, {"b"});
  file.constant<std::int64_t>("sizes", {2}, {2, 7});
  file.node("Reshape", {"b", "sizes"}, {"c"});  // never fits
  file.node("Relu", {"c"}, {"d"});
  file.node("Relu", {"x"}, {"e"});
  file.node("Unknown", {"e"}, {"f"});
  state_shape(file.output("d").output("f"), "a");
  CHECK(refusal(file, {}) == "test.onnx: operators that are not supported: Unknown (2); --to e keeps 1 of 6 operators");
}

TEST_CASE("cut: a network with states keeps those that it reads") {
  const fs::path file = source_directory() / "tests/vectors/networks/svdf/model.tflite";
  const Model whole = read_model(file);
  const Model part = cut_model(whole, {{}, {whole.tensor(whole.operations.back().outputs[0]).name}}, "test");
  CHECK(part.states.size() == whole.states.size());
}
