// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/explain/layer_values.hpp"
#include "engine/finisher.hpp"
#include "lastbit/error.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {
namespace {

using Codes = std::vector<std::int64_t>;

std::int64_t count_differing(const Codes& a, const Codes& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

/// Floats that a board's tool made of codes, as codes again.
Tensor codes_from_floats(const Tensor& values, const ModelTensor& described) {
  const double scale = described.quantization.scale();
  const auto zero_point = static_cast<double>(described.quantization.zero_point());
  const IntegerRange range = range_of(described.type);
  const auto floats = values.values<float>();
  std::vector<std::int64_t> codes(floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const double code = static_cast<double>(floats[i]) / scale + zero_point, whole = std::nearbyint(code);
    const bool fits = std::abs(code - whole) < 0.01 && whole >= static_cast<double>(range.min) && whole <= static_cast<double>(range.max);
    if (!fits) {
      throw Error(ErrorCode::bad_input, described.name,
                  "value " + std::to_string(floats[i]) + " at index " + std::to_string(i) + " of the dump is no code of scale " +
                      std::to_string(scale));
    }
    codes[i] = static_cast<std::int64_t>(whole);
  }
  Tensor tensor(described.type, values.shape());
  store(codes, tensor);
  return tensor;
}

/// The dump's values in the type of the model's tensor.
std::optional<Tensor> dumped(const NamedTrace& dump, const Model& model, std::int32_t index) {
  const NamedTensor* const found = dump.find(index);
  if (found == nullptr) return std::nullopt;
  const ModelTensor& described = model.tensor(index);
  if (found->values.type() == described.type) return found->values;
  if (found->values.type() == ElementType::float32 && is_integer(described.type) && described.quantization.present() &&
      !described.quantization.per_channel())
    return codes_from_floats(found->values, described);
  throw Error(ErrorCode::type_mismatch, described.name,
              "the dump has " + std::string(name_of(found->values.type())) + ", the model " + std::string(name_of(described.type)));
}

/// The rule in whatever operation: "*.i8.accumulator.bits".
std::string in_any_operation(const std::string& path) {
  const std::size_t dot = path.find('.');
  return std::count(path.begin(), path.end(), '.') < 2 ? path : "*" + path.substr(dot);
}

/// Whether a device could plausibly differ from another in this rule alone: not in what a stage is, nor in what an exponent may be.
bool is_searched(const std::string& path) { return !path.ends_with(".kind") && !path.ends_with(".size") && !path.ends_with("_exponent"); }

/// Looks for the change of a backend that computes a board's values of one layer.
class Search {
 public:
  Search(const Model& layer, std::span<const Tensor> inputs, const Backend& backend, const Codes& ours, const Codes& theirs)
      : layer_(layer), inputs_(inputs), backend_(backend), theirs_(theirs), tracer_(ValueTracer::make(layer, backend, inputs)) {
    choose_sample(ours);
  }

  void single_changes(DumpVerdict& verdict) {
    verdict.nearest_differing = verdict.differing;
    const auto prefixes = rule_prefixes(layer_, layer_.operations[0], backend_);
    for (const RuleText& rule : list_rules(backend_)) {
      if (!is_searched(rule.path) ||
          std::none_of(prefixes.begin(), prefixes.end(), [&](const auto& prefix) { return covers(prefix, rule.path); }))
        continue;
      for (const std::string& value : alternatives(backend_, rule.path)) {
        Backend changed = backend_;
        set_rule(changed, rule.path, value);
        const std::optional<std::int64_t> differing = differing_on(changed, verdict.nearest_differing);
        if (!differing) continue;
        const RuleChange change{rule.path, rule.value + " -> " + value, {rule.path}};
        if (*differing == 0) verdict.explanations.push_back(change);
        if (*differing >= verdict.nearest_differing) continue;
        verdict.nearest = change;
        verdict.nearest_differing = *differing;
      }
    }
    if (!verdict.explanations.empty()) verdict.nearest.reset();
  }

  void known_backends(DumpVerdict& verdict) {
    for (const SpecSheet& sheet : builtin_backends()) {
      if (sheet.backend.domain == Domain::integer && differing_on(sheet.backend, 1) == 0) verdict.backends.push_back(sheet.name);
    }
  }

 private:
  static constexpr std::size_t sample_size = 64;

  /// Outputs that show soon whether a change is right: some that differ, and some that must stay.
  void choose_sample(const Codes& ours) {
    std::vector<std::int64_t> different, equal;
    for (std::size_t i = 0; i < ours.size(); ++i) (ours[i] != theirs_[i] ? different : equal).push_back(static_cast<std::int64_t>(i));
    add_to_sample(different);
    differing_in_sample_ = sample_.size();
    add_to_sample(equal);
  }

  void add_to_sample(const std::vector<std::int64_t>& indices) {
    const std::size_t step = std::max<std::size_t>(1, indices.size() / sample_size);
    for (std::size_t i = 0; i < indices.size(); i += step) sample_.push_back(indices[i]);
  }

  /// How many values differ on `changed`; nothing where it cannot run the layer, or is clearly no better than `most`.
  std::optional<std::int64_t> differing_on(const Backend& changed, std::int64_t most) const {
    try {
      if (tracer_) {
        const auto tracer = tracer_->on(layer_, changed, inputs_);
        if (!tracer || !improves(*tracer)) return std::nullopt;
      }
      const std::int64_t differing = count_differing(layer_codes(layer_, changed, inputs_), theirs_);
      return differing == 0 || differing < most ? std::optional(differing) : std::nullopt;
    } catch (const Error&) {
      return std::nullopt;  // the layer cannot be computed by such rules
    }
  }

  bool improves(const ValueTracer& tracer) const {
    std::size_t wrong = 0;
    for (const std::int64_t index : sample_) {
      wrong += tracer.output(index) != theirs_[static_cast<std::size_t>(index)] ? 1U : 0U;
      if (wrong >= differing_in_sample_) return false;
    }
    return true;
  }

  const Model& layer_;
  std::span<const Tensor> inputs_;
  const Backend& backend_;
  const Codes& theirs_;
  std::optional<ValueTracer> tracer_;
  std::vector<std::int64_t> sample_;
  std::size_t differing_in_sample_ = 0;
};

/// Differences that are no arithmetic.
std::string other_difference(const Codes& ours, const Codes& theirs) {
  Codes a = ours, b = theirs;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  if (a == b) return "the same values in another order: a layout, not arithmetic";
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

class DumpWalk {
 public:
  DumpWalk(const Model& model, const NamedTrace& dump, const SpecSheet& sheet, std::span<const Tensor> inputs)
      : model_(model), dump_(dump), sheet_(sheet), known_(model.tensors.size()), computed_(model.tensors.size(), false) {
    place_inputs(inputs);
  }

  void judge_all(const std::optional<std::string>& chosen, DumpReport& report) {
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      const Operation& operation = model_.operations[i];
      const Model layer = extract_operation(model_, i);
      const std::vector<Tensor> given = inputs_of(model_, i, known_);
      Trace trace = run(layer, sheet_.backend, given);
      const std::int32_t output = operation.outputs[0];
      const auto theirs = dumped(dump_, model_, output);
      if ((!chosen || is_called(model_, i, *chosen)) && theirs && !rule_prefixes(model_, operation, sheet_.backend).empty()) {
        report.layers.push_back(judge(i, layer, given, *trace.tensors[static_cast<std::size_t>(layer.outputs[0])], *theirs));
      }
      keep_outputs(layer, operation, trace);
    }
  }

 private:
  void place_inputs(std::span<const Tensor> inputs) {
    std::optional<Trace> trace;
    if (!inputs.empty()) trace = run(model_, sheet_.backend, inputs, {.keep_all = true});
    for (const std::int32_t index : model_.inputs) {
      auto& place = known_[static_cast<std::size_t>(index)];
      place = dumped(dump_, model_, index);
      if (!place && trace) place = trace->tensors[static_cast<std::size_t>(index)];
      if (!place) throw Error(ErrorCode::bad_input, model_.tensor(index).name, "this input is neither in the dump nor given");
    }
  }

  void keep_outputs(const Model& layer, const Operation& operation, Trace& trace) {
    for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
      const std::int32_t index = operation.outputs[k];
      auto& place = known_[static_cast<std::size_t>(index)];
      place = dumped(dump_, model_, index);
      computed_[static_cast<std::size_t>(index)] = !place;
      if (!place) place = std::move(trace.tensors[static_cast<std::size_t>(layer.outputs[k])]);
    }
  }

  DumpVerdict judge(std::size_t number, const Model& layer, std::span<const Tensor> given, const Tensor& ours, const Tensor& theirs) const {
    const Operation& operation = model_.operations[number];
    const Codes a = codes_of(ours), b = codes_of(theirs);
    DumpVerdict verdict;
    verdict.name = model_.tensor(operation.outputs[0]).name;
    verdict.operation = name_of(operation.kind);
    verdict.number = number;
    verdict.values = static_cast<std::int64_t>(a.size());
    if (a.size() != b.size()) {
      throw Error(ErrorCode::shape_mismatch, verdict.name,
                  "the dump has " + std::to_string(b.size()) + " values for what is computed as " + std::to_string(a.size()));
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) verdict.histogram.add(b[i] - a[i]);
    }
    verdict.differing = count_differing(a, b);
    verdict.note = missing_inputs(operation);
    if (verdict.differing == 0) return verdict;
    Search search(layer, given, sheet_.backend, a, b);
    search.single_changes(verdict);
    search.known_backends(verdict);
    if (verdict.explanations.empty() && verdict.backends.empty()) {
      const std::string other = other_difference(a, b);
      if (!other.empty()) verdict.note += (verdict.note.empty() ? "" : "; ") + other;
    }
    return verdict;
  }

  /// A verdict on a layer whose input the dump lacks speaks of the layers before it as well.
  std::string missing_inputs(const Operation& operation) const {
    std::string names;
    for (const std::int32_t index : operation.inputs) {
      if (index == absent_tensor || !computed_[static_cast<std::size_t>(index)]) continue;
      names += (names.empty() ? "" : ", ") + model_.tensor(index).name;
    }
    return names.empty() ? names : "computed by " + sheet_.name + ", as the dump lacks it: " + names;
  }

  const Model& model_;
  const NamedTrace& dump_;
  const SpecSheet& sheet_;
  std::vector<std::optional<Tensor>> known_;  ///< the dump's, or what the backend made of it
  std::vector<bool> computed_;
};

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
      for (const RuleChange& change : layer->explanations) ++counts[{in_any_operation(change.name), change.what}];
    }
    const auto most = std::max_element(counts.begin(), counts.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    const std::int64_t reached = most->second;
    std::erase_if(counts, [&](const auto& entry) { return entry.second < reached; });
    for (const auto& entry : counts) chosen.push_back({{entry.first.first, entry.first.second, {entry.first.first}}, reached});
    std::erase_if(open, [&](const DumpVerdict* layer) {
      return std::any_of(layer->explanations.begin(), layer->explanations.end(), [&](const RuleChange& change) {
        return counts.contains({in_any_operation(change.name), change.what});
      });
    });
  }
  return chosen;
}

}  // namespace

DumpReport explain_dump(const Model& model, const NamedTrace& dump, const SpecSheet& backend, std::span<const Tensor> inputs,
                        const std::optional<std::string>& layer) {
  DumpReport report{model.name, dump.backend, backend.name, {}, {}, {}};
  DumpWalk(model, dump, backend, inputs).judge_all(layer, report);
  if (report.layers.empty()) {
    throw Error(
        ErrorCode::bad_input, "explain",
        layer ? "the dump has no layer with arithmetic called '" + *layer + "'" : "the dump has the output of no layer with arithmetic");
  }
  report.common = cover(report.layers);
  for (const DumpVerdict& verdict : report.layers) {
    for (const RuleChange& change : verdict.explanations) add_evidence(report.evidence, change, {&backend});
  }
  return report;
}

}  // namespace lastbit
