// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/explain/candidates.hpp"
#include "analysis/explain/dump_search.hpp"
#include "analysis/explain/part.hpp"
#include "analysis/explain/text.hpp"
#include "analysis/layout_copies.hpp"
#include "engine/finisher.hpp"
#include "engine/parallel.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/dump.hpp"
#include "lastbit/error.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

/// The dump's values in the type of the model's tensor; nothing: it has none, or real values that tell no codes.
std::optional<Tensor> dumped(const NamedTrace& dump, const Model& model, std::int32_t index) {
  const NamedTensor* const found = dump.find(index);
  if (found == nullptr || found->values.type() != model.tensor(index).type) return std::nullopt;
  return found->values;
}

/// Whether every sample of the one stands somewhere in the other.
bool has_the_same_samples(const Integers& ours, const Integers& theirs, std::size_t size) {
  if (size == ours.size()) return false;
  std::set<Integers> samples;
  const auto sample_at = [&](const Integers& all, std::size_t first) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return Integers(begin, begin + static_cast<std::ptrdiff_t>(size));
  };
  for (std::size_t i = 0; i < ours.size(); i += size) samples.insert(sample_at(ours, i));
  for (std::size_t i = 0; i < theirs.size(); i += size)
    if (!samples.contains(sample_at(theirs, i))) return false;
  return true;
}

/// Differences that are no arithmetic; `sample` values are one sample.
std::string other_difference(const Integers& ours, const Integers& theirs, std::size_t sample) {
  if (has_the_same_samples(ours, theirs, sample)) return "the same samples in another order: values of another sample, not arithmetic";
  Integers a = ours, b = theirs;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  if (a == b) return "the same values in another order: a layout, not arithmetic";
  constexpr std::size_t fewest = 16;  // fewer are in a ratio by chance
  if (ours.size() < fewest) return {};
  if (b.front() == b.back()) return "every value of the dump is " + std::to_string(b.front()) + ": not arithmetic";
  double product = 0, square = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    product += static_cast<double>(ours[i]) * static_cast<double>(theirs[i]);
    square += static_cast<double>(ours[i]) * static_cast<double>(ours[i]);
  }
  const double ratio = square > 0 ? product / square : 1;
  std::size_t near = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    near += std::abs(static_cast<double>(theirs[i]) - ratio * static_cast<double>(ours[i])) <= 1 ? 1U : 0U;
  }
  if (std::abs(ratio - 1) < 0.03 || near * 100 < ours.size() * 99) return {};
  return "the dump's codes are " + std::to_string(ratio) + " times the backend's: another scale, not arithmetic";
}

/// Whether the dump has other values where operations without arithmetic only move what it holds before them.
bool moves_otherwise(const Part& part, const Backend& backend) {
  try {
    const Integers ours = layer_codes(part.model, backend, part.inputs);
    return ours.size() == part.theirs.size() && ours != part.theirs;
  } catch (const Error&) {
    return false;  // such an operation is not judged
  }
}

/// Where the values that differ lie, if that is in one channel of several.
std::string place_of(const Integers& ours, const Integers& theirs, const Shape& shape) {
  const auto channels = shape.rank() == 0 ? 1 : static_cast<std::size_t>(shape.sizes().back());
  std::set<std::size_t> found;
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    ++differing;
    found.insert(i % channels);
  }
  if (channels < 2 || found.size() != 1 || differing < 2) return {};
  return "every value that differs lies in channel " + std::to_string(*found.begin());
}

class DumpWalk {
 public:
  DumpWalk(const Model& model, const NamedTrace& dump, const SpecSheet& sheet, std::span<const Tensor> inputs)
      : model_(model), sheet_(sheet), known_(model.tensors.size()) {
    for (std::size_t i = 0; i < known_.size(); ++i) known_[i] = dumped(dump, model, static_cast<std::int32_t>(i));
    place_inputs(inputs);
  }

  /// Every part of the network that ends in a tensor of the dump, or in the one chosen.
  [[nodiscard]] std::vector<PartJudge> judges(const std::optional<std::string>& chosen) const {
    std::vector<PartJudge> found;
    const OperationRange asked = operations_called(model_, chosen, "explain");
    for (std::size_t i = asked.first; i < asked.end; ++i) {
      const auto& theirs = known_[static_cast<std::size_t>(model_.operations[i].outputs[0])];
      if (!theirs) continue;
      auto part = part_up_to(model_, i, known_, sheet_.backend);
      if (!part) continue;
      part->theirs = codes_of(*theirs);
      if (part->prefixes.empty() && !moves_otherwise(*part, sheet_.backend)) continue;
      found.emplace_back(std::move(*part), sheet_.backend);
    }
    return found;
  }

  [[nodiscard]] DumpVerdict first_look(const PartJudge& judge) const {
    const Operation& operation = model_.operations[judge.part().operations.back()];
    DumpVerdict verdict;
    verdict.name = name_in_file(model_, operation.outputs[0]);
    verdict.operation = name_of(operation.kind);
    verdict.number = judge.part().operations.back();
    verdict.values = static_cast<std::int64_t>(judge.ours().size());
    verdict.differing = judge.differing();
    verdict.note = missing_text(judge.part().missing);
    for (std::size_t i = 0; i < judge.ours().size(); ++i) {
      const std::int64_t step = judge.part().theirs[i] - judge.ours()[i];
      if (step != 0) verdict.histogram.add(step);
    }
    return verdict;
  }

  /// Layers that read a tensor which is not right, and are equal where that is as the backend computes it: nothing is wrong with them.
  void follow(const std::vector<PartJudge>& judges, DumpReport& report) const {
    std::vector<std::optional<Tensor>> right = known_;
    std::set<std::int32_t> wrong;
    for (std::size_t i = 0; i < judges.size(); ++i) {
      const Part& part = judges[i].part();
      const std::int32_t written = model_.operations[part.operations.back()].outputs[0];
      DumpVerdict& verdict = report.layers[i];
      const bool is_open = verdict.differing > 0 && verdict.explanations.empty() && verdict.backends.empty();
      const auto cause = std::ranges::find_if(part.read, [&](std::int32_t index) { return wrong.contains(index); });
      if (is_open && cause != part.read.end() && is_equal_on(right, judges[i])) {
        verdict.follows = "'" + model_.tensor(*cause).name + "'";
      } else if (is_open && is_not_arithmetic(verdict)) {
        right[static_cast<std::size_t>(written)].reset();
        wrong.insert(written);
      }
    }
  }

 private:
  /// Its own tensor is what is wrong.
  static bool is_not_arithmetic(const DumpVerdict& verdict) {
    const std::string of_it = "tensor '" + verdict.name + "': ";
    return verdict.misread.starts_with(of_it) || verdict.suspected.starts_with(of_it) ||
           verdict.note.find("not arithmetic") != std::string::npos;
  }

  [[nodiscard]] bool is_equal_on(const std::vector<std::optional<Tensor>>& right, const PartJudge& judge) const {
    auto part = part_up_to(model_, judge.part().operations.back(), right, sheet_.backend);
    if (!part) return false;
    part->theirs = judge.part().theirs;
    return PartJudge(std::move(*part), sheet_.backend).differing() == 0;
  }

  void place_inputs(std::span<const Tensor> inputs) {
    std::optional<Trace> trace;
    if (!inputs.empty()) trace = run(model_, sheet_.backend, inputs, {.keep_all = true});
    for (const std::int32_t index : model_.inputs) {
      auto& place = known_[static_cast<std::size_t>(index)];
      if (!place && trace) place = trace->tensors[static_cast<std::size_t>(index)];
      if (!place) throw Error(ErrorCode::bad_input, model_.tensor(index).name, "this input is neither in the dump nor given");
    }
  }

  /// A verdict on a layer whose input the dump lacks speaks of the layers before it as well.
  static std::string missing_text(const std::vector<std::string>& missing) {
    constexpr std::size_t most_named = 3;
    std::string names;
    for (std::size_t i = 0; i < std::min(missing.size(), most_named); ++i) names += (i == 0 ? "" : ", ") + shortened(missing[i]);
    if (missing.size() > most_named) names += " and " + std::to_string(missing.size() - most_named) + " more";
    return names.empty() ? names : "judged together with the layers before it, as the dump lacks it: " + names;
  }

  const Model& model_;
  const SpecSheet& sheet_;
  std::vector<std::optional<Tensor>> known_;  ///< the dump's, and inputs that are given
};

/// The names of a change's rules, in whatever operation: "*.i8.accumulator.bits with overflow".
std::string generic_name(const RuleChange& change) {
  std::string name = change.name;
  for (const std::string& rule : change.rules) {
    const std::size_t at = name.find(rule);
    const std::size_t braces = rule.starts_with("{") ? rule.find('}') + 1 : 0;
    if (at != std::string::npos) name.replace(at, rule.size(), braces > 0 ? "*" + rule.substr(braces) : in_any_operation(rule));
  }
  return name;
}

/// Greedy: the changes that explain the most layers, then those that explain the most of the rest.
std::vector<CommonExplanation> cover(const std::vector<DumpVerdict>& layers) {
  using Key = std::pair<std::string, std::string>;
  std::vector<const DumpVerdict*> open;
  for (const DumpVerdict& layer : layers) {
    if (!layer.explanations.empty()) open.push_back(&layer);
  }
  std::vector<CommonExplanation> chosen;
  while (!open.empty()) {
    std::map<Key, std::int64_t> counts;
    for (const DumpVerdict* layer : open) {
      for (const RuleChange& change : layer->explanations) ++counts[{generic_name(change), change.what}];
    }
    const auto most = std::max_element(counts.begin(), counts.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    const std::int64_t reached = most->second;
    std::erase_if(counts, [&](const auto& entry) { return entry.second < reached; });
    for (const auto& entry : counts) chosen.push_back({{entry.first.first, entry.first.second, {entry.first.first}}, reached});
    std::erase_if(open, [&](const DumpVerdict* layer) {
      return std::any_of(layer->explanations.begin(), layer->explanations.end(), [&](const RuleChange& change) {
        return counts.contains({generic_name(change), change.what});
      });
    });
  }
  return chosen;
}

/// The layers that read or write the tensor and differ.
template <class Visit>
void each_touched(const std::string& tensor, const Model& model, const std::vector<PartJudge>& judges, DumpReport& report, Visit&& visit) {
  const auto is_it = [&](std::int32_t index) { return model.tensor(index).name == tensor; };
  for (std::size_t i = 0; i < judges.size(); ++i) {
    DumpVerdict& verdict = report.layers[i];
    if (verdict.differing > 0 && (verdict.name == tensor || std::ranges::any_of(judges[i].part().read, is_it))) visit(verdict);
  }
}

/// Tensors whose files have the shape of another layout, or are cut: nothing is asked of their layers.
void mark_misshapen(const Model& model, const NamedTrace& dump, const std::vector<PartJudge>& judges, DumpReport& report) {
  for (const Misread& found : find_misshapen(model, dump)) {
    report.notes.push_back("misread: " + text_of(found));
    each_touched(found.tensor, model, judges, report, [&](DumpVerdict& verdict) { verdict.misread = text_of(found); });
  }
}

/// Tensors that no one rule explains, and that come near once an offset, an order or an exchange is undone.
void mark_misread(const Model& model, const NamedTrace& dump, const std::vector<PartJudge>& judges, DumpReport& report) {
  const auto is_explained = [](const DumpVerdict& verdict) {
    const auto is_single = [](const RuleChange& change) { return change.rules.size() == 1; };
    return verdict.differing == 0 || !verdict.backends.empty() || !verdict.mistakes.empty() ||
           std::ranges::any_of(verdict.explanations, is_single);
  };
  const auto is_misshapen = [](const DumpVerdict& verdict) { return !verdict.misread.empty(); };
  if (std::ranges::any_of(report.layers, is_misshapen) || std::ranges::all_of(report.layers, is_explained)) return;
  for (const Misread& tensor : find_misread(model, dump)) {
    bool is_open = false;
    const bool is_fact = tensor.certainty == Certainty::certain;
    each_touched(tensor.tensor, model, judges, report, [&](DumpVerdict& verdict) {
      if (is_explained(verdict)) return;
      is_open = true;
      std::string& said = is_fact ? verdict.misread : verdict.suspected;
      if (said.empty()) said = text_of(tensor);
    });
    if (is_open) report.notes.push_back((is_fact ? "misread: " : "suspected: ") + text_of(tensor));
  }
}

/// What the dump holds of samples that no layer was judged by: the network as a whole computes them.
void judge_further_samples(const Model& model, const NamedTrace& whole, const Backend& backend, DumpReport& report) {
  if (!std::ranges::all_of(report.layers, [](const DumpVerdict& verdict) { return verdict.differing == 0; })) return;
  const Reproduction network = reproduce(model, whole, backend);
  if (!network.impossible.empty()) return report.notes.push_back("not judged: further samples, " + network.impossible);
  report.notes.push_back("every sample: " + to_text(network));
  report.notes.back().pop_back();
  report.one_device = report.one_device && network.differing == 0;
}

void note_other_differences(const std::vector<PartJudge>& judges, DumpReport& report) {
  for (std::size_t i = 0; i < judges.size(); ++i) {
    DumpVerdict& verdict = report.layers[i];
    if (verdict.differing == 0 || !verdict.explanations.empty() || !verdict.backends.empty() || !verdict.mistakes.empty()) continue;
    const Model& part = judges[i].part().model;
    const Shape& shape = part.tensor(part.outputs[0]).shape;
    const Integers &ours = judges[i].ours(), &theirs = judges[i].part().theirs;
    for (const std::string& note :
         {other_difference(ours, theirs, static_cast<std::size_t>(shape.element_count())), place_of(ours, theirs, shape)})
      if (!note.empty()) verdict.note += (verdict.note.empty() ? "" : "; ") + note;
  }
}

/// What was matched, and how it was read.
void note_reading(const Model& model, const NamedTrace& dump, DumpReport& report) {
  for (const std::string& reading : dump.readings) report.notes.push_back("dump: " + reading);
  std::string matched = text_of(match_of(model, dump));
  if (!matched.empty()) report.notes.push_back("dump: " + matched.substr(0, matched.size() - 1));
  for (const NamedTensor& tensor : dump.tensors) {
    const ElementType held = tensor.values.type(), own = model.tensor(tensor.index).type;
    if (held != own)
      report.notes.push_back("dump: not judged: '" + tensor.name + "', " + std::string(name_of(held)) + " for " +
                             std::string(name_of(own)));
  }
}

DumpReport judged(const Model& model, const NamedTrace& given, const SpecSheet& backend, std::span<const Tensor> inputs,
                  const ExplainOptions& options) {
  DumpReport report;
  report.model = model.name;
  report.dump = given.backend;
  report.backend = backend.name;
  const NamedTrace whole = with_codes(model, given), sampled = with_common_samples(model, whole);
  note_reading(model, sampled, report);
  const NamedTrace dump = with_layout_copies(model, sampled);
  const DumpWalk walk(model, dump, backend, inputs);
  const std::vector<PartJudge> judges = walk.judges(options.layer);
  if (judges.empty()) {
    throw Error(ErrorCode::bad_input, "explain",
                options.layer
                    ? "the dump has no layer with arithmetic called '" + *options.layer + "'"
                    : "the dump has the output of no layer with arithmetic" + (dump.readings.empty() ? "" : "; " + dump.readings.front()));
  }
  for (const PartJudge& judge : judges) report.layers.push_back(walk.first_look(judge));
  mark_misshapen(model, dump, judges, report);
  const bool is_whole = find_misshapen(model, dump).empty();
  search_changes(judges, backend.backend, report, options.on_progress);
  report.one_device = report.one_device && is_whole;
  if (!options.layer && dump.readings.size() > whole.readings.size()) judge_further_samples(model, whole, backend.backend, report);
  mark_misread(model, dump, judges, report);
  note_other_differences(judges, report);
  walk.follow(judges, report);
  report.common = cover(report.layers);
  std::vector<std::string> named;
  for (const DumpVerdict& verdict : report.layers) {
    for (const RuleChange& change : verdict.explanations) {
      for (const std::string& rule : change.rules)
        if (std::ranges::find(named, rule) == named.end()) named.push_back(rule);
    }
  }
  report.evidence = evidence_of(backend, named);
  return report;
}

}  // namespace

DumpReport explain_dump(const Model& model, const NamedTrace& dump, const Device& backend, std::span<const Tensor> inputs,
                        const ExplainOptions& options) {
  DumpReport report;
  with_threads(options.threads, [&] { report = judged(model, dump, backend, inputs, options); });
  return report;
}

}  // namespace lastbit
