// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/migrate/matching.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace lastbit {
namespace {

/// The operation's largest constant, of more than one value; null where it has none.
const Tensor* weights_of(const Model& model, std::size_t operation) {
  const Tensor* largest = nullptr;
  for (const std::int32_t index : model.operations[operation].inputs) {
    if (index == absent_tensor || !model.tensor(index).constant) continue;
    const Tensor& constant = *model.tensor(index).constant;
    if (constant.element_count() > (largest == nullptr ? 1 : largest->element_count())) largest = &constant;
  }
  return largest;
}

std::string_view bytes_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()}; }

/// Operations of a network by their weights and by the name of their output.
class LayerIndex {
 public:
  explicit LayerIndex(const Model& model) : model_(model) {
    for (std::size_t i = 0; i < model.operations.size(); ++i) {
      by_name_[model.tensor(model.operations[i].outputs[0]).name].push_back(i);
      if (const Tensor* const weights = weights_of(model, i)) by_weights_[bytes_of(*weights)].push_back(i);
    }
  }

  /// The only operation with this output.
  [[nodiscard]] std::optional<std::size_t> named(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (name.empty() || found == by_name_.end() || found->second.size() != 1) return std::nullopt;
    return found->second.front();
  }

  /// Of this kind and with these weights, in order.
  [[nodiscard]] std::vector<std::size_t> with_weights(OperationKind kind, const Tensor& weights) const {
    std::vector<std::size_t> found;
    const auto all = by_weights_.find(bytes_of(weights));
    if (all == by_weights_.end()) return found;
    std::ranges::copy_if(all->second, std::back_inserter(found),
                         [&](std::size_t i) { return model_.operations[i].kind == kind && *weights_of(model_, i) == weights; });
    return found;
  }

 private:
  const Model& model_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_name_, by_weights_;
};

/// Of layers that neither names nor weights match, in one stretch; beyond that they are left unmatched.
constexpr std::size_t most_pairs = std::size_t{1} << 26;

class Matcher {
 public:
  Matcher(const Model& before, const Model& after)
      : before_(before),
        after_(after),
        index_before_(before),
        index_after_(after),
        match_of_before_(before.operations.size()),
        is_matched_after_(after.operations.size(), false) {
    match_names();
    match_weights();
    match_places();
  }

  [[nodiscard]] std::vector<LayerMatch> matches() const {
    std::vector<LayerMatch> all;
    for (const auto& match : match_of_before_)
      if (match) all.push_back(*match);
    return all;
  }

 private:
  void match(std::size_t before, std::size_t after, PairedBy by) {
    match_of_before_[before] = LayerMatch{before, after, by};
    is_matched_after_[after] = true;
  }

  /// Whether either layer's weights are those of another layer, under another name.
  [[nodiscard]] bool is_renumbered(std::size_t before, std::size_t after) const {
    const Tensor *const a = weights_of(before_, before), *const b = weights_of(after_, after);
    if (a == nullptr || b == nullptr || *a == *b) return false;
    const OperationKind kind = before_.operations[before].kind;
    return !index_after_.with_weights(kind, *a).empty() || !index_before_.with_weights(kind, *b).empty();
  }

  void match_names() {
    for (std::size_t i = 0; i < before_.operations.size(); ++i) {
      const std::string& name = before_.tensor(before_.operations[i].outputs[0]).name;
      const auto after = index_after_.named(name);
      if (index_before_.named(name) && after && before_.operations[i].kind == after_.operations[*after].kind && !is_renumbered(i, *after))
        match(i, *after, PairedBy::name);
    }
  }

  void match_weights() {
    for (std::size_t i = 0; i < before_.operations.size(); ++i) {
      const Tensor* const weights = weights_of(before_, i);
      if (match_of_before_[i] || weights == nullptr) continue;
      for (const std::size_t after : index_after_.with_weights(before_.operations[i].kind, *weights)) {
        if (is_matched_after_[after]) continue;
        match(i, after, PairedBy::weights);
        break;
      }
    }
  }

  [[nodiscard]] static bool same_shapes(const Model& a, const std::vector<std::int32_t>& of_a, const Model& b,
                                        const std::vector<std::int32_t>& of_b) {
    return std::ranges::equal(of_a, of_b, [&](std::int32_t x, std::int32_t y) {
      return (x == absent_tensor) == (y == absent_tensor) && (x == absent_tensor || a.tensor(x).shape == b.tensor(y).shape);
    });
  }

  [[nodiscard]] bool are_alike(std::size_t i, std::size_t j) const {
    const Operation &a = before_.operations[i], &b = after_.operations[j];
    return a.kind == b.kind && same_shapes(before_, a.inputs, after_, b.inputs) && same_shapes(before_, a.outputs, after_, b.outputs);
  }

  /// Matched pairs that do not cross one another, as many as there are.
  [[nodiscard]] std::vector<LayerMatch> anchors() const {
    const std::vector<LayerMatch> all = matches();
    std::vector<std::size_t> ends, previous(all.size());  // of each length the sequence that ends first; SIZE_MAX: none
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto place = std::ranges::lower_bound(ends, all[i].after, {}, [&](std::size_t end) { return all[end].after; });
      previous[i] = place == ends.begin() ? SIZE_MAX : *(place - 1);
      if (place == ends.end()) ends.push_back(i);
      else *place = i;
    }
    std::vector<LayerMatch> found;
    for (std::size_t i = ends.empty() ? SIZE_MAX : ends.back(); i != SIZE_MAX; i = previous[i]) found.push_back(all[i]);
    std::ranges::reverse(found);
    return found;
  }

  /// Between every two anchors, what is left.
  void match_places() {
    std::vector<LayerMatch> ends = anchors();
    ends.push_back({before_.operations.size(), after_.operations.size(), PairedBy::place});
    std::size_t i = 0, j = 0;
    for (const LayerMatch& end : ends) {
      std::vector<std::size_t> before, after;
      for (; i < end.before; ++i)
        if (!match_of_before_[i]) before.push_back(i);
      for (; j < end.after; ++j)
        if (!is_matched_after_[j]) after.push_back(j);
      match_in_order(before, after);
      i = end.before + 1, j = end.after + 1;
    }
  }

  void match_in_order(std::span<const std::size_t> before, std::span<const std::size_t> after) {
    for (; !before.empty() && !after.empty() && are_alike(before.front(), after.front());
         before = before.subspan(1), after = after.subspan(1))
      match(before.front(), after.front(), PairedBy::place);
    for (; !before.empty() && !after.empty() && are_alike(before.back(), after.back());
         before = before.first(before.size() - 1), after = after.first(after.size() - 1))
      match(before.back(), after.back(), PairedBy::place);
    if (before.empty() || after.empty() || before.size() > most_pairs / after.size()) return;
    match_longest(before, after);
  }

  /// The longest common subsequence.
  void match_longest(std::span<const std::size_t> before, std::span<const std::size_t> after) {
    const std::size_t columns = after.size() + 1;
    std::vector<std::int32_t> best((before.size() + 1) * columns, 0);  // of what comes from (i, j) on
    const auto at = [&](std::size_t i, std::size_t j) -> std::int32_t& { return best[i * columns + j]; };
    for (std::size_t i = before.size(); i-- > 0;)
      for (std::size_t j = after.size(); j-- > 0;)
        at(i, j) = are_alike(before[i], after[j]) ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    for (std::size_t i = 0, j = 0; i < before.size() && j < after.size();) {
      if (are_alike(before[i], after[j])) match(before[i++], after[j++], PairedBy::place);
      else ++(at(i + 1, j) >= at(i, j + 1) ? i : j);
    }
  }

  const Model &before_, &after_;
  const LayerIndex index_before_, index_after_;
  std::vector<std::optional<LayerMatch>> match_of_before_;
  std::vector<bool> is_matched_after_;
};

/// Inputs of the same name, then those that are left, in order.
void match_inputs(const Model& before, const Model& after, std::vector<std::optional<std::int32_t>>& tensors) {
  std::vector<std::int32_t> left = after.inputs;
  const auto take = [&](std::int32_t input, auto found) {
    if (found == left.end()) return;
    tensors[static_cast<std::size_t>(input)] = *found;
    left.erase(found);
  };
  for (const std::int32_t input : before.inputs)
    take(input, std::ranges::find_if(left, [&](std::int32_t other) { return after.tensor(other).name == before.tensor(input).name; }));
  for (const std::int32_t input : before.inputs)
    if (!tensors[static_cast<std::size_t>(input)]) take(input, left.begin());
}

}  // namespace

std::vector<LayerMatch> matched_layers(const Model& before, const Model& after) { return Matcher(before, after).matches(); }

std::vector<std::optional<std::int32_t>> matched_tensors(const Model& before, const Model& after, const std::vector<LayerMatch>& layers) {
  std::vector<std::optional<std::int32_t>> tensors(before.tensors.size());
  match_inputs(before, after, tensors);
  for (const LayerMatch& layer : layers) {
    const auto &from = before.operations[layer.before].outputs, &to = after.operations[layer.after].outputs;
    for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
      if (from[i] != absent_tensor && to[i] != absent_tensor) tensors[static_cast<std::size_t>(from[i])] = to[i];
  }
  for (std::size_t i = 0; i < std::min(before.states.size(), after.states.size()); ++i)
    tensors[static_cast<std::size_t>(before.states[i].before)] = after.states[i].before;
  return tensors;
}

}  // namespace lastbit
