// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Dumps that no arithmetic made so, or that several devices could have: what is said of them holds.
#include <algorithm>
#include <random>

#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/damaged_dump.hpp"
#include "support/two_convolutions.hpp"
#include "support/two_devices.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

/// Two samples.
struct Batch : TwoConvolutions {
  Batch() : TwoConvolutions(31, 0.5) {
    inputs = {random_int8({2, 1, 12, 12, 8}, random)};
    dump = run_named(model, base, inputs);
  }
  Tensor& values(const std::string& name) { return std::ranges::find(dump.tensors, name, &NamedTensor::name)->values; }
  [[nodiscard]] DumpReport report() const { return explain_dump(model, dump, base, {}); }

  SpecSheet base = find_backend("tflite_double");
  NamedTrace dump;
};

TEST_CASE("explain a dump: the last tensor of another sample is called so") {
  Batch batch;
  REQUIRE(exchange_samples(batch.values("z"), batch.model.tensor(4).shape));
  const DumpReport report = batch.report();
  CHECK(report.layers[1].note.find("the same samples in another order") != std::string::npos);
  CHECK_FALSE(report.one_device);
}

TEST_CASE("explain a dump: a tensor cut to one sample is judged by that one") {
  Batch batch;
  Tensor& y = batch.values("y");
  const Tensor whole = y;
  y = Tensor(ElementType::int8, {1, 1, 12, 12, 16});
  std::copy_n(whole.bytes().begin(), y.bytes().size(), y.bytes().begin());
  const DumpReport report = batch.report();
  REQUIRE(report.layers.size() == 2);
  for (const DumpVerdict& layer : report.layers) {
    CHECK(layer.differing == 0);
    CHECK(layer.values == 12 * 12 * 16);
  }
  CHECK(report.notes.at(0).find("judged are the first 1") != std::string::npos);
  CHECK(report.one_device);

  std::ranges::find(batch.dump.tensors, "y", &NamedTensor::name)->stored = Shape{1, 16, 12, 12};  // a file of another layout
  CHECK_FALSE(batch.report().one_device);
}

TEST_CASE("explain a dump: of one layer the further samples of the others are not judged") {
  Batch batch;
  Tensor& y = batch.values("y");
  y = first_samples(y, batch.model.tensor(2).shape, 1);
  batch.values("z").values<std::int8_t>().back() ^= 1;  // of the second sample
  CHECK_FALSE(batch.report().one_device);
  CHECK(explain_dump(batch.model, batch.dump, batch.base, {}, {.layer = "z"}).one_device);
}

TEST_CASE("explain a dump: one constant, and one channel, are seen as such") {
  Batch zeros;
  std::ranges::fill(zeros.values("z").values<std::int8_t>(), std::int8_t{0});
  CHECK(zeros.report().layers[1].note.find("every value of the dump is 0: not arithmetic") != std::string::npos);

  Batch channel;
  const auto values = channel.values("z").values<std::int8_t>();
  for (std::size_t i = 15; i < values.size(); i += 16) values[i] = 0;
  const DumpReport report = channel.report();
  CHECK(report.layers[1].explanations.empty());
  CHECK(report.layers[1].note == "every value that differs lies in channel 15");
}

TEST_CASE("explain a dump: of two devices nothing is explained, unless one of them computes all of it, which is said") {
  const TwoConvolutions network(24, 0.50001);
  const SpecSheet base = find_backend("vipnano_v8");
  struct Case {
    const char* bits;
    bool one_device;  // the second convolution's sums, of 16 terms, stay within 18 bits, and not within 14
  };
  for (const Case& one : {Case{"18", true}, Case{"14", false}}) {
    INFO(one.bits << " bits");
    SpecSheet narrow = base;
    set_rule(narrow.backend, "conv.i8.accumulator.bits", one.bits);
    const NamedTrace dump = dump_of_two(network.model, narrow, base, 1, network.inputs);
    const DumpReport report = explain_dump(network.model, dump, base, {});
    REQUIRE(report.layers[0].differing > 0);
    REQUIRE(report.layers[1].differing == 0);
    CHECK((run_named(network.model, narrow, network.inputs).find("z")->values == dump.find("z")->values) == one.one_device);
    CHECK(report.one_device == one.one_device);
    const std::string text = to_text(report);
    const bool is_said = text.find("One device computes every layer, the equal ones as well: vipnano_v8 with ") != std::string::npos;
    CHECK(is_said == one.one_device);
    CHECK((text.find(" 1 are explained") != std::string::npos) == one.one_device);
  }
}

}  // namespace
}  // namespace lastbit
