// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the reader finds in real networks against what another program wrote down about them.
#include <set>

#include "formats/json.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/tflite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/same_network.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

void require_equal(const ModelTensor& tensor, const JsonView& recorded) {
  CHECK(tensor.name == recorded["name"].text());
  CHECK(name_of(tensor.type) == recorded["dtype"].text());
  CHECK(tensor.shape == Shape(recorded["shape"].integers()));
  CHECK(tensor.constant.has_value() == recorded["const"].boolean());
  const auto scales = recorded["scale"].numbers();
  const auto zero_points = recorded["zero_point"].integers();
  CHECK(tensor.quantization.per_channel() == recorded["per_channel"].boolean());
  REQUIRE(tensor.quantization.scales.size() >= scales.size());  // of many, only the first are written down
  for (std::size_t i = 0; i < scales.size(); ++i) {
    CHECK(static_cast<float>(tensor.quantization.scales[i]) == static_cast<float>(scales[i]));
    CHECK(tensor.quantization.zero_point(i) == zero_points[i]);
  }
}

}  // namespace

TEST_CASE("every tensor of every recorded network") {
  const auto root = models_directory();
  if (!root) return;
  std::set<std::string> read;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*root)) {
    if (entry.path().filename() != "model.tflite") continue;
    const std::string name = entry.path().parent_path().filename().string();
    INFO(name);
    const Json json = parse_json(file_text(entry.path().parent_path() / "model.json"), name);
    const JsonView recorded(json, name);
    Model model;
    if (const auto refusal = refusal_of([&] { model = read_model(entry.path()); })) FAIL(refusal->message);
    const JsonView tensors = recorded["tensors"], operations = recorded["ops"];
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto index = static_cast<std::size_t>(tensors.at(i)["index"].integer());
      REQUIRE(index < model.tensors.size());
      require_equal(model.tensors[index], tensors.at(i));
    }
    REQUIRE(model.operations.size() == operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const auto outputs = operations.at(i)["outs"].integers();
      const auto& read_outputs = model.operations[i].outputs;  // what an operation remembers follows its recorded outputs
      REQUIRE(read_outputs.size() >= outputs.size());
      CHECK(std::equal(outputs.begin(), outputs.end(), read_outputs.begin()));
    }
    read.insert(name);
  }
  CHECK(read.size() == 13);
}

TEST_CASE("every recorded network without states, written and read again") {
  const auto root = models_directory();
  if (!root) return;
  int written = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*root)) {
    if (entry.path().filename() != "model.tflite") continue;
    const Model model = read_model(entry.path());
    if (!model.states.empty()) continue;  // what an interpreter remembers is not written
    INFO(entry.path().string());
    CHECK(differences(model, parse_tflite(tflite_bytes(model, "x.tflite"), "x.tflite")) == "");
    ++written;
  }
  CHECK(written == 11);
}
