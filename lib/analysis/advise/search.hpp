// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Choices of layers, judged by what the network answers.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analysis/advise/agreement.hpp"

namespace lastbit {

class Judge {
 public:
  /// Choices are shared among the threads.
  Judge(const Model& model, const Backend& a, const Backend& b, std::span<const std::vector<Tensor>> samples, int threads = 1);

  /// Operations that compute and that b has.
  [[nodiscard]] std::vector<std::size_t> layers() const;
  /// These on a, with what only a has and with the movements that follow.
  [[nodiscard]] OperationSet choice(std::span<const std::size_t> layers) const;
  /// Sample by sample.
  [[nodiscard]] std::vector<Agreement> judge(std::span<const std::size_t> layers, std::size_t samples);
  /// Of every choice, over the first samples.
  [[nodiscard]] std::vector<Agreement> judge_all(std::span<const std::vector<std::size_t>> choices, std::size_t samples,
                                                 const std::function<void(double)>& progress);

  [[nodiscard]] std::size_t samples() const { return samples_.size(); }
  /// Of one sample, in multiply-accumulates, reading and writing of values counted in.
  [[nodiscard]] double work() const { return work_; }
  [[nodiscard]] MixedRun& run() { return run_; }
  [[nodiscard]] std::span<const std::vector<Tensor>> data() const { return samples_; }

 private:
  [[nodiscard]] Agreement agreement(MixedRun& run, std::size_t sample, const OperationSet& on_a) const {
    return agreement_of(model_, run, expected_[sample], run.outputs(samples_[sample], on_a));
  }

  const Model& model_;
  MixedRun run_;
  std::vector<MixedRun> others_{};  ///< for the other threads
  std::span<const std::vector<Tensor>> samples_;
  std::vector<std::vector<Tensor>> expected_;
  double work_ = 0;
};

[[nodiscard]] FallbackSearch search_with(const Model& model, Judge& judge, Objective objective, const AdviseOptions& options);

}  // namespace lastbit
