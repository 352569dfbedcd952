// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is written is read back as it was: every kind of operation that the seeds hold, and constants inline and in files.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/json_model.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"

using namespace lastbit;

namespace {

std::string written(const Model& model) {
  const test::Scratch scratch;
  write_json_model(scratch.path() / "m.json", model);
  return test::file_text(scratch.path() / "m.json");
}

bool same(const ModelTensor& a, const ModelTensor& b) {
  return a.name == b.name && a.type == b.type && a.shape == b.shape && a.quantization.scales == b.quantization.scales &&
         a.quantization.zero_points == b.quantization.zero_points && a.constant == b.constant;
}

/// Whether an attribute may be left out: without it the file means the same.
bool redundant(nlohmann::json model, std::size_t operation, const std::string& key, const std::string& meaning) {
  model["operations"][operation]["attributes"].erase(key);
  try {
    return written(parse_json_model(model.dump(), "", "without")) == meaning;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

TEST_CASE("every seed: tensors and operations come back; each attribute is there, or its default") {
  std::size_t attributes = 0;
  for (const auto& path : test::seeds("json_model_fuzz")) {
    INFO(path);
    const Model model = read_model(path);
    const std::string text = written(model);
    const Model again = parse_json_model(text, "", "again");
    REQUIRE(again.tensors.size() == model.tensors.size());
    CHECK(std::equal(model.tensors.begin(), model.tensors.end(), again.tensors.begin(), same));
    CHECK(again.inputs == model.inputs);
    CHECK(again.outputs == model.outputs);
    CHECK(again.name == model.name);
    CHECK(written(again) == text);
    const auto before = nlohmann::json::parse(test::file_text(path)), after = nlohmann::json::parse(text);
    for (std::size_t i = 0; i < model.operations.size(); ++i) {
      CHECK(again.operations[i].kind == model.operations[i].kind);
      CHECK(again.operations[i].name == model.operations[i].name);
      CHECK(again.operations[i].inputs == model.operations[i].inputs);
      CHECK(again.operations[i].outputs == model.operations[i].outputs);
      const auto empty = nlohmann::json::object();
      const auto old = before["operations"][i].value("attributes", empty), now = after["operations"][i].value("attributes", empty);
      for (const auto& [key, value] : old.items()) {
        INFO(key);
        ++attributes;
        CHECK((now.contains(key) ? now[key] == value : redundant(before, i, key, text)));
      }
      for (const auto& [key, value] : now.items()) {
        INFO(key);
        CHECK((old.contains(key) || redundant(after, i, key, text)));
      }
    }
  }
  CHECK(attributes > 20);
}

TEST_CASE("registers come back, one for each channel or one for all") {
  const std::string head =
      R"({"format": "lastbit.model.v1", "tensors": [{"name": "x", "type": "int32", "shape": [1, 2], "quantization": {"scale": [1]}},
    {"name": "y", "type": "int8", "shape": [1, 2], "quantization": {"scale": [1]}}], "inputs": ["x"], "outputs": ["y"],
    "operations": [{"op": "requantize", "inputs": ["x"], "outputs": ["y"], "attributes": {"registers": )";
  const auto model = [&](const std::string& registers) { return parse_json_model(head + registers + "}}]}", "", "m"); };
  for (const auto& [text, expected] :
       {std::pair<std::string, std::vector<ScaleRegister>>{R"({"multiplier": [3, -5], "shift": [1, 62]})", {{3, 1}, {-5, 62}}},
        {R"({"multiplier": [7], "shift": [0]})", {{7, 0}}}}) {
    const Model back = parse_json_model(written(model(text)), "", "back");
    CHECK((std::get<RequantizeAttributes>(back.operations[0].attributes).bounds.registers == expected));
  }
  CHECK_THROWS_WITH(model(R"({"multiplier": [3, 5], "shift": [1]})"), test::contains_text("as many multipliers as shifts"));
  CHECK_THROWS_WITH(model(R"({"multiplier": [3], "shift": [9223372036854775807]})"), test::contains_text("shift by 0 to 63 places"));
  CHECK_THROWS_WITH(model(R"({"multiplier": [3], "shift": [1], "places": [1]})"), test::contains_text("places"));
}

TEST_CASE("segments and cross terms come back, and what is wrong with them is said") {
  const std::string head =
      R"({"format": "lastbit.model.v1", "tensors": [{"name": "x", "type": "uint8", "shape": [1, 1, 1, 2], "quantization": {"scale": [1], "zero_point": [3]}},
    {"name": "w", "type": "uint8", "shape": [1, 1, 1, 2], "quantization": {"scale": [1], "zero_point": [128]}, "data": [1, 255]},
    {"name": "y", "type": "uint8", "shape": [1, 1, 1, 1], "quantization": {"scale": [1]}}], "inputs": ["x"], "outputs": ["y"],
    "operations": [{"op": "conv2d", "inputs": ["x", "w"], "outputs": ["y"], "attributes": {)";
  const auto model = [&](const std::string& attributes) { return parse_json_model(head + attributes + "}}]}", "", "m"); };
  const Model back =
      parse_json_model(written(model(R"("segments": {"start": [-34359738368, 5], "multiplier": [0, -3], "shift": [0, 43], "add": [7, 255]},
                       "cross_terms": {"data": {"multiplier": -128, "shift": 15}, "weights": {"multiplier": -3, "shift": 0}, "per_channel": -549755813888})")),
                       "", "back");
  const auto& attributes = std::get<Conv2dAttributes>(back.operations[0].attributes);
  CHECK((attributes.bounds.segments == SegmentTable({{-34359738368, 0, 0, 7}, {5, -3, 43, 255}})));
  CHECK((attributes.cross_terms == CrossTerms{{-128, 15}, {-3, 0}, -549755813888}));
  using test::contains_text;
  CHECK_THROWS_WITH(model(R"("segments": {"start": [1, 2], "multiplier": [1], "shift": [0, 0], "add": [0, 0]})"),
                    contains_text("as starts are needed"));
  CHECK_THROWS_WITH(model(R"("segments": {"start": [2, 2], "multiplier": [1, 1], "shift": [0, 0], "add": [0, 0]})"),
                    contains_text("rising order"));
  CHECK_THROWS_WITH(model(R"("segments": {"start": [2], "multiplier": [1], "shift": [64], "add": [0]})"),
                    contains_text("shift by 0 to 63 places"));
  CHECK_THROWS_WITH(model(R"("segments": {"start": [2], "multiplier": [4294967296], "shift": [6], "add": [0]})"), contains_text("32 bits"));
  const auto terms = [](const std::string& data) {
    return R"("cross_terms": {"data": )" + data + R"(, "weights": {"multiplier": 1, "shift": 0}, "per_channel": 0})";
  };
  CHECK_THROWS_WITH(model(terms(R"({"multiplier": 1, "shift": -1})")), contains_text("shift by 0 to 63 places"));
  CHECK_THROWS_WITH(model(terms(R"({"multiplier": 4294967296, "shift": 0})")), contains_text("multiply by 32 bits"));
  CHECK_THROWS_WITH(model(terms(R"({"multiplier": 1, "shift": 0, "offset": 1})")), contains_text("offset"));
}

TEST_CASE("large constants and those that JSON cannot say go to files of their own") {
  test::Network network;
  const auto x = network.real("x", {1, 300}), large = network.constant<float>("w/1", {1, 300}, std::vector<float>(300, 0.1F)),
             same_file = network.constant<std::int8_t>("w:1", {1, 300}, std::vector<std::int8_t>(300, -7)),
             odd = network.constant<float>("odd", {1, 1}, {std::numeric_limits<float>::infinity()}), y = network.real("y", {1, 300}),
             z = network.real("z", {1, 300});
  network.operation(OperationKind::add, {x, large}, {y});
  network.operation(OperationKind::mul, {y, odd}, {z});
  network.model.inputs = {x};
  network.model.outputs = {z, same_file};
  const test::Scratch scratch;
  write_json_model(scratch.path() / "m.json", network.model);
  const Model again = read_json_model(scratch.path() / "m.json");
  for (const std::int32_t constant : {large, same_file, odd}) CHECK(same(again.tensor(constant), network.model.tensor(constant)));
  CHECK(std::distance(std::filesystem::directory_iterator(scratch.path()), {}) == 4);
}

TEST_CASE("tensors without a name of their own are refused") {
  test::Network network;
  const auto x = network.real("x", {1}), y = network.real("x", {1});
  network.operation(OperationKind::relu, {x}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const test::Scratch scratch;
  CHECK_THROWS_WITH(write_json_model(scratch.path() / "m.json", network.model),
                    test::contains_text("cannot be written: tensor 'x' has no name of its own"));
}

TEST_CASE("codes in blocks: the format, and float16 scales of any bits, come back") {
  const char* const text = R"({"format": "lastbit.model.v1", "tensors": [
    {"name": "x", "type": "float32", "shape": [1, 32]}, {"name": "q", "type": "int8", "shape": [1, 1, 32]}, {"name": "dq", "type": "float16", "shape": [1, 1]},
    {"name": "w", "type": "uint8", "shape": [2, 1, 32]}, {"name": "dw", "type": "float16", "shape": [2, 1], "data": [0.0999755859375, -5.9604644775390625e-08]},
    {"name": "y", "type": "float32", "shape": [1, 2]}],
    "operations": [{"op": "block_quantize", "name": "row", "inputs": ["x"], "outputs": ["q", "dq"]},
                   {"op": "block_matmul", "name": "product", "inputs": ["q", "dq", "w", "dw"], "outputs": ["y"], "attributes": {"format": "q4_0"}}],
    "inputs": ["x", "w"], "outputs": ["y"]})";
  const Model model = parse_json_model(text, "", "blocks"), again = parse_json_model(written(model), "", "again");
  for (const Model* const one : {&model, &again}) {
    CHECK(std::get<BlockAttributes>(one->operations[0].attributes).format == BlockFormat::q8_0);
    CHECK(std::get<BlockAttributes>(one->operations[1].attributes).format == BlockFormat::q4_0);
    CHECK(one->tensors[4].constant->values<Float16>()[0].bits == 0x2E66);
    CHECK(one->tensors[4].constant->values<Float16>()[1].bits == 0x8001);
  }
  CHECK(written(again) == written(model));
  std::string other = text;
  other.replace(other.find("q4_0"), 4, "q4_1");
  CHECK(test::refusal_of([&] { static_cast<void>(parse_json_model(other, "", "other")); })->says("unknown name 'q4_1'"));
}
