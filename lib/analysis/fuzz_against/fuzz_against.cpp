// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/fuzz_against.hpp"

#include <algorithm>
#include <set>

#include "analysis/fuzz_against/small_case.hpp"
#include "analysis/shrink/layer_case.hpp"

namespace lastbit {
namespace {

std::set<OperationKind> kinds_of(const Model& network) {
  std::set<OperationKind> kinds;
  for (const Operation& operation : network.operations)
    if (operation.kind != OperationKind::reshape) kinds.insert(operation.kind);
  return kinds;
}

class Fuzzer {
 public:
  Fuzzer(const SpecSheet& sheet, const FuzzOptions& options, const OtherSide& other)
      : options_(options), sides_(sheet, options, other), operations_(options.operations) {
    if (operations_.empty()) operations_ = fuzzed_operations(options.format);
    report_.backend = sheet.name;
    report_.format = name_of(options.format);
    report_.other = options.source;
    report_.seed = options.seed;
  }

  FuzzReport run() {
    for (std::int64_t model = 0; model < options_.models; ++model) {
      if (options_.stop && options_.stop()) {
        report_.stopped = true;
        break;
      }
      try_model(model);
      if (options_.on_progress) options_.on_progress(static_cast<std::size_t>(model + 1), static_cast<std::size_t>(options_.models));
    }
    return std::move(report_);
  }

 private:
  void try_model(std::int64_t number) {
    const auto index = static_cast<std::uint64_t>(number);
    const Model network = random_network(options_.format, operations_, sides_.sheet().backend, options_.seed, index);
    FuzzRow row{.models = 1};
    ++report_.models;
    bool differs = false;
    for (std::int64_t sample = 0; sample < options_.samples; ++sample) {
      const auto inputs = random_inputs(network, options_.seed, index, static_cast<std::uint64_t>(sample));
      const Answers answers = sides_.run(network, inputs, options_.keep ? std::to_string(number) + "_" + std::to_string(sample) : "run");
      if (!answers.comparable()) {
        refused(answers);
        row.refused = 1;
        break;
      }
      const Distance distance = distance_of(*answers.ours, *answers.theirs);
      row.values += answers.ours->element_count();
      row.differing += distance.differing;
      row.largest = std::max(row.largest, distance.largest);
      if (distance.differing != 0 && !differs) found(number, sample, network, inputs, answers);
      differs = differs || distance.differing != 0;
    }
    if (row.values > 0) ++report_.compared;
    add(network, row, differs);
  }

  void refused(const Answers& answers) {
    const bool here = !answers.refused_here.empty();
    ++(here ? report_.refused_here : report_.refused_there);
    ++(here ? report_.reasons_here : report_.reasons_there)[here ? answers.refused_here : answers.refused_there];
  }

  /// What differs is credited to the operations that it was traced to.
  void add(const Model& network, const FuzzRow& row, bool differs) {
    report_.all += row;
    FuzzRow equal_row = row;
    equal_row.differing = equal_row.largest = 0;
    for (const OperationKind kind : kinds_of(network)) report_.rows[std::string(name_of(kind))] += equal_row;
    if (!differs) return;
    FuzzDifference& difference = report_.differences.back();
    difference.values = row;
    for (const OperationKind kind : difference.operations)
      report_.rows[std::string(name_of(kind))] += {.differing = row.differing, .largest = row.largest};
  }

  void found(std::int64_t number, std::int64_t sample, const Model& network, const std::vector<Tensor>& inputs, const Answers& answers) {
    FuzzDifference difference{.model = number, .sample = sample};
    const Answers again = sides_.run(network, inputs, "trial");
    const bool repeatable = again.theirs == answers.theirs;
    report_.not_repeatable += repeatable ? 0 : 1;
    SmallCase small = repeatable ? located(network, inputs, answers, sides_) : SmallCase{network, inputs, answers, 0};
    difference.operations = small.operations();
    if (repeatable && !options_.cases.empty() && written_ < options_.most_cases) write(small, difference);
    report_.differences.push_back(std::move(difference));
  }

  void write(SmallCase& small, FuzzDifference& difference) {
    make_small(small, sides_);
    const std::filesystem::path folder = options_.cases / std::to_string(++written_);
    const Tensor &ours = *small.answers.ours, &theirs = *small.answers.theirs;
    const std::int64_t at = distance_of(ours, theirs).first;
    difference.first_value = "value " + std::to_string(at) + " is " + std::to_string(ours.integer_at(at)) + " on " + report_.backend +
                             ", " + std::to_string(theirs.integer_at(at)) + " on the other side";
    write_case(small, sides_, folder,
               "seed " + std::to_string(options_.seed) + ", model " + std::to_string(difference.model) + ", sample " +
                   std::to_string(difference.sample) + ": " + difference.first_value);
    difference.folder = folder.string();
    difference.trials = small.trials;
    difference.operation_count = static_cast<std::int64_t>(small.network.operations.size());
    for (const Tensor& input : small.inputs) difference.elements += input.element_count();
    if (small.network.operations.size() == 1)
      difference.multiply_accumulates = size_of(LayerCase{small.network, small.inputs, at}).multiply_accumulates;
  }

  const FuzzOptions& options_;
  BothSides sides_;
  std::vector<OperationKind> operations_;
  std::int64_t written_ = 0;
  FuzzReport report_;
};

}  // namespace

FuzzRow& FuzzRow::operator+=(const FuzzRow& other) {
  models += other.models;
  values += other.values;
  differing += other.differing;
  largest = std::max(largest, other.largest);
  refused += other.refused;
  return *this;
}

FuzzReport fuzz_against(const Device& sheet, const FuzzOptions& options, const OtherSide& other) {
  return Fuzzer(sheet, options, other).run();
}

}  // namespace lastbit
