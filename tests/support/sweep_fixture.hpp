// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What sweeps are tried on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/sweep.hpp"
#include "support/scratch.hpp"
#include "support/two_convolutions.hpp"

namespace lastbit::test {

inline constexpr std::int64_t samples = 40;

/// Random samples for a model with one int8 input.
inline Tensor random_batch(const Model& model, std::int64_t count, unsigned seed) {
  std::vector<std::int64_t> sizes{count};
  const auto own = model.tensor(model.inputs[0]).shape.sizes();
  sizes.insert(sizes.end(), own.begin(), own.end());
  std::mt19937 random(seed);
  return random_int8(Shape(std::move(sizes)), random);
}

inline std::vector<SpecSheet> sheets(const std::vector<std::string>& names) {
  std::vector<SpecSheet> list;
  for (const std::string& name : names) list.push_back(find_backend(name));
  return list;
}

/// A network on which the backends differ now and then, and its data in one file.
struct SweepFixture {
  SweepFixture() { write_npy(file, random_batch(network.model, samples, 7)); }

  [[nodiscard]] SampleSource source() const { return SampleSource(network.model, std::vector{file}); }
  [[nodiscard]] Sweeper sweeper(const SweepOptions& options = {
                                    .threads = 1, .batch = 4, .golden = Golden::with, .count_events = true}) const {
    return Sweeper(network.model, sheets({"tflite_double", "tflite_single", "vipnano_v8"}), options);
  }

  Scratch folder;
  TwoConvolutions network{3, 0.5};
  std::filesystem::path file = folder.path() / "data.npy";
};

}  // namespace lastbit::test
