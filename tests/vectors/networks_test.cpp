// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Real int8 networks as recorded: every intermediate tensor on tflite_double, every output on tflite_single and xnnpack; and of every
// intermediate tensor, in how many values the two builds of TFLite differ. The samples of those that remember were recorded as a sequence.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "engine/output_lines.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace {

using namespace lastbit;
namespace fs = std::filesystem;

/// Folders with a recorded network below the models folder.
std::vector<fs::path> networks(const fs::path& root) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() == "model.tflite") found.push_back(entry.path().parent_path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Values that differ; a recorded tensor may hold fewer samples than were run.
std::size_t differing(const Tensor& recorded, const Tensor& computed) {
  REQUIRE(recorded.type() == computed.type());
  REQUIRE(recorded.element_count() <= computed.element_count());
  std::size_t count = 0;
  for (std::int64_t i = 0; i < recorded.element_count(); ++i) count += recorded.integer_at(i) != computed.integer_at(i) ? 1U : 0U;
  return count;
}

/// Compares the recorded output, and with `intermediates` every recorded tensor. Returns how many tensors were compared.
std::size_t check_network(const fs::path& folder, const char* backend, const char* output_file, bool intermediates) {
  if (!fs::exists(folder / output_file)) return 0;
  const Model model = read_model(folder / "model.tflite");
  const std::vector<Tensor> inputs{read_npy(folder / "input.npy")};
  const ScopedEagerLines eager;
  const Trace trace = run(model, find_backend(backend).backend, inputs, {.threads = 2, .keep_all = true});
  INFO(folder << " on " << backend);
  CHECK(differing(read_npy(folder / output_file), *trace.tensors[static_cast<std::size_t>(model.outputs[0])]) == 0);
  std::size_t tensors = 1;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::smatch match;
    const std::string name = entry.path().filename().string();
    if (!intermediates || !std::regex_match(name, match, std::regex("tensor_(\\d+)\\.npy"))) continue;
    const auto& computed = trace.tensors.at(std::stoul(match[1]));
    INFO(name);
    REQUIRE(computed.has_value());
    CHECK(differing(read_npy(entry.path()), *computed) == 0);
    ++tensors;
  }
  return tensors;
}

/// In how many values of each tensor, over all samples, rounding once changed what rounding twice had given. Returns how many tensors were
/// compared.
std::size_t check_builds(const fs::path& folder) {
  std::ifstream file(folder / "model.json");
  if (!file) return 0;
  const auto recorded = nlohmann::json::parse(file);
  const Model model = read_model(folder / "model.tflite");
  const std::vector<Tensor> inputs{read_npy(folder / "input.npy")};
  const Trace twice = run(model, find_backend("tflite_double").backend, inputs, {.threads = 2, .keep_all = true});
  const Trace once = run(model, find_backend("tflite_single").backend, inputs, {.threads = 2, .keep_all = true});
  std::size_t tensors = 0;
  for (const auto& tensor : recorded["tensors"]) {
    if (!tensor.contains("single_vs_double_diff_all_samples")) continue;
    const auto index = tensor["index"].get<std::size_t>();
    INFO(folder << ", tensor " << index);
    REQUIRE(twice.tensors.at(index).has_value());
    const auto& counts = tensor["single_vs_double_diff_all_samples"];
    CHECK(twice.tensors[index]->element_count() == counts[1].get<std::int64_t>());
    CHECK(differing(*twice.tensors[index], *once.tensors[index]) == counts[0].get<std::size_t>());
    ++tensors;
  }
  return tensors;
}

}  // namespace

TEST_CASE("the builds of TFLite differ in as many values of every tensor as recorded") {
  const auto root = test::models_directory();
  if (!root) return;
  std::size_t tensors = 0;
  for (const auto& folder : networks(*root)) tensors += check_builds(folder);
  CHECK(tensors > 0);
}

TEST_CASE("recorded networks are computed exactly") {
  const auto root = test::models_directory();
  if (!root) return;
  const auto folders = networks(*root);
  REQUIRE(!folders.empty());
  std::size_t tensors = 0;
  for (const auto& folder : folders) {
    tensors += check_network(folder, "tflite_double", "output0.npy", true);
    tensors += check_network(folder, "tflite_single", "output0_single_rounding.npy", false);
    tensors += check_network(folder, "xnnpack", "output0_xnnpack_tfjs_wasm.npy", false);
  }
  CHECK(tensors >= 3 * folders.size());
}
