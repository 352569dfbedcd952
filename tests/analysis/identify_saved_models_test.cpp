// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Recorded networks on devices drawn at random: what identify saves is read back, and computes the dump.
#include <cstdio>
#include <cstdlib>

#include "lastbit/io/model_file.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/samples.hpp"
#include "support/catch.hpp"
#include "support/hidden_network_device.hpp"
#include "support/paths.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

TEST_CASE("identify: of hidden devices on recorded networks the saved file computes the dump") {
  const auto root = models_directory();
  if (!root) return;
  const char* const asked = std::getenv("LASTBIT_HIDDEN_DEVICES");
  const char* const only = std::getenv("LASTBIT_HIDDEN_NETWORK");
  const int devices = asked != nullptr ? std::atoi(asked) : 20;
  for (const auto& entry : std::filesystem::directory_iterator(*root)) {
    const auto file = entry.path() / "model.tflite";
    if (!exists(file) || (only != nullptr && entry.path().filename() != only)) continue;
    INFO(entry.path().filename());
    const Model model = read_model(file);
    SampleSource source(model, std::vector{entry.path() / "input.npy"});
    const std::vector<Tensor> inputs = source.read(0, std::min<std::int64_t>(3, source.samples()));
    const SavedCounts counts = save_and_reproduce(model, inputs, devices, 1, 20);
    std::printf("%s: %d hidden devices, %d loaded, %d run, %d explained, %d reproduced\n", entry.path().filename().c_str(), counts.devices,
                counts.loaded, counts.runs, counts.explained, counts.reproduced);
    std::fflush(stdout);
    CHECK(counts.misread == 0);
    CHECK(counts.loaded == counts.devices);
    CHECK(counts.reproduced == counts.explained);
  }
}

}  // namespace
}  // namespace lastbit
