// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/explain.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "analysis/explain/changes.hpp"
#include "analysis/explain/layer_values.hpp"
#include "engine/batch.hpp"
#include "engine/for_each_index.hpp"
#include "engine/parallel.hpp"
#include "lastbit/error.hpp"
#include "lastbit/memory.hpp"

namespace lastbit {
namespace {

/// One layer on any backend.
class LayerRuns {
 public:
  LayerRuns(const Model& model, std::span<const Tensor> inputs) : model_(model), inputs_(inputs) {}
  [[nodiscard]] Tensor on(const Backend& backend) const { return layer_output(model_, backend, inputs_); }
  /// Nothing where rules of both sides, mixed, cannot compute the layer.
  [[nodiscard]] std::optional<Tensor> on_hybrid(const Backend& backend) const {
    try {
      return on(backend);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  [[nodiscard]] bool computes(const Backend& backend, const Tensor& output) const {
    const std::optional<Tensor> own = on_hybrid(backend);
    return own && own->type() == output.type() && differing_places(*own, output).empty();
  }

 private:
  const Model& model_;
  std::span<const Tensor> inputs_;
};

/// The substitution whose start computes a's values and whose end computes b's: by decisions if that is exact, else by whole ways.
const Substitution& exact_substitution(const Model& model, const LayerRuns& layer, Substitutions& substitutions, const Tensor& of_a,
                                       const Tensor& of_b) {
  const Substitution& result = substitutions.of(model, model.operations[0], ChainView::decisions);
  Backend end = result.start;
  for (const AppliedChange& change : result.changes) change.apply(end);
  if (layer.computes(result.start, of_a) && layer.computes(end, of_b)) return result;
  return substitutions.of(model, model.operations[0], ChainView::whole);
}

/// Every set of `size` out of `count`, in lexical order. False from visit ends it.
template <class Visit>
void each_subset(std::size_t count, std::size_t size, Visit&& visit) {
  std::vector<std::size_t> chosen(size);
  for (std::size_t i = 0; i < size; ++i) chosen[i] = i;
  while (visit(chosen)) {
    std::size_t at = size;
    while (at > 0 && chosen[at - 1] == count - size + at - 1) --at;
    if (at == 0) return;
    ++chosen[at - 1];
    for (std::size_t i = at; i < size; ++i) chosen[i] = chosen[i - 1] + 1;
  }
}

/// Sets of changes tried for one layer; beyond it the values left are unexplained.
constexpr int most_trials = 400;

class Attributor {
 public:
  Attributor(const LayerRuns& layer, const Substitution& substitution, LayerAttribution& result)
      : layer_(layer), substitution_(substitution), result_(result) {}

  void attribute() {
    const std::size_t count = substitution_.changes.size();
    std::int64_t open = static_cast<std::int64_t>(result_.differing.size());
    int trials = 0;
    for (std::size_t size = 1; size <= count && open > 0; ++size) {
      each_subset(count, size, [&](const std::vector<std::size_t>& chosen) {
        open -= attempt(chosen);
        return ++trials < most_trials;
      });
      if (trials >= most_trials) break;
    }
    result_.unexplained = open;
    sort_causes();
  }

 private:
  /// Attributes the open values that this set explains; returns how many. Counts the values that an equally small set explained before.
  std::int64_t attempt(const std::vector<std::size_t>& chosen) {
    Backend hybrid = substitution_.start;
    for (const std::size_t change : chosen) substitution_.changes[change].apply(hybrid);
    const std::optional<Tensor> values = layer_.on_hybrid(hybrid);
    if (!values) return 0;
    Cause cause{chosen, 0, 0, 0, 0, {}};
    const std::size_t number = result_.causes.size();
    for (AttributedValue& value : result_.differing) {
      if (code_at(*values, value.index) != value.b) continue;
      if (value.cause) {
        Cause& earlier = result_.causes[*value.cause];
        if (earlier.changes.size() == chosen.size()) ++earlier.alternatives;
        continue;
      }
      value.cause = number;
      ++cause.values;
      cause.histogram.add(value.b - value.a);
    }
    if (cause.values > 0) result_.causes.push_back(cause);
    return cause.values;
  }

  void sort_causes() {
    std::vector<std::size_t> order(result_.causes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) { return result_.causes[x].values > result_.causes[y].values; });
    std::vector<Cause> sorted;
    std::vector<std::size_t> place(order.size());
    for (const std::size_t old : order) {
      place[old] = sorted.size();
      sorted.push_back(result_.causes[old]);
    }
    result_.causes = std::move(sorted);
    for (AttributedValue& value : result_.differing) {
      if (value.cause) value.cause = place[*value.cause];
    }
  }

  const LayerRuns& layer_;
  const Substitution& substitution_;
  LayerAttribution& result_;
};

void count_negative(LayerAttribution& result, std::int64_t zero_point) {
  for (const AttributedValue& value : result.differing) {
    if (value.cause && std::min(value.a, value.b) < zero_point) ++result.causes[*value.cause].negative;
  }
}

void count_ties(LayerAttribution& result, const Model& layer, std::span<const Tensor> inputs, const Backend& a, const Backend& b) {
  const auto of_a = ValueTracer::make(layer, a, inputs), of_b = ValueTracer::make(layer, b, inputs);
  if (!of_a || !of_b) return;
  for (const AttributedValue& value : result.differing) {
    if (value.cause && (of_a->rounds_a_tie(value.index) || of_b->rounds_a_tie(value.index))) ++result.causes[*value.cause].ties;
  }
}

void show_first(LayerAttribution& result, std::size_t top, const Model& layer, std::span<const Tensor> inputs, const SpecSheet& a,
                const SpecSheet& b) {
  const std::size_t count = std::min(top, result.differing.size());
  if (count == 0) return;
  const auto of_a = ValueTracer::make(layer, a.backend, inputs), of_b = ValueTracer::make(layer, b.backend, inputs);
  if (!of_a || !of_b) return;
  for (std::size_t i = 0; i < count; ++i) result.shown.push_back(side_by_side(*of_a, *of_b, result.differing[i].index));
}

/// Of every rule in a cause, where each side reads it.
std::vector<RuleEvidence> evidence_of(const std::vector<LayerAttribution>& layers, const SpecSheet& a, const SpecSheet& b) {
  std::vector<std::string> of_a, of_b;
  for (const LayerAttribution& layer : layers) {
    for (const Cause& cause : layer.causes) {
      for (const std::size_t number : cause.changes) {
        const RuleChange& change = layer.changes[number];
        of_a.push_back(change.rules.front());
        of_b.push_back(change.rules_of_b.empty() ? change.rules.front() : change.rules_of_b.front());
      }
    }
  }
  std::vector<RuleEvidence> evidence = lastbit::evidence_of(a, of_a);
  std::ranges::move(lastbit::evidence_of(b, of_b), std::back_inserter(evidence));
  return evidence;
}

bool is_explainable(const Model& model, const Operation& operation, const Backend& a, const Backend& b) {
  if (rule_prefixes(model, operation, a).empty() && rule_prefixes(model, operation, b).empty()) return false;
  const ElementType type = model.tensor(operation.outputs[0]).type;
  return is_integer(type) || type == ElementType::float16 || type == ElementType::float32;
}

/// x_a, x_b: what the layer was given; y_a, y_b: what came out. a on x_b tells the inherited part from the layer's own.
Origin origin_of(const Tensor& y_a, const Tensor& a_of_x_b, const Tensor& y_b) {
  Origin origin;
  for (const std::int64_t i : differing_places(y_a, y_b)) {
    const std::int64_t value = code_at(a_of_x_b, i);
    const bool own = value != code_at(y_b, i), inherited = value != code_at(y_a, i);
    ++(own && inherited ? origin.both : own ? origin.own : origin.inherited);
  }
  return origin;
}

LayerAttribution explain_by(Substitutions& substitutions, const Model& layer, std::span<const Tensor> inputs, const SpecSheet& a,
                            const SpecSheet& b) {
  const LayerRuns runs(layer, inputs);
  const Operation& operation = layer.operations.at(0);
  const ModelTensor& output = layer.tensor(operation.outputs[0]);
  const Tensor of_a = runs.on(a.backend), of_b = runs.on(b.backend);
  LayerAttribution result;
  result.name = output.name;
  result.operation = name_of(operation.kind);
  result.values = of_a.element_count();
  for (const SpecSheet* sheet : {&a, &b}) {
    for (const Assumption& assumption : assumptions_of(layer, operation, *sheet)) add_once(result.assumptions, assumption);
  }
  for (const std::int64_t i : differing_places(of_a, of_b)) result.differing.push_back({i, code_at(of_a, i), code_at(of_b, i), {}});
  if (result.differing.empty()) return result;
  const Substitution& substitution = exact_substitution(layer, runs, substitutions, of_a, of_b);
  for (const AppliedChange& change : substitution.changes) result.changes.push_back(change.change);
  Attributor(runs, substitution, result).attribute();
  count_negative(result, output.quantization.zero_point());
  count_ties(result, layer, inputs, a.backend, b.backend);
  return result;
}

/// Layer after layer of a network, or several at a time.
class NetworkAttributor {
 public:
  NetworkAttributor(const Model& model, std::span<const Tensor> inputs, const SpecSheet& a, const SpecSheet& b,
                    const ExplainOptions& options)
      : model_(model), a_(a), b_(b), options_(options), substitutions_(a.backend, b.backend) {
    const auto run_side = [&](std::size_t side) {
      (side == 0 ? of_a_ : of_b_) = run(model, (side == 0 ? a : b).backend, inputs, {.threads = options.threads, .keep_all = true});
    };
    for_each_index(2, run_side, is_batch(model, inputs));
  }

  void fill(const std::vector<std::size_t>& operations, ExplainReport& report) {
    std::atomic<std::size_t> done = 0;
    for_each_part(std::ssize(operations), 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        report.layers[i] = attribution_of(operations[i]);
        if (options_.on_progress) options_.on_progress(++done, operations.size());
      }
    });
  }

 private:
  LayerAttribution attribution_of(std::size_t operation) {
    const Model only = extract_operation(model_, operation);
    const std::vector<Tensor> given = inputs_of(model_, operation, of_a_.tensors);
    LayerAttribution layer = explain_by(substitutions_, only, given, a_, b_);
    layer.number = operation;
    show_first(layer, options_.top, only, given, a_, b_);
    const auto output = static_cast<std::size_t>(model_.operations[operation].outputs[0]);
    layer.in_network = origin_of(*of_a_.tensors[output], layer_output(only, a_.backend, inputs_of(model_, operation, of_b_.tensors)),
                                 *of_b_.tensors[output]);
    return layer;
  }

  const Model& model_;
  const SpecSheet &a_, &b_;
  const ExplainOptions& options_;
  Trace of_a_, of_b_;
  Substitutions substitutions_;
};

}  // namespace

LayerAttribution explain(const Model& layer, std::span<const Tensor> inputs, const Device& a, const Device& b) {
  Substitutions substitutions(a.backend, b.backend);
  return explain_by(substitutions, layer, inputs, a, b);
}

ExplainReport explain_network(const Model& model, std::span<const Tensor> inputs, const Device& a, const Device& b,
                              const ExplainOptions& options) {
  require_memory(model, std::array{&a.backend, &b.backend}, inputs, options.threads);  // both are held
  ExplainReport report{model.name, a.name, b.name, {}, {}};
  const OperationRange asked = operations_called(model, options.layer, "explain");
  std::vector<std::size_t> explainable;
  for (std::size_t i = asked.first; i < asked.end; ++i)
    if (is_explainable(model, model.operations[i], a.backend, b.backend)) explainable.push_back(i);
  report.layers.resize(explainable.size());
  with_threads(options.threads, [&] { NetworkAttributor(model, inputs, a, b, options).fill(explainable, report); });
  report.evidence = evidence_of(report.layers, a, b);
  if (report.layers.empty() && options.layer)
    throw Error(ErrorCode::bad_input, "explain",
                "layer " + std::to_string(asked.first) + ", '" + layer_name(model, asked.first) +
                    "', has no arithmetic that either backend states");
  return report;
}

}  // namespace lastbit
