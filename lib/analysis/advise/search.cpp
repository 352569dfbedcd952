// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers to keep on a. Greedy: the best next layer until nothing is left to gain. Exact: every subset of the candidates, which are the layers
// that the greedy search took first.
#include "analysis/advise/search.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

#include "engine/parallel.hpp"

namespace lastbit {
namespace {

constexpr double macs_per_value = 8;  ///< what reading or writing a value costs, about, in multiply-accumulates

double work_of(const Model& model, const Operation& operation) {
  auto work = static_cast<double>(multiply_accumulates(model, operation));
  for (const auto* list : {&operation.inputs, &operation.outputs}) {
    for (const std::int32_t index : *list) {
      if (index != absent_tensor && !model.tensor(index).constant)
        work += macs_per_value * static_cast<double>(model.tensor(index).shape.element_count());
    }
  }
  return work;
}

using Cost = std::pair<double, double>;  ///< the objective, and where that is equal the error

/// What each thread's runs may keep of their results: together no more than two threads have, but a few runs of a network in any case.
std::size_t kept_by_each(int threads) {
  constexpr std::size_t together = std::size_t{1} << 27, least = std::size_t{1} << 24;
  return std::max(together / static_cast<std::size_t>(std::max(threads, 2)), least);
}

bool fewer_macs(const FallbackPoint& x, const FallbackPoint& y) { return x.macs < y.macs; }

}  // namespace

Judge::Judge(const Model& model, const Backend& a, const Backend& b, std::span<const std::vector<Tensor>> samples, int threads)
    : model_(model), run_(model, a, b, kept_by_each(threads)), samples_(samples) {
  const OperationSet all(model.operations.size(), true);
  for (const std::vector<Tensor>& sample : samples) expected_.push_back(run_.outputs(sample, all));
  for (const Operation& operation : model.operations) work_ += work_of(model, operation);
  for (int thread = 1; thread < threads; ++thread) others_.push_back(run_.sibling());
}

OperationSet Judge::choice(std::span<const std::size_t> layers) const {
  OperationSet on_a = run_.only_on_a();
  for (const std::size_t layer : layers) on_a[layer] = true;
  return with_movements(model_, std::move(on_a));
}

std::vector<Agreement> Judge::judge(std::span<const std::size_t> layers, std::size_t samples) {
  const OperationSet on_a = choice(layers);
  run_.reset_states();
  std::vector<Agreement> agreements;
  for (std::size_t s = 0; s < samples; ++s) agreements.push_back(agreement(run_, s, on_a));
  return agreements;
}

// Sample by sample, so that choices which share a beginning find each other's results; where states go from sample to sample, choice by choice.
std::vector<Agreement> Judge::judge_all(std::span<const std::vector<std::size_t>> choices, std::size_t samples,
                                        const std::function<void(double)>& progress) {
  std::vector<Agreement> totals(choices.size());
  std::atomic<std::size_t> judged = 0;
  const auto caller = std::this_thread::get_id();
  const auto add = [&](MixedRun& run, std::size_t c, std::size_t s) {
    totals[c].add(agreement(run, s, choice(choices[c])));
    ++judged;
    if (progress && std::this_thread::get_id() == caller)
      progress(static_cast<double>(judged) / static_cast<double>(samples * choices.size()));
  };
  const auto judge_some = [&](MixedRun& run, std::size_t first, std::size_t last) {
    if (model_.states.empty()) {
      for (std::size_t s = 0; s < samples; ++s)
        for (std::size_t c = first; c < last; ++c) add(run, c, s);
      return;
    }
    for (std::size_t c = first; c < last; ++c) {
      run.reset_states();
      for (std::size_t s = 0; s < samples; ++s) add(run, c, s);
    }
  };
  const std::size_t shares = others_.size() + 1;
  for_each_part(static_cast<std::int64_t>(shares), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto share = static_cast<std::size_t>(begin); share < static_cast<std::size_t>(end); ++share)
      judge_some(share == 0 ? run_ : others_[share - 1], choices.size() * share / shares, choices.size() * (share + 1) / shares);
  });
  return totals;
}

std::vector<std::size_t> Judge::layers() const {
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < model_.operations.size(); ++i) {
    if (!is_movement(model_.operations[i].kind) && !run_.only_on_a()[i]) layers.push_back(i);
  }
  return layers;
}

namespace {

class Search {
 public:
  Search(const Model& model, Judge& judge, Objective objective, const AdviseOptions& options)
      : model_(model), judge_(judge), objective_(objective), options_(options) {}

  FallbackSearch run() {
    greedy();
    exact();
    measure();
    fronts();
    return std::move(result_);
  }

 private:
  [[nodiscard]] Cost cost(const Agreement& agreement) const { return {cost_of(agreement, objective_), agreement.relative_error()}; }
  [[nodiscard]] Cost cost(const FallbackPoint& point) const { return cost(point.agreement); }

  /// Samples that a search of so many runs may use.
  [[nodiscard]] std::size_t samples_for(double runs) const {
    const double affordable = options_.effort * 1e9 / (runs * judge_.work());
    return static_cast<std::size_t>(std::clamp(affordable, 1.0, static_cast<double>(judge_.samples())));
  }
  void report(const char* what, double done) const {
    if (options_.progress) options_.progress(what, done);
  }
  [[nodiscard]] FallbackPoint point(std::vector<std::size_t> layers, const Agreement& agreement) const {
    std::ranges::sort(layers);
    FallbackPoint made{std::move(layers), 0, agreement};
    for (const std::size_t layer : made.operations) made.macs += multiply_accumulates(model_, model_.operations[layer]);
    return made;
  }

  void greedy() {
    std::vector<std::size_t> left = judge_.layers(), taken;
    const double count = static_cast<double>(left.size());
    // Every step tries each layer that is left; on average a change reaches half of the network.
    const std::size_t samples = samples_for(count * (count + 1) / 4);
    result_.greedy_samples = static_cast<std::int64_t>(samples);
    result_.greedy.push_back(point({}, judge_.judge_all(std::vector<std::vector<std::size_t>>{taken}, samples, {})[0]));
    while (!left.empty() && cost(result_.greedy.back()) > Cost{}) {
      std::vector<std::vector<std::size_t>> choices;
      for (const std::size_t layer : left) {
        choices.push_back(taken);
        choices.back().push_back(layer);
      }
      const std::vector<Agreement> tried = judge_.judge_all(choices, samples, {});
      for (std::size_t i = 0; taken.empty() && i < tried.size(); ++i) result_.alone.push_back(point(choices[i], tried[i]));
      const auto best = std::ranges::min_element(tried, {}, [&](const Agreement& agreement) { return cost(agreement); }) - tried.begin();
      taken = choices[static_cast<std::size_t>(best)];
      left.erase(left.begin() + best);
      result_.greedy.push_back(point(taken, tried[static_cast<std::size_t>(best)]));
      const double rest = static_cast<double>(left.size());
      report("greedy search", 1 - rest * (rest + 1) / (count * (count + 1)));
    }
    result_.order = taken;
  }

  /// In the order of computation: the layers taken first, then those that gain most alone; as many as the effort allows.
  void choose_candidates() {
    std::vector<std::size_t> order = result_.order;
    std::vector<const FallbackPoint*> alone;
    for (const FallbackPoint& at : result_.alone) alone.push_back(&at);
    std::ranges::stable_sort(alone, {}, [&](const FallbackPoint* at) { return cost(*at); });
    for (const FallbackPoint* at : alone) {
      if (std::ranges::find(order, at->operations[0]) == order.end()) order.push_back(at->operations[0]);
    }
    order.resize(std::min({order.size(), options_.candidates, std::size_t{20}}));
    while (order.size() > 1 && exact_runs(order) * judge_.work() > options_.effort * 1e9) order.pop_back();
    std::ranges::sort(order);
    result_.candidates = order;
  }

  /// What all subsets cost, in runs of the network: an operation is computed once for every choice of the candidates up to it.
  [[nodiscard]] double exact_runs(const std::vector<std::size_t>& candidates) const {
    double work = 0, choices = 1;
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      if (std::ranges::find(candidates, i) != candidates.end()) choices *= 2;
      work += choices * work_of(model_, model_.operations[i]);
    }
    return work / judge_.work();
  }

  void exact() {
    choose_candidates();
    const auto& candidates = result_.candidates;
    const std::size_t subsets = std::size_t{1} << candidates.size();
    const std::size_t samples = samples_for(exact_runs(candidates));
    result_.exact_samples = static_cast<std::int64_t>(samples);
    std::vector<std::vector<std::size_t>> choices(subsets);
    for (std::size_t mask = 0; mask < subsets; ++mask) {
      // The first layer is the highest bit: neighbours differ at the end of the network.
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if ((mask >> (candidates.size() - 1 - i) & 1) != 0) choices[mask].push_back(candidates[i]);
      }
    }
    const std::vector<Agreement> tried = judge_.judge_all(choices, samples, [&](double done) { report("all subsets", done); });
    std::vector<FallbackPoint> points;
    for (std::size_t mask = 0; mask < subsets; ++mask) points.push_back(point(choices[mask], tried[mask]));
    for (std::size_t size = 0; size <= candidates.size(); ++size) keep_best_of_size(points, size);
    cheapest_ = front(points, fewer_macs);
  }

  void keep_best_of_size(const std::vector<FallbackPoint>& points, std::size_t size) {
    const FallbackPoint* best = nullptr;
    for (const FallbackPoint& at : points) {
      if (at.operations.size() != size) continue;
      if (best == nullptr || cost(at) < cost(*best) || (cost(at) == cost(*best) && at.macs < best->macs)) best = &at;
    }
    result_.exact.push_back(*best);
  }

  /// Those that are better than everything that `before` puts before them.
  template <class Before>
  [[nodiscard]] std::vector<FallbackPoint> front(std::vector<FallbackPoint> points, Before&& before) const {
    std::ranges::stable_sort(points, [&](const FallbackPoint& x, const FallbackPoint& y) {
      if (before(x, y) || before(y, x)) return before(x, y);
      return cost(x) != cost(y) ? cost(x) < cost(y) : std::pair(x.macs, x.operations.size()) < std::pair(y.macs, y.operations.size());
    });
    std::vector<FallbackPoint> kept;
    for (FallbackPoint& at : points) {
      if (kept.empty() || cost(at) < cost(kept.back())) kept.push_back(std::move(at));
    }
    return kept;
  }

  /// Every point on all samples.
  void measure() {
    std::vector<FallbackPoint*> points;
    for (auto* list : {&result_.alone, &result_.greedy, &result_.exact, &cheapest_}) {
      for (FallbackPoint& at : *list) points.push_back(&at);
    }
    std::vector<std::vector<std::size_t>> choices;
    choices.reserve(points.size());
    for (const FallbackPoint* at : points) choices.push_back(at->operations);
    const std::vector<Agreement> agreements =
        judge_.judge_all(choices, judge_.samples(), [&](double done) { report("all samples", done); });
    for (std::size_t i = 0; i < points.size(); ++i) points[i]->agreement = agreements[i];
  }

  void fronts() {
    std::vector<FallbackPoint> all = result_.greedy;
    for (const auto* list : {&result_.exact, &cheapest_}) all.insert(all.end(), list->begin(), list->end());
    result_.by_count = front(all, [](const FallbackPoint& x, const FallbackPoint& y) { return x.operations.size() < y.operations.size(); });
    result_.by_macs = front(all, fewer_macs);
  }

  const Model& model_;
  Judge& judge_;
  Objective objective_;
  const AdviseOptions& options_;
  FallbackSearch result_;
  std::vector<FallbackPoint> cheapest_;
};

}  // namespace

FallbackSearch search_with(const Model& model, Judge& judge, Objective objective, const AdviseOptions& options) {
  return Search(model, judge, objective, options).run();
}

FallbackSearch search_fallbacks(const Model& model, const Device& a, const Device& b, std::span<const std::vector<Tensor>> samples,
                                Objective objective, const AdviseOptions& options) {
  if (samples.empty()) throw Error(ErrorCode::bad_input, "advise", "at least one sample is needed");
  FallbackSearch found;
  with_threads(options.threads, [&] {
    Judge judge(model, a.backend, b.backend, samples, options.threads);
    found = search_with(model, judge, objective, options);
  });
  return found;
}

}  // namespace lastbit
