// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Output scales at which both sides compute the same for every input.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <utility>

#include "analysis/advise/every_input.hpp"
#include "analysis/certify/differing_accumulators.hpp"
#include "engine/ops/conv_layer.hpp"
#include "engine/parallel.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {
namespace {

/// Scales tried on either side of the model's. A handful of cases that differ may happen to agree at one of many; of hundreds some always differ.
constexpr int many_steps = 100, some_steps = 20;
constexpr std::int64_t a_handful = 64;
constexpr std::size_t trials_at_a_time = 8;  // for as many threads; those behind one at which nothing differs are for nothing

/// How many cases of a layer differ.
struct Count {
  std::string open{};  ///< why that is not known
  std::int64_t cases = 0, differing = 0;

  [[nodiscard]] bool equal() const { return open.empty() && differing == 0; }
};

/// How many columns at a time are counted: by the definition each costs what all of these do by the path's vectors.
constexpr std::int64_t columns_by_vectors = 32;

/// Some more than `most` may stand for all that differ.
class ColumnCount {
 public:
  ColumnCount(const SharedSums& sums, std::int64_t most) : sums_(sums), most_(most) {}

  Count by_definition() {
    for_each_part(std::ssize(sums_.columns), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t c = first; c < last && goes_on(); ++c) add_by_definition(columns(c, 1));
    });
    return count();
  }
  Count by_vectors() {
    const std::int64_t all = std::ssize(sums_.columns), parts = (all + columns_by_vectors - 1) / columns_by_vectors;
    for_each_part(parts, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last && goes_on(); ++part) {
        const std::int64_t begin = part * columns_by_vectors;
        const auto some = columns(begin, std::min(columns_by_vectors, all - begin));
        if (const auto found = differing_accumulators(sums_, some)) differing_ += *found;
        else add_by_definition(some);
      }
    });
    return count();
  }

 private:
  [[nodiscard]] bool goes_on() const { return differing_ <= most_ && listed_; }
  [[nodiscard]] std::span<const SharedSums::Column> columns(std::int64_t first, std::int64_t number) const {
    return std::span(sums_.columns).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(number));
  }
  void add_by_definition(std::span<const SharedSums::Column> columns) {
    for (const SharedSums::Column& column : columns) {
      const StaircaseDifference found = difference(sums_, column).same;
      if (found.accumulators == 0) listed_ = false;
      differing_ += found.differing;
    }
  }
  [[nodiscard]] Count count() const {
    Count count{.differing = differing_};
    if (!listed_) count.open = "the way behind its sums has too many steps to be listed";
    for (const SharedSums::Column& column : sums_.columns) count.cases += column.accumulators.max - column.accumulators.min + 1;
    return count;
  }

  const SharedSums& sums_;
  const std::int64_t most_;
  std::atomic<std::int64_t> differing_ = 0;
  std::atomic<bool> listed_ = true;
};

Count count_codes(const LayerOnBoth& layer) {
  const std::optional<EveryCode> found = compare_every_code(layer);
  Count count{.open = found ? found->open : "for this operation there is no exact way yet"};
  if (!count.open.empty()) return count;
  count.cases = std::ssize(found->a);
  for (std::size_t i = 0; i < found->a.size(); ++i) count.differing += found->a[i] != found->b[i] ? 1 : 0;
  return count;
}

Count counted(const LayerOnBoth& layer, const std::optional<SharedSums>& sums, std::int64_t most = INT64_MAX) {
  if (have_same_rules(layer)) return {};
  if (layer.is_real()) return {.open = "one side computes in real numbers"};
  if (!sums) return count_codes(layer);
  if (!sums->open.empty()) return {.open = sums->open};
  return ColumnCount(*sums, most).by_definition();
}

/// What a count follows from beside the operation, its scales and both sides' rules.
struct AroundLayer {
  std::vector<IntegerRange> ranges;  ///< of the data inputs
  std::vector<ElementType> types;    ///< on either side
  friend bool operator==(const AroundLayer&, const AroundLayer&) = default;
};
AroundLayer around(const LayerOnBoth& layer) {
  AroundLayer found;
  const auto add_types = [&](const LayerSide& side) {
    for (const auto* const list : {&side.operation.inputs, &side.operation.outputs})
      for (const std::int32_t tensor : *list)
        if (tensor != absent_tensor) found.types.push_back(side.model().tensor(tensor).type);
  };
  for (const std::int32_t input : layer.operation().inputs)
    if (input != absent_tensor && !layer.a.model().tensor(input).constant)
      found.ranges.push_back(layer.ranges[static_cast<std::size_t>(input)]);
  for (const std::int32_t input : layer.b.operation.inputs)
    if (input != absent_tensor && !layer.b.model().tensor(input).constant)
      found.ranges.push_back(layer.ranges_b[static_cast<std::size_t>(input)]);
  add_types(layer.a);
  add_types(layer.b);
  return found;
}

/// One layer by itself.
class LayerAlone {
 public:
  /// `ranges`: what tensors of the network can hold, where that is known.
  LayerAlone(const Model& network, std::size_t operation, const SpecSheet& a, const SpecSheet& b,
             const std::vector<std::optional<IntegerRange>>& ranges)
      : model_(extract_operation(network, operation)), certifier_(model_, a, b, {}, whole_) {
    for (std::size_t i = 0; i < model_.operations[0].inputs.size(); ++i) {
      const std::int32_t input = network.operations[operation].inputs[i];
      if (input == absent_tensor || network.tensor(input).constant) continue;
      if (const auto& range = ranges[static_cast<std::size_t>(input)]) certifier_.set_range(model_.operations[0].inputs[i], *range);
    }
    certifier_.each([&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
      layer_.emplace(layer);
      sums_ = sums;
    });
  }

  [[nodiscard]] const LayerOnBoth& on_both() const { return *layer_; }
  [[nodiscard]] Count count(std::int64_t most = INT64_MAX) const { return counted(*layer_, sums_, most); }
  /// Where its output has another scale; nothing where that is not known without going through the layer anew.
  [[nodiscard]] std::optional<Count> count_at(const Model& rescaled, std::int64_t most) const {
    if (!sums_ || !sums_->open.empty() || !sums_->layer_a) return std::nullopt;
    const std::optional<SharedSums> sums = at_other_scale(*sums_, *layer_, rescaled);
    return sums ? std::optional(ColumnCount(*sums, most).by_vectors()) : std::nullopt;
  }

 private:
  const CertifyOptions whole_;
  const Model model_;
  Certifier certifier_;
  std::optional<LayerOnBoth> layer_;  ///< of the certifier
  std::optional<SharedSums> sums_;
};

bool has_other_scale(const Model& model, const Model& changed, std::int32_t tensor) {
  return tensor != absent_tensor && static_cast<std::size_t>(tensor) < model.tensors.size() &&
         model.tensor(tensor).quantization != changed.tensor(tensor).quantization;
}

/// Operations that read or write a tensor with another scale.
std::vector<std::size_t> touched(const Model& model, const Model& changed) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const auto is_other = [&](std::int32_t tensor) { return has_other_scale(model, changed, tensor); };
    const Operation& operation = model.operations[i];
    if (std::ranges::any_of(operation.inputs, is_other) || std::ranges::any_of(operation.outputs, is_other)) found.push_back(i);
  }
  return found;
}

/// Nearer together where they are near.
std::vector<double> factors_within(double reach, int steps) {
  std::vector<double> factors;
  for (int i = 1; i <= steps; ++i) {
    const double part = static_cast<double>(i) / steps;
    for (const int sign : {1, -1}) factors.push_back(1 + sign * reach * part * part);
  }
  return factors;
}

/// Of a layer with one scale: those at which an accumulator counts 1/n of an output step. n odd: none stands half-way between two outputs, so that it does
/// not matter how a device rounds one that does. n even, and the scale a hair smaller: those that would stand half-way are just beyond, where a first
/// rounding takes them half-way and the second one on, and no other is near enough to be taken there: two roundings are one.
std::vector<double> whole_parts_within(double reach, const Model& model, const Operation& operation) {
  constexpr double hair = 0x1p-20;
  std::vector<double> factors;
  if (!is_conv_layer(operation.kind)) return factors;
  const Quantization &input = model.tensor(operation.inputs[0]).quantization, &weights = model.tensor(operation.inputs[1]).quantization,
                     &output = model.tensor(operation.outputs[0]).quantization;
  for (const Quantization* const each : {&input, &weights, &output})
    if (!each->present() || each->per_channel()) return factors;
  const double parts = output.scale() / (input.scale() * weights.scale());
  const auto nearest = static_cast<std::int64_t>(std::llround(parts));
  for (std::int64_t n = std::max<std::int64_t>(1, nearest - some_steps); n <= nearest + some_steps; ++n) {
    const double factor = static_cast<double>(n) / parts * (n % 2 == 0 ? 1 - hair : 1);
    if (std::abs(factor - 1) <= reach) factors.push_back(factor);
  }
  return factors;
}

class ScaleSearch {
 public:
  ScaleSearch(const Model& model, const SpecSheet& a, const SpecSheet& b, const AdviseOptions& options)
      : given_(model), model_(model), a_(a), b_(b), b_and_a_(with_fallback(b, a)), options_(options), ranges_(model.tensors.size()) {}

  EqualScales run() {
    count_given();
    found_.network = given_.name;
    found_.a = a_.name;
    found_.b = b_.name;
    for (std::size_t i = 0; i < given_.operations.size(); ++i) found_.names.push_back(layer_name(given_, i));
    found_.reach = options_.scale_reach;
    for (std::size_t i = 0; i < given_.operations.size(); ++i) {
      if (options_.progress) options_.progress("output scales", static_cast<double>(i) / static_cast<double>(given_.operations.size()));
      choose(i);
    }
    const std::vector<Count> after = count_chosen();
    for (std::size_t i = 0; i < before_.size(); ++i) report(i, before_[i].count, after[i]);
    found_.model = std::move(model_);
    return std::move(found_);
  }

 private:
  /// Of the network as it runs on both sides.
  void count_given() {
    each(given_, [&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
      before_.push_back({around(layer), counted(layer, sums)});
      for (const std::int32_t input : layer.operation().inputs)
        if (input != absent_tensor && is_held_alike(layer, input)) ranges_[static_cast<std::size_t>(input)] = range_of(layer, input);
    });
  }
  [[nodiscard]] std::vector<Count> count_chosen() const {
    std::vector<Count> counts;
    each(model_, [&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
      const std::optional<Count> known = counted_before(counts.size(), layer);
      counts.push_back(known ? *known : counted(layer, sums));
    });
    return counts;
  }
  void each(const Model& model, const std::function<void(const LayerOnBoth&, const std::optional<SharedSums>&)>& visit) const {
    const CertifyOptions every_layer;
    Certifier(model, a_, b_and_a_, {}, every_layer).each(visit);
  }
  /// Of a layer of the model with the scales chosen so far, in the network or alone, that is as it was given.
  [[nodiscard]] std::optional<Count> counted_before(std::size_t operation, const LayerOnBoth& layer) const {
    const Operation& at = given_.operations[operation];
    const auto is_other = [&](std::int32_t tensor) { return has_other_scale(given_, model_, tensor); };
    if (std::ranges::any_of(at.inputs, is_other) || std::ranges::any_of(at.outputs, is_other)) return std::nullopt;
    const Before& before = before_[operation];
    return around(layer) == before.around ? std::optional(before.count) : std::nullopt;
  }
  /// Whether both sides have its codes as the model has them.
  [[nodiscard]] bool is_held_alike(const LayerOnBoth& layer, std::int32_t tensor) const {
    const ElementType type = given_.tensor(tensor).type;
    return layer.a.model().tensor(tensor).type == type && layer.b.model().tensor(tensor).type == type;
  }
  [[nodiscard]] static IntegerRange range_of(const LayerOnBoth& layer, std::int32_t tensor) {
    return layer.ranges[static_cast<std::size_t>(tensor)];
  }

  /// Of a model with other scales no more is known of its tensors than their types say where those are other.
  [[nodiscard]] LayerAlone alone(const Model& model, std::size_t operation) const {
    std::vector<std::optional<IntegerRange>> ranges = ranges_;
    for (const std::int32_t input : model.operations[operation].inputs)
      if (has_other_scale(given_, model, input)) ranges[static_cast<std::size_t>(input)].reset();
    return {model, operation, a_, b_and_a_, ranges};
  }

  void choose(std::size_t operation) {
    const LayerAlone layer = alone(model_, operation);
    const std::optional<Count> before = counted_before(operation, layer.on_both());
    const Count now = before ? *before : layer.count();
    equal_.push_back(now.equal());
    if (!now.open.empty() || now.equal()) return;
    Choice& choice = choices_.emplace_back(Choice{operation});
    choice.left = now.differing / 2 + 1;
    const std::vector<double> factors = factors_for(operation, now.differing <= a_handful ? many_steps : some_steps);
    for (std::size_t first = 0; first < factors.size() && choice.left > 0; first += trials_at_a_time) {
      const std::span<const double> some = std::span(factors).subspan(first, std::min(trials_at_a_time, factors.size() - first));
      std::vector<std::optional<std::int64_t>> left(some.size());
      for_each_part(std::ssize(some), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
          left[i] = left_at(layer, operation, some[i], choice.left - 1);
      });
      for (std::size_t i = 0; i < some.size() && choice.left > 0; ++i) {
        ++choice.tried;
        if (!left[i] || *left[i] >= choice.left) continue;
        choice.factor = some[i];
        choice.left = *left[i];
      }
    }
    if (choice.left > 0) return;
    model_ = with_output_scale(model_, operation, choice.factor);
    equal_.back() = true;
  }

  /// The nearest first.
  [[nodiscard]] std::vector<double> factors_for(std::size_t operation, int steps) const {
    std::vector<double> factors = factors_within(options_.scale_reach, steps);
    const std::vector<double> whole = whole_parts_within(options_.scale_reach, model_, model_.operations[operation]);
    factors.insert(factors.end(), whole.begin(), whole.end());
    std::ranges::stable_sort(factors, {}, [](double factor) { return std::abs(std::log(factor)); });
    return factors;
  }

  /// What differs at another scale; nothing where it cannot have it, or where that would make a layer before it differ.
  [[nodiscard]] std::optional<std::int64_t> left_at(const LayerAlone& layer, std::size_t operation, double factor,
                                                    std::int64_t most) const {
    const Model changed = with_output_scale(model_, operation, factor);
    const std::vector<std::size_t> others = touched(model_, changed);
    const auto is_input = [&](std::int32_t input) { return has_other_scale(model_, changed, input); };
    if (others.empty() || std::ranges::any_of(changed.inputs, is_input)) return std::nullopt;
    const Count count = count_at(layer, changed, operation, most);  // by which most scales are refused
    if (!count.open.empty() || count.differing > most) return std::nullopt;
    for (const std::size_t other : others)
      if (!still_runs(changed, other)) return std::nullopt;
    for (const std::size_t other : others)
      if (other < operation && equal_[other] && !alone(changed, other).count(0).equal()) return std::nullopt;
    return count.differing;
  }

  [[nodiscard]] Count count_at(const LayerAlone& layer, const Model& changed, std::size_t operation, std::int64_t most) const {
    const bool reads_other = std::ranges::any_of(model_.operations[operation].inputs,
                                                 [&](std::int32_t input) { return has_other_scale(model_, changed, input); });
    try {
      if (reads_other) return alone(changed, operation).count(most);
      if (const auto count = layer.count_at(extract_operation(changed, operation), most)) return *count;
      return alone(changed, operation).count(most);
    } catch (const MemoryRefused&) {
      throw;
    } catch (const Error& error) {
      return {.open = error.what()};
    }
  }

  /// On either side, where it ran before.
  [[nodiscard]] bool still_runs(const Model& changed, std::size_t operation) const {
    return std::ranges::all_of(std::array{&a_, &b_},
                               [&](const SpecSheet* side) { return runs(changed, operation, *side) || !runs(model_, operation, *side); });
  }
  [[nodiscard]] static bool runs(const Model& model, std::size_t operation, const SpecSheet& side) {
    return check(extract_operation(model, operation), side.backend).empty();
  }

  void report(std::size_t operation, const Count& before, const Count& after) {
    const std::string& open = before.open.empty() ? after.open : before.open;
    if (!open.empty()) {
      found_.open.emplace_back(operation, open);
      return;
    }
    if (before.equal() && after.equal()) {
      ++found_.equal;
      return;
    }
    ScaleAdvice advice{.operation = operation, .cases = after.cases, .differing = before.differing, .left = after.differing};
    const Quantization& quantization = given_.tensor(given_.operations[operation].outputs[0]).quantization;
    if (quantization.present()) advice.scale = quantization.scale();
    const auto choice = std::ranges::find(choices_, operation, &Choice::operation);
    if (choice != choices_.end()) advice.tried = choice->tried;
    if (choice != choices_.end() && choice->left == 0) advice.factor = choice->factor;
    else if (choice != choices_.end() && choice->factor != 1) advice.best = ScaleTrial{choice->factor, choice->left};
    found_.layers.push_back(advice);
  }

  struct Choice {
    std::size_t operation;
    double factor = 1;
    std::int64_t left = 0, tried = 0;
  };

  struct Before {
    AroundLayer around;
    Count count;
  };

  const Model& given_;
  Model model_;  ///< with the scales chosen so far
  const SpecSheet &a_, &b_;
  const SpecSheet b_and_a_;
  const AdviseOptions& options_;
  std::vector<std::optional<IntegerRange>> ranges_;  ///< that inputs of layers can hold, by tensor
  std::vector<Before> before_;                       ///< by layer, as the model was given
  std::vector<bool> equal_;                          ///< layers so far
  std::vector<Choice> choices_;
  EqualScales found_;
};

}  // namespace

EqualScales equal_scales(const Model& model, const Device& a, const Device& b, const AdviseOptions& options) {
  EqualScales found;
  with_threads(options.threads, [&] { found = ScaleSearch(model, a, b, options).run(); });
  return found;
}

}  // namespace lastbit
