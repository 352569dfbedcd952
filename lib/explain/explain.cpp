// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/explain.hpp"

#include <algorithm>

#include "explain/changes.hpp"

namespace lastbit {
namespace {

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.integer_at(static_cast<std::int64_t>(i));
  return values;
}

/// One layer on any backend.
class Layer {
 public:
  Layer(const Model& model, std::span<const Tensor> inputs) : model_(model), inputs_(inputs) {}

  [[nodiscard]] std::vector<std::int64_t> on(const Backend& backend) const {
    const Trace trace = run(model_, backend, inputs_);
    return integers_of(*trace.tensors[static_cast<std::size_t>(model_.outputs[0])]);
  }

 private:
  const Model& model_;
  std::span<const Tensor> inputs_;
};

/// The substitution whose start computes a's values and whose end computes b's: by decisions if that is exact, else by whole ways.
Substitution exact_substitution(const Model& model, const Layer& layer, const Backend& a, const Backend& b,
                                const std::vector<std::int64_t>& of_a, const std::vector<std::int64_t>& of_b) {
  Substitution result = substitution(model, model.operations[0], a, b, ChainView::decisions);
  Backend end = result.start;
  for (const AppliedChange& change : result.changes) change.apply(end);
  if (layer.on(result.start) == of_a && layer.on(end) == of_b) return result;
  return substitution(model, model.operations[0], a, b, ChainView::whole);
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
  Attributor(const Layer& layer, const Substitution& substitution, LayerAttribution& result)
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
    const std::vector<std::int64_t> values = layer_.on(hybrid);
    Cause cause{chosen, 0, 0, 0, {}};
    const std::size_t number = result_.causes.size();
    for (AttributedValue& value : result_.differing) {
      if (values[static_cast<std::size_t>(value.index)] != value.b) continue;
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

  const Layer& layer_;
  const Substitution& substitution_;
  LayerAttribution& result_;
};

void count_negative(LayerAttribution& result, std::int64_t zero_point) {
  for (const AttributedValue& value : result.differing) {
    if (value.cause && std::min(value.a, value.b) < zero_point) ++result.causes[*value.cause].negative;
  }
}

Tensor copied(std::optional<Tensor>& tensor) { return *tensor; }

std::vector<Tensor> inputs_of(const Model& layer, const Operation& operation, const Model& model, Trace& trace) {
  std::vector<Tensor> inputs;
  for (const std::int32_t index : operation.inputs) {
    if (index == absent_tensor || model.tensor(index).constant) continue;
    const auto& name = model.tensor(index).name;
    if (inputs.size() < layer.inputs.size() && layer.tensor(layer.inputs[inputs.size()]).name == name) {
      inputs.push_back(copied(trace.tensors[static_cast<std::size_t>(index)]));
    }
  }
  return inputs;
}

bool is_explainable(const Model& model, const Operation& operation) {
  if (is_movement(operation.kind)) return false;
  return std::all_of(operation.outputs.begin(), operation.outputs.end(), [&](auto index) { return is_integer(model.tensor(index).type); });
}

bool is_chosen(const Model& model, const Operation& operation, const std::optional<std::string>& layer) {
  return !layer || operation.name == *layer || model.tensor(operation.outputs[0]).name == *layer;
}

std::int64_t count_differing(const Tensor& a, const Tensor& b) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < a.element_count(); ++i) count += a.integer_at(i) != b.integer_at(i) ? 1 : 0;
  return count;
}

}  // namespace

Model extract_operation(const Model& model, std::size_t operation) {
  Model layer;
  layer.name = model.operations[operation].name;
  Operation only = model.operations[operation];
  std::vector<std::pair<std::int32_t, std::int32_t>> known;
  const auto place = [&](std::int32_t index) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.first == index; });
    if (found != known.end()) return found->second;
    const auto at = static_cast<std::int32_t>(layer.tensors.size());
    layer.tensors.push_back(model.tensor(index));
    known.emplace_back(index, at);
    return at;
  };
  for (std::int32_t& index : only.inputs) {
    if (index == absent_tensor) continue;
    const bool seen = std::any_of(known.begin(), known.end(), [&](const auto& entry) { return entry.first == index; });
    const bool data = !model.tensor(index).constant;
    index = place(index);
    if (data && !seen) layer.inputs.push_back(index);
  }
  for (std::int32_t& index : only.outputs) {
    index = place(index);
    layer.outputs.push_back(index);
  }
  layer.operations.push_back(std::move(only));
  return layer;
}

LayerAttribution explain(const Model& layer, std::span<const Tensor> inputs, const SpecSheet& a, const SpecSheet& b) {
  const Layer runs(layer, inputs);
  const Operation& operation = layer.operations.at(0);
  const ModelTensor& output = layer.tensor(operation.outputs[0]);
  const std::vector<std::int64_t> of_a = runs.on(a.backend), of_b = runs.on(b.backend);
  LayerAttribution result{
      .name = output.name, .operation = std::string(name_of(operation.kind)), .changes = {}, .causes = {}, .differing = {}, .guesses = {}};
  result.values = static_cast<std::int64_t>(of_a.size());
  for (const SpecSheet* sheet : {&a, &b}) {
    for (const Guess& guess : guesses_of(layer, operation, *sheet)) add_once(result.guesses, guess);
  }
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i] != of_b[i]) result.differing.push_back({static_cast<std::int64_t>(i), of_a[i], of_b[i], {}});
  }
  if (result.differing.empty()) return result;
  const Substitution substitution = exact_substitution(layer, runs, a.backend, b.backend, of_a, of_b);
  for (const AppliedChange& change : substitution.changes) result.changes.push_back(change.change);
  Attributor(runs, substitution, result).attribute();
  count_negative(result, output.quantization.zero_point());
  return result;
}

ExplainReport explain_network(const Model& model, std::span<const Tensor> inputs, const SpecSheet& a, const SpecSheet& b,
                              const std::optional<std::string>& layer) {
  const RunOptions everything{.keep_all = true};
  Trace of_a = run(model, a.backend, inputs, everything);
  const Trace of_b = run(model, b.backend, inputs, everything);
  ExplainReport report{model.name, a.name, b.name, {}};
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    if (!is_explainable(model, operation) || !is_chosen(model, operation, layer)) continue;
    const Model only = extract_operation(model, i);
    report.layers.push_back(explain(only, inputs_of(only, operation, model, of_a), a, b));
    const auto output = static_cast<std::size_t>(operation.outputs[0]);
    report.layers.back().accumulated_differing = count_differing(*of_a.tensors[output], *of_b.tensors[output]);
  }
  if (report.layers.empty() && layer) throw Error(ErrorCode::bad_input, "explain", "no layer with arithmetic is called '" + *layer + "'");
  return report;
}

}  // namespace lastbit
