// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The smallest case in which two backends still differ, for the same reason: from a network to one layer, to one of its values, to the fewest
// taps or elements, with the smallest numbers for which what explain() says of the value still holds.
//
// How it goes: 1. the first layer that differs when both backends are fed with a's tensors (or the one asked for), and in it a value of the
// commonest cause (or the one asked for); 2. the layer is cut down to the receptive field of that value, which must leave both values as they
// are; 3. delta debugging drops taps and elements; what a dropped tap added to the sum may move into the bias; 4. what is left is brought as
// near to zero as it goes. A step is taken only where both backends run, differ, and explain() names the same set of rules as before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/device.hpp"
#include "lastbit/explain.hpp"

namespace lastbit {

/// Why two backends differ in a value: the smallest set of rules, or nothing that explain() could name.
struct ShrinkCause {
  bool attributed = false;
  std::vector<RuleChange> changes;
  friend bool operator==(const ShrinkCause&, const ShrinkCause&) = default;
  /// "first rounding: half_up -> none"; "not attributed".
  [[nodiscard]] std::string text() const;
};

/// How large a case is: what shrinking makes smaller.
struct CaseSize {
  std::int64_t multiply_accumulates = 0;  ///< of convolutions and matrix products; 0 for other operations
  std::int64_t elements = 0;              ///< of all inputs that are data
  std::int64_t nonzero = 0;               ///< of them and of the constants, those that are not at their zero point
  [[nodiscard]] std::int64_t work() const { return multiply_accumulates > 0 ? multiply_accumulates : elements; }
};

/// For shrink(): where it begins.
struct ShrinkOptions {
  std::optional<std::string> layer{};   ///< its number, or the name of the operation or of its output; absent: the first that differs
  std::optional<std::int64_t> index{};  ///< of the value in the layer's output; absent: one of the commonest cause
  int threads = 1;                      ///< never changes a bit
  std::function<void(std::size_t done, std::size_t all)> on_progress{};  ///< steps
};

/// A layer, its inputs, and what each backend makes of them.
struct ShrunkCase {
  std::string network;
  std::string layer;          ///< the tensor's name in the network
  std::size_t operation = 0;  ///< its number
  std::int64_t sample = 0;    ///< of a batch
  std::int64_t position = 0;  ///< of the value in the network's layer
  SpecSheet a, b;
  Model model;  ///< one operation
  std::vector<Tensor> inputs;
  std::int64_t index = 0;  ///< of the value in the model's first output
  Tensor of_a, of_b;       ///< the first output
  ShrinkCause cause;
  CaseSize before, after;
  std::int64_t trials = 0;

  [[nodiscard]] OperationKind kind() const { return model.operations.front().kind; }
};

/// Nothing where every layer is equal. `inputs` as for Emulator::run. Throws Error(bad_input) for a layer or index that is not there or does
/// not differ, and for two backends whose results are of different types.
[[nodiscard]] std::optional<ShrunkCase> shrink(const Model& model, std::span<const Tensor> inputs, const Device& a, const Device& b,
                                               const ShrinkOptions& options = {});

/// A test that asserts both results through the public API, and needs no file.
enum class TestFramework : std::uint8_t { catch2, googletest };
[[nodiscard]] std::string to_test(const ShrunkCase& shrunk, TestFramework framework);
[[nodiscard]] std::string to_json(const ShrunkCase& shrunk);
[[nodiscard]] std::string to_text(const ShrunkCase& shrunk);

/// Creates the folder and writes cases.json with layer.json and .npy files (docs/case-format.md), test_catch2.cpp, test_googletest.cpp, layer.tflite.
/// Returns why there is no .tflite, or nothing.
std::optional<std::string> write_case(const std::filesystem::path& folder, const ShrunkCase& shrunk);

}  // namespace lastbit
