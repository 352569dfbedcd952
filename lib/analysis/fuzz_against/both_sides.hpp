// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One network on both sides: as a file, which each reads by itself.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lastbit/fuzz_against.hpp"

namespace lastbit {

/// The network's first output, in the network's layout; or why there is none.
struct Answers {
  std::optional<Tensor> ours, theirs;
  std::string refused_here, refused_there;

  [[nodiscard]] bool comparable() const { return ours && theirs; }
  [[nodiscard]] bool differ() const { return comparable() && *ours != *theirs; }
};

/// How many values differ, by how many codes at most, and the first of them.
struct Distance {
  std::int64_t differing = 0, largest = 0, first = 0;
};
[[nodiscard]] Distance distance_of(const Tensor& a, const Tensor& b);

class BothSides {
 public:
  BothSides(const SpecSheet& sheet, const FuzzOptions& options, const OtherSide& other) : sheet_(sheet), options_(options), other_(other) {}

  /// `name`: of the run's folder, which is emptied.
  [[nodiscard]] Answers run(const Model& network, const std::vector<Tensor>& inputs, const std::string& name) const;
  /// Model and inputs as files in a folder that is there.
  [[nodiscard]] FuzzFiles write(const Model& network, const std::vector<Tensor>& inputs, const std::filesystem::path& folder) const;

  [[nodiscard]] const SpecSheet& sheet() const { return sheet_; }
  [[nodiscard]] const FuzzOptions& options() const { return options_; }
  [[nodiscard]] Tensor in_file(const Tensor& tensor) const;

 private:
  [[nodiscard]] Tensor ours(const FuzzFiles& files) const;
  [[nodiscard]] Tensor theirs(const FuzzFiles& files) const;
  [[nodiscard]] Tensor in_network(const Tensor& tensor) const;

  const SpecSheet& sheet_;
  const FuzzOptions& options_;
  const OtherSide& other_;
};

}  // namespace lastbit
