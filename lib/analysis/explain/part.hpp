// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A part of a network that a dump can judge: from tensors that it has, or that are given, to the next one that it has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/explain/layer_values.hpp"
#include "lastbit/explain.hpp"

namespace lastbit {

/// Of one layer's output, as codes_of() has it.
using Integers = std::vector<std::int64_t>;

struct Part {
  std::vector<std::size_t> operations;  ///< in order, the last of which writes the tensor that is judged
  Model model;
  std::vector<Tensor> inputs;
  Integers theirs;
  std::vector<std::string> prefixes;  ///< of the rules that its operations read
  std::vector<std::string> missing;   ///< tensors that operations with rules write within it
  std::vector<std::int32_t> read;     ///< tensors of the whole network that it is fed with
  std::vector<bool> fed;              ///< which of them are the network's inputs
};

/// `known` by tensor index. Nothing where the tensor is no output of an operation, or depends on an input that is not known.
[[nodiscard]] std::optional<Part> part_up_to(const Model& model, std::size_t operation, std::span<const std::optional<Tensor>> known,
                                             const Backend& backend);

[[nodiscard]] std::int64_t count_differing(const Integers& a, const Integers& b);

/// One part, computed on any backend, against the dump's values.
class PartJudge {
 public:
  PartJudge(Part part, const Backend& backend);

  [[nodiscard]] const Part& part() const { return part_; }
  [[nodiscard]] const Integers& ours() const { return ours_; }
  [[nodiscard]] std::int64_t differing() const { return differing_; }
  /// Sums and values that a run computes.
  [[nodiscard]] std::int64_t work() const { return work_; }
  /// The same of a run of the altered part, of which single values may be computed first.
  [[nodiscard]] std::int64_t work_of(const Model& altered) const { return tracer_ && altered.operations.size() == 1 ? 0 : work_; }

  [[nodiscard]] bool computes(const Backend& changed) const { return differing_on(changed, 1) == 0; }
  /// How many values differ on `changed`; nothing where it cannot run the part, or is clearly no better than `most`.
  [[nodiscard]] std::optional<std::int64_t> differing_on(const Backend& changed, std::int64_t most) const;
  /// The same with the part itself altered, and its inputs unless there are none.
  [[nodiscard]] std::optional<std::int64_t> differing_of(const Model& altered, std::span<const Tensor> inputs, const Backend& backend,
                                                         std::int64_t most) const;

 private:
  void choose_sample();
  void cut_one_out();
  [[nodiscard]] std::vector<Tensor> one_of(std::span<const Tensor> inputs, std::size_t sample) const;
  [[nodiscard]] std::optional<std::int64_t> counted(const Model& model, std::span<const Tensor> inputs, std::span<const Tensor> of_one,
                                                    const Backend& backend, std::int64_t most) const;
  void add_to_sample(const std::vector<std::int64_t>& indices);
  [[nodiscard]] bool may_do(const ValueTracer& tracer, std::int64_t most) const;

  Part part_;
  Integers ours_;
  std::int64_t differing_ = 0, work_ = 0;
  std::optional<ValueTracer> tracer_;
  std::vector<std::int64_t> sample_;  ///< outputs that show soon whether a change is right: some that differ, and some that must stay
  std::size_t differing_in_sample_ = 0;
  struct One {
    std::size_t sample = 0;
    std::vector<Tensor> inputs;
    Integers theirs;
    std::int64_t differing = 0;
  };
  std::optional<One> one_;  ///< of a batch the sample in which most values differ: it is asked first
};

}  // namespace lastbit
