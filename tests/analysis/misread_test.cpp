// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A dump of two convolutions with one thing wrong: the tensor is named, and what is wrong with it. What a device of other rules computes is
// not wrong.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "analysis/misread/views.hpp"
#include "lastbit/dump.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/damaged_dump.hpp"
#include "support/two_convolutions.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

/// Two samples of a network with codes that seldom are at their bounds.
struct Network : TwoConvolutions {
  Network() : TwoConvolutions(3, 4.0) {
    Tensor both(ElementType::int8, {2, 1, 12, 12, 8});
    for (std::int8_t& value : both.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 201 - 100);
    inputs = {both};
    dump = run_named(model, find_backend("tflite_double"), inputs);
  }
  NamedTrace dump;
};

/// "tensor: cause" of each.
std::vector<std::string> found(const Model& model, const NamedTrace& dump) {
  std::vector<std::string> list;
  for (const Misread& one : find_misread(model, dump)) list.push_back(one.tensor + ": " + one.cause);
  return list;
}

TEST_CASE("with the highest bit inverted, codes move by half their range and stay in it") {
  const auto inverted = [](ElementType type, Codes codes, std::int64_t bit) {
    return seen({"", {}, bit}, {"x", type, {static_cast<std::int64_t>(codes.size())}, {}, {}}, codes);
  };
  CHECK(inverted(ElementType::uint8, {0, 127, 128, 255}, 0x80) == Codes{128, 255, 0, 127});
  CHECK(inverted(ElementType::int8, {-128, -1, 0, 127}, 0x80) == Codes{0, 127, -128, -1});
}

TEST_CASE("misread: one tensor damaged in one way") {
  const Network network;
  REQUIRE(found(network.model, network.dump).empty());
  struct Case {
    const char* cause;
    bool (*damage)(Tensor&, const Shape&);
  };
  const std::vector<Case> cases{
      {"the highest bit of every value is inverted (xor 0x80)", [](Tensor& t, const Shape&) { return invert_sign(t), true; }},
      {"every value is off by +2", [](Tensor& t, const Shape&) { return add_offset(t, 2), true; }},
      {"every value is off by -5", [](Tensor& t, const Shape&) { return add_offset(t, -5), true; }},
      {"its values stand in the order NCHW, the model's in NHWC", put_channels_first},
      {"it is of another sample", exchange_samples},
  };
  for (std::size_t i = 0; i < network.dump.tensors.size(); ++i) {
    const NamedTensor& tensor = network.dump.tensors[i];
    for (const Case& one : cases) {
      INFO(tensor.name << ": " << one.cause);
      NamedTrace damaged = network.dump;
      REQUIRE(one.damage(damaged.tensors[i].values, network.model.tensor(tensor.index).shape));
      const auto list = found(network.model, damaged);
      REQUIRE(list.size() == 1);
      CHECK(list[0].starts_with(tensor.name + ": " + one.cause));
      CHECK_THROWS_AS(require_well_read(network.model, damaged), Error);
    }
  }
}

TEST_CASE("misread: two tensors exchanged, and a whole dump in another order") {
  const Network network;
  NamedTrace exchanged = network.dump;
  std::swap(exchanged.tensors[1].values, exchanged.tensors[2].values);
  const auto names = found(network.model, exchanged);
  REQUIRE(names.size() == 2);
  CHECK(names[0] == "y: the values of 'z' stand where its own should: two files exchanged?");
  CHECK(names[1] == "z: the values of 'y' stand where its own should: two files exchanged?");

  NamedTrace whole = network.dump;
  for (NamedTensor& tensor : whole.tensors) put_channels_first(tensor.values, network.model.tensor(tensor.index).shape);
  const auto all = found(network.model, whole);
  REQUIRE(all.size() == 3);
  for (const std::string& one : all) CHECK(one.ends_with("in the order NCHW, the model's in NHWC"));
  try {
    require_well_read(network.model, whole);
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("tensor 'x'") != std::string::npos);
    CHECK(std::string(error.what()).find("2 other tensors are misread too") != std::string::npos);
  }
}

TEST_CASE("misread: the shapes of files") {
  const Network network;
  const auto folder = std::filesystem::temp_directory_path() / "lastbit_misread_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto cause_of = [&](const Shape& shape) -> std::string {
    Tensor values = network.dump.tensors[1].values;
    Tensor file(ElementType::int8, shape);
    std::copy_n(values.bytes().begin(), std::min(values.bytes().size(), file.bytes().size()), file.bytes().begin());
    write_npy(folder / "y.npy", file);
    const auto list = found(network.model, read_dump(folder, network.model));
    return list.empty() ? "" : list[0];
  };
  CHECK(cause_of({2, 12, 12, 16}).empty());
  CHECK(cause_of({1, 12, 12, 16}).empty());
  CHECK(cause_of({12, 12, 16}).empty());
  CHECK(cause_of({2, 2304}).empty());
  CHECK(cause_of({2304}).empty());
  CHECK(cause_of({1, 144, 1, 16}).empty());
  CHECK(cause_of({2, 1, 144, 16, 1}).empty());
  try {
    static_cast<void>(cause_of({1, 12, 12, 15}));
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("shape 1x12x12x15; tensor 'y' is 1x12x12x16: cut, 15 of 16 along axis 3") != std::string::npos);
  }
  CHECK(cause_of({4, 1, 12, 12, 8}).starts_with("y: its file has the shape 4x1x12x12x8, the model 1x12x12x16"));
  CHECK(cause_of({2, 9, 12, 64}).starts_with("y: its file has the shape 2x9x12x64, the model 1x12x12x16"));
}

/// What a tensor holds that is no other reading of it.
struct Overwritten {
  const char* cause;
  void (*damage)(Tensor&);
};

const Overwritten moved_on{"its values stand 1 place further on", [](Tensor& tensor) {
                             const auto bytes = tensor.bytes();
                             std::rotate(bytes.begin(), bytes.end() - 1, bytes.end());
                           }};
const Overwritten moved_back{"its values stand 3 places too early", [](Tensor& tensor) {
                               const auto bytes = tensor.bytes();
                               std::rotate(bytes.begin(), bytes.begin() + 3, bytes.end());
                             }};
const Overwritten without_values{"every value is 0: it was not written",
                                 [](Tensor& tensor) { std::ranges::fill(tensor.values<std::int8_t>(), std::int8_t{0}); }};
const Overwritten turned{"its channels stand in reverse order", [](Tensor& tensor) {
                           const auto values = tensor.values<std::int8_t>();
                           const std::size_t channels = static_cast<std::size_t>(tensor.shape().sizes().back());
                           for (std::size_t i = 0; i < values.size(); i += channels) std::ranges::reverse(values.subspan(i, channels));
                         }};
const Overwritten halved{"its codes are 0.", [](Tensor& tensor) {
                           for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(value / 2);
                         }};

TEST_CASE("misread: values that stand elsewhere, or nowhere, are a suspicion of their own tensor alone") {
  const Network network;
  for (const char* const name : {"y", "z"}) {
    for (const Overwritten& one : {moved_on, moved_back, without_values, turned, halved}) {
      INFO(name << ": " << one.cause);
      NamedTrace damaged = network.dump;
      one.damage(std::ranges::find(damaged.tensors, name, &NamedTensor::name)->values);
      const std::vector<Misread> list = find_misread(network.model, damaged);
      for (const Misread& each : list) UNSCOPED_INFO(text_of(each));
      REQUIRE(list.size() == 1);
      CHECK(list[0].tensor == name);
      CHECK(list[0].cause.starts_with(one.cause));
      CHECK(list[0].certainty == Certainty::suspected);
      CHECK_NOTHROW(require_well_read(network.model, damaged));
    }
  }
}

TEST_CASE("misread: an offset is a fact where the codes become equal by it, else a suspicion") {
  const Network network;
  for (std::size_t i = 1; i < network.dump.tensors.size(); ++i) {
    NamedTrace damaged = network.dump;
    add_offset(damaged.tensors[i].values, 2);
    CHECK(find_misread(network.model, damaged).at(0).certainty == Certainty::certain);
    damaged.tensors[i].values.values<std::int8_t>()[7] ^= 1;
    const std::vector<Misread> list = find_misread(network.model, damaged);
    REQUIRE(list.size() == 1);
    CHECK(list[0].cause == "every value is off by +2");
    CHECK(list[0].certainty == Certainty::suspected);
  }
}

/// 300 codes of one activation, as tests/analysis has them of no device that was measured.
Model leaky_relu_alone() {
  Model model;
  model.name = "leaky";
  model.tensors = {int8_tensor("x", {1, 300}, 0.06527090817689896, 67), int8_tensor("y", {1, 300}, 0.09886974841356277, -70)};
  model.operations = {{OperationKind::leaky_relu, "leaky", {0}, {1}, LeakyReluAttributes{0.1}}};
  model.inputs = {0};
  model.outputs = {1};
  validate(model, "test");
  return model;
}

TEST_CASE("misread: what one rule explains is no offset of the input") {
  const Model model = leaky_relu_alone();
  std::mt19937 random(5);
  SpecSheet device = find_backend("tflite_single");
  set_rule(device.backend, "leaky_relu.rescale.chain.1.rounding", "toward_zero");
  for (int i = 0; i < 4; ++i) {
    const NamedTrace dump = run_named(model, device, std::vector{random_int8({1, 300}, random)});
    CHECK(found(model, dump).empty());
  }
}

TEST_CASE("misread: other rules are none") {
  const Network network;
  const SpecSheet base = find_backend("tflite_double");
  const std::vector<std::pair<std::string, std::string>> rules{{"conv.i8.accumulator.bits", "16"},
                                                               {"conv.i8.accumulator.bits", "12"},
                                                               {"conv.i8.output.scale.significant_bits", "5"},
                                                               {"conv.i8.output.chain.2.rounding", "ceil"},
                                                               {"conv.i8.output.chain.2.rounding", "floor"}};
  for (const auto& [rule, value] : rules) {
    INFO(rule << " = " << value);
    SpecSheet device = base;
    set_rule(device.backend, rule, value);
    CHECK(found(network.model, run_named(network.model, device, network.inputs)).empty());
  }
}

}  // namespace
}  // namespace lastbit
