// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// identify on a network and its dump: every sample and every layer is accounted for, and what is saved computes the dump.
#include <cstdio>

#include "engine/parallel.hpp"
#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/misread.hpp"
#include "support/catch.hpp"
#include "support/hidden_network_device.hpp"
#include "support/residual_network.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

Tensor& values_of(NamedTrace& dump, const std::string& name) { return std::ranges::find(dump.tensors, name, &NamedTensor::name)->values; }

Identification identified(const Model& model, const NamedTrace& dump, double seconds = 0, int threads = 1) {
  std::vector<SkippedPair> skipped;
  const std::vector<IdentifyPair> pairs = pairs_of(model, dump, &skipped);
  Identification found = identify(pairs, {.runners_up = 1, .most_seconds = seconds, .threads = threads});
  found.skipped.insert(found.skipped.end(), skipped.begin(), skipped.end());
  return found;
}

const OperationIdentification& operation(const Identification& found, const std::string& rules) {
  return *std::ranges::find(found.operations, rules, &OperationIdentification::rules);
}

TEST_CASE("identify a network: all samples and all layers are counted, the saved file computes the dump") {
  const ResidualNetwork network(16);
  const NamedTrace dump = run_named(network.model, find_backend("tflite_single"), network.inputs);
  const Identification found = identified(network.model, dump);
  CHECK(found.exact());
  CHECK(found.decided());
  const OperationIdentification& conv = operation(found, "conv.i8");
  CHECK(conv.pairs == 2);
  CHECK(conv.samples == 16);
  CHECK(conv.values == 16 * 2 * 512);
  CHECK(conv.agreeing == conv.values);
  CHECK(conv.searched < conv.values);
  REQUIRE(found.skipped.size() == 2);  // max pool and reshape
  for (const SkippedPair& pair : found.skipped) {
    CHECK(pair.values > 0);
    CHECK(pair.differing == 0);
  }
  const std::string text = to_text(found);
  CHECK(text.find("16384 values of 16 samples") != std::string::npos);
  CHECK(text.find("on all 16 samples 16384 of 16384 values are equal") != std::string::npos);
  CHECK(text.find("7 layers covered, 2 not:") != std::string::npos);
  {
    const ScopedFinestParts finest;
    CHECK(to_json(identified(network.model, dump, 0, 3)) == to_json(found));
  }
  const SpecSheet saved = backend_from_json(backend_to_json(identified_backend(found, "mine")), "saved");
  const Reproduction whole = reproduce(network.model, dump, saved.backend);
  CHECK(whole.impossible.empty());
  CHECK(whole.tensors == 10);
  CHECK(whole.samples == 16);
  CHECK(whole.differing == 0);
}

TEST_CASE("identify a network: a sample that was not searched on decides") {
  const ResidualNetwork network(16);
  NamedTrace dump = run_named(network.model, find_backend("tflite_single"), network.inputs);
  for (std::size_t i = 15 * 512; i < 16 * 512; i += 7) values_of(dump, "z").values<std::int8_t>()[i] ^= 1;
  const Identification found = identified(network.model, dump, 5);
  CHECK_FALSE(found.exact());
  const OperationIdentification& conv = operation(found, "conv.i8");
  CHECK(conv.agreeing < conv.values);
  CHECK(conv.agreeing > conv.values / 2);
  const std::string text = to_text(found);
  const std::string of_conv = text.substr(0, text.find("\nadd"));
  CHECK(of_conv.find("  told ") == std::string::npos);
  CHECK(of_conv.find("nothing is told by data that it does not explain") != std::string::npos);
  CHECK(to_json(found).find("\"exact\": false") != std::string::npos);
}

TEST_CASE("identify a network: layers that are not looked for are compared, and named where they differ") {
  const ResidualNetwork network(3);
  NamedTrace dump = run_named(network.model, find_backend("tflite_single"), network.inputs);
  for (std::size_t i = 0; i < 30; ++i) values_of(dump, "peak").values<std::int8_t>()[i] ^= 1;
  const Identification found = identified(network.model, dump, 5);
  CHECK_FALSE(found.exact());
  const auto pool = std::ranges::find(found.skipped, "layer 3 'peak'", &SkippedPair::name);
  REQUIRE(pool != found.skipped.end());
  CHECK(pool->values == 3 * 128);
  CHECK(pool->differing == 30);
  CHECK(to_text(found).find("30 of 384 values differ from every built-in backend") != std::string::npos);
}

TEST_CASE("identify a network: layers without tensors are named") {
  const ResidualNetwork network(3);
  NamedTrace dump = run_named(network.model, find_backend("tflite_single"), network.inputs);
  std::erase_if(dump.tensors, [](const NamedTensor& one) { return one.name == "sum"; });
  const Identification found = identified(network.model, dump, 5);
  CHECK(to_text(found).find("add, the dump lacks its output 'sum'; not compared") != std::string::npos);
  CHECK(to_text(found).find("max_pool2d, the dump lacks its input 'sum'; not compared") != std::string::npos);
  CHECK_FALSE(reproduce(network.model, dump, identified_backend(found, "mine").backend).impossible.empty());
}

TEST_CASE("identify a network: a layer is judged by the samples that all its tensors hold, the network by every one") {
  const ResidualNetwork network(4), fewer(3);
  NamedTrace dump = run_named(network.model, find_backend("tflite_single"), network.inputs);
  const NamedTrace other = run_named(network.model, find_backend("tflite_single"), fewer.inputs);
  values_of(dump, "score") = other.find("score")->values;
  CHECK(with_common_samples(network.model, dump).readings ==
        std::vector<std::string>{"tensors hold from 3 to 4 samples; judged are the first 3"});
  const auto reproduction = [&] {
    const Identification found = identified(network.model, dump);
    CHECK(found.exact());
    CHECK(operation(found, "conv.i8").samples == 4);
    CHECK(operation(found, "softmax").samples == 3);
    return reproduce(network.model, dump, identified_backend(found, "mine").backend);
  };
  CHECK(reproduction().differing == 0);
  values_of(dump, "share").values<std::int8_t>().back() ^= 1;  // of the fourth sample
  CHECK(reproduction().differing == 1);
  CHECK(reproduction().first == "share");
  const DumpReport report = explain_dump(network.model, dump, find_backend("tflite_single"), {});
  CHECK(std::ranges::all_of(report.layers, [](const DumpVerdict& layer) { return layer.differing == 0; }));
  CHECK_FALSE(report.one_device);
  CHECK(report.notes.at(1).find("1 differ, first in 'share'") != std::string::npos);
}

TEST_CASE("identify a network: when time is up, what has been found is told, and that it is undecided") {
  const ResidualNetwork network(4);
  NamedTrace dump = run_named(network.model, find_backend("tflite_single"), network.inputs);
  for (const char* const name : {"y", "z", "sum", "deep"}) {
    for (std::size_t i = 0; i < 50; ++i) values_of(dump, name).values<std::int8_t>()[3 * i] ^= 1;
  }
  const auto start = std::chrono::steady_clock::now();
  const Identification found = identified(network.model, dump, 0.05);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  CHECK_FALSE(found.exact());
  CHECK_FALSE(found.decided());
  const OperationIdentification& conv = operation(found, "conv.i8");
  CHECK_FALSE(conv.in_time);
  CHECK(conv.agreeing > 0);
  CHECK(to_text(found).find("undecided: time was up before every combination was judged") != std::string::npos);
}

TEST_CASE("identify a network: what is saved of hidden devices is read back and computes the dump") {
  const ResidualNetwork network(3);
  const SavedCounts counts = save_and_reproduce(network.model, network.inputs, 4, 7, 5);
  std::printf("%d hidden devices: %d explained, %d reproduced\n", counts.devices, counts.explained, counts.reproduced);
  CHECK(counts.misread == 0);
  CHECK(counts.loaded == 4);
  CHECK(counts.runs == 4);
  CHECK(counts.explained >= 2);
  CHECK(counts.reproduced == counts.explained);
}

}  // namespace
}  // namespace lastbit
