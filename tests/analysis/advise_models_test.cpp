// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Advice for a recorded network.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "lastbit/advise.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;
using lastbit::test::models_directory;

namespace {

std::vector<std::vector<Tensor>> samples_of(const Model& model, const Tensor& batch, std::size_t count) {
  std::vector<std::vector<Tensor>> samples;
  for (std::size_t i = 0; i < count; ++i) {
    Tensor sample(batch.type(), model.tensor(model.inputs[0]).shape);
    std::memcpy(sample.bytes().data(), batch.bytes().data() + i * sample.bytes().size(), sample.bytes().size());
    samples.push_back({sample});
  }
  return samples;
}

}  // namespace

TEST_CASE("advice for a residual network: TFLite's two roundings against VIPNano's one") {
  const auto root = models_directory();
  if (!root) return;
  const auto folder = *root / "ic_resnet8_int8";
  const Model model = read_model(folder / "model.tflite");
  const Tensor batch = read_npy(folder / "input.npy");
  const SpecSheet cpu = find_backend("tflite_double"), device = find_backend("vipnano_v8");
  const auto output = static_cast<std::size_t>(model.outputs[0]);
  const std::vector<Tensor> inputs{batch};
  const OperationSet all(model.operations.size(), true), none(model.operations.size());
  REQUIRE(run_mixed(model, cpu.backend, device.backend, all, inputs).tensors[output] == run(model, cpu.backend, inputs).tensors[output]);
  REQUIRE(run_mixed(model, cpu.backend, device.backend, none, inputs).tensors[output] ==
          run(model, device.backend, inputs).tensors[output]);

  AdviseOptions options;
  options.candidates = 8;
  const AdviseReport report = advise(model, cpu, device, samples_of(model, batch, 4), options);
  REQUIRE_FALSE(report.equal());
  REQUIRE(report.search.candidates.size() == 8);
  REQUIRE(report.search.exact_samples == 4);
  for (std::size_t size = 0; size <= 8; ++size)
    REQUIRE(report.search.exact[size].agreement.differing <= report.search.greedy[size].agreement.differing);
  REQUIRE(report.search.by_count.front().operations.empty());
  REQUIRE(report.search.by_count.back().agreement.differing == 0);
  std::int64_t differing = 0;
  for (const LayerAdvice& layer : report.layers) {
    if (!layer.ties) continue;
    INFO(layer.name);
    // The second rounding, on ties that the first one made; of a sum of two tensors the device also holds the weights in fewer bits.
    if (layer.macs > 0) CHECK(layer.ties->differing_at.near == layer.ties->differing);
    if (layer.differing > 0) CHECK(layer.ties->differing > 0);
    differing += layer.differing;
  }
  CHECK(differing > 100);
  CHECK(report.consequences.front().agreement.samples == 4);
  CHECK(report.consequences.back().agreement.differing == 0);
  for (const Consequence& consequence : report.consequences) CHECK(consequence.flips.low <= consequence.flips.high);
  CHECK(to_json(report).find("\"by_macs\"") != std::string::npos);
  const std::string text = to_text(report);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    CHECK(end - start <= 100);
    start = end + 1;
  }
}

TEST_CASE("equal scales of a residual network: what is said of them is what certify says of the network with them") {
  const auto root = models_directory();
  if (!root) return;
  const Model model = read_model(*root / "ic_resnet8_int8" / "model.tflite");
  const SpecSheet cpu = find_backend("tflite_single"), device = find_backend("vipnano_v8");
  const Certificate before = certify(model, cpu, device, {});
  const EqualScales found = equal_scales(model, cpu, device);
  const Certificate after = certify(found.model, cpu, device, {});
  int chosen = 0;
  for (const ScaleAdvice& layer : found.layers) {
    INFO(layer.operation);
    CHECK(layer.differing == before.layers[layer.operation].differing);
    CHECK(layer.left == after.layers[layer.operation].differing);
    CHECK(layer.cases == after.layers[layer.operation].cases);
    if (layer.factor == 1) continue;
    ++chosen;
    CHECK(layer.differing > 0);
    CHECK(after.layers[layer.operation].equal());
  }
  CHECK(chosen >= 4);
  REQUIRE(found.open.size() == 1);  // the softmax
  CHECK(found.open[0].first == 15);
}

TEST_CASE("run_mixed on every recorded network: all on a is a's run, none is b's, states included") {
  const auto root = models_directory();
  if (!root) return;
  const Backend a = find_backend("tflite_double").backend, b = find_backend("tflite_single").backend;
  int with_states = 0, different = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*root)) {
    if (!std::filesystem::exists(entry.path() / "model.tflite")) continue;
    INFO(entry.path().filename().string());
    const Model model = read_model(entry.path() / "model.tflite");
    if (model.inputs.size() != 1) continue;
    with_states += model.states.empty() ? 0 : 1;
    const std::vector<Tensor> inputs{read_npy(entry.path() / "input.npy")};
    const OperationSet all(model.operations.size(), true), none(model.operations.size());
    const auto output = static_cast<std::size_t>(model.outputs[0]);
    const Tensor of_a = *run(model, a, inputs).tensors[output], of_b = *run(model, b, inputs).tensors[output];
    CHECK(*run_mixed(model, a, b, all, inputs).tensors[output] == of_a);
    CHECK(*run_mixed(model, a, b, none, inputs).tensors[output] == of_b);
    different += of_a == of_b ? 0 : 1;
  }
  CHECK(with_states > 0);
  CHECK(different > 2);
}
