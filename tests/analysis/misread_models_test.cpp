// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Recorded networks with one tensor damaged at a time.
#include <algorithm>
#include <cstdio>
#include <map>

#include "lastbit/io/model_file.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/samples.hpp"
#include "support/catch.hpp"
#include "support/damaged_dump.hpp"
#include "support/paths.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

/// Tensors that are damaged in one way, those of them that are named, and those that are named beside them.
struct Count {
  int damaged = 0, named = 0;
  std::vector<std::string> innocent{};
};

/// Damages one tensor after the other.
class Damages {
 public:
  explicit Damages(const Model& model, const NamedTrace& dump) : model_(model), dump_(dump) {}

  void run(std::map<std::string, Count>& counts) {
    for (std::size_t i = 0; i < dump_.tensors.size(); ++i) {
      const Shape& shape = model_.tensor(dump_.tensors[i].index).shape;
      if (dump_.tensors[i].values.element_count() < 64) continue;  // few values fit too many readings
      const auto count = [&](const std::string& name, auto&& change) {
        NamedTrace damaged = dump_;
        if (!change(damaged.tensors[i].values)) return;
        const auto found = find_misread(model_, damaged);
        ++counts[name].damaged;
        const auto is_it = [&](const Misread& one) { return one.tensor == dump_.tensors[i].name; };
        counts[name].named += std::ranges::any_of(found, is_it);
        for (const Misread& one : found)
          if (!is_it(one)) counts[name].innocent.push_back(text_of(one) + " beside " + dump_.tensors[i].name);
      };
      count("sign", [&](Tensor& values) { return invert_sign(values), true; });
      count("offset", [&](Tensor& values) { return add_offset(values, 3), true; });
      count("layout", [&](Tensor& values) { return put_channels_first(values, shape); });
      count("sample", [&](Tensor& values) { return exchange_samples(values, shape); });
      if (i == 0) continue;  // what an input of the network should have been, nothing before it tells
      count("moved",
            [&](Tensor& values) { return std::rotate(values.bytes().begin(), values.bytes().begin() + 1, values.bytes().end()), true; });
      count("zeros", [&](Tensor& values) { return std::ranges::fill(values.bytes(), std::byte{0}), true; });
    }
  }

 private:
  const Model& model_;
  const NamedTrace& dump_;
};

TEST_CASE("misread: recorded networks are not, of their tensors damaged ones are named") {
  const auto root = models_directory();
  if (!root) return;
  std::map<std::string, Count> counts;
  for (const auto& entry : std::filesystem::directory_iterator(*root)) {
    const auto file = entry.path() / "model.tflite";
    if (!exists(file)) continue;
    INFO(entry.path().filename());
    const Model model = read_model(file);
    SampleSource source(model, std::vector{entry.path() / "input.npy"});
    const std::vector<Tensor> inputs = source.read(0, std::min<std::int64_t>(3, source.samples()));
    const NamedTrace dump = run_named(model, find_backend("tflite_double"), inputs);
    const auto whole = find_misread(model, dump);
    for (const Misread& one : whole) UNSCOPED_INFO(one.tensor << ": " << one.cause);
    CHECK(whole.empty());
    // Layers with states cannot be computed alone, and outputs of three values fit anything.
    const std::string name = entry.path().filename();
    if (name == "kws_dscnn_int8" || name == "ic_resnet8_int8" || name == "ad01_fc_autoencoder_int8") Damages(model, dump).run(counts);
  }
  for (const auto& [name, count] : counts) {
    std::printf("%s: %d of %d tensors damaged by it are named\n", name.c_str(), count.named, count.damaged);
    CHECK(count.named * 100 >= count.damaged * 90);
    for (const std::string& one : count.innocent) UNSCOPED_INFO(name << ": " << one);
    CHECK(count.innocent.empty());
  }
  CHECK(counts.size() == 6);
}

}  // namespace
}  // namespace lastbit
